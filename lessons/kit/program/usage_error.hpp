// Error that the user can fix: a bad option, a bad file, a bad line in a file.
#pragma once

#include <stdexcept>

namespace tapestry::kit {

/// Error in the user's input. The message says what is wrong, where (path and line), and what to try. Lesson::run
/// prints it as one line and returns exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tapestry::kit
