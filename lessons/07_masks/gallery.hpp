// Draws masks in a row: the first picture of lesson 07.
#pragma once

#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson07 {

/// Draws masks (n, n) of one size in a row, in masks.svg.
void draw_masks(const std::vector<Mask>& masks, const std::vector<std::string>& names,
                const kit::Options& options);

}  // namespace tapestry::lesson07
