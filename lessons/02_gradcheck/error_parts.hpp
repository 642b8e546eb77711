// Of what the error of a difference is made: for a page of the book, which shows it at the ε that its reader picks.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson02 {

/// A difference of tanh at kPlace, at several ε.
struct ErrorParts {
  std::string name;
  bool central;
  std::vector<double> epsilon = {};
  std::vector<double> error = {};  ///< with its sign: what was found, minus the derivative
};

constexpr double kPlace = 0.7;

/// What a difference with that ε would be off by if no number were rounded: the terms of tanh's series at kPlace
/// that it does not cancel.
double truncation_of_tanh(double epsilon, bool central);

/// Writes error_parts.json: of each error how much is truncation; the rest is rounding.
void save(const std::vector<ErrorParts>& curves, const kit::Options& options);

}  // namespace tapestry::lesson02
