// A picture of where a captioner looked, word by word.
#pragma once

#include <string>
#include <vector>

#include "lessons/33_vision/scenes.hpp"
#include "lessons/kit/program/terminal.hpp"

namespace tapestry::lesson33 {

/// The scene, and for each word that was written a weight for each place.
struct Looks {
  std::string title;
  Scene scene;
  std::vector<std::string> words;
  std::vector<std::vector<double>> weights;
};

/// The scene, and again for each word, each place as bright as its weight: whole at 1, a sixth at 0.
std::string svg(const Looks& looks);
/// What stands where, then a map of weights for each word.
std::string text(const Looks& looks, const kit::Terminal& terminal);

}  // namespace tapestry::lesson33
