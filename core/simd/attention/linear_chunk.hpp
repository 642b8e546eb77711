// One chunk of linear attention: where its rows are, its gates, and the products that both directions need.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/simd/attention/linear.hpp"
#include "core/simd/math.hpp"
#include "core/simd/matmul/blocks.hpp"
#include "core/simd/matmul/matmul.hpp"
#include "core/simd/rows/row_loop.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// A matrix in memory: element (i, j) is data[i·row + j·column].
template <class T>
struct Matrix {
  const T* data = nullptr;
  Size row = 0, column = 1;
  Matrix transposed() const { return {data, column, row}; }
};

/// c (m, n), dense, = a (m, k) · b (k, n), or += it.
template <class T>
void product(T* c, Size m, Size n, Size k, Matrix<T> a, Matrix<T> b, bool accumulate = false) {
  Matmul<T> x;
  x.m = m, x.n = n, x.k = k;
  x.a = a.data, x.a_row = a.row, x.a_col = a.column;
  x.b = b.data, x.b_row = b.row, x.b_col = b.column;
  x.c = c, x.c_row = n, x.accumulate = accumulate;
  matmul(x);
}

/// y = factor · x, or y += factor · x, a row.
template <class T>
void scaled_row(T* y, const T* x, T factor, Size n) {
  sweep<T>(n, [=](Size i, auto part) { store(y + i, Lanes<T>(factor) * load(x + i, part), part); });
}
template <class T>
void add_scaled_row(T* y, const T* x, T factor, Size n) {
  sweep<T>(n, [=](Size i, auto part) {
    store(y + i, fma(Lanes<T>(factor), load(x + i, part), load(static_cast<const T*>(y) + i, part)), part);
  });
}
template <class T>
T dot_row(const T* x, const T* y, Size n) {
  return reduce_add(accumulate<T>(
      n, T(0), [=](Size i, auto part) { return load(x + i, part) * load(y + i, part); }, AddLanes{}));
}
/// y_i = factor_i · x_i for all rows of x (rows, n); no factors: 1.
template <class T>
void scaled_rows(T* y, const T* x, const T* factors, Size rows, Size n) {
  for (Size i = 0; i < rows; ++i) scaled_row(y + i * n, x + i * n, factors ? factors[i] : T(1), n);
}

/// A chunk of one row of the batch; holds its gates. Made once for a thread's share of the chunks, then put `at` one
/// after the other.
template <class T>
class LinearChunk {
 public:
  explicit LinearChunk(const LinearAttention<T>& a)
      : a_(a), gates_(a.log_keep ? 3 * a.chunk : 0), scaled_(a.chunk * std::max(a.d, a.e)) {}

  void at(Size row, Size n) {
    first_ = row * a_.words + n * a_.chunk;
    words = std::min(a_.chunk, a_.words - n * a_.chunk);
    all = 1;
    if (!a_.log_keep) return;
    T* sums = gates_.data();
    T sum = 0;
    for (Size i = 0; i < words; ++i) sums[i] = sum += a_.log_keep[first_ + i];
    T* kept = sums + a_.chunk;
    T* rest = kept + a_.chunk;
    sweep<T>(words, [=](Size i, auto part) {
      const Lanes<T> g = load(static_cast<const T*>(sums) + i, part);
      store(kept + i, exp(g), part);
      store(rest + i, exp(Lanes<T>(sum) - g), part);
    });
    all = std::exp(sum);
  }

  Size words = 0;
  T all = 1;  // γ_C
  /// Where this chunk's first word is in a tensor (batch, words, width).
  template <class X>
  X* of(X* x, Size width) const {
    return x + first_ * width;
  }
  Matrix<T> q() const { return {of(a_.q, a_.d), a_.d}; }
  Matrix<T> k() const { return {of(a_.k, a_.d), a_.d}; }
  const T* v() const { return of(a_.v, a_.e); }
  const T* strength() const { return a_.strength ? of(a_.strength, 1) : nullptr; }
  const T* kept() const { return a_.log_keep ? gates_.data() + a_.chunk : nullptr; }      // γ
  const T* rest() const { return a_.log_keep ? gates_.data() + 2 * a_.chunk : nullptr; }  // γ_C / γ

  /// U (words, e): as it was written, or β V, which stands in `room` then.
  Matrix<T> written(T* room) const {
    if (a_.delta) return {of(static_cast<const T*>(a_.written), a_.e), a_.e};
    if (!a_.strength) return {v(), a_.e};
    scaled_rows(room, v(), strength(), words, a_.e);
    return {room, a_.e};
  }
  /// factor_i · x_i, in memory that the next call uses again; x itself where there are no factors.
  Matrix<T> scaled(const T* x, const T* factors, Size width) const {
    if (!factors) return {x, width};
    scaled_rows(scaled_.data(), x, factors, words, width);
    return {scaled_.data(), width};
  }

  /// m (words, words) becomes m_ij D_ij for j < i, and for j = i where `diagonal`; above it is 0.
  void weigh(T* m, bool diagonal) const {
    for (Size i = 0; i < words; ++i) {
      T* row = m + i * words;
      const Size end = diagonal ? i + 1 : i;
      if (const T* sums = gates_.data())
        sweep<T>(end, [=](Size j, auto part) {
          const Lanes<T> ratio = exp(Lanes<T>(sums[i]) - load(sums + j, part));
          store(row + j, load(static_cast<const T*>(row) + j, part) * ratio, part);
        });
      std::fill(row + end, row + words, T(0));
    }
  }
  /// D_ij (x_i · k_j), as weigh() has it: with q P, with k the A of the delta rule but for its β.
  void pairs(T* m, Matrix<T> x, bool diagonal) const {
    product(m, words, words, a_.d, x, k().transposed());
    weigh(m, diagonal);
  }

 private:
  const LinearAttention<T>& a_;
  Size first_ = 0;
  Scratch<T> gates_;  // g, γ and γ_C / γ
  Scratch<T> scaled_;
};

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
