// Grid of small heatmaps with the same rows and columns, such as one per layer and head.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

/// Heatmaps with the same rows and columns, `across` of them in a line, each with its title. Row labels are written
/// once per line. The SVG writes column labels above the first line.
struct HeatmapGrid {
  std::string title;
  std::vector<Heatmap> maps = {};
  Size across = 4;
};

/// Draw the grid, as for one picture. Throw std::invalid_argument for an empty grid or maps of different size.
std::string svg(const HeatmapGrid& grid);
std::string text(const HeatmapGrid& grid, const Terminal& terminal);

}  // namespace tapestry::kit
