// Lines broken for a narrow terminal.
#include "lessons/kit/program/wrap.hpp"

#include <sstream>

#include "lessons/kit/text/utf8.hpp"
#include "tests/catch.hpp"

namespace tapestry::kit {
namespace {

std::string wrapped(const std::string& text, int columns) {
  Wrap wrap;
  return wrap(text, columns);
}

}  // namespace

TEST_CASE("what fits passes unchanged", "[kit]") {
  for (const char* text :
       {"0123456789 e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301\n", "", "\n",
        "  exactly 20 columns\n", "a  b \n  \n", "\r\x1b[K  ━━━━━━━━──  3/10", "naïve ─ 日本語\n",
        "\x1b[48;5;25m    \x1b[0m\x1b[48;5;26m    \x1b[0m            \n", "bad \xff byte\n"})
    CHECK(wrapped(text, 20) == text);
}

TEST_CASE("a line that is too long goes on in rows that are further in", "[kit]") {
  CHECK(wrapped("one two three four five six\n", 12) == "one two\n  three four\n  five six\n");
  CHECK(wrapped("0123456 a\tb\n", 10) == "0123456\n  a\tb\n");        // a tab takes a column at least
  CHECK(wrapped("  one two three\n", 10) == "  one two\n  three\n");  // no deeper than a quarter
  CHECK(wrapped("  name            99.6 %\n", 20) == "  name\n    99.6 %\n");  // not the gap between
  CHECK(wrapped("a\nbb cc dd\ne f\n", 6) == "a\nbb cc\n dd\ne f\n");
  CHECK(wrapped("0123456789abcdef x\n", 10) == "0123456789\n  abcdef x\n");
  CHECK(wrapped("see /a/very/long/path/of/a/file\n", 12) == "see\n  /a/very/lo\n  ng/path/of\n  /a/file\n");
  CHECK(wrapped("日本語日本語日本語\n", 7) == "日本語\n 日本語\n 日本語\n");
}

TEST_CASE("text that comes in pieces has rows no wider, and loses nothing", "[kit]") {
  const std::string text =
      "  the \x1b[1mquick\x1b[0m brown fox ─ naïvely ─ jumps over\tthe lazy dog, and over "
      "Donaudampfschifffahrtsgesellschaft\r\n\n             far in: 日本語 and more of it\nend";
  const auto without = [](const std::string& from) {
    std::string kept;
    for (const char c : from)
      if (c != ' ' && c != '\n') kept += c;
    return kept;
  };
  for (const int columns : {20, 23, 40}) {
    for (std::size_t piece = 1; piece < text.size(); ++piece) {
      Wrap wrap;
      std::string out;
      for (std::size_t at = 0; at < text.size(); at += piece) out += wrap(text.substr(at, piece), columns);
      CAPTURE(columns, piece, out);
      CHECK(without(out) == without(text));
      std::istringstream rows(out);
      for (std::string row; std::getline(rows, row);) {
        for (const char* escape : {"\x1b[1m", "\x1b[0m"})
          if (const auto at = row.find(escape); at != std::string::npos) row.erase(at, 4);
        CHECK(display_width(row) <= columns);
      }
    }
  }
}

TEST_CASE("a full row that comes byte by byte stays whole, whatever its characters", "[kit]") {
  // The first and the last of each number of bytes, and of each first byte's range.
  for (const char* character : {"x", "\u00A0", "·", "¿", "À", "é", "\u07FF", "\u0800", "─", "\uD7FF", "￮",
                                "日", "\U00010000", "😀", "\U0010FFFD"}) {
    std::string text, out;
    for (int width = 0; width < 20; width += display_width(character)) text += character;
    Wrap wrap;
    for (const char byte : text + "\n") out += wrap(std::string(1, byte), 20);
    CHECK(out == text + "\n");
  }
}

TEST_CASE("a character is held back until it is whole, and a byte that begins none is not", "[kit]") {
  for (const char* begun : {"\xC2", "\xDF", "\xE0", "\xE2\x94", "\xF0\x9F\x98", "\xF4\x8F"})
    CHECK(wrapped(begun, 20).empty());
  for (const char* none : {"\x80", "\xC1", "\xF5", "\xFF"}) CHECK(wrapped(none, 20) == none);
  // Nor is one that is not gone on with as it should be.
  for (const char* broken : {"\xC2x", "\xDFx", "\xE0xx", "\xE2xx", "\xF0xxx"})
    CHECK(wrapped(broken, 20) == broken);
}

}  // namespace tapestry::kit
