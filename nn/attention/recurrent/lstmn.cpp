#include "nn/attention/recurrent/lstmn.hpp"

#include <utility>

#include "core/core.hpp"

namespace tapestry {

LSTMN::LSTMN(Parent parent, Size in, Size hidden, Size units)
    : Module(std::move(parent)),
      cell{{*this, "cell"}, in, hidden},
      from_input{{*this, "from_input"}, in, units},
      from_past{{*this, "from_past"}, hidden, units, Bias::no},
      from_blend{{*this, "from_blend"}, hidden, units, Bias::no},
      v{*this, "v", {units}, fan_in_uniform} {}

LSTMNOutput LSTMN::operator()(const Tensor& x, const LSTMNState& state) const {
  const Size in = from_input.weight.size(1), hidden = cell.hidden(), units = v.size(0);
  if (x.rank() != 3 || x.size(2) != in)
    fail("[lstmn{0}] x must be (batch, time, {2}), got {1}", in_quotes(), describe(x), in);
  const Size batch = x.size(0);
  LSTMNOutput out;
  LSTMNState& now = out.last = state;
  if (!now.past.defined()) {
    now = {zeros({batch, 0, 2 * hidden}, x.dtype()), zeros({batch, 0, units}, x.dtype()),
           zeros({batch, hidden}, x.dtype())};
  } else if (const Size before = now.past.rank() == 3 ? now.past.size(1) : 0;
             now.past.shape() != Dims{batch, before, 2 * hidden} || !now.keys.defined() ||
             now.keys.shape() != Dims{batch, before, units} || !now.blend.defined() ||
             now.blend.shape() != Dims{batch, hidden}) {
    fail(
        "[lstmn{0}] past, keys and blend must be ({4}, t, {5}), ({6}, t, {7}) and ({8}, {9}), got {1}, {2} and {3}",
        in_quotes(), describe(now.past), describe(now.keys), describe(now.blend), batch, 2 * hidden, batch,
        units, batch, hidden);
  }
  const Tensor gates = linear(x, cell.weight_ih, cell.bias_ih), input_terms = from_input(x);
  std::vector<Tensor> states;
  for (Size t = 0; t < x.size(1); ++t) {
    const Tensor query = unsqueeze(select(input_terms, 1, t) + from_blend(now.blend), 1);  // (B, 1, U)
    out.weights.push_back(softmax(additive_score(query, now.keys, v), -1));
    const Tensor blended = squeeze(matmul(out.weights.back(), now.past), 1);  // (B, 2H); zeros without a past
    const Tensor next = lstm_step(select(gates, 1, t), blended, cell.weight_hh, cell.bias_hh);
    states.push_back(slice(next, 1, 0, hidden));
    now.blend = slice(blended, 1, 0, hidden);
    now.past = concat({now.past, unsqueeze(next, 1)}, 1);
    now.keys = concat({now.keys, unsqueeze(from_past(states.back()), 1)}, 1);
  }
  // Without words, the result is empty, but recorded on the tape.
  out.states = states.empty() ? slice(gates, 2, 0, hidden) + unsqueeze(now.blend, 1) : stack(states, 1);
  return out;
}

}  // namespace tapestry
