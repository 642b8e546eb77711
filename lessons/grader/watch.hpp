// The terminal while a learner works: judges at each save, and takes single keys.
#pragma once

#include "lessons/grader/desk.hpp"

namespace tapestry::grader {

/// Until `q`, Ctrl-C or the end of input. Puts the terminal back as it was.
void watch(Desk& desk, const Exercise& first);

}  // namespace tapestry::grader
