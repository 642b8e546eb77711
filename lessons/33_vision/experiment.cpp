// Trains captioners, measures their captions, and records where they look.
#include "lessons/33_vision/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/core.hpp"
#include "lessons/33_vision/attention_picture.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/loss.hpp"

namespace tapestry::lesson33 {
namespace {

constexpr Size kBatch = 32;
constexpr std::uint64_t kTestStream = 1'000'000;  // far from the training streams

Batch test_pictures(double darkest, const kit::Options& options) {
  return draw_batch(kit::Random(options.seed, kTestStream), options.smoke ? 20 : 1000, darkest);
}

bool is_right(const Decoded& written, const Scene& scene) {
  std::vector<std::int64_t> caption = caption_of(scene);
  caption.pop_back();  // Decoded does not include the end
  return written.ended && written.ids == caption;
}

double percent_right(const std::vector<Decoded>& written, const std::vector<Scene>& scenes) {
  double right = 0;
  for (std::size_t i = 0; i < written.size(); ++i) right += is_right(written[i], scenes[i]) ? 1 : 0;
  return 100 * right / static_cast<double>(written.size());
}

void train(Captioner& captioner, const char* name, double darkest, const kit::Options& options) {
  captioner.initialise(options.seed);
  kit::train(
      captioner,
      {.name = name, .steps = options.steps, .batch = kBatch, .unit = "pictures", .seed = options.seed},
      [&](kit::Random random) {
        const Batch batch = draw_batch(random, kBatch, darkest);
        return cross_entropy(captioner(batch), batch.next, {.ignore = kPad});
      });
  captioner.eval();
}

void draw(const Decoded& written, const Scene& scene, const kit::Options& options) {
  AttentionPicture picture{"Attention weights of the captioner for each word", scene, {}, written.alignment};
  for (const std::int64_t word : written.ids)
    picture.words.push_back(vocabulary().at(static_cast<std::size_t>(word)));
  kit::show(picture, options.out / "looked.svg");
}

}  // namespace

Captioners::Captioners(double darkest, const kit::Options& options) : darkest_(darkest), options_(options) {
  constexpr std::array<std::pair<const char*, CaptionerParts>, kKinds> kPlan{
      {{"neither", {.places = false, .channels = false}},
       {"channels", {.places = false, .channels = true}},
       {"places", {.places = true, .channels = false}},
       {"places, mean first", {.places = true, .channels = false, .mean = true}},
       {"both", {.places = true, .channels = true}}}};
  const Batch test = test_pictures(darkest, options);
  kit::Bars bars{"Captions with every word right", "%", {}, kit::Level{95, "target"}};
  fmt::print("  {:<20}{:>16}\n", "attends to", "captions right");
  for (std::size_t i = 0; i < kKinds; ++i) {
    all_[i] = std::make_unique<Captioner>(kPlan[i].second);
    train(*all_[i], kPlan[i].first, darkest, options);
    right_[i] = percent_right(all_[i]->write(test.pictures), test.scenes);
    fmt::print("  {:<20}{:>14.1f} %\n", kPlan[i].first, right_[i]);
    bars.bars.push_back({kPlan[i].first, right_[i]});
  }
  fmt::print("  (mean first: the initial state is computed from the mean of all places)\n");
  kit::show(bars, options.out / "right.svg");
}

double Captioners::right_without_frame(CaptionerKind kind) const {
  const Batch test = test_pictures(darkest_, options_);
  std::vector<Size> frames;
  for (const Scene& scene : test.scenes) frames.push_back(scene.frame);
  return percent_right(all_[kind]->write(test.pictures, frames), test.scenes);
}

Captioners::AttentionShares Captioners::attention_shares(CaptionerKind kind) const {
  const Batch test = test_pictures(darkest_, options_);
  const std::vector<Decoded> written = all_[kind]->write(test.pictures);
  AttentionShares sum;
  double captions = 0;
  bool drawn = kind != kBoth;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const Scene& scene = test.scenes[i];
    const auto& weights_by_word = written[i].alignment;
    if (!is_right(written[i], scene)) continue;
    const auto weight = [&](std::size_t word, Size place) {
      return 100 * weights_by_word[word][static_cast<std::size_t>(place)];
    };
    const std::size_t second = weights_by_word.size() - 2;  // the second thing's colour; its shape follows
    for (const std::size_t word : {std::size_t{0}, std::size_t{1}}) {
      sum.named += weight(word, scene.first.place) / 4;
      sum.named += weight(second + word, scene.second.place) / 4;
    }
    sum.frame += weight(0, scene.frame) / 2 + weight(second, scene.frame) / 2;
    sum.first += weight(2, scene.first.place);
    ++captions;
    const bool bright = *std::max_element(scene.light.begin(), scene.light.end()) > 0.8;
    if (!drawn && bright && weights_by_word.size() == kLongest - 1)
      draw(written[i], scene, options_), drawn = true;
  }
  if (captions == 0) return {};
  return {sum.named / captions, sum.frame / captions, sum.first / captions};
}

}  // namespace tapestry::lesson33
