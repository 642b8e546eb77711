// Errors: one exception type, and one way to raise it with a formatted sentence.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace tapestry {

/// Every misuse that Tapestry notices is reported by this type, in one sentence: what, where, the shapes
/// or the path, and what to try.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Error with the formatted text.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tapestry
