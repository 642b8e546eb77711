#include "nn/positions/rotary.hpp"

#include <cmath>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

RotaryPositions::RotaryPositions(Parent parent, const PairShape& shape, double base)
    : PairPositions(std::move(parent)), base_(base) {
  if (shape.head_width % 2 != 0)
    fail("[rotary{}] head width must be even to rotate pairs of components, got {}", in_quotes(),
         shape.head_width);
  if (!(base > 0) || !std::isfinite(base))
    fail("[rotary{}] base must be positive and finite, got {}", in_quotes(), base);
}

Tensor RotaryPositions::rotate(const Tensor& x, Size first) const {
  if (x.size(-1) % 2 != 0)
    fail("[rotary{}] width must be even to rotate pairs of components, got {}", in_quotes(), describe(x));
  const Size time = x.size(-2), half = x.size(-1) / 2;
  std::vector<double> cosines, sines;
  for (Size p = first; p < first + time; ++p)
    for (Size i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(p) * std::pow(base_, -static_cast<double>(i) / static_cast<double>(half));
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  const Tensor cosine = tensor(cosines, {time, half}, x.dtype()),
               sine = tensor(sines, {time, half}, x.dtype());
  const Tensor a = slice(x, -1, 0, half), b = slice(x, -1, half, 2 * half);
  return concat({a * cosine - b * sine, a * sine + b * cosine}, -1);
}

PositionScheme rotary(double base) {
  return {.pairs = [=](Parent parent, const PairShape& shape) {
    return std::make_unique<RotaryPositions>(std::move(parent), shape, base);
  }};
}

}  // namespace tapestry
