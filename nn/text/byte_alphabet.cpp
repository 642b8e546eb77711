// GPT-2's alphabet, as a table for each direction.
#include "nn/text/byte_alphabet.hpp"

#include <array>
#include <cstddef>

#include "core/io/text.hpp"
#include "nn/text/utf8.hpp"

namespace tapestry {
namespace {

constexpr std::size_t kBytes = 256;

constexpr bool is_printable(std::size_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr auto kCharacters = [] {
  std::array<char32_t, kBytes> characters{};
  char32_t next = 0x100;
  for (std::size_t byte = 0; byte < kBytes; ++byte)
    characters[byte] = is_printable(byte) ? static_cast<char32_t>(byte) : next++;
  return characters;
}();

constexpr std::size_t kPoints = 0x144;  // one beyond the last character of the alphabet
constexpr int kNoByte = -1;

constexpr auto kBytesOf = [] {
  std::array<int, kPoints> bytes{};
  for (int& byte : bytes) byte = kNoByte;
  for (std::size_t byte = 0; byte < kBytes; ++byte) bytes[kCharacters[byte]] = static_cast<int>(byte);
  return bytes;
}();

}  // namespace

char32_t byte_character(unsigned char byte) { return kCharacters[byte]; }

std::optional<unsigned char> character_byte(char32_t point) {
  if (point >= kPoints || kBytesOf[point] == kNoByte) return std::nullopt;
  return static_cast<unsigned char>(kBytesOf[point]);
}

std::string text_of_bytes(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(text, byte_character(static_cast<unsigned char>(byte)));
  return text;
}

std::optional<std::string> bytes_of_text(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return std::nullopt;
    const auto byte = character_byte(first_code_point(text));
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
    text.remove_prefix(length);
  }
  return bytes;
}

}  // namespace tapestry
