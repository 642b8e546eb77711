// Pictures of two things and a white frame in coloured light, and their captions.
#include "lessons/33_vision/scenes.hpp"

#include <cmath>
#include <utility>

#include "core/tensor/create.hpp"

namespace tapestry::lesson33 {
namespace {

constexpr std::array<Rgb, kColours> kPaint{
    {{1, 0.4, 0.4}, {0.4, 1, 0.4}, {0.4, 0.4, 1}, {1, 1, 0.4}, {1, 0.4, 1}, {1, 1, 1}}};

constexpr Size kStencil = 6;  // pixels, in the middle of a place of 8 × 8
constexpr std::array<std::array<const char*, kStencil>, kShapes> kStencils{{
    {"######", "######", "######", "######", "######", "######"},
    {"..##..", ".####.", "######", "######", ".####.", "..##.."},
    {"..##..", "..##..", ".####.", ".####.", "######", "######"},
    {"..##..", "..##..", "######", "######", "..##..", "..##.."},
}};

bool covers(Size shape, Size row, Size column) {
  if (row < 1 || column < 1 || row > kStencil || column > kStencil) return false;
  return kStencils[static_cast<std::size_t>(shape)][static_cast<std::size_t>(row - 1)]
                  [static_cast<std::size_t>(column - 1)] == '#';
}

bool in_frame(Size row, Size column) {
  return row == 0 || column == 0 || row == kPatch - 1 || column == kPatch - 1;
}

}  // namespace

const std::vector<std::string>& vocabulary() {
  static const std::vector<std::string> words = {"-",      "<begin>", "<end>", "red",    "green",  "blue",
                                                 "yellow", "purple",  "white", "square", "circle", "triangle",
                                                 "cross",  "left",    "of",    "above"};
  return words;
}

Scene draw_scene(kit::Random& random, double darkest) {
  const auto thing = [&](Size place) { return Thing{random.below(kColours), random.below(kShapes), place}; };
  const Size line = random.below(kGrid), one = random.below(kGrid - 1),
             other = random.between(one + 1, kGrid - 1);
  const bool in_a_row = random.chance(0.5);
  const auto place = [&](Size along) { return in_a_row ? line * kGrid + along : along * kGrid + line; };
  Scene scene{thing(place(one)), thing(place(other)), 0, {}};
  do scene.frame = random.below(kPlaces);
  while (scene.frame == scene.first.place || scene.frame == scene.second.place);
  for (double& part : scene.light) part = std::pow(darkest, random.uniform());
  return scene;
}

std::vector<std::int64_t> caption_of(const Scene& scene) {
  std::vector<std::int64_t> words;
  const auto name = [&](const Thing& thing) {
    words.push_back(kFirstColour + thing.colour), words.push_back(kFirstShape + thing.shape);
  };
  name(scene.first);
  if (scene.first.place / kGrid == scene.second.place / kGrid)
    words.push_back(kLeft), words.push_back(kOf);
  else
    words.push_back(kAbove);
  name(scene.second);
  words.push_back(kEnd);
  return words;
}

std::string text_of(const std::vector<std::int64_t>& words) {
  std::string text;
  for (const std::int64_t word : words)
    if (word > kEnd) text += (text.empty() ? "" : " ") + vocabulary().at(static_cast<std::size_t>(word));
  return text;
}

std::vector<double> pixels_of(const Scene& scene) {
  std::vector<double> pixels;
  for (Size y = 0; y < kSide; ++y)
    for (Size x = 0; x < kSide; ++x) {
      const Size place = y / kPatch * kGrid + x / kPatch, row = y % kPatch, column = x % kPatch;
      Rgb paint{};
      for (const Thing& thing : {scene.first, scene.second})
        if (place == thing.place && covers(thing.shape, row, column))
          paint = kPaint[static_cast<std::size_t>(thing.colour)];
      if (place == scene.frame && in_frame(row, column)) paint = {1, 1, 1};
      for (std::size_t c = 0; c < paint.size(); ++c) pixels.push_back(paint[c] * scene.light[c]);
    }
  return pixels;
}

Batch batch_of(std::vector<Scene> scenes) {
  std::vector<double> pictures;
  std::vector<std::int64_t> words, next;
  for (const Scene& scene : scenes) {
    const std::vector<double> pixels = pixels_of(scene);
    pictures.insert(pictures.end(), pixels.begin(), pixels.end());
    std::vector<std::int64_t> caption = caption_of(scene);
    caption.resize(kLongest, kPad);
    words.push_back(kBegin), words.insert(words.end(), caption.begin(), caption.end() - 1);
    next.insert(next.end(), caption.begin(), caption.end());
  }
  const auto count = static_cast<Size>(scenes.size());
  return {std::move(scenes), tensor(pictures, {count, kSide, kSide, kParts}),
          Indices(words, {count, kLongest}), Indices(next, {count, kLongest})};
}

Batch draw_batch(kit::Random random, Size count, double darkest) {
  std::vector<Scene> scenes;
  for (Size i = 0; i < count; ++i) scenes.push_back(draw_scene(random, darkest));
  return batch_of(std::move(scenes));
}

}  // namespace tapestry::lesson33
