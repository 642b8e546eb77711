// GPT-2's alphabet: one printable character for each byte, so that tokens can be written as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapestry {

/// Returns the character of a byte (Radford et al. 2019). Bytes that are printable in Latin-1 are mapped to themselves.
/// The others are numbered from U+0100 in increasing order, so that a space becomes "Ġ" and a line feed "Ċ".
char32_t byte_character(unsigned char byte);
/// Returns the byte of a character, or nothing if the character is not in the alphabet.
std::optional<unsigned char> character_byte(char32_t point);

/// Returns bytes as characters of the alphabet, in UTF-8.
std::string text_of_bytes(std::string_view bytes);
/// Returns the bytes of a text in the alphabet, or nothing if it contains other characters or is not UTF-8.
std::optional<std::string> bytes_of_text(std::string_view text);

}  // namespace tapestry
