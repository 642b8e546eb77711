// Interactive mode: judges the answer at each save and responds to single keys.
#pragma once

#include "lessons/grader/session.hpp"

namespace tapestry::grader {

/// Watches the current exercise, beginning with `first`, until `q`, Ctrl-C or the end of input. Restores the terminal.
void watch(Session& session, const Exercise& first);

}  // namespace tapestry::grader
