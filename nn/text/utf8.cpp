#include "nn/text/utf8.hpp"

#include <cstddef>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"

namespace tapestry {

char32_t first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = utf8_length(text);
  if (length <= 1) return byte(0);
  char32_t point = byte(0) & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) point = (point << 6) | (byte(i) & 0x3FU);
  return point;
}

std::u32string code_points_of(std::string_view text, std::string_view what) {
  std::u32string points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    if (byte(0) < 0x80) {
      points += byte(0);
      ++at;
      continue;
    }
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0)
      fail("{} must be UTF-8, got byte 0x{:02x} at position {} of {}; save or convert it as UTF-8", what,
           byte(0), at, text.size());
    points += first_code_point(text.substr(at, length));
    at += length;
  }
  return points;
}

void append_utf8(std::string& out, char32_t point) {
  const auto put = [&out](char32_t bits) { out += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | (point >> 6));
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3F));
    put(0x80 | ((point >> 6) & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

std::string utf8_of(std::u32string_view points) {
  std::string text;
  text.reserve(points.size());
  for (const char32_t point : points) append_utf8(text, point);
  return text;
}

}  // namespace tapestry
