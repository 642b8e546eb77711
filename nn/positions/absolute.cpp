#include "nn/positions/absolute.hpp"

#include <cmath>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

void check_sequence(const Module& positions, const Tensor& x, Size first) {
  if (x.rank() < 2 || first < 0)
    fail("[positions{}] x must be (…, time, width) and first at least 0, got {} and {}",
         positions.in_quotes(), describe(x), first);
}

}  // namespace

Tensor sinusoids(Size first, Size count, Size width, DType dtype) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(count * width));
  for (Size p = first; p < first + count; ++p)
    for (Size i = 0; i < width; ++i) {
      const double exponent = static_cast<double>(i - i % 2) / static_cast<double>(width);
      const double angle = static_cast<double>(p) / std::pow(10000.0, exponent);
      values.push_back(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return tensor(values, {count, width}, dtype);
}

Tensor SinusoidalPositions::operator()(const Tensor& x, Size first) const {
  check_sequence(*this, x, first);
  return x + sinusoids(first, x.size(-2), x.size(-1), x.dtype());
}

LearnedPositions::LearnedPositions(Parent parent, Size longest, Size width, double deviation)
    : InputPositions(std::move(parent)), weight{*this, "weight", {longest, width}, normal(deviation)} {}

Tensor LearnedPositions::operator()(const Tensor& x, Size first) const {
  check_sequence(*this, x, first);
  if (x.size(-1) != weight.size(1))
    fail("[positions{0}] x must be (…, time, {2}), got {1}", in_quotes(), describe(x), weight.size(1));
  if (first + x.size(-2) > weight.size(0))
    fail(
        "[positions{0}] the text must fit the {4} learned positions, got {1} tokens from position {2} on, "
        "which need {3}; shorten it",
        in_quotes(), x.size(-2), first, first + x.size(-2), weight.size(0));
  return x + slice(weight, 0, first, first + x.size(-2));
}

PositionScheme sinusoidal() {
  return {
      .input = [](Parent parent, Size) { return std::make_unique<SinusoidalPositions>(std::move(parent)); }};
}

PositionScheme learned_positions(Size longest, double deviation) {
  return {.input = [=](Parent parent, Size width) {
    return std::make_unique<LearnedPositions>(std::move(parent), longest, width, deviation);
  }};
}

}  // namespace tapestry
