#include "nn/attention/recurrent/addressing.hpp"

#include "core/core.hpp"

namespace tapestry {

namespace {

constexpr double kLeast = 1e-8;  // of a weight, before a power; of a square, below a root

Tensor unit(const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes) + kLeast); }

/// x's shape with another last size.
Dims with_last(Dims shape, Size last) {
  shape.erase(shape.rank() - 1);
  shape.push_back(last);
  return shape;
}

void check_shape(const Tensor& x, const Dims& shape, const char* what) {
  if (x.defined() && x.shape() != shape)
    fail("[address] {} {} is not {}", what, describe(x), to_string(shape));
}

/// Axes in front, heads, slots and width.
void check_memory(const Tensor& memory, const Tensor& weights, const char* op) {
  bool fits = memory.rank() >= 2 && weights.rank() == memory.rank() && weights.size(-1) == memory.size(-2);
  for (int axis = 0; fits && axis < memory.rank() - 2; ++axis) fits = memory.size(axis) == weights.size(axis);
  if (!fits)
    fail(
        "[{}] memory {} and weights {} do not fit: they are (…, slots, width) and (…, heads, slots), with the same "
        "axes in front",
        op, describe(memory), describe(weights));
}

}  // namespace

Tensor content_weights(const Tensor& memory, const Tensor& key, const Tensor& strength) {
  return softmax(strength * matmul(unit(key), transpose(unit(memory))), -1);
}

Tensor shift_weights(const Tensor& weights, const Tensor& shift) {
  const Size slots = weights.size(-1), places = shift.size(-1), reach = places / 2;
  // Slots n − r … n + r of the ring stand in one row: the last r in front, the first r behind.
  const Tensor ring =
      reach == 0
          ? weights
          : concat({slice(weights, -1, slots - reach, slots), weights, slice(weights, -1, 0, reach)}, -1);
  Tensor moved;
  for (Size i = 0; i < places; ++i) {
    // j = i − r on: slot n gets what stood at n − j, which is at n − j + r in the ring.
    const Size first = places - 1 - i;
    const Tensor part = slice(shift, -1, i, i + 1) * slice(ring, -1, first, first + slots);
    moved = i == 0 ? part : moved + part;
  }
  return moved;
}

Tensor sharpen_weights(const Tensor& weights, const Tensor& sharpness) {
  // (w + ε)^γ, divided by its sum, as a softmax: no power under- or overflows.
  return softmax(sharpness * log(weights + kLeast), -1);
}

Tensor address(const Tensor& memory, const Tensor& before, const Addressing& how) {
  check_memory(memory, before, "address");
  const Dims one = with_last(before.shape(), 1);
  check_shape(how.key, with_last(before.shape(), memory.size(-1)), "the key");
  check_shape(how.strength, one, "the strength");
  check_shape(how.gate, one, "the gate");
  check_shape(how.sharpness, one, "the sharpness");
  if (how.key.defined() && !how.strength.defined())
    fail("[address] a key needs a strength {}: without it cosines, which are 1 at most, hardly differ",
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
    fail("[address] a shift has an odd number of places, −r … r, and no more than the {} slots, not {}",
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
    fail("[write_memory] what is erased {} and added {} is not {}", describe(erase), describe(added),
         to_string(rows));
  Tensor kept = memory;
  for (Size h = 0; h < weights.size(-2); ++h)
    kept = kept * (1 - matmul(transpose(slice(weights, -2, h, h + 1)), slice(erase, -2, h, h + 1)));
  return kept + matmul(transpose(weights), added);
}

}  // namespace tapestry
