// The check that a lesson's worked example, which the reader computes on paper, matches the program.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/program/report.hpp"

namespace tapestry::kit {

struct Written {
  double computed;  ///< the program's value
  double written;   ///< the value in the text, rounded to the decimals shown: 0.804
};

/// Checks that each written figure is the computed one, rounded. The tolerance is 0.6 of the last decimal, so that
/// a calculation with rounded intermediate figures still passes. Prints one line, which names the figures that
/// differ. Returns true if all agree.
bool check_worked_example(Report& report, const std::string& name, const std::vector<Written>& figures);

}  // namespace tapestry::kit
