// Shades of heatmap cells: colours for SVG and terminals, characters for terminals without colours.
#pragma once

#include <string>

#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

/// Returns "#rrggbb" for a share of the map's range, in [0, 1].
std::string svg_shade(const Heatmap& map, double share);
/// Returns true if text on that colour must be white to be legible.
bool is_dark(const Heatmap& map, double share);

/// Returns `inside`, which fills the cell's width, on a background of the share's colour.
std::string terminal_shade(const Heatmap& map, double share, const std::string& inside,
                           const Terminal& terminal);
/// Returns `width` characters from "·" over "░" to "█", for terminals without colours. A signed map uses |value|, and a
/// negative value starts with a minus if `width` is at least 2.
std::string plain_shade(const Heatmap& map, double share, int width);

}  // namespace tapestry::kit
