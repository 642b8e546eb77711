// Grid of coloured characters, with braille dots and box-drawing lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/kit/program/terminal.hpp"

namespace tapestry::kit {

/// Coordinates are (column, row) from the top left. Drawing outside the canvas has no effect.
class Canvas {
 public:
  Canvas(int columns, int rows);
  int columns() const { return columns_; }
  int rows() const { return rows_; }

  /// Writes text into one row, one column per character (two for a wide one), and replaces the previous content.
  void put(int column, int row, std::string_view text, int colour = kPlain);

  /// Draw braille dots, one or a straight line of them. A character holds 2 × 4 dots, so the canvas has
  /// 2·columns × 4·rows.
  void dot(int x, int y, int colour);
  void dots(int x0, int y0, int x1, int y1, int colour);

  /// Draw lines of box-drawing characters. Where two lines meet or cross, the character joins both.
  void vertical(int column, int from_row, int to_row, int colour);
  void horizontal(int row, int from_column, int to_column, int colour);

  /// Returns the rows without trailing blanks. Each one starts with `indent` spaces and ends with a newline.
  std::string text(const Terminal& terminal, int indent) const;

  static constexpr int kPlain = -1;

 private:
  struct Cell {
    std::string text;          // one character as UTF-8, with its combining marks; empty: none
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
