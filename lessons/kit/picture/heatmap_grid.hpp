// Many small heatmaps of one kind side by side: one for each layer and head.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

/// Maps of the same rows and columns, `across` in a line; each is named by its title. Labels are written once
/// a line.
struct HeatmapGrid {
  std::string title;
  std::vector<Heatmap> maps = {};
  Size across = 4;
};

std::string svg(const HeatmapGrid& grid);
std::string text(const HeatmapGrid& grid, const Terminal& terminal);

}  // namespace tapestry::kit
