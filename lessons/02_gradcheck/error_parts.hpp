// Splits the error of a difference into truncation error and rounding error. A page of the book shows both errors for
// the ε that the reader picks.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson02 {

/// The errors of one kind of difference of tanh at kPlace, for several ε.
struct ErrorParts {
  std::string name;
  bool central;
  std::vector<double> epsilon = {};
  std::vector<double> error = {};  ///< signed: the difference minus the derivative
};

/// The x at which tanh is differentiated.
constexpr double kPlace = 0.7;

/// Returns the truncation error of a difference with step `epsilon`, which is the error without rounding. Its terms are
/// those of tanh's Taylor series at kPlace that do not cancel.
double truncation_of_tanh(double epsilon, bool central);

/// Writes error_parts.json. For each ε, it contains the error, the truncation error and the rounding error. The
/// rounding error is the error minus the truncation error.
void save(const std::vector<ErrorParts>& curves, const kit::Options& options);

}  // namespace tapestry::lesson02
