// Turns bytes that arrive in parts into whole UTF-8 characters, to print text while a model generates it.
#pragma once

#include <string>
#include <string_view>

namespace tapestry {

/// Joins bytes into characters. A token of a byte-level BPE may end inside a character; its bytes are kept until the
/// rest arrives. The result is always valid UTF-8: bytes that cannot become a character are replaced by U+FFFD, one for
/// each maximal part of a character (Unicode 15, chapter 3.9), as Python's errors="replace" does.
class Utf8Stream {
 public:
  /// Adds bytes, and returns the characters that are now complete.
  std::string push(std::string_view bytes);
  /// Ends the text: returns U+FFFD if an incomplete character is left, otherwise an empty string. The next push()
  /// starts a new text.
  std::string finish();

 private:
  std::string kept_;  // start of a character, at most 3 bytes
};

}  // namespace tapestry
