// Lines that a terminal is too narrow for, broken where there is a blank.
#pragma once

#include <string>
#include <string_view>

namespace tapestry::kit {

/// Text on its way to a terminal, in pieces as they come. What fits passes unchanged, byte for byte. A line
/// that is too long goes on in the next row, two columns further in than it began; a word that is longer than
/// a row is cut. Escape sequences take no room.
class Wrap {
 public:
  /// `piece`, with the line ends that it needs so that no row is wider than `columns`.
  std::string operator()(std::string_view piece, int columns);

 private:
  void take(std::string_view character, int columns);
  void place_word(int columns);
  void next_row(int columns);

  std::string out_;
  std::string rest_;    // of the last piece: the beginning of a character
  std::string blanks_;  // before the word, not written yet
  std::string word_;    // not written yet
  int word_width_ = 0;
  int column_ = 0;    // written in this row
  int indent_ = -1;   // of the line; −1: it has no word so far
  bool row_ = false;  // has a word in it
  int escape_ = 0;    // 1 after ESC, 2 inside "ESC [ …"
};

}  // namespace tapestry::kit
