// Contour line of a function of two variables.
#pragma once

#include <string>
#include <vector>

#include "core/simd/view.hpp"
#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

/// Evenly spaced points of a square region of the plane, including its edges.
struct SquareGrid {
  double min, max;       ///< bounds of x and of y
  Size points_per_side;  ///< at least 2

  /// Returns the coordinate, x or y, of a column or row; indices may be fractions.
  double coordinate(double index) const {
    return min + (max - min) * index / static_cast<double>(points_per_side - 1);
  }
  /// Returns x and y of every point, row by row from the bottom, each row from left to right: points_per_side² pairs.
  std::vector<double> points() const;
};

/// Returns the contour line of a function at `level`, by marching squares. `values` are the function's values at
/// grid.points(), in the same order. There is one segment for each crossed cell, two for a saddle; their ends are found
/// by linear interpolation. A NaN after each segment lifts the pen. Throws std::invalid_argument unless there is one
/// value for each point.
Series contour(std::string name, const SquareGrid& grid, const std::vector<double>& values, double level);

}  // namespace tapestry::kit
