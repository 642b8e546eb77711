// Text in messages: names and paths from outside, made safe to print on one line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tapestry {

/// Length in bytes of the UTF-8 character at the start of `text` (RFC 3629: no overlong forms, no surrogates,
/// at most U+10FFFF); 0 if there is none.
std::size_t utf8_length(std::string_view text);

/// Whether `text` consists of such characters; so does an empty one.
bool is_utf8(std::string_view text);

/// `text` for a message: control characters, line ends and bytes that are no UTF-8 become \xNN, and what
/// exceeds `limit` bytes is cut off with "…".
std::string printable(std::string_view text, std::size_t limit = 120);

}  // namespace tapestry
