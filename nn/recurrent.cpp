#include "nn/recurrent.hpp"

#include <algorithm>
#include <cmath>

#include "core/ops/arithmetic.hpp"
#include "core/ops/dropout.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/recurrent.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

Initialiser recurrent_values(Size hidden) { return uniform(1.0 / std::sqrt(static_cast<double>(hidden))); }

/// Packs a state into one tensor, as the ops expect it: (B, H), or (B, 2H) = [hidden; cell] for an LSTM.
Tensor pack(CellKind kind, const RecurrentState& state, Size batch, Size hidden, DType dtype, CallSite at) {
  const Dims shape{batch, hidden};
  const bool is_lstm = kind == CellKind::lstm;
  if (!state.hidden.defined() && !state.cell.defined())
    return zeros({batch, is_lstm ? 2 * hidden : hidden}, dtype);
  if (is_lstm != state.cell.defined() || !state.hidden.defined())
    fail("an LSTM state must have hidden and cell, an RNN or GRU state hidden only ({}:{})", at.file,
         at.line);
  if (state.hidden.shape() != shape || (is_lstm && state.cell.shape() != shape))
    fail("the state of a recurrent layer must have shape {}, got {} ({}:{})", to_string(shape),
         describe(state.hidden.shape() != shape ? state.hidden : state.cell), at.file, at.line);
  return is_lstm ? concat({state.hidden, state.cell}, 1, at) : state.hidden;
}

RecurrentState unpack(CellKind kind, const Tensor& packed, Size hidden, CallSite at) {
  if (kind != CellKind::lstm) return packed;
  return {slice(packed, 1, 0, hidden, 1, at), slice(packed, 1, hidden, 2 * hidden, 1, at)};
}

Tensor rnn_step(const Tensor& gates, const Tensor& hidden, const Tensor& weight_hh, const Tensor& bias_hh,
                CallSite at) {
  return tanh(add(gates, linear(hidden, weight_hh, bias_hh, at), at), at);
}

/// Runs an RNN over a sequence with plain ops. The fused sequences of GRU and LSTM follow the same steps.
Tensor rnn_sequence(const Tensor& gates, Tensor hidden, const Tensor& weight_hh, const Tensor& bias_hh,
                    const ValidLengths& lengths, bool reverse, CallSite at) {
  const Size batch = gates.size(0), steps = gates.size(1);
  if (steps == 0) return zeros({batch, 0, hidden.size(1)}, gates.dtype());
  PoolVector<Tensor> states(static_cast<std::size_t>(steps));
  for (Size i = 0; i < steps; ++i) {
    const Size t = reverse ? steps - 1 - i : i;
    Tensor& state = states[static_cast<std::size_t>(t)];
    state = rnn_step(select(gates, 1, t, at), hidden, weight_hh, bias_hh, at);
    if (lengths.defined()) {
      const Mask valid = Mask::from(batch, 1, [&](Size row, Size) { return t < lengths[row]; });
      hidden = where(valid, state, hidden, at);
      state = where(valid, state, scalar(0, state.dtype()), at);
    } else {
      hidden = state;
    }
  }
  return stack(states, 1, at);
}

Tensor run_sequence(CellKind kind, const Tensor& gates, const Tensor& start, const Tensor& weight_hh,
                    const Tensor& bias_hh, const ValidLengths& lengths, bool reverse, CallSite at) {
  switch (kind) {
    case CellKind::rnn:
      return rnn_sequence(gates, start, weight_hh, bias_hh, lengths, reverse, at);
    case CellKind::gru:
      return gru_sequence(gates, start, weight_hh, bias_hh, lengths, reverse, at);
    case CellKind::lstm:
      break;
  }
  return lstm_sequence(gates, start, weight_hh, bias_hh, lengths, reverse, at);
}

/// Returns the state after the last valid step of each row, (B, S), from all states (B, T, S).
Tensor last_states(const Tensor& states, const Tensor& start, const ValidLengths& lengths, bool reverse,
                   CallSite at) {
  const Size batch = states.size(0), steps = states.size(1), width = states.size(2);
  if (steps == 0) return start;
  if (!lengths.defined()) return select(states, 1, reverse ? 0 : steps - 1, at);
  std::vector<std::int64_t> rows;
  bool any_empty = false;
  for (Size b = 0; b < batch; ++b) {
    rows.push_back(b * steps + std::max<Size>(lengths[b] - 1, 0));
    any_empty |= lengths[b] == 0;
  }
  Tensor last = reverse ? select(states, 1, 0, at)
                        : embedding(reshape(states, {batch * steps, width}, at), Indices(rows, {batch}), at);
  if (!any_empty) return last;
  return where(Mask::from(batch, 1, [&](Size b, Size) { return lengths[b] > 0; }), last, start, at);
}

/// Returns true if any row is shorter than T. Throws if the lengths do not fit x (B, T, …).
bool check_lengths(const Tensor& x, const ValidLengths& lengths, CallSite at) {
  if (!lengths.defined()) return false;
  if (lengths.per_query() || lengths.shape()[0] != x.size(0))
    fail("a recurrent layer over {} must get {} lengths, one for each row, got shape {} ({}:{})", describe(x),
         x.size(0), to_string(lengths.shape()), at.file, at.line);
  bool shorter = false;
  for (Size b = 0; b < x.size(0); ++b) {
    if (lengths[b] < 0 || lengths[b] > x.size(1))
      fail("length {} of row {} must be from 0 to the number of steps in {} ({}:{})", lengths[b], b,
           describe(x), at.file, at.line);
    shorter |= lengths[b] < x.size(1);
  }
  return shorter;
}

}  // namespace

Size gate_count(CellKind kind) { return kind == CellKind::rnn ? 1 : kind == CellKind::gru ? 3 : 4; }

RecurrentCell::RecurrentCell(Parent parent, CellKind kind, Size in, Size hidden)
    : Module(std::move(parent)),
      kind_(kind),
      weight_ih{*this, "weight_ih", {gate_count(kind) * hidden, in}, recurrent_values(hidden)},
      weight_hh{*this, "weight_hh", {gate_count(kind) * hidden, hidden}, recurrent_values(hidden)},
      bias_ih{*this, "bias_ih", {gate_count(kind) * hidden}, recurrent_values(hidden)},
      bias_hh{*this, "bias_hh", {gate_count(kind) * hidden}, recurrent_values(hidden)} {}

RecurrentState RecurrentCell::operator()(const Tensor& x, const RecurrentState& state, CallSite at) const {
  return from_gates(linear(x, weight_ih, bias_ih, at), state, at);
}

RecurrentState RecurrentCell::from_gates(const Tensor& gates, const RecurrentState& state,
                                         CallSite at) const {
  const Tensor packed = pack(kind_, state, gates.size(0), hidden(), gates.dtype(), at);
  switch (kind_) {
    case CellKind::rnn:
      return rnn_step(gates, packed, weight_hh, bias_hh, at);
    case CellKind::gru:
      return gru_step(gates, packed, weight_hh, bias_hh, at);
    case CellKind::lstm:
      break;
  }
  return unpack(kind_, lstm_step(gates, packed, weight_hh, bias_hh, at), hidden(), at);
}

Tensor RecurrentCell::states_from_gates(const Tensor& gates, const RecurrentState& initial,
                                        CallSite at) const {
  const Tensor start = pack(kind_, initial, gates.size(0), hidden(), gates.dtype(), at);
  const Tensor states = run_sequence(kind_, gates, start, weight_hh, bias_hh, {}, false, at);
  return kind_ == CellKind::lstm ? slice(states, 2, 0, hidden(), 1, at) : states;
}

Recurrent::Weights::Weights(Module& owner, const std::string& suffix, Size gates, Size in, Size hidden)
    : weight_ih{owner, "weight_ih" + suffix, {gates * hidden, in}, recurrent_values(hidden)},
      weight_hh{owner, "weight_hh" + suffix, {gates * hidden, hidden}, recurrent_values(hidden)},
      bias_ih{owner, "bias_ih" + suffix, {gates * hidden}, recurrent_values(hidden)},
      bias_hh{owner, "bias_hh" + suffix, {gates * hidden}, recurrent_values(hidden)} {}

Recurrent::Recurrent(Parent parent, CellKind kind, Size in, Size hidden, RecurrentOptions options)
    : Module(std::move(parent)), kind_(kind), hidden_(hidden), options_(options) {
  if (options.layers < 1)
    fail("the recurrent layer{} must have at least 1 layer, got {}", in_quotes(), options.layers);
  for (int layer = 0; layer < options.layers; ++layer)
    for (int direction = 0; direction < directions(); ++direction)
      weights_.emplace_back(*this, fmt::format("_l{}{}", layer, direction ? "_reverse" : ""),
                            gate_count(kind), layer ? directions() * hidden : in, hidden);
}

RecurrentOutput Recurrent::operator()(const Tensor& x, const ValidLengths& lengths,
                                      std::span<const RecurrentState> initial, CallSite at) const {
  if (x.rank() != 3)
    fail("the input of a recurrent layer must be (batch, time, width), got {} ({}:{})", describe(x), at.file,
         at.line);
  if (!initial.empty() && initial.size() != weights_.size())
    fail("the recurrent layer{} must get {} initial states, one for each layer and direction, got {} ({}:{})",
         in_quotes(), weights_.size(), initial.size(), at.file, at.line);
  const Size batch = x.size(0), steps = x.size(1);
  // Zero the padding first: a NaN in x, even times a gradient of 0, would reach the gradients of the weights.
  const bool padded = check_lengths(x, lengths, at);
  Tensor input =
      padded ? where(lengths.mask(steps).reshape({batch, steps, 1}), x, scalar(0, x.dtype()), at) : x;
  const ValidLengths valid = padded ? lengths : ValidLengths();

  RecurrentOutput output;
  for (int layer = 0; layer < options_.layers; ++layer) {
    if (layer && options_.dropout > 0 && training()) input = dropout(input, options_.dropout, at);
    PoolVector<Tensor> both;
    for (int direction = 0; direction < directions(); ++direction) {
      const std::size_t place = output.final.size();
      const Weights& w = weights_[place];
      const bool reverse = direction == 1;
      const Tensor gates = linear(input, w.weight_ih, w.bias_ih, at);
      const Tensor start =
          pack(kind_, initial.empty() ? RecurrentState() : initial[place], batch, hidden_, x.dtype(), at);
      const Tensor states = run_sequence(kind_, gates, start, w.weight_hh, w.bias_hh, valid, reverse, at);
      output.final.push_back(unpack(kind_, last_states(states, start, valid, reverse, at), hidden_, at));
      both.push_back(kind_ == CellKind::lstm ? slice(states, 2, 0, hidden_, 1, at) : states);
    }
    input = both.size() == 1 ? both[0] : concat(both, 2, at);
  }
  output.states = input;
  return output;
}

}  // namespace tapestry
