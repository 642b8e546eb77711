// The error that a user can put right: a bad option, a bad file, a bad line in a file.
#pragma once

#include <stdexcept>

namespace tapestry::kit {

/// Thrown for what the user gave. Its message is one sentence: what, where (path and line), what to try.
/// Lesson::run prints it as one line and ends with exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tapestry::kit
