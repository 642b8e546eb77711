// Unicode decomposition, lower case and character classes, with the library utf8proc.
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

/// Classes of characters that tokenizers distinguish: general category L (letters without their marks),
/// general category N, the property White_Space, and all others.
enum class CharacterClass { letter, number, space, other };

/// Returns the class of a code point, by the Unicode version of the installed utf8proc. Unassigned and invalid code
/// points are CharacterClass::other.
CharacterClass character_class(char32_t point);

}  // namespace tapestry
