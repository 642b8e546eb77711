// One chunk of linear attention: its rows, its gates, and the products that forward and backward share.
//
// The decay from token j to token i is computed as the product α_{j+1} ⋯ α_i, not as a quotient of γ or the exp of a
// difference. So α may be 0, and values after a nearly closed gate keep their precision.
#pragma once

#include <algorithm>
#include <limits>

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

/// Computes c = a (m, k) · b (k, n), or adds it to c with `accumulate`; c (m, n) is dense.
template <class T>
void product(T* c, Size m, Size n, Size k, Matrix<T> a, Matrix<T> b, bool accumulate = false) {
  Matmul<T> x;
  x.m = m, x.n = n, x.k = k;
  x.a = a.data, x.a_row = a.row, x.a_col = a.column;
  x.b = b.data, x.b_row = b.row, x.b_col = b.column;
  x.c = c, x.c_row = n, x.accumulate = accumulate;
  matmul(x);
}

/// y = factor · x for a row of n values; add_scaled_row() computes y += factor · x.
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
/// y_i = factor_i · x_i for all rows of x (rows, n); null factors mean 1.
template <class T>
void scaled_rows(T* y, const T* x, const T* factors, Size rows, Size n) {
  for (Size i = 0; i < rows; ++i) scaled_row(y + i * n, x + i * n, factors ? factors[i] : T(1), n);
}

/// Block size of the triangular solves. One product subtracts all earlier rows from a block; then its rows are solved
/// one by one.
inline constexpr Size kSolvedRows = 12;

/// x ← (I + A)⁻¹ x for x (rows, width): `minus` (rows, rows) is −A, strictly lower triangular.
template <class T>
void solve(T* x, const T* minus, Size rows, Size width) {
  for (Size first = 0; first < rows; first += kSolvedRows) {
    const Size end = std::min(first + kSolvedRows, rows);
    product(x + first * width, end - first, width, first, {minus + first * rows, rows}, {x, width}, true);
    for (Size i = first + 1; i < end; ++i)
      for (Size j = first; j < i; ++j)
        add_scaled_row(x + i * width, x + j * width, minus[i * rows + j], width);
  }
}
/// x ← (I + A)⁻ᵀ x, from the last row up.
template <class T>
void solve_transposed(T* x, const T* minus, Size rows, Size width) {
  for (Size first = (rows - 1) / kSolvedRows * kSolvedRows; first >= 0; first -= kSolvedRows) {
    const Size end = std::min(first + kSolvedRows, rows);
    const Matrix<T> below{minus + end * rows + first, rows};
    product(x + first * width, end - first, width, rows - end, below.transposed(), {x + end * width, width},
            true);
    for (Size j = end - 1; j-- > first;)
      for (Size i = j + 1; i < end; ++i)
        add_scaled_row(x + j * width, x + i * width, minus[i * rows + j], width);
  }
}

/// One chunk of one batch row, with its gates. A task constructs one, and moves it to each of its chunks with at().
template <class T>
class LinearChunk {
 public:
  explicit LinearChunk(const LinearAttention<T>& a)
      : a_(a), gates_(a.log_decay ? 4 * a.chunk : 0), scaled_(a.chunk * std::max(a.d, a.e)) {}

  void at(Size row, Size n) {
    first_ = row * a_.tokens + n * a_.chunk;
    tokens = std::min(a_.chunk, a_.tokens - n * a_.chunk);
    all = 1;
    if (!a_.log_decay) return;
    T *keep = gates_.data(), *kept = keep + a_.chunk, *rest = kept + a_.chunk;
    const T* log_decay = of(a_.log_decay, 1);
    sweep<T>(tokens, [=](Size i, auto part) { store(keep + i, exp(load(log_decay + i, part)), part); });
    for (Size i = 0; i < tokens; ++i) kept[i] = all = normal(all * keep[i]);
    T last = 1;
    for (Size i = tokens; i-- > 0; last = normal(last * keep[i])) rest[i] = last;
  }

  Size tokens = 0;
  T all = 1;  // γ_C
  /// Returns this chunk's first token in an array (batch, tokens, width).
  template <class X>
  X* of(X* x, Size width) const {
    return x + first_ * width;
  }
  Matrix<T> q() const { return {of(a_.q, a_.d), a_.d}; }
  Matrix<T> k() const { return {of(a_.k, a_.d), a_.d}; }
  const T* v() const { return of(a_.v, a_.e); }
  const T* beta() const { return a_.beta ? of(a_.beta, 1) : nullptr; }
  const T* kept() const { return a_.log_decay ? gates_.data() + a_.chunk : nullptr; }      // γ
  const T* rest() const { return a_.log_decay ? gates_.data() + 2 * a_.chunk : nullptr; }  // γ_C / γ

  /// Returns U (tokens, e): the stored one in the delta rule, otherwise β V, computed in `buffer` if β is given.
  Matrix<T> written(T* buffer) const {
    if (a_.delta) return {of(static_cast<const T*>(a_.written), a_.e), a_.e};
    if (!a_.beta) return {v(), a_.e};
    scaled_rows(buffer, v(), beta(), tokens, a_.e);
    return {buffer, a_.e};
  }
  /// Returns factor_i · x_i in memory that the next call overwrites, or x itself if `factors` is null.
  Matrix<T> scaled(const T* x, const T* factors, Size width) const {
    if (!factors) return {x, width};
    scaled_rows(scaled_.data(), x, factors, tokens, width);
    return {scaled_.data(), width};
  }

  /// Replaces m (tokens, tokens) by m_ij D_ij for j < i, and for j = i if `diagonal`; all other elements become 0.
  void weigh(T* m, bool diagonal) const {
    const T* keep = gates_.data();
    T* ratios = keep ? gates_.data() + 3 * a_.chunk : nullptr;  // row i of D, computed from the row above
    const Lanes<T> smallest(std::numeric_limits<T>::min()), none(T(0));
    for (Size i = 0; i < tokens; ++i) {
      T* row = m + i * tokens;
      if (keep) {
        sweep<T>(i, [=](Size j, auto part) {
          const Lanes<T> ratio = load(static_cast<const T*>(ratios) + j, part) * Lanes<T>(keep[i]);
          const Lanes<T> kept = select(ratio < smallest, none, ratio);
          store(ratios + j, kept, part);
          store(row + j, load(static_cast<const T*>(row) + j, part) * kept, part);
        });
        ratios[i] = T(1);
      }
      const Size end = diagonal ? i + 1 : i;
      std::fill(row + end, row + tokens, T(0));
    }
  }
  /// Computes P_ij = D_ij (q_i · k_j) for j ≤ i.
  void pairs(T* m) const {
    product(m, tokens, tokens, a_.d, q(), k().transposed());
    weigh(m, true);
  }
  /// Computes −A of the delta rule.
  void overlaps(T* m) const {
    product(m, tokens, tokens, a_.d, k(), k().transposed());
    weigh(m, false);
    for (Size i = 0; i < tokens; ++i)
      scaled_row(m + i * tokens, m + i * tokens, beta() ? -beta()[i] : T(-1), i);
  }

 private:
  /// Flushes subnormal numbers to 0: products with them take about a hundred cycles on Intel processors.
  static T normal(T x) { return x < std::numeric_limits<T>::min() ? T(0) : x; }

  const LinearAttention<T>& a_;
  Size first_ = 0;
  Scratch<T> gates_;  // α, γ, γ_C / γ, and a row of D
  Scratch<T> scaled_;
};

/// Scratch memory of one task for a chunk.
template <class T>
struct ChunkBuffers {
  T* pairs;          // (chunk, chunk)
  T *values, *more;  // (chunk, e)
  T* dx;             // (chunk, d)
};

/// Calls body(chunk, row, n, buffers) once for chunk n of each batch row, with a LinearChunk moved there.
template <class T, class F>
void each_chunk(const LinearAttention<T>& a, const F& body) {
  const Size chunks = a.chunks(), c = a.chunk;
  parallel_ranges(a.batch * chunks, a.grain(), [&](Size begin, Size end) {
    LinearChunk<T> chunk(a);
    const Scratch<T> memory(c * (c + 2 * a.e + a.d));
    T* at = memory.data();
    const ChunkBuffers<T> buffers{at, at + c * c, at + c * (c + a.e), at + c * (c + 2 * a.e)};
    for (Size i = begin; i < end; ++i) {
      chunk.at(i / chunks, i % chunks);
      body(chunk, i / chunks, i % chunks, buffers);
    }
  });
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
