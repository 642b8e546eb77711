// Linear attention backward. With dY, the gradient dS of the state after a chunk, and M = (dY Uᵀ) ∘ D:
//
//     dQ = M K + γ dY Sᵀ                    dK = Mᵀ Q + (γ_C / γ) U dSᵀ        dU = Pᵀ dY + (γ_C / γ) K dS
//     dS before the chunk = γ_C dS + (γ Q)ᵀ dY
//     sum rule:   dV = β dU, dβ = v · du
//     delta rule: R = (I + A)⁻ᵀ dU          N = −(R Uᵀ) ∘ D below the diagonal
//                 dV = β R                  dβ = r · v + k · z, z = N K − γ R Sᵀ
//                 dK += β z + Nᵀ (β K)      dS before the chunk −= (γ K)ᵀ (β R)
//
// A gate g_i = ln γ_i occurs in every term with q_i, and with the opposite sign in every term with k_i: dg = q · dq +
// k · (β z) − k · (the rest of dk). g_C also has gradients through the factors γ_C / γ and γ_C S.
#include <algorithm>

#include "core/simd/attention/linear_chunk.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace {

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
    T last = 0;  // gradient of g_C
    if (a_.log_keep) {
      for (Size i = 0; i < words; ++i) last += dot_row(chunk.k().data + i * d, dk + i * d, d);
      last += chunk.all * dot_row(state, after, d * e);
    }
    product(dk, words, d, words, m.transposed(), chunk.q(), true);
    const T* asks = a_.delta ? delta_rows(chunk, state, u, dk, dv, room) : nullptr;
    if (!a_.delta) sum_rows(chunk, row, n, after, dv, room);
    if (a_.log_keep) gates(chunk, dq, dk, asks, last);
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
  const T* delta_rows(const LinearChunk<T>& chunk, const T* state, Matrix<T> u, T* dk, T* dv, Room room) {
    const Size d = a_.d, e = a_.e, words = chunk.words;
    const T *r = chunk.of(du_.data(), e), *beta = chunk.strength(), *keys = chunk.k().data;
    for (Size i = 0; i < words; ++i) scaled_row(room.more + i * e, r + i * e, -factor(chunk.kept(), i), e);
    product(room.asks, words, d, e, {room.more, e}, Matrix<T>{state, e}.transposed());
    for (Size i = 0; i < words; ++i) scaled_row(room.more + i * e, r + i * e, T(-1), e);
    product(room.pairs, words, words, e, {room.more, e}, u.transposed());
    chunk.weigh(room.pairs, false);
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

  /// Computes the gradients of ln α_i, which is part of g_i and of all later g. `dk` does not include `asks` yet.
  void gates(const LinearChunk<T>& chunk, const T* dq, const T* dk, const T* asks, T last) {
    const Size d = a_.d;
    T sum = last;
    for (Size i = chunk.words; i-- > 0;) {
      const T *q = chunk.q().data + i * d, *k = chunk.k().data + i * d;
      sum += dot_row(q, dq + i * d, d) - dot_row(k, dk + i * d, d);
      if (asks) sum += dot_row(k, asks + i * d, d);
      chunk.of(out_.dlog_keep, 1)[i] = sum;
    }
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
