#include "core/ops/recurrent.hpp"

#include <algorithm>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/simd/matmul/matmul.hpp"
#include "core/simd/recurrent.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/map.hpp"

namespace tapestry {

namespace {

/// GRU or LSTM: its numbers of gates, states and saved values per unit, its step, and its kernels.
struct Cell {
  const char* name;
  Size gates, states, kept;
  Tensor (*step)(const Tensor& gates, const Tensor& state, const Tensor& weight_hh, const Tensor& bias_hh,
                 CallSite at);

  template <class T>
  void forward(const simd::RecurrentStep<T>& step_in) const {
    gates == 3 ? simd::gru_forward(step_in) : simd::lstm_forward(step_in);
  }
  template <class T>
  void backward(const simd::RecurrentStepGradient<T>& step_in) const {
    gates == 3 ? simd::gru_backward(step_in) : simd::lstm_backward(step_in);
  }
};

constexpr Cell kGru{"gru", 3, 1, 4, gru_step};
constexpr Cell kLstm{"lstm", 4, 2, 5, lstm_step};

/// Returns x if its rows are dense, otherwise a dense copy off the tape.
Tensor with_dense_rows(const Tensor& x) {
  return x.size(-1) <= 1 || x.strides().back() == 1 ? x : contiguous(x.detach());
}

/// Returns the transposed weight, off the tape, for the product with `rows` rows at each step. Copies it once if the
/// product of each step would otherwise copy it.
Tensor transposed(const Tensor& weight, Size rows) {
  const Tensor view = transpose(weight.detach());
  return rows > simd::kShortSide ? contiguous(view) : view;
}

void check(const Cell& cell, const Tensor& gates, const Tensor& state, const Tensor& weight_hh,
           const Tensor& bias_hh, int rank, CallSite at) {
  const Size hidden = weight_hh.rank() == 2 ? weight_hh.size(1) : -1;
  const bool fits = hidden >= 0 && weight_hh.size(0) == cell.gates * hidden && gates.rank() == rank &&
                    gates.size(-1) == cell.gates * hidden && state.rank() == 2 &&
                    state.size(0) == gates.size(0) && state.size(1) == cell.states * hidden &&
                    (!bias_hh.defined() || (bias_hh.rank() == 1 && bias_hh.size(0) == cell.gates * hidden));
  if (!fits)
    fail(
        "[{}] gates {}, state {}, weight_hh {} and bias_hh {} do not fit; with H units they must be (B,{}{}H), "
        "(B,{}H), ({}H,H) and ({}H) ({}:{})",
        cell.name, describe(gates), describe(state), describe(weight_hh), describe(bias_hh),
        rank == 3 ? "T," : "", cell.gates, cell.states, cell.gates, cell.gates, at.file, at.line);
  for (const Tensor* x : {&state, &weight_hh, &bias_hh})
    if (x->defined()) check_same_dtype(gates, *x, cell.name, at);
}

/// next = cell(gates, gh, state): the element-wise part of one step, with gh = W_hh h + b_hh. `plain` computes it
/// from plain ops.
template <FixedString name>
Tensor cell_op(const Cell& cell, const Tensor& gates_in, const Tensor& gh, const Tensor& state_in,
               Tensor (*plain)(const Tensor&, const Tensor&, const Tensor&), CallSite at) {
  const Tensor gates = with_dense_rows(gates_in), state = with_dense_rows(state_in);
  const Size rows = gates.size(0), hidden = state.size(1) / cell.states;
  Tensor next = Tensor::uninitialised(state.shape(), state.dtype());
  Tensor saved = Tensor::uninitialised({rows, cell.kept * hidden}, state.dtype());
  dispatch(gates.dtype(), [&](auto zero) {
    using T = decltype(zero);
    cell.forward(simd::RecurrentStep<T>{rows, hidden, nullptr, gates.data<T>(), gates.strides()[0],
                                        gh.data<T>(), state.data<T>(), state.strides()[0],
                                        next.mutable_data<T>(), next.strides()[0], saved.mutable_data<T>()});
  });
  return op<name>(
      at, std::move(next),
      wrt_all(std::array{&gates_in, &gh, &state_in},
              [&cell, saved, state](const Tensor& dy_in) {
                const Tensor dy = with_dense_rows(dy_in);
                const Size n = dy.size(0), units = dy.size(1) / cell.states;
                Tensor dgates = Tensor::uninitialised({n, cell.gates * units}, dy.dtype());
                Tensor dgh = Tensor::uninitialised(dgates.shape(), dy.dtype());
                Tensor dstate = Tensor::uninitialised(dy.shape(), dy.dtype());
                dispatch(dy.dtype(), [&](auto zero) {
                  using T = decltype(zero);
                  cell.backward(simd::RecurrentStepGradient<T>{
                      n, units, nullptr, saved.data<T>(), state.data<T>(), state.strides()[0], dy.data<T>(),
                      dy.strides()[0], dgates.mutable_data<T>(), dgates.strides()[0], dgh.mutable_data<T>(),
                      dstate.mutable_data<T>(), dstate.strides()[0]});
                });
                return std::array{dgates, dgh, dstate};
              }),
      decomposition([plain, gates_in, gh, state_in] { return plain(gates_in, gh, state_in); }));
}

// r = σ(gi_r + gh_r)   z = σ(gi_z + gh_z)   n = tanh(gi_n + r ⊙ gh_n)   h' = n + z ⊙ (h − n)
Tensor plain_gru(const Tensor& gates, const Tensor& gh, const Tensor& hidden) {
  const Size H = hidden.size(1);
  const auto third = [H](const Tensor& x, Size i) { return slice(x, 1, i * H, (i + 1) * H); };
  const Tensor r = sigmoid(third(gates, 0) + third(gh, 0));
  const Tensor z = sigmoid(third(gates, 1) + third(gh, 1));
  const Tensor n = tanh(third(gates, 2) + r * third(gh, 2));
  return n + z * (hidden - n);
}

// c' = σ(f) ⊙ c + σ(i) ⊙ tanh(g)        h' = σ(o) ⊙ tanh(c')
Tensor plain_lstm(const Tensor& gates, const Tensor& gh, const Tensor& state) {
  const Size H = state.size(1) / 2;
  const Tensor all = gates + gh;
  const auto quarter = [&](Size i) { return slice(all, 1, i * H, (i + 1) * H); };
  const Tensor c = sigmoid(quarter(1)) * slice(state, 1, H, 2 * H) + sigmoid(quarter(0)) * tanh(quarter(2));
  return concat({sigmoid(quarter(3)) * tanh(c), c}, 1);
}

/// Forward and backward pass over a whole sequence. The s-th step processes time at(s).
struct Sequence {
  const Cell& cell;
  Size batch, time, hidden;
  ValidLengths lengths;
  bool reverse;
  Tensor states = {};  // (T + 1, B, states·H): initial state, then the state after each step
  Tensor saved = {};   // (T, B, kept·H)

  Size at(Size s) const { return reverse ? time - 1 - s : s; }
  /// Returns a flag for each row that step s updates, or null if it updates all.
  const bool* active(Size s, std::vector<char>& rows) const {
    if (!lengths.defined()) return nullptr;
    rows.resize(static_cast<std::size_t>(batch));
    for (Size b = 0; b < batch; ++b) rows[static_cast<std::size_t>(b)] = at(s) < lengths[b];
    static_assert(sizeof(bool) == sizeof(char));
    return reinterpret_cast<const bool*>(rows.data());
  }

  Tensor run(const Tensor& gates, const Tensor& first, const Tensor& weight_hh, const Tensor& bias_hh) {
    const Size width = cell.states * hidden;
    states = Tensor::uninitialised({time + 1, batch, width}, gates.dtype());
    saved = Tensor::uninitialised({time, batch, cell.kept * hidden}, gates.dtype());
    Tensor y = Tensor::uninitialised({batch, time, width}, gates.dtype());
    Tensor gh = Tensor::uninitialised({batch, cell.gates * hidden}, gates.dtype());
    const Tensor weight = transposed(weight_hh, batch);
    std::vector<char> rows;
    dispatch(gates.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const View<T> all{states.mutable_data<T>(), {}, {}};
      simd::copy(View<T>{all.data, first.shape(), dense_strides(first.shape())}, first.view<T>());
      for (Size s = 0; s < time; ++s) {
        T* state = all.data + s * batch * width;
        T* next = state + batch * width;
        detail::multiply(gh, detail::alias(states, {batch, hidden}, {width, 1}, s * batch * width), weight,
                         bias_hh);
        const bool* moves = active(s, rows);
        cell.forward(simd::RecurrentStep<T>{batch, hidden, moves,
                                            gates.data<T>() + at(s) * gates.strides()[1], gates.strides()[0],
                                            gh.data<T>(), state, width, next, width,
                                            saved.mutable_data<T>() + s * batch * cell.kept * hidden});
        for (Size b = 0; b < batch; ++b) {
          T* out = y.mutable_data<T>() + (b * time + at(s)) * width;
          if (!moves || moves[b])
            std::copy_n(next + b * width, width, out);
          else
            std::fill_n(out, width, T(0));
        }
      }
    });
    return y;
  }

  std::array<Tensor, 4> back(const Tensor& dy, const Tensor& weight_hh, bool has_bias) const {
    const Size width = cell.states * hidden, wide = cell.gates * hidden;
    Tensor dgates = Tensor::uninitialised({batch, time, wide}, dy.dtype());
    Tensor dgh = Tensor::uninitialised({time, batch, wide}, dy.dtype());
    Tensor dstate = zeros({batch, width}, dy.dtype());
    Tensor dnext = Tensor::uninitialised({batch, width}, dy.dtype());
    std::vector<char> rows;
    dispatch(dy.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (Size s = time; s-- > 0;) {
        const bool* moves = active(s, rows);
        for (Size b = 0; b < batch; ++b) {
          T* to = dnext.mutable_data<T>() + b * width;
          const T* carried = dstate.data<T>() + b * width;
          const T* from = dy.data<T>() + b * dy.strides()[0] + at(s) * dy.strides()[1];
          if (!moves || moves[b])
            for (Size j = 0; j < width; ++j) to[j] = carried[j] + from[j];
          else
            std::copy_n(carried, width, to);
        }
        cell.backward(simd::RecurrentStepGradient<T>{
            batch, hidden, moves, saved.data<T>() + s * batch * cell.kept * hidden,
            states.data<T>() + s * batch * width, width, dnext.data<T>(), width,
            dgates.mutable_data<T>() + at(s) * wide, time * wide, dgh.mutable_data<T>() + s * batch * wide,
            dstate.mutable_data<T>(), width});
        Tensor through = detail::alias(dstate, {batch, hidden}, {width, 1});
        detail::multiply(through, detail::alias(dgh, {batch, wide}, {wide, 1}, s * batch * wide), weight_hh,
                         {}, true);
      }
    });
    const Size steps = time * batch;
    Tensor dweight = zeros({wide, hidden}, dy.dtype());
    detail::multiply(dweight, detail::alias(dgh, {wide, steps}, {1, wide}),
                     detail::alias(states, {steps, hidden}, {width, 1}));
    return {dgates, dstate, dweight, has_bias ? sum(dgh, {0, 1}) : Tensor()};
  }
};

/// The decomposition: runs a sequence step by step with plain ops.
Tensor plain_sequence(const Cell& cell, const Tensor& gates, const Tensor& first, const Tensor& weight_hh,
                      const Tensor& bias_hh, const ValidLengths& lengths, bool reverse) {
  const Size time = gates.size(1), batch = gates.size(0);
  const Tensor nothing = scalar(0, gates.dtype());
  if (time == 0) return zeros({batch, 0, weight_hh.size(1)}, gates.dtype());
  std::vector<Tensor> out(static_cast<std::size_t>(time));
  Tensor state = first;
  for (Size s = 0; s < time; ++s) {
    const Size t = reverse ? time - 1 - s : s;
    const Tensor now = select(gates, 1, t);
    if (!lengths.defined()) {
      state = out[static_cast<std::size_t>(t)] = cell.step(now, state, weight_hh, bias_hh, {});
      continue;
    }
    const Mask moves = Mask::from(batch, 1, [&](Size b, Size) { return t < lengths[b]; });
    const Tensor next = cell.step(where(moves, now, nothing), state, weight_hh, bias_hh, {});
    out[static_cast<std::size_t>(t)] = where(moves, next, nothing);
    state = where(moves, next, state);
  }
  return stack(out, 1);
}

template <FixedString name>
Tensor sequence_op(const Cell& cell, const Tensor& gates, const Tensor& state, const Tensor& weight_hh,
                   const Tensor& bias_hh, const ValidLengths& lengths, bool reverse, CallSite at) {
  check(cell, gates, state, weight_hh, bias_hh, 3, at);
  const Size batch = gates.size(0), time = gates.size(1);
  if (lengths.defined() && (lengths.per_query() || lengths.shape()[0] != batch || lengths.longest() > time))
    fail(
        "[{}] {} lengths, the longest {}, do not fit gates of shape {}; there must be one for each row, at most T "
        "({}:{})",
        cell.name, lengths.shape()[0], lengths.longest(), describe(gates), at.file, at.line);
  Sequence sequence{cell, batch, time, weight_hh.size(1), lengths, reverse};
  Tensor y = sequence.run(with_dense_rows(gates), state, weight_hh, bias_hh);
  return op<name>(at, std::move(y),
                  wrt_all(std::array{&gates, &state, &weight_hh, &bias_hh},
                          [sequence, weight_hh, has_bias = bias_hh.defined()](const Tensor& dy) {
                            return sequence.back(with_dense_rows(dy), weight_hh, has_bias);
                          }),
                  decomposition([&cell, gates, state, weight_hh, bias_hh, lengths, reverse] {
                    return plain_sequence(cell, gates, state, weight_hh, bias_hh, lengths, reverse);
                  }));
}

}  // namespace

Tensor gru_step(const Tensor& gates, const Tensor& hidden, const Tensor& weight_hh, const Tensor& bias_hh,
                CallSite at) {
  check(kGru, gates, hidden, weight_hh, bias_hh, 2, at);
  return cell_op<"gru_cell">(kGru, gates, linear(hidden, weight_hh, bias_hh, at), hidden, plain_gru, at);
}

Tensor gru_sequence(const Tensor& gates, const Tensor& hidden, const Tensor& weight_hh, const Tensor& bias_hh,
                    const ValidLengths& lengths, bool reverse, CallSite at) {
  return sequence_op<"gru_sequence">(kGru, gates, hidden, weight_hh, bias_hh, lengths, reverse, at);
}

Tensor lstm_step(const Tensor& gates, const Tensor& state, const Tensor& weight_hh, const Tensor& bias_hh,
                 CallSite at) {
  check(kLstm, gates, state, weight_hh, bias_hh, 2, at);
  const Tensor hidden = slice(state, 1, 0, weight_hh.size(1), 1, at);
  return cell_op<"lstm_cell">(kLstm, gates, linear(hidden, weight_hh, bias_hh, at), state, plain_lstm, at);
}

Tensor lstm_sequence(const Tensor& gates, const Tensor& state, const Tensor& weight_hh, const Tensor& bias_hh,
                     const ValidLengths& lengths, bool reverse, CallSite at) {
  return sequence_op<"lstm_sequence">(kLstm, gates, state, weight_hh, bias_hh, lengths, reverse, at);
}

}  // namespace tapestry
