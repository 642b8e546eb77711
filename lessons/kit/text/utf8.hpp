// UTF-8: checking it, walking through it, and how wide it stands in a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/utf8.hpp"

namespace tapestry::kit {

/// The offset of the first byte that is not part of valid UTF-8 (overlong forms, surrogates and values above
/// U+10FFFF are not valid); nothing when all is well.
std::optional<std::size_t> invalid_utf8_at(std::string_view text);

/// The characters of `text` as code points; each invalid byte becomes U+FFFD.
std::vector<char32_t> code_points(std::string_view text);

using tapestry::append_utf8;

/// Columns that `text` takes in a terminal: 0 for combining marks and controls, 2 for wide East Asian
/// characters and pictographs, else 1.
int display_width(std::string_view text);
int display_width(char32_t point);

/// `text` made safe to print on one line: controls (so also terminal escapes and line ends) become spaces,
/// invalid bytes U+FFFD.
std::string printable(std::string_view text);

/// Cut to at most `width` columns, with "…" in the last one where something was cut.
std::string cut_to(std::string_view text, int width);

/// Filled with spaces to `width` columns, on the right or on the left. Longer text is left as it is.
std::string pad_right(std::string_view text, int width);
std::string pad_left(std::string_view text, int width);

}  // namespace tapestry::kit
