// 26 programmable: your score, your mask, full speed
//
// Papers keep inventing attentions, and most differ from softmax(Q Kᵀ / √d) V in one line. That line is easy
// to write with tensors. But then the matrix of all pairs is there again, which lesson 25 took such trouble
// to avoid. So here the line goes into the tiles: you write it as a lambda, and it is compiled into the
// kernel, forward and backward. Its derivative comes by itself.
//
// You will: 1 write one formula at three levels, and see what each costs; 2 write ALiBi as a lambda, and
// train on short texts for long ones; 3 solve a puzzle that no built-in scheme solves, with a mechanism that
// you then replace by your own; 4 look through a gallery of 24 mechanisms, of at most 15 lines each.
//
// The files: mine.cpp is yours to change. gallery.cpp has the mechanisms to start from, tasks.cpp the texts.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"
#include "lessons/26_programmable/gallery.hpp"
#include "lessons/26_programmable/mechanism.hpp"
#include "lessons/26_programmable/mine.hpp"
#include "lessons/26_programmable/tasks.hpp"
#include "lessons/26_programmable/train_mine.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/attention/attention.hpp"
#include "nn/loss.hpp"
#include "nn/transformer/transformer.hpp"

namespace lesson26 {

using namespace tapestry;
using kit::Mechanism;
using Learned = std::vector<Tensor>;

// ---- 1. One formula, three levels -------------------------------------------------------------------------
//
// Let nearness count in place of the product (Nadaraya 1964, Watson 1964): s_ij = −‖q_i − k_j‖².
//
// **By ops.** A function of queries and keys gives the scores, and the rest of the pipeline is shared. This
// always works, and it says best what is meant. But it makes a tensor (…, Tq, Tk, d), a whole vector for each
// pair, and keeps it for backward.

Mechanism nearness_by_ops() {
  return {.name = "by ops", .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned&) {
            const Attention attention{[](const Tensor& query, const Tensor& key) {
              const Tensor apart = unsqueeze(query, -2) - unsqueeze(key, -3);
              return 0.0 - sum(apart * apart, {-1});
            }};
            return attention(q, k, v).context;
          }};
}

// **By mechanism.** A sum over units is a lambda of one unit: q and k are then numbers (several at once, one
// on each SIMD lane). attend() runs it in tiles. No (Tq, Tk) tensor is made, let alone one with d.

Mechanism nearness_by_mechanism() {
  return {.name = "by mechanism", .pairs = [](const Learned&) {
            return pair_score([](auto q, auto k) { return -(q - k) * (q - k); });
          }};
}

// **By element.** Look at the formula once more: −‖q − k‖² = 2 q·k − ‖k‖² − ‖q‖², and softmax ignores ‖q‖²,
// which is the same in a whole row. What is left is the usual product, and something done to each score. The
// product runs on the kernel of lesson 04, the lambda is inlined behind it. It gets the score s, its place
// `at` (batch row b, head h, query i, key j), and a reader for each tensor it wants. C++ cannot see what a
// lambda captures, so what is to be learned is handed over beside it, as learned(…). It may be a weight, or like
// ‖k‖² here what ops have computed: its gradient flows on. A lambda that only computes costs next to nothing;
// one that reads another number for each key, as this one, pays for a look-up each time.

Mechanism nearness_by_element() {
  return {.name = "by element", .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned&) {
            const auto score =
                score_mod([](auto s, auto at, auto square) { return s - square(at.b, at.h, at.j); },
                          learned(sum(k * k, {-1})));
            return attend(q, k, v, {.scale = 2, .score = score});
          }};
}

// How does backward know the derivative of a lambda that it has never seen? The lambda says `auto`, so it can
// be run on other numbers than floats: on *duals*, pairs of a value and a slope, for which + and · and tanh
// are defined by the rules of differentiation (core/simd/attention/dual.hpp). Run with slope 1 at s it gives
// ∂/∂s, with slope 1 at a number that it reads, the derivative for that. And run on whole tensors it is its
// own reference. So use select(condition, a, b) in place of `if`: one lane may go left and its neighbour
// right.
//
// kit::check() runs gradcheck in f64 for all that a mechanism depends on, and compares tiles with plain ops;
// kit::timing() says how long it takes. You will want both for your own.

void show_levels(const kit::Options& options, kit::Report& report) {
  const std::array<Mechanism, 3> levels = {nearness_by_ops(), nearness_by_mechanism(), nearness_by_element()};
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
  report.check("all three give the same, values and gradients, to 1e-11", apart < 1e-11);
  for (const Mechanism& level : levels) fmt::print("  {}\n", kit::timing(level, options.smoke ? 64 : 512));
}

// ---- 2. Train short, test long ----------------------------------------------------------------------------
//
// A language model is trained on texts of 64 words, and has to go on for longer ones. Sinusoids (lesson 17)
// tell it "you are at place 65", and it has never been there. ALiBi (Press et al. 2022) only says how far a
// key is, and takes more off the farther it is, by another slope in each head. A place farther away than any
// in training is then nothing new: it counts still less. As a lambda it is one line:

ScoreProgram alibi_as_lambda() {
  return {{}, [](const Learned&, Size queries, Size keys) {
            const auto first = static_cast<double>(keys - queries);  // where query 0 stands: see mine.cpp
            return score_mod(
                [first](auto s, auto at, auto slope) { return s - slope(at.h) * abs(at.i + first - at.j); },
                tensor({0.5, 0.25, 1.0 / 8, 1.0 / 16, 1.0 / 32, 1.0 / 64, 1.0 / 128, 1.0 / 256}));
          }};
}

// Any transformer takes such a program: its blocks have a slot `score_mod`. (What it learns comes first, in
// braces: here nothing.) It goes with any positions; here it is all that the model is told of order.
//
// The text is made up. Three words in five follow from the one before the last, by a rule that is always the
// same: so a place matters, that of one's left neighbour. And each string has a theme, six of 64 words that
// it keeps coming back to: so a model that has seen more of a string knows more of what will come.

constexpr Size kShort = 64, kLong = 256;

/// What a model is told of order: by positions, or by what is done to its scores.
struct Order {
  PositionScheme positions = no_positions();
  ScoreProgram score_mod = {};
};

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
  std::vector<double> by_place = {};  // the loss at each place, a mean over strings

  /// Of strings of this length.
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

void train_short(const kit::Options& options, kit::Report& report) {
  const auto context = [&](const Order& order) {
    LanguageModel model(model_options(order, kWords, 2, 8, true));
    model.initialise(options.seed, DType::f64);
    return model(draw_themes(kit::Random(options.seed), 2, 100).words);
  };
  report.check("nn/'s alibi() is the same to 1e-12",
               kit::largest(context({.score_mod = alibi_as_lambda()}) - context({alibi()})) < 1e-12);

  const Curve curves[] = {learn_themes("ALiBi", {.score_mod = alibi_as_lambda()}, options),
                          learn_themes("sinusoidal", {sinusoidal()}, options)};
  kit::Chart chart{
      "Trained at 64 words: the loss at each place of longer texts", "place", "nats per word", {}, {}};
  constexpr Size kAtOnce = 8;  // places for one point
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
  report.at_most("ALiBi: loss at 256 words, less that at 64",
                 curves[0].of_length(kLong) - curves[0].of_length(kShort), 0);
  report.at_least("sinusoidal: loss at 256 words, less that at 64",
                  curves[1].of_length(kLong) - curves[1].of_length(kShort), 0.3);
}

// ---- 3. A puzzle, and your own mechanism ------------------------------------------------------------------
//
// Seven voices speak in turn, one symbol each, round and round. Each voice has a favourite symbol, another
// one in each string, and says it two times in five; otherwise it says anything. At each place: what is the
// favourite of the voice that speaks next? Who wants to know must gather all that this voice has said, 6, 13,
// 20, 27 … places back, and nothing else. No scheme of lesson 17 can say "every seventh". ALiBi and T5's
// buckets know near from far. Rotary and the sinusoids turn all the time, but none of their hands makes a
// turn in seven places.
//
// mine.cpp says it in a lambda: a number for each head and each remainder of the distance by 7. They start at
// 0. Which remainder matters, training finds: the map shows it.

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
  if (learned) *learned = model.stack.blocks[0].self.attention.learned();
  // By place 192 each voice has spoken 27 times.
  return kit::percent_equal(said.columns(kLate, kLong), text.answers.columns(kLate, kLong));
}

void solve_puzzle(const kit::Options& options, kit::Report& report) {
  const Mechanism own = mine();
  if (!kit::check(own, report, options.seed)) return;  // there is no use in training it
  if (!report.check("it is a causal score, for score_mod (--mine trains any)",
                    fits_language_model(own, kLong)))
    return;
  fmt::print("  {}\n", kit::timing(own, options.smoke ? 64 : 1024));
  Learned learned;
  const double solved = learn_voices(own.name, {.score_mod = {own.learned, own.score}}, options, &learned);
  double best = 0;
  fmt::print("\n  {:<14}{:>8.1f} % of favourites known from place {} on\n", own.name, solved, kLate);
  for (const auto& [name, scheme] : {std::pair<const char*, PositionScheme>{"sinusoidal", sinusoidal()},
                                     {"T5", t5_buckets()},
                                     {"ALiBi", alibi()},
                                     {"rotary", rotary()}}) {
    const double right = learn_voices(name, {scheme}, options);
    fmt::print("  {:<14}{:>8.1f} %\n", name, right);
    best = std::max(best, right);
  }
  fmt::print("\n");
  kit::show_map(own, options.out / "mine-voices.svg", learned);
  report.at_least(fmt::format("{}: favourites known", own.name), solved, 99, "%");
  report.at_most("the best of the built-in schemes", best, 70, "%");
}

// ---- 4. The gallery ---------------------------------------------------------------------------------------

void show_gallery(const kit::Options& options, kit::Report& report, bool pictures) {
  constexpr Size kPlaces = 24;
  kit::HeatmapGrid place{fmt::format("By place alone: queries and keys are 0; {}", kit::kEvenShares), {}, 6},
      both{fmt::format("With random queries and keys; {}", kit::kEvenShares), {}, 6};
  bool all = true;
  for (const GalleryEntry& entry : gallery()) {
    fmt::print("  {:<20} {:<10}{:>3} lines  {:<34}{}\n", entry.mechanism.name, entry.level, entry.lines,
               entry.does, entry.source);
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
      // Where place alone does nothing there is nothing to see.
      if (*high - *low >= 1e-6) grid->maps.push_back(kit::weights_map(entry.mechanism.name, weights));
    }
  }
  report.check("all of them run, and none of their weights is NaN", all);
  if (!pictures) return;
  kit::show(place, options.out / "gallery_place.svg");
  kit::show(both, options.out / "gallery.svg");
}

}  // namespace lesson26

int main(int argc, char** argv) {
  using namespace lesson26;
  kit::Lesson program("26_programmable", "your score, your mask, full speed");
  program.steps(420, 2);
  bool only_gallery = false, only_mine = false;
  std::string task = "voices";
  program.add_flag("--mine", only_mine, "mine.cpp alone: check, time, train and draw it");
  program.add("--task", task, "What --mine trains on: the puzzle, or lesson 20's digits",
              {"voices", "sorting"});
  program.add_flag("--gallery", only_gallery, "The gallery alone, with pictures of all of it");
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    if (only_mine && only_gallery)
      throw kit::UsageError("--mine and --gallery are two parts of the lesson: give one of them");
    if (program.given("--task") && !only_mine)
      throw kit::UsageError("--task is what --mine trains on: give --mine too");
    if (only_mine || only_gallery) report.part_of_lesson();
    if (only_mine) return train_mine(mine(), task, options, report);
    if (only_gallery) return show_gallery(options, report, true);
    report.section("One formula, three levels");
    show_levels(options, report);
    report.section("Train short, test long");
    train_short(options, report);
    report.section("A puzzle, and your own mechanism");
    solve_puzzle(options, report);
    report.section("The gallery");
    show_gallery(options, report, false);
  });
}
