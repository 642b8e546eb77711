// Bytes that arrive in parts: every way to cut a text gives the same characters.
#include "nn/text/utf8_stream.hpp"

#include "tests/catch.hpp"

using namespace tapestry;

namespace {

/// The characters of `bytes`, pushed in parts of one size.
std::string streamed(std::string_view bytes, std::size_t part) {
  Utf8Stream stream;
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += part) text += stream.push(bytes.substr(at, part));
  return text + stream.finish();
}

}  // namespace

TEST_CASE("UTF-8 stream: a character is returned with its last byte", "[text]") {
  Utf8Stream stream;
  CHECK(stream.push("a\xF0\x9F") == "a");
  CHECK(stream.push("\x98") == "");
  CHECK(stream.push("") == "");
  CHECK(stream.push("\x80!") == "\U0001F600!");
  CHECK(stream.finish() == "");
  CHECK(stream.push("b\xE2\x82") == "b");
  CHECK(stream.push("c") == "\uFFFDc");  // the character never ends
  CHECK(stream.push("\xC3") == "");
  CHECK(stream.finish() == "\uFFFD");
  CHECK(stream.finish() == "");
  CHECK(stream.push("\xA9") == "\uFFFD");  // finish() has forgotten the byte before it
}

TEST_CASE("UTF-8 stream: invalid bytes as Python replaces them", "[text]") {
  // Left: bytes. Right: bytes.decode("utf-8", "replace") of Python 3.11, with ? for U+FFFD.
  const std::pair<std::string_view, std::string_view> cases[] = {{"\xC0\xAF", "??"},
                                                                 {"\xED\xA0\x80", "???"},
                                                                 {"\xE0\x9F\xBF", "???"},
                                                                 {"\xF0\x8F\xBF\xBF", "????"},
                                                                 {"\xF4\x90\x80\x80", "????"},
                                                                 {"\xF0\x9F\x98z", "?z"},
                                                                 {"\xE2\x82\xE2\x82\xAC", "?\u20AC"},
                                                                 {"\xF5\xFF\xFE", "???"},
                                                                 {"\x80\xBFx", "??x"},
                                                                 {"\xF4\x8F\xBF\xBF", "\U0010FFFF"},
                                                                 {"\xED\x9F\xBF", "\uD7FF"},
                                                                 {"\xE0\xA0\x80", "\u0800"},
                                                                 {"\xF0\x90\x80\x80", "\U00010000"},
                                                                 {"\xF1\x80\x80", "?"},
                                                                 {"a\xC3", "a?"}};
  for (const auto& [bytes, shown] : cases) {
    std::string expected;
    for (const char c : shown) expected += c == '?' ? "\uFFFD" : std::string(1, c);
    for (std::size_t part = 1; part <= 5; ++part) CHECK(streamed(bytes, part) == expected);
  }
}
