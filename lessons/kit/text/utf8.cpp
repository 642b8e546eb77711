// UTF-8 validation and decoding, and the width of text in a terminal.
#include "lessons/kit/text/utf8.hpp"

#include <algorithm>
#include <array>

#include "core/io/text.hpp"

namespace tapestry::kit {
namespace {

struct DecodedCharacter {
  char32_t point;
  std::size_t bytes;  // 0: the byte is invalid
};

DecodedCharacter decode(std::string_view text, std::size_t at) {
  const std::size_t bytes = utf8_length(text.substr(at));
  return {bytes == 0 ? U'\uFFFD' : code_points_of(text.substr(at, bytes))[0], bytes};
}

bool is_control(char32_t point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); }

/// Returns true for line separators and for bidirectional controls: after U+202E a terminal shows "fdp.exe" for
/// "exe.pdf".
bool moves_text(char32_t point) {
  return point == 0x2028 || point == 0x2029 || (point >= 0x202A && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

struct Span {
  char32_t first, last;
};

template <std::size_t N>
bool within(const std::array<Span, N>& spans, char32_t point) {
  return std::any_of(spans.begin(), spans.end(),
                     [point](const Span& span) { return point >= span.first && point <= span.last; });
}

constexpr std::array<Span, 6> kNoWidth = {{{0x0300, 0x036F},
                                           {0x200B, 0x200F},
                                           {0x202A, 0x202E},
                                           {0x2060, 0x2069},
                                           {0x20D0, 0x20FF},
                                           {0xFE00, 0xFE0F}}};
// Unicode's East Asian Width W and F, in whole blocks.
constexpr std::array<Span, 13> kWide = {{{0x1100, 0x115F},
                                         {0x2E80, 0x303E},
                                         {0x3041, 0x4DBF},
                                         {0x4E00, 0xA4CF},
                                         {0xA960, 0xA97F},
                                         {0xAC00, 0xD7A3},
                                         {0xF900, 0xFAFF},
                                         {0xFE30, 0xFE6F},
                                         {0xFF00, 0xFF60},
                                         {0xFFE0, 0xFFE6},
                                         {0x1F300, 0x1F64F},
                                         {0x1F680, 0x1F9FF},
                                         {0x20000, 0x3FFFD}}};

}  // namespace

std::optional<std::size_t> invalid_utf8_at(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = utf8_length(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::nullopt;
}

std::vector<char32_t> code_points(std::string_view text) {
  std::vector<char32_t> points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter next = decode(text, at);
    points.push_back(next.point);
    at += std::max<std::size_t>(next.bytes, 1);
  }
  return points;
}

int display_width(char32_t point) {
  if (is_control(point) || within(kNoWidth, point)) return 0;
  return within(kWide, point) ? 2 : 1;
}

int display_width(std::string_view text) {
  int width = 0;
  for (const char32_t point : code_points(text)) width += display_width(point);
  return width;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t point : code_points(text))
    append_utf8(out, is_control(point) || moves_text(point) ? U' ' : point);
  return out;
}

std::string cut_to(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  std::string out;
  int used = 0;
  for (const char32_t point : code_points(text)) {
    const int wide = display_width(point);
    if (used + wide > width - 1) break;
    append_utf8(out, point);
    used += wide;
  }
  if (width > 0) out += "…";
  return out;
}

std::string pad_right(std::string_view text, int width) {
  const int missing = std::max(0, width - display_width(text));
  return std::string(text) + std::string(static_cast<std::size_t>(missing), ' ');
}

std::string pad_left(std::string_view text, int width) {
  const int missing = std::max(0, width - display_width(text));
  return std::string(static_cast<std::size_t>(missing), ' ') + std::string(text);
}

}  // namespace tapestry::kit
