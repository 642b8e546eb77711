// Catch2, whichever of its generations is installed: 2.13 (one header) or 3 (many).
#pragma once

#if __has_include(<catch2/catch.hpp>)
#include <catch2/catch.hpp>

namespace Catch::Matchers {
/// The name that Catch2 3 gives to the matcher "this string contains that one".
inline auto ContainsSubstring(const std::string& text, CaseSensitive::Choice choice = CaseSensitive::Yes) {
  return Contains(text, choice);
}
}  // namespace Catch::Matchers
#else
#include <catch2/catch_all.hpp>
using Catch::Approx;
#endif
