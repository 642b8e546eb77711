// Contour line of a function of two variables.
#pragma once

#include <string>
#include <vector>

#include "core/simd/view.hpp"
#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

/// Square region of the plane, sampled at side × side points. Rows start at the bottom; the edges are included.
struct Grid {
  double least, most;  ///< in both directions
  Size side;

  double place(double index) const { return least + (most - least) * index / static_cast<double>(side - 1); }
  /// Returns x and y of every point, in row-major order: side · side · 2 numbers.
  std::vector<double> places() const;
};

/// Returns the contour of `values`, one per grid point, at `level`. The contour consists of short segments, one for
/// each crossed cell, found by linear interpolation between the points. A NaN after each segment interrupts the line.
/// Throws std::invalid_argument unless there are side · side values.
Series contour(std::string name, const Grid& grid, const std::vector<double>& values, double level);

}  // namespace tapestry::kit
