// Draws the attention weights of a captioner, word by word.
#pragma once

#include <string>
#include <vector>

#include "lessons/33_vision/scenes.hpp"
#include "lessons/kit/program/terminal.hpp"

namespace tapestry::lesson33 {

/// A scene, and for each output word the weights of the places.
struct Looks {
  std::string title;
  Scene scene;
  std::vector<std::string> words;
  std::vector<std::vector<double>> weights;
};

/// Draws the scene, and the scene again for each word, with brightness by weight: full at 1, a sixth at 0.
std::string svg(const Looks& looks);
/// Prints the things by place, then a map of weights for each word.
std::string text(const Looks& looks, const kit::Terminal& terminal);

}  // namespace tapestry::lesson33
