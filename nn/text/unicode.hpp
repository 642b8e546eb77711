// Facts of Unicode, from the library utf8proc: decomposition and lower case.
#pragma once

#include <string>
#include <string_view>

namespace tapestry {

/// Canonical decomposition, the form NFD: "é" becomes "e" and U+0301, a Hangul syllable its letters, and
/// marks stand in their canonical order.
std::u32string decomposed(std::u32string_view points);

/// Appends the lower case of one character, which never depends on its neighbours (so "Σ" is "σ" at the end
/// of a word too). U+0130, "İ", alone has a lower case of two: "i" and U+0307.
void append_lower_case(std::u32string& out, char32_t point);

}  // namespace tapestry
