// Linear attention backward. With dY, the gradient dS of the state after a chunk, and M = (dY Uᵀ) ∘ D:
//
//     dQ = M K + γ dY Sᵀ                    dK = Mᵀ Q + (γ_C / γ) U dSᵀ        dU = Pᵀ dY + (γ_C / γ) K dS
//     dS before the chunk = γ_C dS + (γ Q)ᵀ dY
//     sum rule:   dV = β dU, dβ = v · du
//     delta rule: R = (I + A)⁻ᵀ dU          N = −(R Uᵀ) ∘ D below the diagonal
//                 dV = β R                  dβ = r · v + k · z, z = N K − γ R Sᵀ
//                 dK += β z + Nᵀ (β K)      dS before the chunk −= (γ K)ᵀ (β R)
//
// The gradient of a gate ln α_t is the sum of the terms whose decay contains α_t: pairs with j < t ≤ i, terms with
// γ_i for i ≥ t, with γ_C / γ_j for j < t, and with γ_C. A shorter formula, a difference of sums over all terms,
// would lose all digits at a nearly closed gate, where these terms are tiny.
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
      : chunk_(chunk), d_(d), products_(chunk.tokens * chunk.tokens), sums_(chunk.tokens) {
    std::fill_n(sums_.data(), chunk.tokens, 0.0);
  }

  /// Adds the terms factor_i · m_ij (x_i · k_j), which decay by D_ij; null factors mean 1.
  void add_pairs(const T* m, Matrix<T> x, const T* factors) {
    const Size tokens = chunk_.tokens;
    product(products_.data(), tokens, tokens, d_, x, chunk_.k().transposed());
    for (Size i = 0; i < tokens; ++i) {
      double before = 0;  // of the keys before token t
      for (Size t = 0; t <= i; ++t) {
        sums_.data()[t] += before;
        before +=
            times(factors, i, m[i * tokens + t]) * static_cast<double>(products_.data()[i * tokens + t]);
      }
    }
  }
  /// Adds the terms factor_i · (x_i · dx_i), which decay by γ_i.
  void add_since_start(const T* x, const T* dx, const T* factors) {
    double sum = 0;
    for (Size i = chunk_.tokens; i-- > 0; sums_.data()[i] += sum)
      sum += times(factors, i, dot_row(x + i * d_, dx + i * d_, d_));
  }
  /// Adds the terms x_j · dx_j, which decay by γ_C / γ_j.
  void add_until_end(const T* x, const T* dx) {
    double sum = 0;
    for (Size j = 0; j < chunk_.tokens; ++j) {
      sums_.data()[j] += sum;
      sum += static_cast<double>(dot_row(x + j * d_, dx + j * d_, d_));
    }
  }
  /// Adds a term that decays by γ_C.
  void add_whole(T term) {
    for (Size i = 0; i < chunk_.tokens; ++i) sums_.data()[i] += static_cast<double>(term);
  }
  void write(T* to) const {
    for (Size i = 0; i < chunk_.tokens; ++i) to[i] = static_cast<T>(sums_.data()[i]);
  }

 private:
  static double times(const T* factors, Size i, T x) {
    return (factors ? static_cast<double>(factors[i]) : 1.0) * static_cast<double>(x);
  }

  const LinearChunk<T>& chunk_;
  Size d_;
  Scratch<T> products_;  // (tokens, tokens)
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
        du_(a.delta ? a.batch * a.tokens * a.e : 0) {}

  void run() {
    each_chunk(a_, [this](const LinearChunk<T>& chunk, Size row, Size n, Buffers buffers) {
      output_gradients(chunk, row, n, buffers);
    });
    parallel_for(a_.batch, [this](Size row) { state_gradients(row); });
    each_chunk(a_, [this](const LinearChunk<T>& chunk, Size row, Size n, Buffers buffers) {
      input_gradients(chunk, row, n, buffers);
    });
  }

 private:
  using Buffers = ChunkBuffers<T>;

  T* dstate(Size row, Size n) const { return dstates_.data() + (row * (chunks_ + 1) + n) * a_.d * a_.e; }
  Matrix<T> dy(Size row, Size n) const {
    return {out_.dy + (row * (a_.tokens + a_.d) + n * a_.chunk) * a_.e, a_.e};
  }
  static T factor(const T* of, Size i) { return of ? of[i] : T(1); }

  /// Computes the gradients that reach the state before the chunk and, in the delta rule, U through the outputs.
  void output_gradients(const LinearChunk<T>& chunk, Size row, Size n, Buffers buffers) {
    product(dstate(row, n), a_.d, a_.e, chunk.tokens,
            chunk.scaled(chunk.q().data, chunk.kept(), a_.d).transposed(), dy(row, n));
    if (!a_.delta) return;
    chunk.pairs(buffers.pairs);
    product(chunk.of(du_.data(), a_.e), chunk.tokens, a_.e, chunk.tokens,
            Matrix<T>{buffers.pairs, chunk.tokens}.transposed(), dy(row, n));
  }

  /// Computes dS, and R in du_, from the last chunk to the first.
  void state_gradients(Size row) {
    const Size d = a_.d, e = a_.e;
    LinearChunk<T> chunk(a_);
    const Scratch<T> below(a_.delta ? a_.chunk * a_.chunk : 0), strong(a_.delta ? a_.chunk * e : 0);
    std::copy_n(out_.dy + (row * (a_.tokens + d) + a_.tokens) * e, d * e, dstate(row, chunks_));
    for (Size n = chunks_; n-- > 0;) {
      T *after = dstate(row, n + 1), *before = dstate(row, n);
      if (a_.delta || a_.log_decay) chunk.at(row, n);
      add_scaled_row(before, after, chunk.all, d * e);
      if (!a_.delta) continue;
      const Size tokens = chunk.tokens;
      T* r = chunk.of(du_.data(), e);
      product(r, tokens, e, d, chunk.scaled(chunk.k().data, chunk.rest(), d), {after, e}, true);
      chunk.overlaps(below.data());
      solve_transposed(r, below.data(), tokens, e);
      for (Size i = 0; i < tokens; ++i)
        scaled_row(strong.data() + i * e, r + i * e, -factor(chunk.beta(), i), e);
      product(before, d, e, tokens, chunk.scaled(chunk.k().data, chunk.kept(), d).transposed(),
              {strong.data(), e}, true);
    }
    std::copy_n(dstate(row, 0), d * e, out_.dstate + row * d * e);
  }

  /// Computes the gradients of the chunk's inputs.
  void input_gradients(const LinearChunk<T>& chunk, Size row, Size n, Buffers buffers) {
    const Size d = a_.d, e = a_.e, tokens = chunk.tokens;
    const T *state = a_.state(row, n), *after = dstate(row, n + 1);
    T *dq = chunk.of(out_.dq, d), *dk = chunk.of(out_.dk, d), *dv = chunk.of(out_.dv, e);
    const Matrix<T> u = chunk.written(buffers.values), m{buffers.pairs, tokens};
    product(buffers.pairs, tokens, tokens, e, dy(row, n), u.transposed());
    chunk.weigh(buffers.pairs, true);
    product(dq, tokens, d, tokens, m, chunk.k());
    product(dq, tokens, d, e, chunk.scaled(dy(row, n).data, chunk.kept(), e),
            Matrix<T>{state, e}.transposed(), true);
    product(dk, tokens, d, e, chunk.scaled(u.data, chunk.rest(), e), Matrix<T>{after, e}.transposed());
    std::optional<GateSums<T>> gates;
    if (a_.log_decay) {
      gates.emplace(chunk, d);
      gates->add_pairs(buffers.pairs, chunk.q(), nullptr);
      gates->add_until_end(chunk.k().data, dk);
      gates->add_whole(chunk.all * dot_row(state, after, d * e));
      product(buffers.dx, tokens, d, e, chunk.scaled(dy(row, n).data, chunk.kept(), e),
              Matrix<T>{state, e}.transposed());
      gates->add_since_start(chunk.q().data, buffers.dx, nullptr);
    }
    product(dk, tokens, d, tokens, m.transposed(), chunk.q(), true);
    const T* d_keys = a_.delta ? delta_rows(chunk, state, u, dk, dv, buffers, gates) : nullptr;
    if (!a_.delta) sum_rows(chunk, row, n, after, dv, buffers);
    if (gates) gates->write(chunk.of(out_.dlog_decay, 1));
    for (Size i = 0; d_keys && i < tokens; ++i) add_scaled_row(dk + i * d, d_keys + i * d, T(1), d);
  }

  void sum_rows(const LinearChunk<T>& chunk, Size row, Size n, const T* after, T* dv, Buffers buffers) {
    const Size e = a_.e, tokens = chunk.tokens;
    chunk.pairs(buffers.pairs);
    product(dv, tokens, e, tokens, Matrix<T>{buffers.pairs, tokens}.transposed(), dy(row, n));
    product(dv, tokens, e, a_.d, chunk.scaled(chunk.k().data, chunk.rest(), a_.d), {after, e}, true);
    if (!a_.beta) return;
    for (Size i = 0; i < tokens; ++i) {
      chunk.of(out_.dbeta, 1)[i] = dot_row(chunk.v() + i * e, dv + i * e, e);
      scaled_row(dv + i * e, dv + i * e, chunk.beta()[i], e);
    }
  }

  /// Adds to dk the gradient through k_j in A; returns β z, the gradient through k_i in β (V − γ K S) and A.
  const T* delta_rows(const LinearChunk<T>& chunk, const T* state, Matrix<T> u, T* dk, T* dv, Buffers buffers,
                      std::optional<GateSums<T>>& gates) {
    const Size d = a_.d, e = a_.e, tokens = chunk.tokens;
    const T *r = chunk.of(du_.data(), e), *beta = chunk.beta(), *keys = chunk.k().data;
    for (Size i = 0; i < tokens; ++i)
      scaled_row(buffers.more + i * e, r + i * e, -factor(chunk.kept(), i), e);
    product(buffers.dx, tokens, d, e, {buffers.more, e}, Matrix<T>{state, e}.transposed());
    if (gates) gates->add_since_start(keys, buffers.dx, beta);
    for (Size i = 0; i < tokens; ++i) scaled_row(buffers.more + i * e, r + i * e, T(-1), e);
    product(buffers.pairs, tokens, tokens, e, {buffers.more, e}, u.transposed());
    chunk.weigh(buffers.pairs, false);
    if (gates) gates->add_pairs(buffers.pairs, chunk.k(), beta);
    product(buffers.dx, tokens, d, tokens, {buffers.pairs, tokens}, chunk.k(), true);
    product(dk, tokens, d, tokens, Matrix<T>{buffers.pairs, tokens}.transposed(), chunk.scaled(keys, beta, d),
            true);
    for (Size i = 0; i < tokens; ++i) {
      if (a_.beta)
        chunk.of(out_.dbeta, 1)[i] =
            dot_row(r + i * e, chunk.v() + i * e, e) + dot_row(keys + i * d, buffers.dx + i * d, d);
      scaled_row(dv + i * e, r + i * e, factor(beta, i), e);
      scaled_row(buffers.dx + i * d, buffers.dx + i * d, factor(beta, i), d);
    }
    return buffers.dx;
  }

  const LinearAttention<T>& a_;
  const LinearAttentionGradient<T>& out_;
  Size chunks_;
  Scratch<T> dstates_;  // (batch, chunks + 1, d, e)
  Scratch<T> du_;       // (batch, tokens, e): in the delta rule dU, then R
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
