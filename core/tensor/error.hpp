// Error, the library's exception type, and fail(), which throws it with a formatted message.
#pragma once

#include <fmt/core.h>

#include <stdexcept>

namespace tapestry {

/// Exception that reports a misuse of the library. Its message says what must hold, gives the shapes or the path, and
/// suggests a fix.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// Type-erased part of fail(), which keeps the code at each use small.
[[noreturn]] void throw_error(fmt::string_view format, fmt::format_args args);

}  // namespace detail

/// Throws Error with the formatted message.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  detail::throw_error(format, fmt::make_format_args(args...));
}

}  // namespace tapestry
