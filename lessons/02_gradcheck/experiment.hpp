// The curve of lesson 02, and its hunt for planted bugs.
#pragma once

#include <cmath>
#include <string>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson02 {

/// Where a difference is best: its lowest error, and the step.
struct Best {
  double epsilon = 0, error = HUGE_VAL;
};

/// f′(x) from values of f near x, with the step ε.
template <class T>
using Difference = T (*)(T (*f)(T), T x, T epsilon);

/// Each one's error for tanh at one place against ε, to v_curve.svg and error_parts.json, and where it is best.
struct Curves {
  Best central64, forward64, central32;
};
Curves error_curves(Difference<double> central64, Difference<double> forward64, Difference<float> central32,
                    const kit::Options& options);

/// softmax with the wrong sign in its rule, and the ops of the chapter that are broken with their right rules.
Tensor broken_softmax(const Tensor& x);
Tensor right_matmul(const Tensor& a, const Tensor& b);
Tensor right_mean(const Tensor& x);

/// Prints the report of the broken op, and checks that the right one passes and that the bug is called `expected`.
void hunt(kit::Report& report, const std::string& what, const std::string& expected,
          const GradcheckResult& right, const GradcheckResult& broken);

/// The rule's value ÷ the slope at the first place that is wrong, to six decimals.
double times_too_large(const GradcheckResult& broken);

}  // namespace tapestry::lesson02
