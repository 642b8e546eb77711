// What a trained window looked at, in numbers: for a page of the book, where its reader moves the window.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::lesson13 {

/// One text that a model read.
struct SeenText {
  std::string name;  ///< "local-p, undoing a doubling"
  Size reach = 0;
  bool fades = false;
  std::vector<std::string> source, answers;
  std::vector<double> p;                ///< one for each answer
  std::vector<double> scores, weights;  ///< answers × source, row after row
};

void save(const SeenText& text, const std::filesystem::path& file);

}  // namespace tapestry::lesson13
