// The measurements and figures of lesson 26: the three levels of one formula, texts longer than in training,
// the puzzle and the gallery.
#include "lessons/26_programmable/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/core.hpp"
#include "lessons/26_programmable/gallery.hpp"
#include "lessons/26_programmable/gallery_maps.hpp"
#include "lessons/26_programmable/my_attention.hpp"
#include "lessons/26_programmable/tasks.hpp"
#include "lessons/26_programmable/train_my_attention.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/loss.hpp"
#include "nn/transformer/transformer.hpp"

namespace lesson26 {

using namespace tapestry;
using Learned = std::vector<Tensor>;

namespace {

TransformerOptions model_options(const Order& order, Size vocabulary, Size layers, Size heads, bool smoke) {
  TransformerOptions options;
  options.vocabulary = vocabulary;
  options.layers = layers;
  options.block = {.width = smoke ? 16 : 64, .heads = heads, .hidden = smoke ? 32 : 128};
  options.block.score_mod = order.score_mod;
  options.positions = order.positions;
  return options;
}

struct Curve {
  const char* name;
  std::vector<double> by_place = {};  // the loss at each position, a mean over strings

  /// Returns the mean loss of strings of this length.
  double of_length(Size length) const {
    double sum = 0;
    for (Size t = 0; t < length; ++t) sum += by_place[static_cast<std::size_t>(t)];
    return sum / static_cast<double>(length);
  }
};

Curve learn_themes(const char* name, const Order& order, const kit::Options& options) {
  const Size rows = options.smoke ? 2 : 32;
  LanguageModel model(model_options(order, kWords, 2, 8, options.smoke));
  model.initialise(options.seed);
  kit::train(model, {.name = name, .steps = options.steps, .batch = rows, .seed = options.seed},
             [&](kit::Random random) {
               const Text text = draw_themes(random, rows, kShort);
               return cross_entropy(model(text.words), text.answers);
             });
  const Size tested = options.smoke ? 2 : 300;
  const Text text = draw_themes(kit::Random(options.seed, 1'000'000), tested, kLong);
  const Evaluating evaluating(model);
  const Tensor losses = cross_entropy(model(text.words), text.answers, {.reduce = Reduce::none});
  return {name, mean(reshape(losses, {tested, kLong}), {0}).to_vector()};
}

constexpr Size kLate = 192;

double learn_voices(const std::string& name, const Order& order, const kit::Options& options,
                    Learned* learned = nullptr) {
  const Size rows = options.smoke ? 2 : 32;
  LanguageModel model(model_options(order, kSymbols, 1, 4, options.smoke));
  model.initialise(options.seed);
  kit::train(model, {.name = name, .steps = options.steps, .rate = 1e-2, .batch = rows, .seed = options.seed},
             [&](kit::Random random) {
               const Text text = draw_voices(random, rows, kShort);
               return cross_entropy(model(text.words), text.answers);
             });
  const Size tested = options.smoke ? 2 : 200;
  const Text text = draw_voices(kit::Random(options.seed, 1'000'000), tested, kLong);
  const Evaluating evaluating(model);
  const Indices said = argmax(model(text.words));
  if (learned) *learned = model.stack.blocks[0].self->attention.learned();
  // By position 192 each voice has spoken 27 times.
  return kit::percent_equal(said.columns(kLate, kLong), text.answers.columns(kLate, kLong));
}

}  // namespace

void compare_levels(const std::array<Mechanism, 3>& levels, const kit::Options& options,
                    kit::Report& report) {
  for (const Mechanism& level : levels) kit::check(level, report, options.seed);
  const Dims shape{2, 4, 70, 16};
  const auto normal = [&](std::uint64_t stream) {
    return variable(random_normal(shape, 10 * options.seed + stream, DType::f64));
  };
  const Learned inputs = {normal(1), normal(2), normal(3)};
  const auto by = [&](const Mechanism& level) {
    return [&] { return kit::run(level, inputs[0], inputs[1], inputs[2], {}); };
  };
  double apart = 0;
  for (const Mechanism& level : levels)
    apart = std::max({apart, kit::largest(by(level)() - by(levels[0])()),
                      kit::farthest(kit::gradients(by(level), inputs, options.seed),
                                    kit::gradients(by(levels[0]), inputs, options.seed))});
  report.check("all three levels agree, in values and gradients, to 1e-11", apart < 1e-11);
  for (const Mechanism& level : levels) fmt::print("  {}\n", kit::timing(level, options.smoke ? 64 : 512));
}

LossIncrease train_short(const LearnedScoreMod& alibi, const kit::Options& options, kit::Report& report) {
  const auto context = [&](const Order& order) {
    LanguageModel model(model_options(order, kWords, 2, 8, true));
    model.initialise(options.seed, DType::f64);
    return model(draw_themes(kit::Random(options.seed), 2, 100).words);
  };
  report.check("nn/'s alibi() agrees, to 1e-12",
               kit::largest(context({.score_mod = alibi}) - context({tapestry::alibi()})) < 1e-12);

  const Curve curves[] = {learn_themes("ALiBi", {.score_mod = alibi}, options),
                          learn_themes("sinusoidal", {sinusoidal()}, options)};
  kit::Chart chart{
      "Trained at 64 words: loss at each position of longer texts", "position", "nats per word", {}, {}};
  constexpr Size kAtOnce = 8;  // positions per point
  fmt::print("\n  {:<14}{:>8}{:>8}{:>8}{:>8}   words\n", "loss of a text", 32, 64, 128, 256);
  for (const Curve& curve : curves) {
    fmt::print("  {:<14}", curve.name);
    for (const Size length : {32, 64, 128, 256}) fmt::print("{:>8.3f}", curve.of_length(length));
    fmt::print("\n");
    kit::Series series{curve.name};
    for (Size t = 0; t < kLong; t += kAtOnce) {
      double sum = 0;
      for (Size i = t; i < t + kAtOnce; ++i) sum += curve.by_place[static_cast<std::size_t>(i)];
      series.x.push_back(static_cast<double>(t) + kAtOnce / 2.0);
      series.y.push_back(sum / kAtOnce);
    }
    chart.series.push_back(std::move(series));
  }
  fmt::print("\n");
  kit::show(chart, options.out / "length.svg");
  const auto more = [](const Curve& curve) { return curve.of_length(kLong) - curve.of_length(kShort); };
  return {more(curves[0]), more(curves[1])};
}

std::optional<PuzzleAccuracy> solve_voices(const kit::Options& options, kit::Report& report) {
  const Mechanism own = my_attention();
  if (!kit::check(own, report, options.seed)) return {};  // do not train a wrong mechanism
  if (!report.check("it is a causal score for score_mod (--my-attention also trains others)",
                    fits_language_model(own, kLong)))
    return {};
  fmt::print("  {}\n", kit::timing(own, options.smoke ? 64 : 1024));
  Learned learned;
  const double solved =
      learn_voices(own.name, {.score_mod = {own.learned, own.score_mod}}, options, &learned);
  double best = 0;
  fmt::print("\n  {:<14}{:>8.1f} % of favourites predicted from position {} on\n", own.name, solved, kLate);
  for (const auto& [name, scheme] : {std::pair<const char*, PositionScheme>{"sinusoidal", sinusoidal()},
                                     {"T5", t5_buckets()},
                                     {"ALiBi", tapestry::alibi()},
                                     {"rotary", rotary()}}) {
    const double right = learn_voices(name, {scheme}, options);
    fmt::print("  {:<14}{:>8.1f} %\n", name, right);
    best = std::max(best, right);
  }
  fmt::print("\n");
  kit::show_map(own, options.out / "mine-voices.svg", learned);
  return PuzzleAccuracy{solved, best};
}

void show_gallery(const kit::Options& options, kit::Report& report, bool pictures) {
  constexpr Size kPlaces = 24;
  kit::HeatmapGrid place{
      fmt::format("By position alone: queries and keys are 0; {}", kit::kWeightsMapScale), {}, 6},
      both{fmt::format("With random queries and keys; {}", kit::kWeightsMapScale), {}, 6};
  bool all = true;
  for (const GalleryEntry& entry : gallery()) {
    fmt::print("  {:<20} {:<10}{:>3} {:<6} {:<34}{}\n", entry.mechanism.name, entry.level, entry.lines,
               entry.lines == 1 ? "line" : "lines", entry.does, entry.source);
    const Learned learned = kit::first_values(entry.mechanism, options.seed);
    const Dims shape{1, entry.mechanism.heads, kPlaces, entry.mechanism.width};
    for (kit::HeatmapGrid* grid : {&place, &both}) {
      const auto draw = [&](std::uint64_t stream) {
        return grid == &place ? full(shape, 1e-6) : random_normal(shape, stream);
      };
      const Tensor weights =
          select(select(kit::weights_of(entry.mechanism, draw(1), draw(2), learned), 0, 0), 0, 0);
      all = all && kit::largest(weights) < 10;
      const std::vector<double> values = weights.to_vector();
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      // Without an effect of positions there is nothing to draw.
      if (*high - *low >= 1e-6) grid->maps.push_back(kit::weights_map(entry.mechanism.name, weights));
    }
  }
  report.check("all mechanisms run, and no weight is NaN", all);
  save_gallery(options.out / "gallery.json", options.seed);
  if (!pictures) return;
  kit::show(place, options.out / "gallery_place.svg");
  kit::show(both, options.out / "gallery.svg");
}

}  // namespace lesson26
