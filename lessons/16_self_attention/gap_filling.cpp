// Trains self-attention to fill a gap in a sentence: part 2 of lesson 16.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "lessons/16_self_attention/experiment.hpp"
#include "lessons/16_self_attention/gap_sentences.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/embedding.hpp"

namespace tapestry::lesson16 {
namespace {

using Maps = std::vector<std::vector<double>>;
const std::vector<std::string> kSentence = {"see", "_", "girl", "run"};  // the first test sentence

Size steps_of_agreement(const kit::Options& options) { return options.smoke ? 10 : 200; }

/// Computes the answer from the output at the gap, by a linear layer.
struct Filler : Module {
  explicit Filler(Projected projected) : layer{{*this, "layer"}, 16, projected} {}
  Tensor operator()(const Indices& ids) const { return out(select(layer(words(ids)).context, 1, kit::kGap)); }

  Embedding words{{*this, "words"}, static_cast<Size>(kit::gap_vocabulary().size()), 16};
  SelfAttention layer;
  Linear out{{*this, "out"}, 16, 2};
};

}  // namespace

kit::TrainingRecorder recorder_of_agreement(const kit::Options& options) {
  return {{.title = "Attention weights of each word during training",
           .columns = kSentence,
           .rows = kSentence,
           .column_axis = "word of the key",
           .row_axis = "word of the query",
           .choices = {{"projections", {"with", "without"}}}},
          steps_of_agreement(options),
          {0, 0.05, 0.1, 0.2, 0.5, 1}};
}

Filled learn_agreement(const char* name, Projected projected, kit::TrainingRecorder& recorder,
                       const kit::Options& options) {
  Filler model(projected);
  model.initialise(options.seed);
  const kit::GapSentences train = kit::gap_sentences(false), test = kit::gap_sentences(true);
  const Indices shown = kit::rows_of(test.words, 0, 1);
  const auto look = [&](Size step) {
    recorder.after(step, [&] { return Maps{model.layer(model.words(shown)).weights.to_vector()}; });
  };
  look(0);
  const auto weights_of = [&](const Indices& words) { return model.layer(model.words(words)).weights; };
  const auto mean_of_gap = [](const Tensor& weights, Size word) {
    return 100 * mean(select(select(weights, 1, kit::kGap), 1, word)).item();
  };
  const auto gap_of_shown = [&] { return select(select(weights_of(shown), 0, 0), 0, kit::kGap).to_vector(); };
  const std::vector<double> at_start = gap_of_shown();
  const double gap_at_start = mean_of_gap(weights_of(test.words), kit::kGap);
  kit::train(model,
             {.name = name,
              .steps = steps_of_agreement(options),
              .rate = 1e-2,
              .batch = train.words.shape()[0],
              .unit = "sentences",
              .seed = options.seed,
              .after_step = look},
             [&](kit::Random) { return cross_entropy(model(train.words), train.answers); });
  fmt::print(
      "  {:<19} weights of the gap on see, _, girl, run:  {:.2f} at the start, {:.2f} after training\n", name,
      fmt::join(at_start, " "), fmt::join(gap_of_shown(), " "));
  const Tensor weights = weights_of(test.words);
  return {kit::percent_equal(argmax(model(test.words)), test.answers), mean_of_gap(weights, kit::kNoun),
          gap_at_start, select(weights, 0, 0)};
}

void draw_agreement(const Filled& filled, const kit::TrainingRecorder& recorder,
                    const kit::Options& options) {
  kit::Heatmap map{"Attention weights of each word", kSentence, kSentence, filled.weights.to_vector()};
  map.numbers = true;
  map.row_axis = "word of the query", map.column_axis = "word of the key";
  kit::show(map, options.out / "agreement.svg");
  kit::save(recorder.series(), options.out / "agreement_over_training.json");
}

}  // namespace tapestry::lesson16
