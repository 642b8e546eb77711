// Fused kernels over rows: softmax, log-softmax, log-sum-exp and layer norm, forward and backward, and cross-entropy,
// which computes loss and gradient at once.
//
// Rows are contiguous, with a stride between them. They are distributed over the threads in groups that depend on the
// shapes alone, so results do not depend on the number of threads. Each row is read up to three times, all but the
// first from the cache. Softmax and cross-entropy are limited by exp, the rest by memory.
#pragma once

#include <cstdint>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// `rows` rows of `columns` contiguous elements, `stride` elements apart.
template <class T>
struct Rows {
  T* data = nullptr;
  Size rows = 0;
  Size columns = 0;
  Size stride = 0;

  T* row(Size i) const { return data + i * stride; }
  operator Rows<const T>() const { return {data, rows, columns, stride}; }
};

/// Returns a view whose leading axes can be merged into one, as rows over its last axis. Rank 0 gives one element.
template <class T>
inline Rows<T> rows_of(const View<T>& view) {
  const int rank = view.shape.rank();
  if (rank == 0) return {view.data, 1, 1, 1};
  Size rows = 1, stride = view.shape.back();
  bool found = false;
  for (int axis = rank - 2; axis >= 0; --axis) {
    rows *= view.shape[axis];
    if (!found && view.shape[axis] != 1) {
      stride = view.stride[axis];
      found = true;
    }
  }
  return {view.data, rows, view.shape.back(), stride};
}

/// y = softmax of each row of x. y may be x.
template <class T>
void softmax(Rows<T> y, Rows<const T> x);

/// y = softmax of each row over the elements where `mask` is true; masked ones are exactly 0, even where x is NaN. A
/// fully masked row is 0. `mask` has leading axes whose sizes multiply to x.rows, then x.columns; any strides, 0
/// where it is broadcast. y may be x.
template <class T>
void masked_softmax(Rows<T> y, Rows<const T> x, const View<const bool>& mask);

/// dx = y ⊙ (dy − Σ dy ⊙ y), also for masked_softmax(). Where y is 0, dx is 0. dx may be dy.
template <class T>
void softmax_backward(Rows<T> dx, Rows<const T> y, Rows<const T> dy);

/// y = x − logsumexp(x). y may be x.
template <class T>
void log_softmax(Rows<T> y, Rows<const T> x);
/// dx = dy − softmax(x)·Σ dy, from y = log_softmax(x). dx may be dy.
template <class T>
void log_softmax_backward(Rows<T> dx, Rows<const T> y, Rows<const T> dy);

/// out[i] = ln Σ exp(x[i, :]); −∞ if all are −∞ or the row is empty, +∞ if one is +∞.
template <class T>
void logsumexp(T* out, Rows<const T> x);

/// y = (x − mean) / √(variance + epsilon) ⊙ weight + bias over each row (Ba, Kiros, Hinton 2016, arXiv
/// 1607.06450). Writes each row's mean and 1/√(…) for backward. weight and bias (columns) may be null: 1 and
/// 0.
template <class T>
void layer_norm(Rows<T> y, T* mean, T* inverse_std, Rows<const T> x, const T* weight, const T* bias,
                T epsilon);

/// Computes dx, dweight and dbias from dy, x and forward's mean and inverse_std. Each of the three is skipped if its
/// pointer or data is null; weight may be null, as above. dweight and dbias are summed over the rows in an order that
/// depends on the shape alone.
template <class T>
void layer_norm_backward(Rows<T> dx, T* dweight, T* dbias, Rows<const T> dy, Rows<const T> x, const T* mean,
                         const T* inverse_std, const T* weight);

/// The targets of a cross-entropy over `columns` classes.
struct Targets {
  const std::int64_t* ids;     ///< one per row, 0 ≤ id < columns, or `ignore`
  std::int64_t ignore = -100;  ///< rows with this target have loss 0 and gradient 0
  double smoothing = 0;        ///< ε: the target distribution is (1 − ε)·one-hot + ε/columns
};

/// loss[i] = −Σ_c p[c]·log_softmax(x[i, :])[c] with the target distribution p (Szegedy et al. 2016, arXiv 1512.00567),
/// and its gradient dx[i, :] = scale·(softmax(x[i, :]) − p), unless dx has null data.
template <class T>
void cross_entropy(T* loss, Rows<T> dx, Rows<const T> x, const Targets& targets, T scale);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
