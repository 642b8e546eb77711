// Draws the attention weights of a captioner, word by word.
#pragma once

#include <string>
#include <vector>

#include "lessons/33_vision/scenes.hpp"
#include "lessons/kit/program/terminal.hpp"

namespace tapestry::lesson33 {

/// A scene, with the weights of the places for each output word.
struct AttentionPicture {
  std::string title;
  Scene scene;
  std::vector<std::string> words;
  std::vector<std::vector<double>> weights;
};

/// Returns an SVG with the scene, and the scene once for each word, with brightness by weight: full at 1, a sixth at 0.
std::string svg(const AttentionPicture& picture);
/// Returns lines with the things by place, then a map of weights for each word.
std::string text(const AttentionPicture& picture, const kit::Terminal& terminal);

}  // namespace tapestry::lesson33
