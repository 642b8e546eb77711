// Scenes, their captions, and a captioner that may not look at a place.
#include "lessons/33_vision/captioner.hpp"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using namespace tapestry::lesson33;

namespace {

Size row_of(Size place) { return place / kGrid; }
Size column_of(Size place) { return place % kGrid; }

/// One number of a pixel in the middle of a place.
double middle(const std::vector<double>& pixels, Size place, Size part) {
  const Size y = row_of(place) * kPatch + kPatch / 2, x = column_of(place) * kPatch + kPatch / 2;
  return pixels[static_cast<std::size_t>((y * kSide + x) * kParts + part)];
}

}  // namespace

TEST_CASE("a caption names what stands further left or above first", "[lesson33]") {
  const Scene beside{{0, 0, 4}, {2, 1, 6}, 0, {1, 1, 1}}, below{{5, 3, 1}, {3, 2, 13}, 0, {1, 1, 1}};
  CHECK(text_of(caption_of(beside)) == "red square left of blue circle");
  CHECK(text_of(caption_of(below)) == "white cross above yellow triangle");
  CHECK(caption_of(beside).size() == static_cast<std::size_t>(kLongest));
  CHECK(caption_of(below).back() == kEnd);
}

TEST_CASE("scenes are what is promised of them, and no two parts share a place", "[lesson33]") {
  kit::Random random(3);
  std::set<std::string> captions;
  for (int i = 0; i < 500; ++i) {
    const Scene scene = draw_scene(random, 0.2);
    const Size one = scene.first.place, other = scene.second.place;
    const bool row = row_of(one) == row_of(other), column = column_of(one) == column_of(other);
    CHECK(row != column);
    CHECK(one < other);
    CHECK(scene.frame != one);
    CHECK(scene.frame != other);
    for (const double part : scene.light) CHECK((part >= 0.2 && part <= 1));
    captions.insert(text_of(caption_of(scene)));
  }
  CHECK(captions.size() > 300);
}

TEST_CASE("light multiplies all that is in the picture", "[lesson33]") {
  Scene scene{{3, 0, 5}, {2, 0, 7}, 10, {1, 0.5, 0.25}};
  const std::vector<double> pixels = pixels_of(scene);  // yellow and blue squares, and the frame
  CHECK(middle(pixels, 5, 0) == 1);
  CHECK(middle(pixels, 5, 1) == 0.5);
  CHECK(middle(pixels, 7, 2) == 0.25);
  CHECK(middle(pixels, 10, 0) == 0);  // a frame is empty
  CHECK(pixels[static_cast<std::size_t>((2 * kPatch * kSide + 2 * kPatch) * kParts + 1)] ==
        0.5);  // its corner
  scene.light = {1, 1, 1};
  const std::vector<double> white = pixels_of(scene);
  for (std::size_t i = 0; i < white.size(); ++i)
    CHECK(pixels[i] == white[i] * (i % 3 == 0 ? 1 : i % 3 == 1 ? 0.5 : 0.25));
}

TEST_CASE("what stands at a covered place changes nothing without a gate", "[lesson33]") {
  Captioner captioner({.places = true, .channels = false}, {.features = 6, .gate = 2, .hidden = 5});
  captioner.initialise(1, DType::f64);
  captioner.eval();
  const Batch batch = draw_batch(kit::Random(2), 3, 0.2);
  std::vector<Size> frames;
  std::vector<double> other = batch.pictures.to_vector();
  for (std::size_t b = 0; b < 3; ++b) {
    const Size frame = batch.scenes[b].frame;
    frames.push_back(frame);
    for (Size y = 0; y < kPatch; ++y)
      for (Size x = 0; x < kPatch * kParts; ++x)
        other[b * static_cast<std::size_t>(kSide * kSide * kParts) +
              static_cast<std::size_t>((row_of(frame) * kPatch + y) * kSide * kParts +
                                       column_of(frame) * kPatch * kParts + x)] = 0.7;
  }
  const Tensor pictures = batch.pictures.to(DType::f64),
               changed = tensor(other, pictures.shape(), DType::f64);
  const auto before = captioner.write(pictures, frames), after = captioner.write(changed, frames),
             uncovered = captioner.write(pictures), seen = captioner.write(changed);
  for (std::size_t b = 0; b < 3; ++b) {
    CHECK(before[b].ids == after[b].ids);
    CHECK(std::abs(before[b].log_probability - after[b].log_probability) < 1e-12);
    CHECK(std::abs(uncovered[b].log_probability - seen[b].log_probability) > 1e-6);
    CHECK(before[b].alignment.front().back() == 0);
  }
}
