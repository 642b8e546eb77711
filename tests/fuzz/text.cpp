// libFuzzer: any bytes as a text: lines, characters and back, what a terminal is given; or refused with one
// line.
#include "core/io/text.hpp"

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/text/text.hpp"
#include "lessons/kit/text/utf8.hpp"
#include "nn/text/characters.hpp"
#include "nn/text/lines.hpp"
#include "nn/text/unicode.hpp"
#include "nn/text/utf8.hpp"
#include "tests/fuzz/foreign.hpp"

namespace {

using namespace tapestry;
using fuzz::must;

void check_characters(std::string_view text) {
  const std::u32string points = code_points_of(text);
  must(is_utf8(text) && utf8_of(points) == text);
  const std::u32string parts = decomposed(points);
  must(decomposed(parts) == parts);
  std::u32string lower;
  for (const char32_t point : points) append_lower_case(lower, point);
  must(is_utf8(utf8_of(lower)));
  const Characters characters = Characters::of(text);
  must(characters.decode(characters.encode(text)) == text);
}

void check_shown(std::string_view text, int columns) {
  must(is_utf8(text) == !kit::invalid_utf8_at(text).has_value());
  for (const std::string& shown : {printable(text, 50), kit::printable(text)})
    must(is_utf8(shown) && shown.find_first_of(std::string_view("\n\r\t\x1b\0", 5)) == shown.npos);
  must(kit::display_width(kit::cut_to(kit::printable(text), columns)) <= columns);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  switch (size % 4) {  // one way an input: each that is refused costs an exception
    case 0:
      fuzz::or_refused([&] { check_characters(text); });
      break;
    case 1:
      fuzz::or_refused([&] {
        for (const std::string_view line : lines_of(text, "fuzz"))
          must(is_utf8(line) && line.find('\n') == line.npos && line.find('\0') == line.npos);
      });
      break;
    case 2:
      fuzz::or_refused<kit::UsageError>([&] {
        static const fuzz::MemoryFile file;
        file.write(text);
        for (const std::string& line : kit::read_lines(file.path())) must(is_utf8(line));
      });
      break;
    default:
      check_shown(text, static_cast<int>(size % 30) + 1);
  }
  return 0;
}
