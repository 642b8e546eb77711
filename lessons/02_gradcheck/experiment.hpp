// Measures the error of differences for many ε, and checks that gradcheck finds the bugs planted in lesson 02.
#pragma once

#include <cmath>
#include <string>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson02 {

/// The step at which a difference is most accurate, and its error there.
struct Best {
  double epsilon = 0, error = HUGE_VAL;
};

/// Estimates f′(x) from values of f near x, with the step `epsilon`.
template <class T>
using Difference = T (*)(T (*f)(T), T x, T epsilon);

/// The best steps and errors of three differences of tanh at kPlace.
struct Curves {
  Best central64, forward64, central32;
};
/// Measures the errors for many ε and writes them to v_curve.svg and error_parts.json.
Curves error_curves(Difference<double> central64, Difference<double> forward64, Difference<float> central32,
                    const kit::Options& options);

/// Softmax with a rule that has the wrong sign.
Tensor broken_softmax(const Tensor& x);
/// The product of two matrices and the mean of each row, with right rules. The chapter breaks one rule of each.
Tensor right_matmul(const Tensor& a, const Tensor& b);
Tensor right_mean(const Tensor& x);

/// Prints gradcheck's report on the broken op. Checks that the right op passes, and that the report on the broken op
/// contains `expected`, a word that names the bug.
void check_bug_is_named(kit::Report& report, const std::string& what, const std::string& expected,
                        const GradcheckResult& right, const GradcheckResult& broken);

/// Returns the rule's gradient divided by the central difference, for the first wrong element, to six decimals. Returns
/// 1 if no element is wrong.
double times_too_large(const GradcheckResult& broken);

}  // namespace tapestry::lesson02
