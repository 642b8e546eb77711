// A grid of characters with colours, which can also be drawn on in braille dots or in joined-up lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/kit/program/terminal.hpp"

namespace tapestry::kit {

/// Places are (column, row) from the top left; what lies outside is ignored.
class Canvas {
 public:
  Canvas(int columns, int rows);
  int columns() const { return columns_; }
  int rows() const { return rows_; }

  /// Text in one row, one column for each character (wide ones two), over whatever stands there.
  void put(int column, int row, std::string_view text, int colour = kPlain);

  /// Braille: each character holds 2 × 4 dots, so the canvas has 2·columns × 4·rows of them.
  void dot(int x, int y, int colour);
  void dots(int x0, int y0, int x1, int y1, int colour);

  /// Lines of box characters; where two meet or cross, the character joins both.
  void vertical(int column, int from_row, int to_row, int colour);
  void horizontal(int row, int from_column, int to_column, int colour);

  /// The rows without trailing blanks, each with `indent` spaces before it and a line end after it.
  std::string text(const Terminal& terminal, int indent) const;

  static constexpr int kPlain = -1;

 private:
  struct Cell {
    std::string text;          // empty: none; "\0"-free UTF-8 of one character
    std::uint8_t braille = 0;  // the low eight bits of U+2800…
    std::uint8_t joins = 0;    // up 1, right 2, down 4, left 8
    bool covered = false;      // the second column of a wide character
    int colour = kPlain;
  };
  Cell* cell(int column, int row);
  static std::string shown(const Cell& cell);
  void join(int column, int row, std::uint8_t directions, int colour);

  int columns_;
  int rows_;
  std::vector<Cell> cells_;
};

}  // namespace tapestry::kit
