// Unicode decomposition and lower case, with the library utf8proc.
#pragma once

#include <string>
#include <string_view>

namespace tapestry {

/// Returns the canonical decomposition (NFD), with marks in canonical order: "é" becomes "e" and U+0301, and
/// a Hangul syllable becomes its letters. Throws Error for an invalid code point.
std::u32string decomposed(std::u32string_view points);

/// Appends the lower case of one character, regardless of its neighbours, so "Σ" becomes "σ" at the end of a
/// word too. U+0130 ("İ") is the only character that becomes two: "i" and U+0307.
void append_lower_case(std::u32string& out, char32_t point);

}  // namespace tapestry
