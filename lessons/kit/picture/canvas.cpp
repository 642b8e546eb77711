// Grid of coloured characters, with braille dots and box-drawing lines.
#include "lessons/kit/picture/canvas.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

constexpr std::uint8_t kUp = 1, kRight = 2, kDown = 4, kLeft = 8;

}  // namespace

Canvas::Canvas(int columns, int rows)
    : columns_(std::max(columns, 0)),
      rows_(std::max(rows, 0)),
      cells_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_)) {}

Canvas::Cell* Canvas::cell(int column, int row) {
  if (column < 0 || row < 0 || column >= columns_ || row >= rows_) return nullptr;
  return &cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                 static_cast<std::size_t>(column)];
}

void Canvas::put(int column, int row, std::string_view text, int colour) {
  for (const char32_t point : code_points(printable(text))) {
    const int wide = display_width(point);
    if (wide == 0) {  // a combining mark belongs to the character before it
      if (Cell* before = cell(column - 1, row); before != nullptr && !before->text.empty()) {
        append_utf8(before->text, point);
      }
      continue;
    }
    if (Cell* place = cell(column, row); place != nullptr && column + wide <= columns_) {
      *place = Cell{};
      append_utf8(place->text, point);
      place->colour = colour;
      if (wide == 2) {
        Cell* next = cell(column + 1, row);
        *next = Cell{};
        next->covered = true;
      }
    }
    column += wide;
  }
}

void Canvas::dot(int x, int y, int colour) {
  static constexpr std::array<std::array<std::uint8_t, 2>, 4> kBits = {
      {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
  if (x < 0 || y < 0) return;
  Cell* place = cell(x / 2, y / 4);
  if (place == nullptr) return;
  place->braille = static_cast<std::uint8_t>(
      place->braille | kBits[static_cast<std::size_t>(y % 4)][static_cast<std::size_t>(x % 2)]);
  place->colour = colour;
}

void Canvas::dots(int x0, int y0, int x1, int y1, int colour) {
  const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
  for (int i = 0; i <= steps; ++i) {
    dot(x0 + (2 * (x1 - x0) * i + steps) / (2 * steps), y0 + (2 * (y1 - y0) * i + steps) / (2 * steps),
        colour);
  }
}

void Canvas::join(int column, int row, std::uint8_t directions, int colour) {
  Cell* place = cell(column, row);
  if (place == nullptr || directions == 0) return;
  place->joins = static_cast<std::uint8_t>(place->joins | directions);
  place->colour = colour;
}

void Canvas::vertical(int column, int from_row, int to_row, int colour) {
  for (int row = from_row; row <= to_row; ++row) {
    join(column, row, static_cast<std::uint8_t>((row > from_row ? kUp : 0) | (row < to_row ? kDown : 0)),
         colour);
  }
}

void Canvas::horizontal(int row, int from_column, int to_column, int colour) {
  for (int column = from_column; column <= to_column; ++column) {
    join(column, row,
         static_cast<std::uint8_t>((column > from_column ? kLeft : 0) | (column < to_column ? kRight : 0)),
         colour);
  }
}

std::string Canvas::shown(const Cell& cell) {
  static constexpr std::array<const char*, 16> kJoins = {" ", "╵", "╶", "╰", "╷", "│", "╭", "├",
                                                         "╴", "╯", "─", "┴", "╮", "┤", "┬", "┼"};
  if (!cell.text.empty()) return cell.text;
  if (cell.braille != 0) {
    std::string out;
    append_utf8(out, 0x2800U + cell.braille);
    return out;
  }
  return kJoins[cell.joins];
}

std::string Canvas::text(const Terminal& terminal, int indent) const {
  std::string out;
  for (int row = 0; row < rows_; ++row) {
    out += std::string(static_cast<std::size_t>(indent), ' ');
    std::string run, blanks;  // characters of one colour, and the blanks after them
    int colour = kPlain;
    const auto flush = [&] {
      out += colour == kPlain || run.empty() ? run : paint(terminal, colour, run);
      run.clear();
    };
    for (int column = 0; column < columns_; ++column) {
      const Cell& place = cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                                 static_cast<std::size_t>(column)];
      if (place.covered) continue;
      const std::string piece = shown(place);
      if (piece == " ") {
        blanks += ' ';
        continue;
      }
      if (place.colour != colour) flush();
      (run.empty() ? out : run) += blanks;
      blanks.clear();
      colour = place.colour;
      run += piece;
    }
    flush();
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

}  // namespace tapestry::kit
