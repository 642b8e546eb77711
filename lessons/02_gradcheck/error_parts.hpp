// Splits the error of a difference into truncation and rounding. A page of the book shows both for the ε that its
// reader picks.
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

/// Returns the truncation error of a difference with step `epsilon`, the error that it would have without rounding: the
/// terms of tanh's Taylor series at kPlace that do not cancel.
double truncation_of_tanh(double epsilon, bool central);

/// Writes error_parts.json: each error, its truncation, and the rest, which is rounding.
void save(const std::vector<ErrorParts>& curves, const kit::Options& options);

}  // namespace tapestry::lesson02
