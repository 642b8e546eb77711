// The measuring half of gradcheck: what the rules give, and what differences of f give.
#pragma once

#include <string>
#include <vector>

#include "core/check/gradcheck.hpp"
#include "core/check/report.hpp"
#include "core/tensor/random.hpp"

namespace tapestry::detail {

/// Element `index` of a target or, with index < 0, a direction through all of its elements.
struct Path {
  Size index = -1;
  std::vector<double> direction = {};
};

/// What differences at one step say.
struct Slopes {
  double central, left, right;
  double step;
  double noise;  // what rounding alone may do to `central`
};

/// Holds f at one point, and moves away from it to measure.
class Probe {
 public:
  /// Takes the analytic gradients at once. Throws for what is not f64, and for frozen leaves.
  Probe(const CheckedFunction& f, const GradcheckInputs& inputs, const GradcheckInputs& leaves,
        const GradcheckOptions& options);
  ~Probe() { random_state() = random_; }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  std::vector<CheckTarget>& targets() { return targets_; }
  /// The ops that f ran.
  const std::string& ops() const { return ops_; }
  /// Σ |cotangent ⊙ f|: what rounding is relative to.
  double magnitude() const { return magnitude_; }
  bool result_is_empty() const { return cotangent_.empty(); }
  /// False if f gives another value now.
  bool repeats();
  /// Central and one-sided differences along a line, at `shrink` times the step of the options.
  Slopes measure(CheckTarget& target, const Path& line, double shrink);

 private:
  void add_target(const Tensor& value, std::string label);
  void differentiate();
  double weighted_sum(const Tensor& y);
  double loss();

  const CheckedFunction& f_;
  double epsilon_;
  std::uint64_t seed_;
  RandomState random_;
  std::vector<Tensor> arguments_;
  std::vector<CheckTarget> targets_;
  std::vector<double> cotangent_;
  std::string ops_;
  double loss_ = 0;
  double magnitude_ = 0;
};

}  // namespace tapestry::detail
