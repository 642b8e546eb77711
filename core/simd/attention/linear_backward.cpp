// Linear attention backward. With dY, the gradient dS of the state after a chunk, and M = (dY Uᵀ) ∘ D:
//
//     dQ = M K + γ dY Sᵀ                    dK = Mᵀ Q + (γ_C / γ) U dSᵀ        dU = Pᵀ dY + (γ_C / γ) K dS
//     dS before the chunk = γ_C dS + (γ Q)ᵀ dY
//     sum rule:   dV = β dU, dβ = v · du
//     delta rule: R = (I + A)⁻ᵀ dU          N = −(R Uᵀ) ∘ D below the diagonal
//                 dV = β R                  dβ = r · v + k · z, z = N K − γ R Sᵀ
//                 dK += β z + Nᵀ (β K)      dS before the chunk −= (γ K)ᵀ (β R)
//
// A gate ln α_t is part of the terms whose decay contains α_t: of the pairs with j < t ≤ i, of γ_i for i ≥ t, of γ_C / γ_j
// for j < t, and of γ_C. Its gradient is the sum of these terms alone. The shorter formula, a difference of sums over
// all terms, loses all digits at a nearly closed gate, where the terms are tiny.
#include <algorithm>
#include <optional>

#include "core/simd/attention/linear_chunk.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace {

/// Gradients of a chunk's ln α.
template <class T>
class GateSums {
 public:
  GateSums(const LinearChunk<T>& chunk, Size d)
      : chunk_(chunk), d_(d), products_(chunk.words * chunk.words), sums_(chunk.words) {
    std::fill_n(sums_.data(), chunk.words, 0.0);
  }

  /// Adds the terms factor_i · m_ij (x_i · k_j), which decay by D_ij; null factors mean 1.
  void add_pairs(const T* m, Matrix<T> x, const T* factors) {
    const Size words = chunk_.words;
    product(products_.data(), words, words, d_, x, chunk_.k().transposed());
    for (Size i = 0; i < words; ++i) {
      double before = 0;  // of the keys before word t
      for (Size t = 0; t <= i; ++t) {
        sums_.data()[t] += before;
        before += times(factors, i, m[i * words + t]) * static_cast<double>(products_.data()[i * words + t]);
      }
    }
  }
  /// Adds the terms factor_i · (x_i · dx_i), which decay by γ_i.
  void add_since_start(const T* x, const T* dx, const T* factors) {
    double sum = 0;
    for (Size i = chunk_.words; i-- > 0; sums_.data()[i] += sum)
      sum += times(factors, i, dot_row(x + i * d_, dx + i * d_, d_));
  }
  /// Adds the terms x_j · dx_j, which decay by γ_C / γ_j.
  void add_until_end(const T* x, const T* dx) {
    double sum = 0;
    for (Size j = 0; j < chunk_.words; ++j) {
      sums_.data()[j] += sum;
      sum += static_cast<double>(dot_row(x + j * d_, dx + j * d_, d_));
    }
  }
  /// Adds a term that decays by γ_C.
  void add_whole(T term) {
    for (Size i = 0; i < chunk_.words; ++i) sums_.data()[i] += static_cast<double>(term);
  }
  void write(T* to) const {
    for (Size i = 0; i < chunk_.words; ++i) to[i] = static_cast<T>(sums_.data()[i]);
  }

 private:
  static double times(const T* factors, Size i, T x) {
    return (factors ? static_cast<double>(factors[i]) : 1.0) * static_cast<double>(x);
  }

  const LinearChunk<T>& chunk_;
  Size d_;
  Scratch<T> products_;  // (words, words)
  Scratch<double> sums_;
};

template <class T>
class Backward {
 public:
  Backward(const LinearAttention<T>& a, const LinearAttentionGradient<T>& out)
      : a_(a),
        out_(out),
        chunks_(a.chunks()),
        dstates_(a.batch * (chunks_ + 1) * a.d * a.e),
        du_(a.delta ? a.batch * a.words * a.e : 0) {}

  void run() {
    each_chunk(
        a_, [this](const LinearChunk<T>& chunk, Size row, Size n, Room room) { read(chunk, row, n, room); });
    parallel_for(a_.batch, [this](Size row) { back_in_time(row); });
    each_chunk(
        a_, [this](const LinearChunk<T>& chunk, Size row, Size n, Room room) { rows(chunk, row, n, room); });
  }

 private:
  using Room = ChunkRoom<T>;

  T* dstate(Size row, Size n) const { return dstates_.data() + (row * (chunks_ + 1) + n) * a_.d * a_.e; }
  Matrix<T> dy(Size row, Size n) const {
    return {out_.dy + (row * (a_.words + a_.d) + n * a_.chunk) * a_.e, a_.e};
  }
  static T factor(const T* of, Size i) { return of ? of[i] : T(1); }

  /// Computes the gradients, through what the words read, of the state before the chunk and, in the delta rule, of U.
  void read(const LinearChunk<T>& chunk, Size row, Size n, Room room) {
    product(dstate(row, n), a_.d, a_.e, chunk.words,
            chunk.scaled(chunk.q().data, chunk.kept(), a_.d).transposed(), dy(row, n));
    if (!a_.delta) return;
    chunk.pairs(room.pairs);
    product(chunk.of(du_.data(), a_.e), chunk.words, a_.e, chunk.words,
            Matrix<T>{room.pairs, chunk.words}.transposed(), dy(row, n));
  }

  /// Computes dS, and R in du_, from the last chunk to the first.
  void back_in_time(Size row) {
    const Size d = a_.d, e = a_.e;
    LinearChunk<T> chunk(a_);
    const Scratch<T> below(a_.delta ? a_.chunk * a_.chunk : 0), strong(a_.delta ? a_.chunk * e : 0);
    std::copy_n(out_.dy + (row * (a_.words + d) + a_.words) * e, d * e, dstate(row, chunks_));
    for (Size n = chunks_; n-- > 0;) {
      T *after = dstate(row, n + 1), *before = dstate(row, n);
      if (a_.delta || a_.log_keep) chunk.at(row, n);
      add_scaled_row(before, after, chunk.all, d * e);
      if (!a_.delta) continue;
      const Size words = chunk.words;
      T* r = chunk.of(du_.data(), e);
      product(r, words, e, d, chunk.scaled(chunk.k().data, chunk.rest(), d), {after, e}, true);
      chunk.overlaps(below.data());
      solve_transposed(r, below.data(), words, e);
      for (Size i = 0; i < words; ++i)
        scaled_row(strong.data() + i * e, r + i * e, -factor(chunk.strength(), i), e);
      product(before, d, e, words, chunk.scaled(chunk.k().data, chunk.kept(), d).transposed(),
              {strong.data(), e}, true);
    }
    std::copy_n(dstate(row, 0), d * e, out_.dstate + row * d * e);
  }

  /// Computes the gradients of the chunk's words.
  void rows(const LinearChunk<T>& chunk, Size row, Size n, Room room) {
    const Size d = a_.d, e = a_.e, words = chunk.words;
    const T *state = a_.state(row, n), *after = dstate(row, n + 1);
    T *dq = chunk.of(out_.dq, d), *dk = chunk.of(out_.dk, d), *dv = chunk.of(out_.dv, e);
    const Matrix<T> u = chunk.written(room.values), m{room.pairs, words};
    product(room.pairs, words, words, e, dy(row, n), u.transposed());
    chunk.weigh(room.pairs, true);
    product(dq, words, d, words, m, chunk.k());
    product(dq, words, d, e, chunk.scaled(dy(row, n).data, chunk.kept(), e), Matrix<T>{state, e}.transposed(),
            true);
    product(dk, words, d, e, chunk.scaled(u.data, chunk.rest(), e), Matrix<T>{after, e}.transposed());
    std::optional<GateSums<T>> gates;
    if (a_.log_keep) {
      gates.emplace(chunk, d);
      gates->add_pairs(room.pairs, chunk.q(), nullptr);
      gates->add_until_end(chunk.k().data, dk);
      gates->add_whole(chunk.all * dot_row(state, after, d * e));
      product(room.asks, words, d, e, chunk.scaled(dy(row, n).data, chunk.kept(), e),
              Matrix<T>{state, e}.transposed());
      gates->add_since_start(chunk.q().data, room.asks, nullptr);
    }
    product(dk, words, d, words, m.transposed(), chunk.q(), true);
    const T* asks = a_.delta ? delta_rows(chunk, state, u, dk, dv, room, gates) : nullptr;
    if (!a_.delta) sum_rows(chunk, row, n, after, dv, room);
    if (gates) gates->write(chunk.of(out_.dlog_keep, 1));
    for (Size i = 0; asks && i < words; ++i) add_scaled_row(dk + i * d, asks + i * d, T(1), d);
  }

  void sum_rows(const LinearChunk<T>& chunk, Size row, Size n, const T* after, T* dv, Room room) {
    const Size e = a_.e, words = chunk.words;
    chunk.pairs(room.pairs);
    product(dv, words, e, words, Matrix<T>{room.pairs, words}.transposed(), dy(row, n));
    product(dv, words, e, a_.d, chunk.scaled(chunk.k().data, chunk.rest(), a_.d), {after, e}, true);
    if (!a_.strength) return;
    for (Size i = 0; i < words; ++i) {
      chunk.of(out_.dstrength, 1)[i] = dot_row(chunk.v() + i * e, dv + i * e, e);
      scaled_row(dv + i * e, dv + i * e, chunk.strength()[i], e);
    }
  }

  /// Adds to dk the gradient through k_j in A; returns β z, the gradient through k_i in β (V − γ K S) and A.
  const T* delta_rows(const LinearChunk<T>& chunk, const T* state, Matrix<T> u, T* dk, T* dv, Room room,
                      std::optional<GateSums<T>>& gates) {
    const Size d = a_.d, e = a_.e, words = chunk.words;
    const T *r = chunk.of(du_.data(), e), *beta = chunk.strength(), *keys = chunk.k().data;
    for (Size i = 0; i < words; ++i) scaled_row(room.more + i * e, r + i * e, -factor(chunk.kept(), i), e);
    product(room.asks, words, d, e, {room.more, e}, Matrix<T>{state, e}.transposed());
    if (gates) gates->add_since_start(keys, room.asks, beta);
    for (Size i = 0; i < words; ++i) scaled_row(room.more + i * e, r + i * e, T(-1), e);
    product(room.pairs, words, words, e, {room.more, e}, u.transposed());
    chunk.weigh(room.pairs, false);
    if (gates) gates->add_pairs(room.pairs, chunk.k(), beta);
    product(room.asks, words, d, words, {room.pairs, words}, chunk.k(), true);
    product(dk, words, d, words, Matrix<T>{room.pairs, words}.transposed(), chunk.scaled(keys, beta, d),
            true);
    for (Size i = 0; i < words; ++i) {
      if (a_.strength)
        chunk.of(out_.dstrength, 1)[i] =
            dot_row(r + i * e, chunk.v() + i * e, e) + dot_row(keys + i * d, room.asks + i * d, d);
      scaled_row(dv + i * e, r + i * e, factor(beta, i), e);
      scaled_row(room.asks + i * d, room.asks + i * d, factor(beta, i), d);
    }
    return room.asks;
  }

  const LinearAttention<T>& a_;
  const LinearAttentionGradient<T>& out_;
  Size chunks_;
  Scratch<T> dstates_;  // (batch, chunks + 1, d, e)
  Scratch<T> du_;       // (batch, words, e): in the delta rule dU, then R
};

}  // namespace

template <class T>
void linear_attention_backward(const LinearAttention<T>& a, const LinearAttentionGradient<T>& out) {
  Backward<T>(a, out).run();
}

template void linear_attention_backward(const LinearAttention<float>&, const LinearAttentionGradient<float>&);
template void linear_attention_backward(const LinearAttention<double>&,
                                        const LinearAttentionGradient<double>&);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
