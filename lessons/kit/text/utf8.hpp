// UTF-8 validation and decoding, and the width of text in a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/utf8.hpp"

namespace tapestry::kit {

/// Returns the offset of the first byte that is not part of valid UTF-8, or nothing if all of `text` is valid. Overlong
/// forms, surrogates and values above U+10FFFF are invalid.
std::optional<std::size_t> invalid_utf8_at(std::string_view text);

/// Returns the code points of `text`. Each invalid byte becomes U+FFFD.
std::vector<char32_t> code_points(std::string_view text);

using tapestry::append_utf8;

/// Return the width in terminal columns: 0 for combining marks and control characters, 2 for wide East Asian characters
/// and pictographs, otherwise 1 per character.
int display_width(std::string_view text);
int display_width(char32_t point);

/// Returns `text` made safe to print on one line. Control characters (including terminal escapes and line ends) and
/// characters that change the text direction become spaces. Invalid bytes become U+FFFD.
std::string printable(std::string_view text);

/// Truncates `text` to `width` columns, with "…" in the last column if something was cut.
std::string cut_to(std::string_view text, int width);

/// Pad `text` with spaces to `width` columns, on the right or on the left. Longer text is unchanged.
std::string pad_right(std::string_view text, int width);
std::string pad_left(std::string_view text, int width);

}  // namespace tapestry::kit
