// The axis of a chart: its range, and ticks at round numbers.
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
  /// An axis that holds every drawable value, with about `wanted` ticks. Without any: 0 to 1 (log: 1 to 10).
  Axis(Scale scale, const std::vector<double>& values, int wanted);

  /// Finite, not beyond ±1e300, and on a log axis positive.
  bool drawable(double value) const;
  /// 0 at the least value, 1 at the most.
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

/// "−0.25", "1,000", "10⁻⁵": with `decimals` digits after the point where it is written out.
std::string axis_number(double value, int decimals);

}  // namespace tapestry::kit
