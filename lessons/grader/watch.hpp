// The terminal while a learner works: judges at each save, and takes single keys.
#pragma once

#include "lessons/grader/session.hpp"

namespace tapestry::grader {

/// Until `q`, Ctrl-C or the end of input. Puts the terminal back as it was.
void watch(Session& session, const Exercise& first);

}  // namespace tapestry::grader
