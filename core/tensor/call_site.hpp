// The line of the user's source that called an op.
#pragma once

namespace tapestry {

/// As a defaulted last parameter, `CallSite at = {}` holds the caller's file and line. (std::source_location
/// does the same, but Clang 14 does not have it.)
struct CallSite {
  constexpr CallSite(const char* caller_file = __builtin_FILE(), int caller_line = __builtin_LINE())
      : file(caller_file), line(caller_line) {}

  const char* file;  // as the compiler was given it
  long line;  // as wide as the register it is passed in: four bytes stored and eight read would wait for
              // memory
};

}  // namespace tapestry
