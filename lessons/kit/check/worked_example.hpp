// "The same with a pencil": the figures of an example that the reader works out on paper.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/program/report.hpp"

namespace tapestry::kit {

struct Written {
  double computed;  ///< what the program has
  double written;   ///< what stands in the text, rounded to the decimals that it shows: 0.804
};

/// Whether each written figure is the computed one, rounded: within six tenths of its last decimal, so that a chain of
/// rounded figures may end one rounding off. One line; those that differ are named. Returns whether all agree.
bool check_worked_example(Report& report, const std::string& name, const std::vector<Written>& figures);

}  // namespace tapestry::kit
