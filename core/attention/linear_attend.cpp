#include "core/attention/linear_attend.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/views.hpp"
#include "core/simd/attention/linear.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

Dims with_last(Dims shape, std::initializer_list<Size> last) {
  shape.erase(shape.rank() - 1);
  shape.erase(shape.rank() - 1);
  for (const Size size : last) shape.push_back(size);
  return shape;
}

bool has_shape(const Tensor& x, const Dims& shape) { return !x.defined() || x.shape() == shape; }

void check(const Tensor& q, const Tensor& k, const Tensor& v, const LinearAttendOptions& options,
           CallSite at) {
  const bool fits = q.rank() >= 2 && q.shape() == k.shape() && v.rank() == q.rank() &&
                    v.shape() == with_last(q.shape(), {q.size(-2), v.size(-1)});
  if (!fits)
    fail(
        "[linear_attend] q {}, k {} and v {} must have shapes (…,T,d), (…,T,d) and (…,T,d_v), with equal "
        "leading axes ({}:{})",
        describe(q), describe(k), describe(v), at.file, at.line);
  Dims tokens = q.shape();
  tokens.erase(tokens.rank() - 1);
  const Dims state = with_last(q.shape(), {q.size(-1), v.size(-1)});
  if (!has_shape(options.log_decay, tokens) || !has_shape(options.beta, tokens))
    fail("[linear_attend] log_decay and beta must have one number for each token, shape {}, if given ({}:{})",
         to_string(tokens), at.file, at.line);
  if (!has_shape(options.initial_state, state))
    fail("[linear_attend] initial_state {} must have shape {}, (…,d,d_v) of the keys and values ({}:{})",
         describe(options.initial_state), to_string(state), at.file, at.line);
  for (const Tensor* x : {&k, &v, &options.log_decay, &options.beta, &options.initial_state})
    if (x->defined()) check_same_dtype(q, *x, "linear_attend", at);
}

Tensor first_state(const Tensor& q, const Tensor& v, const LinearAttendOptions& options) {
  if (options.initial_state.defined()) return options.initial_state;
  return zeros(with_last(q.shape(), {q.size(-1), v.size(-1)}), q.dtype());
}

/// Returns x (…, rest) as a dense (rows, rest), detached from the tape; an undefined x stays undefined.
Tensor as_rows(const Tensor& x, Size rows, std::initializer_list<Size> rest) {
  if (!x.defined()) return {};
  Dims shape{rows};
  for (const Size size : rest) shape.push_back(size);
  return contiguous(reshape(x.detach(), shape));
}

/// The inputs, and the states and writes that forward saves, for the kernel.
struct LinearProblem {
  Size rows, tokens, d, e, chunk;
  bool delta;
  Tensor q, k, v, log_decay, beta;  // dense
  Tensor states, written;

  template <class T>
  simd::LinearAttention<T> kernel() const {
    const auto data = [](const Tensor& x) { return x.defined() ? x.data<T>() : nullptr; };
    simd::LinearAttention<T> a;
    a.batch = rows, a.tokens = tokens, a.d = d, a.e = e, a.chunk = chunk, a.delta = delta;
    a.q = q.data<T>(), a.k = k.data<T>(), a.v = v.data<T>();
    a.log_decay = data(log_decay), a.beta = data(beta);
    // Forward writes to them before they are saved; backward only reads them.
    a.states = const_cast<T*>(states.data<T>()), a.written = const_cast<T*>(data(written));
    return a;
  }
};

}  // namespace

LinearAttendResult linear_attend_by_token(const Tensor& q, const Tensor& k, const Tensor& v,
                                          const LinearAttendOptions& options, CallSite at) {
  check(q, k, v, options, at);
  Tensor state = first_state(q, v, options);
  if (q.size(-2) ==
      0) {  // an empty result that depends on all inputs, since a caller may ask for their gradients
    Tensor output = matmul(q + k, state) + v;
    for (const Tensor* gate : {&options.log_decay, &options.beta})
      if (gate->defined()) output = output * unsqueeze(*gate, -1);
    return {output, state};
  }
  std::vector<Tensor> outputs;
  for (Size t = 0; t < q.size(-2); ++t) {
    const auto number = [t](const Tensor& x) {
      return unsqueeze(unsqueeze(select(x, -1, t), -1), -1);
    };  // (…, 1, 1)
    const Tensor key = slice(k, -2, t, t + 1);
    Tensor written = slice(v, -2, t, t + 1);
    if (options.log_decay.defined()) state = state * exp(number(options.log_decay));
    if (options.rule == WriteRule::delta) written = written - matmul(key, state);
    if (options.beta.defined()) written = written * number(options.beta);
    state = state + transpose(key) * written;
    outputs.push_back(matmul(slice(q, -2, t, t + 1), state));
  }
  return {concat(outputs, -2), state};
}

// core/simd/attention/linear.hpp explains the chunks, and linear_backward.cpp next to it the derivatives.
LinearAttendResult linear_attend(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const LinearAttendOptions& options, Size chunk, CallSite at) {
  check(q, k, v, options, at);
  if (chunk < 1)
    fail("[linear_attend] chunk must be at least 1 token, got {} ({}:{})", chunk, at.file, at.line);
  const Size tokens = q.size(-2), d = q.size(-1), e = v.size(-1), rows = q.shape().count(0, q.rank() - 2);
  const Tensor state = first_state(q, v, options);
  LinearProblem x{rows,
                  tokens,
                  d,
                  e,
                  std::min(chunk, std::max<Size>(1, tokens)),
                  options.rule == WriteRule::delta,
                  as_rows(q, rows, {tokens, d}),
                  as_rows(k, rows, {tokens, d}),
                  as_rows(v, rows, {tokens, e}),
                  as_rows(options.log_decay, rows, {tokens}),
                  as_rows(options.beta, rows, {tokens}),
                  {},
                  {}};
  const Size chunks = (tokens + x.chunk - 1) / x.chunk;
  x.states = Tensor::uninitialised({rows, chunks + 1, d, e}, q.dtype());
  if (x.delta) x.written = Tensor::uninitialised({rows, tokens, e}, q.dtype());
  Tensor both =
      Tensor::uninitialised(with_last(q.shape(), {tokens + d, e}), q.dtype());  // outputs, then the state
  dispatch(q.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Tensor first = as_rows(state, rows, {d, e});
    const auto a = x.kernel<T>();
    for (Size row = 0; row < rows; ++row) std::copy_n(first.data<T>() + row * d * e, d * e, a.state(row, 0));
    simd::linear_attention_forward(a, both.mutable_data<T>());
  });
  PoolVector<const Tensor*> inputs{&q, &k, &v, &state};
  const auto shape_of = [](const Tensor& y) { return y.defined() ? y.shape() : Dims{}; };
  if (options.log_decay.defined()) inputs.push_back(&options.log_decay);
  if (options.beta.defined()) inputs.push_back(&options.beta);
  both = op<"linear_attend">(
      at, std::move(both),
      wrt_all(inputs,
              [x, q_shape = q.shape(), v_shape = v.shape(), state_shape = state.shape(),
               log_decay_shape = shape_of(options.log_decay),
               beta_shape = shape_of(options.beta)](const Tensor& dy_in) {
                const auto like = [&](const Dims& shape) {
                  return Tensor::uninitialised(shape, x.q.dtype());
                };
                PoolVector<Tensor> gradients{like(q_shape), like(q_shape), like(v_shape), like(state_shape)};
                if (x.log_decay.defined()) gradients.push_back(like(log_decay_shape));
                if (x.beta.defined()) gradients.push_back(like(beta_shape));
                const Tensor dy = contiguous(dy_in);
                dispatch(x.q.dtype(), [&](auto zero) {
                  using T = decltype(zero);
                  const auto to = [&](std::size_t i) { return gradients[i].template mutable_data<T>(); };
                  simd::LinearAttentionGradient<T> out;
                  out.dy = dy.data<T>();
                  out.dq = to(0), out.dk = to(1), out.dv = to(2), out.dstate = to(3);
                  if (x.log_decay.defined()) out.dlog_decay = to(4);
                  if (x.beta.defined()) out.dbeta = to(gradients.size() - 1);
                  simd::linear_attention_backward(x.kernel<T>(), out);
                });
                return gradients;
              }),
      decomposition([q, k, v, options] {
        const LinearAttendResult plain = linear_attend_by_token(q, k, v, options);
        return concat({plain.output, plain.final_state}, -2);
      }));
  return {slice(both, -2, 0, tokens), slice(both, -2, tokens, tokens + d)};
}

}  // namespace tapestry
