// UTF-8 checks, and escaping of external names and paths for one-line messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tapestry {

/// Returns the length in bytes of the UTF-8 character at the start of `text`, or 0 if there is none. RFC 3629: no
/// overlong forms, no surrogates, at most U+10FFFF.
std::size_t utf8_length(std::string_view text);

/// Returns true if `text` is valid UTF-8 (RFC 3629) or empty.
bool is_utf8(std::string_view text);

/// Escapes `text` for a message: control characters, line ends and invalid UTF-8 bytes become \xNN. Text beyond
/// about `limit` bytes is replaced by "…".
std::string printable(std::string_view text, std::size_t limit = 120);

}  // namespace tapestry
