// Word wrap for terminals.
#pragma once

#include <string>
#include <string_view>

namespace tapestry::kit {

/// Word wrap of a stream of text pieces. Lines that fit pass unchanged, byte for byte. A longer line continues in the
/// next row, indented by two more columns than its start. A word that is longer than a row is split. Escape sequences
/// have no width.
class Wrap {
 public:
  /// Returns `piece` with added newlines, so that no row is wider than `columns`.
  std::string operator()(std::string_view piece, int columns);

 private:
  void take(std::string_view character, int columns);
  void place_word(int columns);
  void next_row(int columns);

  std::string out_;
  std::string rest_;    // incomplete character at the end of the last piece
  std::string blanks_;  // pending blanks before the word
  std::string word_;    // pending word
  int word_width_ = 0;
  int column_ = 0;    // columns written in this row
  int indent_ = -1;   // indent of the line; −1: no word yet
  bool row_ = false;  // the row has a word
  int escape_ = 0;    // 1 after ESC, 2 inside "ESC [ …"
};

}  // namespace tapestry::kit
