// The line on which a function of the plane has a given value.
#pragma once

#include <string>
#include <vector>

#include "core/simd/view.hpp"
#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

/// A square of the plane and side × side places on it, rows from the bottom, the edges among them.
struct Grid {
  double least, most;  ///< in both directions
  Size side;

  double place(double index) const { return least + (most - least) * index / static_cast<double>(side - 1); }
  /// x and y of every place, row after row: side · side · 2 numbers.
  std::vector<double> places() const;
};

/// Where `values`, one for each place of the grid, pass through `level`: short pieces, one for each cell that
/// the line crosses, with straight ways between the places. A NaN after each piece lifts the pen.
Series contour(std::string name, const Grid& grid, const std::vector<double>& values, double level);

}  // namespace tapestry::kit
