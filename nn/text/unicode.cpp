#include "nn/text/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/tensor/error.hpp"

namespace tapestry {
namespace {

utf8proc_propval_t order_of(char32_t point) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(point))->combining_class;
}

constexpr char32_t kFirstToDecompose = 0xC0;

}  // namespace

std::u32string decomposed(std::u32string_view points) {
  std::u32string out;
  out.reserve(points.size());
  for (const char32_t point : points) {
    if (point < kFirstToDecompose) {
      out += point;
      continue;
    }
    std::array<utf8proc_int32_t, 32> parts{};  // no character has more than 4
    int unused = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(point), parts.data(),
                                                           parts.size(), UTF8PROC_DECOMPOSE, &unused);
    if (count < 0 || static_cast<std::size_t>(count) > parts.size())
      fail("characters must be valid Unicode, got U+{:04X}", static_cast<unsigned>(point));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) out += static_cast<char32_t>(parts[i]);
  }
  // Canonical ordering: sort runs of marks by their combining class (Unicode, chapter 3.11).
  for (std::size_t first = 0; first < out.size(); ++first) {
    if (out[first] < kFirstToDecompose || order_of(out[first]) == 0) continue;
    std::size_t last = first + 1;
    while (last < out.size() && order_of(out[last]) != 0) ++last;
    std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(first),
                     out.begin() + static_cast<std::ptrdiff_t>(last),
                     [](char32_t a, char32_t b) { return order_of(a) < order_of(b); });
    first = last;
  }
  return out;
}

void append_lower_case(std::u32string& out, char32_t point) {
  if (point < 0x80) {
    out += point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point;
  } else if (point == 0x130) {
    out += {'i', 0x307};
  } else {
    out += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point)));
  }
}

CharacterClass character_class(char32_t point) {
  const auto in = [point](char32_t first, char32_t last) { return point >= first && point <= last; };
  if (in('a', 'z') || in('A', 'Z')) return CharacterClass::letter;
  if (in('0', '9')) return CharacterClass::number;
  if (in('\t', '\r') || point == ' ' || point == 0x85 || point == 0xA0 || point == 0x1680 ||
      in(0x2000, 0x200A) || in(0x2028, 0x2029) || point == 0x202F || point == 0x205F || point == 0x3000)
    return CharacterClass::space;
  if (point < 0x80 || point > 0x10FFFF) return CharacterClass::other;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharacterClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharacterClass::number;
    default:
      return CharacterClass::other;
  }
}

}  // namespace tapestry
