// Known messages of compilers, and the sentences that explain them.
#pragma once

#include <string>
#include <string_view>

namespace tapestry::grader {

/// Returns the sentence that explains a message of GCC or Clang in the C locale, or "" for an unknown message. The
/// same mistake gets the same sentence from both. Takes time linear in the message for each pattern.
std::string known_error(std::string_view message);

/// Returns a compiler's text for display: the library's namespaces removed, cut to 400 characters, since the names of
/// template arguments can fill 60 KB.
std::string shortened(const std::string& text);

}  // namespace tapestry::grader
