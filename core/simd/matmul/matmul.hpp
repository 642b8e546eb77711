// Matrix products on strided operands, batched: c = a·b, c += a·b or c = a·b + bias.
#pragma once

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// A product with a side up to this long reads the long operand as it is, where its rows run along k; others
/// turn and pack it.
inline constexpr Size kShortSide = 16;

/// One batched product. Element (i, p) of a is a[i·a_row + p·a_col], so a transposed operand is one with its
/// strides exchanged; b likewise. c's columns are contiguous and overlap neither a nor b. All strides count
/// elements.
///
/// c starts from zero, from the bias (one value per column), or, with `accumulate`, from what it holds. m, n,
/// k and the batch may be 0. NaN and infinity follow IEEE: no term is left out.
template <class T>
struct Matmul {
  Size m = 0, n = 0, k = 0;  ///< a is (m, k), b is (k, n), c is (m, n)
  const T* a = nullptr;
  Size a_row = 0, a_col = 1;
  const T* b = nullptr;
  Size b_row = 0, b_col = 1;
  T* c = nullptr;
  Size c_row = 0;
  const T* bias = nullptr;  ///< (n) or null; ignored when accumulating
  bool accumulate = false;
  Dims batch{};                          ///< leading axes, none for a single product
  Dims a_batch{}, b_batch{}, c_batch{};  ///< their strides, as many as axes; 0 repeats an operand
};

/// Computes all products of the batch, in parallel where they are worth it. Every element of c sums its k
/// terms in an order that follows from the shape and the strides alone: the same bits for any number of
/// threads.
template <class T>
void matmul(const Matmul<T>& product);

extern template void matmul(const Matmul<float>&);
extern template void matmul(const Matmul<double>&);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
