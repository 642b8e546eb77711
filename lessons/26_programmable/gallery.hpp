// Attention mechanisms from the literature, each in a few lines.
#pragma once

#include <vector>

#include "lessons/26_programmable/mechanism.hpp"

namespace lesson26 {

struct GalleryEntry {
  tapestry::kit::Mechanism mechanism;
  const char* level;  ///< "element", "mechanism" or "ops"
  const char* does;
  const char* source;
  int lines;  ///< of its function in gallery_element.cpp or gallery_ops.cpp
};

const std::vector<GalleryEntry>& gallery();

}  // namespace lesson26
