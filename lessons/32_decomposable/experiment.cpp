// Trains the models, measures their answers, and plots the alignment.
#include "lessons/32_decomposable/experiment.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry::lesson32 {
namespace {

constexpr Size kBatch = 64;
constexpr std::uint64_t kTestStreams = 1'000'000;  // far from the training streams

struct Plan {
  const char* name;
  Model model;
  Sizes sizes;
};

void train(Entailer& entailer, const char* name, const kit::Options& options) {
  entailer.initialise(options.seed);
  kit::train(entailer,
             {.name = name,
              .steps = options.steps,
              .rate = 3e-3,
              .batch = kBatch,
              .unit = "pairs",
              .seed = options.seed},
             [&](kit::Random random) {
               const Batch batch = batch_of(draw_pairs(random, kBatch, Words::seen_together, options.seed));
               return cross_entropy(entailer(batch), batch.answers);
             });
}

/// Draws the weights of each word of the premise over the words of the hypothesis.
void draw(const Entailer& entailer, const Pair& pair, const std::string& title,
          const std::filesystem::path& file) {
  const WeightRecorder recorder(entailer.align);
  entailer(batch_of({pair}));
  const auto words = [](const Sentence& sentence) {
    std::vector<std::string> all;
    for (const std::int64_t word : sentence)
      if (word != 0) all.push_back(vocabulary()[static_cast<std::size_t>(word)]);
    return all;
  };
  kit::Heatmap map{title, words(pair.hypothesis), words(pair.premise), {}};
  for (std::size_t i = 0; i < map.rows.size(); ++i)
    for (std::size_t j = 0; j < map.columns.size(); ++j)
      map.values.push_back(recorder.weights().front().at({0, static_cast<Size>(i), static_cast<Size>(j)}));
  map.numbers = true;
  map.column_axis = "hypothesis", map.row_axis = "premise";
  kit::show(map, file);
}

Sentence sentence_of(const std::array<std::string, 5>& words) {
  Sentence sentence{};
  for (std::size_t i = 0; i < words.size(); ++i) sentence[i] = words[i].empty() ? 0 : id_of(words[i]);
  return sentence;
}

}  // namespace

Right measure(const Entailer& entailer, const kit::Options& options) {
  const Size count = options.smoke ? 30 : 1500;
  const auto right = [&](const std::vector<Pair>& pairs) {
    const Batch batch = batch_of(pairs);
    return kit::percent_equal(argmax(entailer(batch)), batch.answers);
  };
  const auto random = [&](std::uint64_t stream) { return kit::Random(options.seed, kTestStreams + stream); };
  return {right(draw_pairs(random(1), count, Words::seen_together, options.seed)),
          right(draw_pairs(random(2), count, Words::held_out, options.seed)),
          right(draw_twins(random(3), count / 3, Words::held_out, options.seed))};
}

std::vector<Right> train_each(Size hidden, const kit::Options& options, kit::Report& report) {
  const Plan plans[] = {{"full model", Model::full, {.hidden = hidden}},
                        {"no positions", Model::no_positions, {.hidden = hidden}},
                        {"equal weights", Model::equal, {.hidden = hidden}},
                        {"bag of words", Model::bag_of_words, {.hidden = 4 * hidden}}};
  std::vector<Right> all;
  std::unique_ptr<Entailer> full;
  kit::Bars bars{"Pairs with combinations that were not in training", "right in %", {}, {}};
  fmt::print("  {:<16}{:>10}{:>18}{:>14}{:>10}\n", "", "params", "seen together", "held out", "twins");
  for (const Plan& plan : plans) {
    auto entailer = std::make_unique<Entailer>(plan.model, plan.sizes);
    train(*entailer, plan.name, options);
    all.push_back(measure(*entailer, options));
    fmt::print("  {:<16}{:>10}{:>16.1f} %{:>12.1f} %{:>8.1f} %\n", plan.name, kit::weights_of(*entailer),
               all.back().together, all.back().held_out, all.back().twins);
    bars.bars.push_back({plan.name, all.back().held_out});
    if (plan.model == Model::full) full = std::move(entailer);
  }
  bars.level = kit::Level{97, "target"};
  kit::show(bars, options.out / "right.svg");
  const Sentence premise = sentence_of({"red", "dog", "pushes", "", "car"});
  draw(*full, {premise, sentence_of({"", "animal", "touches", "", "vehicle"}), kEntailed},
       "Alignment: weights of each word of the premise", options.out / "alignment.svg");
  draw(*full, {premise, sentence_of({"", "car", "pushes", "", "dog"}), kContradicted},
       "The alignment with the nouns exchanged", options.out / "exchanged.svg");
  report.at_least("full model: held-out pairs right", all[0].held_out, 97, "%");
  report.at_least("full model: twins right", all[0].twins, 90, "%");
  report.at_most("equal weights: held-out pairs right", all[2].held_out, 92, "%");
  report.at_most("bag of words: held-out pairs right", all[3].held_out, 90, "%");
  return all;
}

double apart_from_twins(Model model, std::uint64_t seed) {
  Entailer entailer(model, {.width = 6, .hidden = 5});
  entailer.initialise(seed, DType::f64);
  const std::vector<Pair> twins = draw_twins(kit::Random(seed, kTestStreams), 20, Words::seen_together, seed);
  const Tensor answers = reshape(entailer(batch_of(twins)), {20, 2, kAnswers});
  return kit::largest(select(answers, 1, 0) - select(answers, 1, 1));
}

}  // namespace tapestry::lesson32
