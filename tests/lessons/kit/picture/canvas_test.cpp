// The canvas that charts and graphs are drawn on in a terminal.
#include "lessons/kit/picture/canvas.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("what lies outside of a canvas is ignored", "[kit]") {
  for (const auto& [columns, rows] : {std::pair{3, 2}, {0, 2}, {3, 0}, {-1, 2}, {3, -1}, {0, 0}}) {
    Canvas canvas(columns, rows);
    const int right = std::max(columns, 0), below = std::max(rows, 0);
    CHECK(canvas.columns() == right);
    CHECK(canvas.rows() == below);
    for (const int row : {-1, below, below + 1, 1000}) {
      canvas.put(0, row, "x");
      canvas.dot(0, 4 * row, 1);
      canvas.horizontal(row, 0, 2, 1);
    }
    for (const int column : {-1, right, right + 1, 1000}) {
      canvas.put(column, 0, "x");
      canvas.dot(2 * column, 0, 1);
      canvas.vertical(column, 0, 1, 1);
    }
    canvas.put(-1, 0, "日");         // its half would be inside
    canvas.put(right - 1, 0, "日");  // its half would be outside
    CHECK(canvas.text({}, 0) == std::string(static_cast<std::size_t>(below), '\n'));
  }
}

TEST_CASE("an accent with nothing before it is left out", "[kit]") {
  Canvas canvas(4, 1);
  canvas.put(0, 0, "\u0301x");  // the canvas begins here
  canvas.put(2, 0, "y\u0301");
  canvas.put(4, 0, "\u0301");  // behind an empty place
  CHECK(canvas.text({}, 0) == "x y\u0301\n");
}

TEST_CASE("lines that meet are joined, and text lies over them", "[kit]") {
  Canvas canvas(7, 5);
  canvas.horizontal(0, 0, 4, 1);
  canvas.horizontal(2, 0, 4, 1);
  canvas.horizontal(4, 0, 4, 1);
  for (const int column : {0, 2, 4}) canvas.vertical(column, 0, 4, 1);
  CHECK(canvas.text({}, 1) == " ╭─┬─╮\n │ │ │\n ├─┼─┤\n │ │ │\n ╰─┴─╯\n");
  canvas.put(1, 2, "e\u0301日");  // an accent, and a character of two columns
  canvas.dots(12, 0, 12, 7, 1);
  CHECK(canvas.text({}, 0) == "╭─┬─╮ ⡇\n│ │ │ ⡇\n├e\u0301日┤\n│ │ │\n╰─┴─╯\n");
}

}  // namespace tapestry::kit
