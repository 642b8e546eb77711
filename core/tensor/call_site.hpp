// CallSite: the line of the user's source that called an op.
#pragma once

namespace tapestry {

/// File and line of a caller. A last parameter `CallSite at = {}` is filled in by the compiler. std::source_location
/// does the same, but Clang 14 does not have it.
struct CallSite {
  constexpr CallSite(const char* caller_file = __builtin_FILE(), int caller_line = __builtin_LINE())
      : file(caller_file), line(caller_line) {}

  const char* file;  // path as it was given to the compiler
  long line;         // as wide as a register: storing four bytes and loading eight would stall
};

}  // namespace tapestry
