// Tensors as text that a person can read.
#include <algorithm>
#include <cmath>

#include "core/tensor/tensor.hpp"

namespace tapestry {

namespace {

constexpr Size kEdge = 3;    // elements shown at each end of a long axis
constexpr Size kWhole = 12;  // axes up to this long are shown whole

/// One format for all numbers of a tensor: whole numbers plain, others with four decimals or in scientific
/// form.
std::string number(double value, bool whole, bool wide) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (whole) return fmt::format("{:.0f}", value);
  return wide ? fmt::format("{:.4e}", value) : fmt::format("{:.4f}", value);
}

struct Printer {
  const std::vector<double>& values;
  const Dims& shape;
  bool whole = true, wide = false;
  int width = 0;

  void measure() {
    double largest = 0, smallest = HUGE_VAL;
    for (double v : values) {
      if (!std::isfinite(v)) continue;
      whole = whole && v == std::floor(v) && std::fabs(v) < 1e9;
      if (v != 0) largest = std::max(largest, std::fabs(v)), smallest = std::min(smallest, std::fabs(v));
    }
    wide =
        !whole && (largest >= 1e5 || (largest > 0 && largest < 1e-3) || (smallest < 1e-4 && largest > 1e3));
    for (double v : values) width = std::max(width, static_cast<int>(number(v, whole, wide).size()));
  }

  std::string block(int axis, Size first) const {
    if (axis == shape.rank())
      return fmt::format("{:>{}}", number(values[static_cast<std::size_t>(first)], whole, wide), width);
    const Size step = shape.count(axis + 1, shape.rank());
    const bool last = axis == shape.rank() - 1;
    const std::string between = last ? ", " : ",\n" + std::string(static_cast<std::size_t>(axis) + 1, ' ');
    std::string text = "[";
    for (Size i = 0; i < shape[axis]; ++i) {
      if (i > 0) text += between;
      if (shape[axis] > kWhole && i == kEdge) {
        text += "…";
        i = shape[axis] - kEdge - 1;
        continue;
      }
      text += block(axis + 1, first + i * step);
    }
    return text + "]";
  }
};

}  // namespace

std::string to_string(const Tensor& x) {
  if (!x.defined()) return "Tensor()";
  if (!x.body().buffer) return fmt::format("Tensor {} {}, no values yet", describe(x), name_of(x.dtype()));
  const std::vector<double> values = x.to_vector();
  Printer printer{values, x.shape()};
  printer.measure();
  return fmt::format("{}  {} {}", printer.block(0, 0), describe(x), name_of(x.dtype()));
}

}  // namespace tapestry
