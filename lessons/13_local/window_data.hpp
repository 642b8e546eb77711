// The weights of a trained window, as a file. A page of the book loads the file and lets its reader move the
// window.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::lesson13 {

/// One sequence, the model's answers, and the weights of its window.
struct SeenText {
  std::string name;  ///< "local-p, undoing a doubling"
  Size reach = 0;
  bool fades = false;
  std::vector<std::string> source, answers;
  std::vector<double> p;                ///< one position for each answer
  std::vector<double> scores, weights;  ///< (answers, source), row by row
};

void save(const SeenText& text, const std::filesystem::path& file);

}  // namespace tapestry::lesson13
