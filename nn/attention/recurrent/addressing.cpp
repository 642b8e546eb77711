#include "nn/attention/recurrent/addressing.hpp"

#include "core/core.hpp"

namespace tapestry {

namespace {

constexpr double kEpsilon = 1e-8;  // added to weights before a power, and to squares below a root

Tensor unit(const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes) + kEpsilon); }

/// Returns the shape with another size of the last axis.
Dims with_last(Dims shape, Size last) {
  shape.erase(shape.rank() - 1);
  shape.push_back(last);
  return shape;
}

void check_shape(const Tensor& x, const Dims& shape, const char* what) {
  if (x.defined() && x.shape() != shape)
    fail("[address] {0} must be {2}, got {1}", what, describe(x), to_string(shape));
}

/// Throws unless memory and weights have the same leading axes and the same number of slots.
void check_memory(const Tensor& memory, const Tensor& weights, const char* op) {
  bool fits = memory.rank() >= 2 && weights.rank() == memory.rank() && weights.size(-1) == memory.size(-2);
  for (int axis = 0; fits && axis < memory.rank() - 2; ++axis) fits = memory.size(axis) == weights.size(axis);
  if (!fits)
    fail(
        "[{}] memory and weights must be (…, slots, width) and (…, heads, slots) with the same leading axes, got {} "
        "and {}",
        op, describe(memory), describe(weights));
}

}  // namespace

Tensor content_weights(const Tensor& memory, const Tensor& key, const Tensor& strength) {
  return softmax(strength * matmul(unit(key), transpose(unit(memory))), -1);
}

Tensor shift_weights(const Tensor& weights, const Tensor& shift) {
  const Size slots = weights.size(-1), places = shift.size(-1), reach = places / 2;
  // The ring as one row: the last r slots, all slots, the first r slots. So slots n − r … n + r are adjacent for every
  // n.
  const Tensor ring =
      reach == 0
          ? weights
          : concat({slice(weights, -1, slots - reach, slots), weights, slice(weights, -1, 0, reach)}, -1);
  Tensor moved;
  for (Size i = 0; i < places; ++i) {
    // Shift j = i − r: slot n takes the weight of slot n − j, which is at n − j + r in the ring.
    const Size first = places - 1 - i;
    const Tensor part = slice(shift, -1, i, i + 1) * slice(ring, -1, first, first + slots);
    moved = i == 0 ? part : moved + part;
  }
  return moved;
}

Tensor sharpen_weights(const Tensor& weights, const Tensor& sharpness) {
  // (w + ε)^γ, divided by its sum, as a softmax: no power underflows or overflows.
  return softmax(sharpness * log(weights + kEpsilon), -1);
}

Tensor address(const Tensor& memory, const Tensor& before, const Addressing& how) {
  check_memory(memory, before, "address");
  const Dims one = with_last(before.shape(), 1);
  check_shape(how.key, with_last(before.shape(), memory.size(-1)), "the key");
  check_shape(how.strength, one, "the strength");
  check_shape(how.gate, one, "the gate");
  check_shape(how.sharpness, one, "the sharpness");
  if (how.key.defined() && !how.strength.defined())
    fail(
        "[address] a key must have a strength {}; without it the cosines, which are at most 1, hardly differ",
        to_string(one));
  Tensor weights = before;
  if (how.key.defined()) {
    const Tensor found = content_weights(memory, how.key, how.strength);
    weights = how.gate.defined() ? how.gate * found + (1 - how.gate) * before : found;
  }
  if (!how.shift.defined()) return weights;
  const Size places = how.shift.rank() > 0 ? how.shift.size(-1) : 0;
  check_shape(how.shift, with_last(before.shape(), places), "the shift");
  if (places % 2 == 0 || places > before.size(-1))
    fail("[address] the shift must have an odd number of entries, −r … r, and at most the {} slots, got {}",
         before.size(-1), places);
  weights = shift_weights(weights, how.shift);
  return how.sharpness.defined() ? sharpen_weights(weights, how.sharpness) : weights;
}

Tensor read_memory(const Tensor& memory, const Tensor& weights) {
  check_memory(memory, weights, "read_memory");
  return matmul(weights, memory);
}

Tensor write_memory(const Tensor& memory, const Tensor& weights, const Tensor& erase, const Tensor& added) {
  check_memory(memory, weights, "write_memory");
  const Dims rows = with_last(weights.shape(), memory.size(-1));
  if (erase.shape() != rows || added.shape() != rows)
    fail("[write_memory] erase and added must be {2}, got {0} and {1}", describe(erase), describe(added),
         to_string(rows));
  Tensor kept = memory;
  for (Size h = 0; h < weights.size(-2); ++h)
    kept = kept * (1 - matmul(transpose(slice(weights, -2, h, h + 1)), slice(erase, -2, h, h + 1)));
  return kept + matmul(transpose(weights), added);
}

}  // namespace tapestry
