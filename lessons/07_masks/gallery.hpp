// Masks side by side: the first picture of lesson 07.
#pragma once

#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson07 {

struct NamedMask {
  std::string name;
  Mask mask;  ///< (n, n)
};

/// All of one size; to masks.svg.
void draw_masks(const std::vector<NamedMask>& masks, const kit::Options& options);

}  // namespace tapestry::lesson07
