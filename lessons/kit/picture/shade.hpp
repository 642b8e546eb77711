// A value of a heatmap as a colour, or as characters where there are no colours.
#pragma once

#include <string>

#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

/// "#rrggbb" for a share of the map's range, in [0, 1].
std::string svg_shade(const Heatmap& map, double share);
/// Whether what is written on that colour has to be white.
bool is_dark(const Heatmap& map, double share);

/// `inside`, which is as wide as the cell, on a background of the share's colour.
std::string terminal_shade(const Heatmap& map, double share, const std::string& inside,
                           const Terminal& terminal);
/// Without colours: `width` characters, from "·" over "░" to "█"; of a signed map by the size of the value, with
/// a minus first where it is negative and there is room.
std::string plain_shade(const Heatmap& map, double share, int width);

}  // namespace tapestry::kit
