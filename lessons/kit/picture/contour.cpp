// Contour line of a function of two variables.
#include "lessons/kit/picture/contour.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

namespace tapestry::kit {

std::vector<double> Grid::places() const {
  std::vector<double> xy;
  for (Size row = 0; row < side; ++row)
    for (Size column = 0; column < side; ++column)
      xy.insert(xy.end(), {place(static_cast<double>(column)), place(static_cast<double>(row))});
  return xy;
}

Series contour(std::string name, const Grid& grid, const std::vector<double>& values, double level) {
  if (static_cast<Size>(values.size()) != grid.side * grid.side)
    throw std::invalid_argument("contour: the number of values must be side · side of the grid");
  constexpr Size kRound[5][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}, {0, 0}};  // the corners of a cell
  constexpr double kLift = std::numeric_limits<double>::quiet_NaN();
  const auto above = [&](Size row, Size column) {
    return values[static_cast<std::size_t>(row * grid.side + column)] - level;
  };
  const auto between = [](Size a, Size b, double part) {
    return static_cast<double>(a) + part * static_cast<double>(b - a);
  };
  Series line{std::move(name), {}, {}};
  for (Size row = 0; row + 1 < grid.side; ++row)
    for (Size column = 0; column + 1 < grid.side; ++column) {
      int ends = 0;
      for (int k = 0; k < 4; ++k) {
        const Size r0 = row + kRound[k][0], c0 = column + kRound[k][1];
        const Size r1 = row + kRound[k + 1][0], c1 = column + kRound[k + 1][1];
        const double from = above(r0, c0), to = above(r1, c1);
        if ((from < 0) == (to < 0)) continue;
        const double part = from / (from - to);
        line.x.push_back(grid.place(between(c0, c1, part)));
        line.y.push_back(grid.place(between(r0, r1, part)));
        if (++ends % 2 == 0) line.x.push_back(kLift), line.y.push_back(kLift);
      }
    }
  return line;
}

}  // namespace tapestry::kit
