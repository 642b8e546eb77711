// UTF-8 checks, and escaping of external names and paths for one-line messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tapestry {

/// Returns the length in bytes of the UTF-8 character at the start of `text`. Returns 0 if the text is empty or does
/// not start with a valid character (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF).
std::size_t utf8_length(std::string_view text);

/// Returns true if all of `text` is valid UTF-8 (RFC 3629). An empty text is valid.
bool is_utf8(std::string_view text);

/// Returns `text` in a form for one-line messages. Names and paths can contain any bytes, so control characters, line
/// breaks and invalid UTF-8 bytes are replaced by \xNN. Text after about `limit` bytes is replaced by "…".
std::string printable(std::string_view text, std::size_t limit = 120);

}  // namespace tapestry
