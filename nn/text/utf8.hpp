// UTF-8 to code points and back.
#pragma once

#include <string>
#include <string_view>

namespace tapestry {

/// Returns the code points of `text`. Throws Error with the first byte that is not valid UTF-8; `what` names
/// the text in the message ("the text to encode").
std::u32string code_points_of(std::string_view text, std::string_view what = "the text");

/// Returns the first code point of `text`, which must start with a valid UTF-8 character.
char32_t first_code_point(std::string_view text);

/// Appends one code point to `out` as UTF-8.
void append_utf8(std::string& out, char32_t point);
/// Returns code points as UTF-8.
std::string utf8_of(std::u32string_view points);

}  // namespace tapestry
