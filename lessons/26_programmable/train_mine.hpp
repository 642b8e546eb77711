// What `lessons/run 26 --mine` does: the learner's mechanism checked, timed, drawn and trained.
#pragma once

#include <string>

#include "lessons/kit/options.hpp"

namespace lesson26 {

/// task: "voices", the puzzle of section 3, with one block; "sorting", lesson 20's task with its model of
/// three blocks.
void train_mine(const std::string& task, const tapestry::kit::Options& options,
                tapestry::kit::Report& report);

}  // namespace lesson26
