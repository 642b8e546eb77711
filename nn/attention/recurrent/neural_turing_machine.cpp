#include "nn/attention/recurrent/neural_turing_machine.hpp"

#include <utility>
#include <vector>

#include "core/core.hpp"

namespace tapestry {

namespace {

// Layout of the interface, one row: the keys of all heads, then all strengths, gates, shifts and sharpnesses, then the
// erase vectors and the add vectors of the writers.
struct Layout {
  Size heads, key, strength, gate, shift, sharpness, erase, add, end;  // number of heads, then offsets
};

Layout layout_of(const NeuralTuringMachineOptions& o) {
  Layout at{};
  at.heads = o.readers + o.writers;
  at.key = 0;
  at.strength = at.key + at.heads * o.width;
  at.gate = at.strength + at.heads;
  at.shift = at.gate + at.heads;
  at.sharpness = at.shift + at.heads * (2 * o.reach + 1);
  at.erase = at.sharpness + at.heads;
  at.add = at.erase + o.writers * o.width;
  at.end = at.add + o.writers * o.width;
  return at;
}

NeuralTuringMachineOptions checked(const NeuralTuringMachineOptions& o, const std::string& name) {
  for (const Size size : {o.in, o.hidden, o.slots, o.width, o.readers, o.writers})
    if (size < 1)
      fail(
          "[neural_turing_machine{}] in, hidden, slots, width, readers and writers must be at least 1, got {}",
          name, size);
  if (o.reach < 0 || 2 * o.reach + 1 > o.slots)
    fail(
        "[neural_turing_machine{}] reach must be at least 0 and its shifts fit the slots, got −{} … {} and {} slots",
        name, o.reach, o.reach, o.slots);
  return o;
}

/// Returns the initial biases of the interface.
Initialiser first_interface(const NeuralTuringMachineOptions& o) {
  return [o](const InitialiserArguments& first) {
    for (double& value : first.values) value = 0;
    const Layout at = layout_of(o);
    const auto set = [&](Size row, double value) { first.values[static_cast<std::size_t>(row)] = value; };
    for (Size h = 0; h < at.heads; ++h) {
      const HeadStart start = h < o.readers ? o.readers_start : o.writers_start;
      if (start == HeadStart::undecided) continue;
      const bool on = start == HeadStart::advance && o.reach > 0;
      // β is 4.0; the preferred shift is e² times as likely as any other; γ is 2.3.
      set(at.strength + h, 4);
      set(at.shift + h * (2 * o.reach + 1) + (on ? o.reach + 1 : o.reach), 2);
      set(at.sharpness + h, 1);
    }
  };
}

}  // namespace

NeuralTuringMachine::NeuralTuringMachine(Parent parent, const NeuralTuringMachineOptions& options)
    : Module(std::move(parent)),
      options_(checked(options, in_quotes())),
      controller{{*this, "controller"}, options_.in + options_.readers * options_.width, options_.hidden},
      interface_weight{*this, "interface_weight", {layout_of(options_).end, options_.hidden}, xavier},
      interface_bias{*this, "interface_bias", {layout_of(options_).end}, first_interface(options_)},
      blank{*this, "blank", {options_.width}, constant(0.01)} {}

NeuralTuringMachineState NeuralTuringMachine::step(const Tensor& x,
                                                   const NeuralTuringMachineState& state) const {
  const NeuralTuringMachineOptions& o = options_;
  const Size batch = x.size(0);
  NeuralTuringMachineState next;
  const Tensor seen = concat({x, reshape(state.read, {batch, o.readers * o.width})}, 1);
  next.hidden = controller(seen, state.hidden).hidden;
  const Tensor all = linear(next.hidden, interface_weight, interface_bias);
  const Layout at = layout_of(o);
  const auto part = [&](Size begin, Size end, Size count) {  // (B, count, …)
    return reshape(slice(all, 1, begin, end), {batch, count, (end - begin) / count});
  };
  Addressing how;
  if (o.moves != HeadMoves::by_shift) {
    how.key = part(at.key, at.strength, at.heads);
    how.strength = softplus(part(at.strength, at.gate, at.heads));
    how.gate = sigmoid(part(at.gate, at.shift, at.heads));
  }
  if (o.moves != HeadMoves::by_content) {
    how.shift = softmax(part(at.shift, at.sharpness, at.heads), -1);
    how.sharpness = 1 + softplus(part(at.sharpness, at.erase, at.heads));
  }
  next.heads = address(state.memory, state.heads, how);
  next.memory = write_memory(state.memory, slice(next.heads, 1, o.readers, at.heads),
                             sigmoid(part(at.erase, at.add, o.writers)), part(at.add, at.end, o.writers));
  next.read = read_memory(next.memory, slice(next.heads, 1, 0, o.readers));
  return next;
}

NeuralTuringMachineOutput NeuralTuringMachine::operator()(const Tensor& x,
                                                          const NeuralTuringMachineState& given) const {
  const NeuralTuringMachineOptions& o = options_;
  if (x.rank() != 3 || x.size(2) != o.in)
    fail("[neural_turing_machine{0}] x must be (batch, time, {2}), got {1}", in_quotes(), describe(x), o.in);
  const Size batch = x.size(0), steps = x.size(1);
  const auto part = [&](const Tensor& part_given, const Dims& shape, const char* what, const auto& first) {
    if (!part_given.defined()) return first();
    if (part_given.shape() != shape)
      fail("[neural_turing_machine{0}] the state's {1} must be {3}, got {2}", in_quotes(), what,
           describe(part_given), to_string(shape));
    return part_given;
  };
  NeuralTuringMachineOutput out;
  const Dims memory{batch, o.slots, o.width}, places{batch, heads(), o.slots},
      read{batch, o.readers, o.width}, hidden{batch, o.hidden};
  NeuralTuringMachineState& state = out.last;
  state.memory = part(given.memory, memory, "memory", [&] { return expand(blank, memory); });
  state.heads = part(given.heads, places, "heads", [&] {  // all at slot 0
    return pad(ones({batch, heads(), 1}, x.dtype()), -1, 0, o.slots - 1);
  });
  state.read = part(given.read, read, "read", [&] { return zeros(read, x.dtype()); });
  state.hidden = part(given.hidden, hidden, "hidden", [&] { return zeros(hidden, x.dtype()); });
  std::vector<Tensor> states, head_weights;
  for (Size t = 0; t < steps; ++t) {
    state = step(select(x, 1, t), state);
    states.push_back(concat({state.hidden, reshape(state.read, {batch, o.readers * o.width})}, 1));
    head_weights.push_back(state.heads);
  }
  if (steps > 0) {
    out.states = stack(states, 1);
    out.heads = stack(head_weights, 1);
  } else {  // both are empty, but recorded on the tape
    const NeuralTuringMachineState one = step(zeros({batch, o.in}, x.dtype()), state);
    const auto none = [](const Tensor& y) { return slice(unsqueeze(y, 1), 1, 0, 0); };
    out.states = none(concat({one.hidden, reshape(one.read, {batch, o.readers * o.width})}, 1)) +
                 sum(x, {2}, Keep::yes);
    out.heads = none(one.heads);
  }
  return out;
}

}  // namespace tapestry
