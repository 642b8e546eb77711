// Chart axis with a range and ticks at round numbers.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

struct Tick {
  double value;
  std::string label;
};

class Axis {
 public:
  /// Builds an axis that covers every drawable value, with about `wanted` ticks. If no value is drawable, the range is
  /// 0 to 1 (log: 1 to 10).
  Axis(Scale scale, const std::vector<double>& values, int wanted);

  /// Returns true if the value is finite, |value| < 1e300 and, on a log axis, positive (above 1e-300).
  bool drawable(double value) const;
  /// Returns the position of a value: 0 at the start of the axis, 1 at its end.
  double place(double value) const;
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  void make_linear(int wanted);
  void make_log(int wanted);

  Scale scale_;
  double least_;
  double most_;
  std::vector<Tick> ticks_;
};

/// Formats a tick: "−0.25", "1,000", "10⁻⁵". `decimals` applies unless the number is written as a power of ten.
std::string axis_number(double value, int decimals);

}  // namespace tapestry::kit
