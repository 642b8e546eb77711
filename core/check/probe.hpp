// Probe, which computes the analytic gradients and the finite differences for gradcheck.
#pragma once

#include <string>
#include <vector>

#include "core/check/gradcheck.hpp"
#include "core/check/report.hpp"
#include "core/tensor/random.hpp"

namespace tapestry::detail {

/// A line along which a target's value is moved: element `index` or, if index < 0, `direction`.
struct Line {
  Size index = -1;
  std::vector<double> direction = {};
};

/// Finite differences with one step size.
struct Slopes {
  double central, left, right;
  double step;
  double noise;  // estimated rounding error of `central`
};

/// Evaluates f, its gradients and its finite differences at one point.
class Probe {
 public:
  /// Computes the analytic gradients. Throws Error for inputs, leaves or results that are not f64, for frozen leaves,
  /// and if there is no tensor to check.
  Probe(const CheckedFunction& f, const GradcheckInputs& inputs, const GradcheckInputs& leaves,
        const GradcheckOptions& options);
  ~Probe() { random_state() = random_; }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  std::vector<CheckTarget>& targets() { return targets_; }
  /// Names of the ops that f ran.
  const std::string& ops() const { return ops_; }
  /// Largest Σ |cotangent ⊙ f| so far, which the estimate of rounding errors uses.
  double magnitude() const { return magnitude_; }
  bool result_is_empty() const { return cotangent_.empty(); }
  /// Evaluates f again and returns true if the result is the same.
  bool repeats();
  /// Computes central and one-sided differences along a line, with `shrink` times the step of the options.
  Slopes measure(CheckTarget& target, const Line& line, double shrink);

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
