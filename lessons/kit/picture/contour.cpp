// Contour line of a function of two variables.
#include "lessons/kit/picture/contour.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

namespace tapestry::kit {

std::vector<double> SquareGrid::points() const {
  std::vector<double> xy;
  for (Size row = 0; row < points_per_side; ++row)
    for (Size column = 0; column < points_per_side; ++column)
      xy.insert(xy.end(), {coordinate(static_cast<double>(column)), coordinate(static_cast<double>(row))});
  return xy;
}

Series contour(std::string name, const SquareGrid& grid, const std::vector<double>& values, double level) {
  if (static_cast<Size>(values.size()) != grid.points_per_side * grid.points_per_side)
    throw std::invalid_argument(
        "contour: there must be points_per_side · points_per_side values, one for each point of the grid");
  constexpr Size kCorners[5][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}, {0, 0}};  // of a cell, in order
  constexpr double kPenUp = std::numeric_limits<double>::quiet_NaN();
  const auto above_level = [&](Size row, Size column) {
    return values[static_cast<std::size_t>(row * grid.points_per_side + column)] - level;
  };
  const auto between = [](Size a, Size b, double fraction) {
    return static_cast<double>(a) + fraction * static_cast<double>(b - a);
  };
  Series line{std::move(name), {}, {}};
  for (Size row = 0; row + 1 < grid.points_per_side; ++row)
    for (Size column = 0; column + 1 < grid.points_per_side; ++column) {
      int ends = 0;
      for (int k = 0; k < 4; ++k) {
        const Size r0 = row + kCorners[k][0], c0 = column + kCorners[k][1];
        const Size r1 = row + kCorners[k + 1][0], c1 = column + kCorners[k + 1][1];
        const double from = above_level(r0, c0), to = above_level(r1, c1);
        if ((from < 0) == (to < 0)) continue;
        const double fraction = from / (from - to);
        line.x.push_back(grid.coordinate(between(c0, c1, fraction)));
        line.y.push_back(grid.coordinate(between(r0, r1, fraction)));
        if (++ends % 2 == 0) line.x.push_back(kPenUp), line.y.push_back(kPenUp);
      }
    }
  return line;
}

}  // namespace tapestry::kit
