// UTF-8 checks and escaping of text for messages.
#include "core/io/text.hpp"

#include <fmt/core.h>

namespace tapestry {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  const unsigned second = byte(1);
  if (first == 0xE0 && second < 0xA0) return 0;  // overlong
  if (first == 0xED && second > 0x9F) return 0;  // surrogates
  if (first == 0xF0 && second < 0x90) return 0;  // overlong
  if (first == 0xF4 && second > 0x8F) return 0;  // above U+10FFFF
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= limit) return result + "…";
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // U+0080 to U+009F are control characters; U+2028 and U+2029 are line breaks.
    const bool control = first < 0x20 || first == 0x7F ||
                         (length == 2 && first == 0xC2 && (text[1] & 0x60) == 0) ||
                         text.substr(0, length) == "\u2028" || text.substr(0, length) == "\u2029";
    const std::size_t taken = length == 0 ? 1 : length;
    if (length == 0 || control) {
      for (const char c : text.substr(0, taken))
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return result;
}

}  // namespace tapestry
