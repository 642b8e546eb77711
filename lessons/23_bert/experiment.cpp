#include "lessons/23_bert/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/check/gradcheck.hpp"
#include "lessons/23_bert/moods.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/train/loop.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry::lesson23 {

using kit::GrammarSplit;

namespace {

/// Returns the weights of all heads for one text: (heads of all layers, words, words).
Tensor weights_on(const MaskedModel& model, const Row& row) {
  std::vector<Tensor> layers;
  for (Size layer = 0; layer < model.encoder.stack.blocks.size(); ++layer) {
    const WeightRecorder looked(model.encoder.stack.blocks[layer].self->attention);
    model(batch_of({row}));
    layers.push_back(select(looked.weights().front(), 0, 0));
  }
  return concat(layers, 0);
}

}  // namespace

void show_masking(const Hide& hide, const Dictionary& dictionary, std::uint64_t seed) {
  const GrammarSentence zone = kit::grammar_showcase();
  const Row whole = dictionary.read(zone.source, zone.target);
  Random random(seed);
  for (int trial = 0;; ++trial) {  // until one word is masked, one replaced and one kept
    const Row hidden = hide(dictionary, whole, random, 0.4);
    bool masked = false, another = false, same = false;
    std::string asked;
    for (std::size_t i = 0; i < whole.words.size(); ++i) {
      if (hidden.answers[i] == kNone) continue;
      asked += " " + dictionary.words.word(hidden.answers[i]);
      (hidden.words[i] == dictionary.mask  ? masked
       : hidden.words[i] == whole.words[i] ? same
                                           : another) = true;
    }
    if (!(masked && another && same) && trial < 10'000) continue;
    fmt::print("  the text    {}\n  the input   {}\n  the answers{}\n", dictionary.text(whole),
               dictionary.text(hidden), asked);
    return;
  }
}

MaskingStatistics count_masking(const Hide& hide, const Dictionary& dictionary, const kit::Options& options) {
  Random random(options.seed);
  double words = 0, chosen = 0, masked = 0, same = 0;
  for (const GrammarSentence& one :
       kit::grammar_sentences(options.seed, 9, GrammarSplit::train, options.smoke ? 50 : 2000)) {
    const Row row = dictionary.read(one.source, one.target), hidden = hide(dictionary, row, random, 0.25);
    for (std::size_t i = 0; i < row.words.size(); ++i) {
      words += row.words[i] >= kFirstWord;
      if (hidden.answers[i] == kNone) continue;
      ++chosen;
      masked += hidden.words[i] == dictionary.mask;
      same += hidden.words[i] == row.words[i];
    }
  }
  return {100 * chosen / words, 100 * masked / chosen, 100 * same / chosen,
          100 * (chosen - masked - same) / chosen};
}

void check_head(const Loss& loss, const Hide& hide, const Dictionary& dictionary, std::uint64_t seed,
                kit::Report& report) {
  MaskedModel model(sizes(dictionary, 8, 1));
  model.initialise(seed, DType::f64);
  Random random(seed);
  std::vector<Row> some;
  for (const GrammarSentence& one : kit::grammar_sentences(seed, 8, GrammarSplit::train, 3))
    some.push_back(hide(dictionary, dictionary.read(one.source, one.target), random, 0.3));
  const Batch batch = batch_of(some);
  const auto by_hand = [&] { return loss(model.states(batch), model, batch.answers); };
  const auto by_nn = [&] { return model.loss(batch); };
  const GradcheckResult found =
      gradcheck([&](const Tensor& x) { return loss(x, model, batch.answers); }, model.states(batch).detach(),
                {model.dense.weight, model.norm.weight, model.output.weight});
  if (!found.ok()) fmt::print("{}\n", found.report());
  report.check("gradcheck of the loss by hand, in f64", found.ok());
  const auto leaves = model.parameters();
  report.check("loss by hand equals nn/'s, to 1e-12", kit::farthest({by_hand()}, {by_nn()}) < 1e-12);
  report.check("gradients by hand equal nn/'s, to 1e-12",
               kit::farthest(kit::gradients(by_hand, leaves, 4), kit::gradients(by_nn, leaves, 4)) < 1e-12);
}

void pretrain(MaskedModel& model, const Hide& hide, const Dictionary& dictionary,
              const kit::Options& options) {
  constexpr int kRows = 64;
  const auto text = sentences_with_mood(options.seed, 7, GrammarSplit::train, options.smoke ? 200 : 20'000);
  fmt::print("  {} sentences, {} words in the dictionary, {} parameters\n", text.size(),
             dictionary.words.size(), kit::weights_of(model));
  kit::train(
      model,
      {.name = "pretraining", .steps = options.steps, .batch = kRows, .unit = "rows", .seed = options.seed},
      [&](Random random) {
        std::vector<Row> rows;
        for (int i = 0; i < kRows; ++i) {
          const GrammarSentence& one =
              text[static_cast<std::size_t>(random.below(static_cast<Size>(text.size())))];
          const std::int64_t kind = random.below(4);
          rows.push_back(hide(
              dictionary, dictionary.read(kind == 1 ? Words{} : one.source, kind == 0 ? Words{} : one.target),
              random, 0.25));
        }
        return model.loss(batch_of(rows));
      });
}

double recovered(MaskedModel& model, const Dictionary& dictionary, std::int64_t segment, Context context,
                 const kit::Options& options) {
  const Evaluating evaluating(model);
  Random random(options.seed);
  std::vector<Row> rows;
  for (const GrammarSentence& one :
       sentences_with_mood(options.seed, 6, GrammarSplit::fresh, options.smoke ? 20 : 1000)) {
    const bool both = context == Context::both_languages;
    Row row = dictionary.read(both || segment == 0 ? one.source : Words{},
                              both || segment == 1 ? one.target : Words{});
    std::size_t at = 0;
    while (row.words[at] < kFirstWord || row.segments[at] != segment)
      at = static_cast<std::size_t>(random.below(static_cast<Size>(row.words.size())));
    row.answers[at] = row.words[at];
    row.words[at] = dictionary.mask;
    rows.push_back(row);
  }
  const Batch batch = batch_of(rows);
  const Ids predicted = argmax(model(batch)).to_vector(), expected = batch.answers.to_vector();
  double right = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    right += expected[i] != kNone && expected[i] == predicted[i];
  return 100 * right / static_cast<double>(rows.size());
}

double show_attention(MaskedModel& model, const Dictionary& dictionary, const kit::Options& options) {
  const Evaluating evaluating(model);
  const GrammarSentence zone = kit::grammar_showcase();
  const Row row = dictionary.read(zone.source, zone.target);
  Words names;
  for (const std::int64_t id : row.words) names.push_back(dictionary.words.word(id));
  kit::HeatmapGrid grid{
      .title = "Attention weights, layer.head: rows are queries, columns keys; English, then French",
      .across = 4};
  const Tensor weights = weights_on(model, row);
  for (Size head = 0; head < weights.size(0); ++head)
    grid.maps.push_back({.title = fmt::format("{}.{}", head / 4 + 1, head % 4 + 1),
                         .columns = names,
                         .rows = names,
                         .values = select(weights, 0, head).to_vector()});
  kit::show(grid, options.out / "attention.svg");

  std::vector<double> other(static_cast<std::size_t>(weights.size(0)), 0.0);
  double words = 0;
  for (const GrammarSentence& one :
       sentences_with_mood(options.seed, 6, GrammarSplit::fresh, options.smoke ? 2 : 50)) {
    const Row text = dictionary.read(one.source, one.target);
    const std::vector<double> all = weights_on(model, text).to_vector();  // heads, words, words
    const std::size_t length = text.words.size();
    for (std::size_t asks = 0; asks < length; ++asks) {
      if (text.words[asks] < kFirstWord) continue;
      ++words;
      for (std::size_t head = 0; head < other.size(); ++head)
        for (std::size_t key = 0; key < length; ++key)
          if (text.segments[key] != text.segments[asks])
            other[head] += all[(head * length + asks) * length + key];
    }
  }
  return 100 * *std::max_element(other.begin(), other.end()) / words;
}

}  // namespace tapestry::lesson23
