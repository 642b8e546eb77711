// Formats tensors as readable text.
#include <algorithm>
#include <cmath>

#include "core/tensor/tensor.hpp"

namespace tapestry {

namespace {

/// Limits for printing an axis: all elements if there are at most `whole`, otherwise `edge` elements at each end.
struct Cut {
  Size whole, edge;

  Size shown(Size size) const { return size <= whole ? size : 2 * edge; }
  Size total(const Dims& shape) const {
    Size all = 1;
    for (const Size size : shape) all *= shown(size);
    return all;
  }
};

/// Returns the least restrictive cut that prints at most 1000 numbers. The last cut prints 64 of six long axes.
Cut cut_for(const Dims& shape) {
  for (const Cut cut : {Cut{12, 3}, Cut{6, 3}, Cut{4, 2}})
    if (cut.total(shape) <= 1000) return cut;
  return {2, 1};
}

/// Formats one number: integers plain, others with four decimals or in scientific notation. All numbers of a tensor use
/// the same format.
std::string number(double value, bool whole, bool wide) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (whole) return fmt::format("{:.0f}", value);
  return wide ? fmt::format("{:.4e}", value) : fmt::format("{:.4f}", value);
}

struct Printer {
  const Tensor& x;
  Cut cut = cut_for(x.shape());
  Dims shape = x.shape();
  std::vector<double> values = {};  // printed values, in row-major order
  bool whole = true, wide = false;
  int width = 0;

  /// Collects the printed values. `place` is an offset in elements from the tensor's first element.
  void take(int axis, Size place) {
    if (axis == shape.rank()) {
      dispatch(x.dtype(),
               [&](auto zero) { values.push_back(static_cast<double>(x.data<decltype(zero)>()[place])); });
      return;
    }
    for (Size i = 0; i < shape[axis]; ++i) {
      if (shape[axis] > cut.whole && i == cut.edge) i = shape[axis] - cut.edge;
      take(axis + 1, place + i * x.strides()[axis]);
    }
  }

  void measure() {
    take(0, 0);
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
    Size step = 1;
    for (int inner = axis + 1; inner < shape.rank(); ++inner) step *= cut.shown(shape[inner]);
    const bool last = axis == shape.rank() - 1;
    const std::string between = last ? ", " : ",\n" + std::string(static_cast<std::size_t>(axis) + 1, ' ');
    std::string text = "[";
    for (Size i = 0; i < cut.shown(shape[axis]); ++i) {
      if (i > 0) text += between;
      if (shape[axis] > cut.whole && i == cut.edge) text += "…" + between;
      text += block(axis + 1, first + i * step);
    }
    return text + "]";
  }
};

}  // namespace

std::string to_string(const Tensor& x) {
  if (!x.defined()) return "Tensor()";
  if (!x.impl().buffer) return fmt::format("Tensor {} {}, no values yet", describe(x), name_of(x.dtype()));
  Printer printer{x};
  printer.measure();
  return fmt::format("{}  {} {}", printer.block(0, 0), describe(x), name_of(x.dtype()));
}

}  // namespace tapestry
