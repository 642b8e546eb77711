// Errors: one exception type, and one way to raise it with a formatted sentence.
#pragma once

#include <fmt/core.h>

#include <stdexcept>

namespace tapestry {

/// Every misuse that Tapestry notices is reported by this type, in one sentence: what, where, the shapes
/// or the path, and what to try.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// fail() without its types, so that each use costs a call and no more.
[[noreturn]] void throw_error(fmt::string_view format, fmt::format_args args);

}  // namespace detail

/// Throws Error with the formatted text.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  detail::throw_error(format, fmt::make_format_args(args...));
}

}  // namespace tapestry
