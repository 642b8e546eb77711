// Pictures of two things and a white frame in coloured light, and their captions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::lesson33 {

/// A picture has 4 × 4 places of 8 × 8 pixels. Each pixel has a red, a green and a blue part.
inline constexpr Size kGrid = 4, kPatch = 8, kSide = kGrid * kPatch, kPlaces = kGrid * kGrid;
inline constexpr Size kParts = 3, kNumbers = kPatch * kPatch * kParts;

/// The words of captions by their ids: padding, begin, end; then colours, shapes, "left", "of", "above".
const std::vector<std::string>& vocabulary();
enum Word : std::int64_t { kPad, kBegin, kEnd, kFirstColour };
inline constexpr Size kColours = 6, kShapes = 4;
inline constexpr std::int64_t kFirstShape = kFirstColour + kColours, kLeft = kFirstShape + kShapes,
                              kOf = kLeft + 1, kAbove = kLeft + 2;
inline constexpr Size kLongest = 7;  // "red square left of blue circle", and the end

/// Colours and shapes count from 0. Places count row by row.
struct Thing {
  Size colour, shape, place;
};

using Rgb = std::array<double, 3>;

struct Scene {
  Thing first, second;  ///< in one row or one column; the first is further left, or further up
  Size frame;           ///< place of the white frame
  Rgb light;            ///< factors for the red, green and blue part of each pixel
};

/// Draws a scene. Each part of the light is between `darkest` and 1, uniform in its logarithm. 1 is white
/// light.
Scene draw_scene(kit::Random& random, double darkest);
/// Returns the caption, without begin and with end.
std::vector<std::int64_t> caption_of(const Scene& scene);
std::string text_of(const std::vector<std::int64_t>& words);

/// Returns the pixels (kSide, kSide, 3), row by row, between 0 and 1.
std::vector<double> pixels_of(const Scene& scene);

struct Batch {
  std::vector<Scene> scenes;
  Tensor pictures;      ///< (B, side, side, 3)
  Indices words, next;  ///< (B, longest): the decoder's inputs, and the words that it must write
};
Batch batch_of(std::vector<Scene> scenes);
Batch draw_batch(kit::Random random, Size count, double darkest);

}  // namespace tapestry::lesson33
