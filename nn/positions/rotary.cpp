#include "nn/positions/rotary.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

bool positive(double x) { return x > 0 && std::isfinite(x); }

void check_scaling(const RotaryOptions& options, const std::string& name) {
  if (!positive(options.factor) || (options.scaling == RotaryScaling::none && options.factor != 1))
    fail(
        "[rotary{}] factor must be positive and finite, and 1 without scaling, got {}; set scaling to linear, ntk or "
        "yarn",
        name, options.factor);
  if (options.attention_factor && !positive(*options.attention_factor))
    fail("[rotary{}] attention_factor must be positive and finite, got {}", name, *options.attention_factor);
  if (options.scaling != RotaryScaling::yarn) return;
  if (options.trained_length < 1)
    fail(
        "[rotary{}] trained_length must be at least 1 for yarn, got {}; set it to the length of the training texts",
        name, options.trained_length);
  if (!positive(options.slow) || !std::isfinite(options.fast) || options.fast <= options.slow)
    fail("[rotary{}] slow must be positive and below fast, got {} and {}", name, options.slow, options.fast);
}

/// Returns YaRN's γ for pair i, which rotates by `frequency` per position: 1 keeps the frequency, 0 divides it by s.
double yarn_gamma(const RotaryOptions& options, double frequency, Size i, Size width) {
  const double turns = static_cast<double>(options.trained_length) / (2 * std::numbers::pi);
  if (options.ramp == YarnRamp::rotations)
    return std::clamp((turns * frequency - options.slow) / (options.fast - options.slow), 0.0, 1.0);
  // Returns the index, not rounded, of the pair that makes this many rotations within the trained length.
  const auto pair_of = [&](double rotations) {
    return static_cast<double>(width) * std::log(turns / rotations) / (2 * std::log(options.base));
  };
  const double first = std::max(0.0, std::floor(pair_of(options.fast)));
  const double last = std::min(static_cast<double>(width - 1), std::ceil(pair_of(options.slow)));
  const double length = last == first ? 0.001 : last - first;  // as in the published code
  return 1 - std::clamp((static_cast<double>(i) - first) / length, 0.0, 1.0);
}

}  // namespace

RotaryPositions::RotaryPositions(Parent parent, const PairShape& shape, const RotaryOptions& options)
    : PairPositions(std::move(parent)), options_(options), head_width_(shape.head_width) {
  if (options.width < 0 || options.width % 2 != 0)
    fail("[rotary{}] width must be even and at least 0 to rotate pairs of components, got {}", in_quotes(),
         options.width);
  if (head_width_ % 2 != 0 && options.width == 0)
    fail(
        "[rotary{}] head width must be even to rotate pairs of components, got {}; set RotaryOptions::width to rotate "
        "a part",
        in_quotes(), head_width_);
  if (head_width_ > 0 && options.width > head_width_)
    fail("[rotary{}] width must be at most the head's width {}, got {}", in_quotes(), head_width_,
         options.width);
  if (!positive(options.base))
    fail("[rotary{}] base must be positive and finite, got {}", in_quotes(), options.base);
  check_scaling(options, in_quotes());
}

Size RotaryPositions::rotated_width(Size head_width) const {
  return options_.width > 0 ? options_.width : head_width;
}

std::vector<double> RotaryPositions::frequencies(Size head_width) const {
  const Size width = rotated_width(head_width), half = width / 2;
  const double w = static_cast<double>(width);
  double base = options_.base;
  if (options_.scaling == RotaryScaling::ntk && width > 2) base *= std::pow(options_.factor, w / (w - 2));
  std::vector<double> frequencies;
  for (Size i = 0; i < half; ++i) {
    double frequency = std::pow(base, -static_cast<double>(i) / static_cast<double>(half));
    if (options_.scaling == RotaryScaling::linear) frequency /= options_.factor;
    if (options_.scaling == RotaryScaling::yarn) {
      const double gamma = yarn_gamma(options_, frequency, i, width);
      frequency *= gamma + (1 - gamma) / options_.factor;
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

Tensor RotaryPositions::rotate(const Tensor& x, Size first) const {
  const Size head_width = x.size(-1), width = rotated_width(head_width);
  if (head_width_ > 0 && head_width != head_width_)
    fail("[rotary{}] heads must have the width {} of the positions, got {}; set PairShape::head_width",
         in_quotes(), head_width_, describe(x));
  if (width % 2 != 0 || width > head_width)
    fail(
        "[rotary{}] width must be even to rotate pairs of components, and at least RotaryOptions::width ({}), got {}",
        in_quotes(), options_.width, describe(x));
  const Size time = x.size(-2), half = width / 2;
  const double factor = options_.attention_factor.value_or(
      options_.scaling == RotaryScaling::yarn ? 0.1 * std::log(std::max(1.0, options_.factor)) + 1 : 1);
  const std::vector<double> thetas = frequencies(head_width);
  std::vector<double> cosines, sines;
  for (Size p = first; p < first + time; ++p)
    for (const double theta : thetas) {
      const double angle = static_cast<double>(p) * theta;
      cosines.push_back(factor * std::cos(angle));
      sines.push_back(factor * std::sin(angle));
    }
  const Tensor cosine = tensor(cosines, {time, half}, x.dtype()),
               sine = tensor(sines, {time, half}, x.dtype());
  const Tensor rest = width < head_width ? slice(x, -1, width, head_width) : Tensor{};
  const Tensor part = width < head_width ? slice(x, -1, 0, width) : x;
  if (options_.pairs == RotaryPairs::halves) {
    const Tensor a = slice(part, -1, 0, half), b = slice(part, -1, half, width);
    std::vector<Tensor> rotated{a * cosine - b * sine, a * sine + b * cosine};
    if (rest.defined()) rotated.push_back(rest);
    return concat(rotated, -1);
  }
  Dims by_pair = part.shape();
  by_pair.back() = half;
  by_pair.push_back(2);
  const Tensor pairs = reshape(part, by_pair);
  const Tensor a = select(pairs, -1, 0), b = select(pairs, -1, 1);
  const Tensor rotated = reshape(stack({a * cosine - b * sine, a * sine + b * cosine}, -1), part.shape());
  return rest.defined() ? concat({rotated, rest}, -1) : rotated;
}

PositionScheme rotary(const RotaryOptions& options) {
  return {.pairs = [=](Parent parent, const PairShape& shape) {
    return std::make_unique<RotaryPositions>(std::move(parent), shape, options);
  }};
}

}  // namespace tapestry
