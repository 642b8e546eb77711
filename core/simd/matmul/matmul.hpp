// Matrix products on strided operands, batched: c = a·b, c += a·b or c = a·b + bias.
#pragma once

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Products with a side up to this length read the long operand in place if it is contiguous in k; others transpose
/// and pack it.
inline constexpr Size kShortSide = 16;

/// One batched product. Element (i, p) of a is a[i·a_row + p·a_col], so a transposed operand has its strides
/// exchanged; b likewise. Rows of c are contiguous, and c must not overlap a or b. All strides are in elements.
///
/// c starts from zero, from the bias (one value per column), or, with `accumulate`, from its present values. m, n,
/// k and the batch may be 0. NaN and infinity follow IEEE 754: no term is skipped.
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
  Dims a_batch{}, b_batch{}, c_batch{};  ///< their strides; 0 repeats an operand
};

/// Computes all products of the batch, in parallel if they are large enough. Every element of c sums its k terms in an
/// order that depends on the shape and the strides alone, so the bits are the same for any number of threads.
template <class T>
void matmul(const Matmul<T>& product);

extern template void matmul(const Matmul<float>&);
extern template void matmul(const Matmul<double>&);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
