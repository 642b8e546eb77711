// Translates sentences with names: trains a decoder that can copy and one that cannot, and measures both.
#include "lessons/29_pointer/copying.hpp"

#include <fmt/format.h>

#include "core/core.hpp"
#include "lessons/29_pointer/sentences.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/train/loop.hpp"

namespace tapestry::lesson29 {
namespace {

constexpr Size kEmbedding = 32, kHidden = 64, kBatch = 64, kShortest = 4, kLongest = 10,
               kStart = kUnknown + 1;
constexpr std::uint64_t kTestStream = 1'000'000;  // far from the training streams

/// The loss of a decoder without a copy mechanism. Every name is word 40, <unk>.
Tensor plain_loss(const CopyScores& scores, const Indices& target) {
  return cross_entropy(scores.logits, as_written(target));
}

void train(PointerGenerator& model, bool copies, const kit::Options& options) {
  if (!copies) model.freeze("gate");
  model.initialise(options.seed);
  kit::train(model,
             {.name = copies ? "writes and copies" : "writes only",
              .steps = options.steps,
              .rate = 6e-3,
              .batch = kBatch,
              .unit = "sentences",
              .seed = options.seed},
             [&](kit::Random random) {
               const Size length = random.between(kShortest, kLongest);
               const Sentences drawn = draw_sentences(options.seed, random, kBatch, length);
               const CopyScores scores = model.teacher_forced(drawn.source, drawn.target);
               return copies ? copy_loss(scores, drawn.source, drawn.target)
                             : plain_loss(scores, drawn.target);
             });
}

/// Returns part / whole in %.
double percent(double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; }

TranslationAccuracy measure(const PointerGenerator& model, bool copies, const kit::Options& options) {
  const Sentences test = draw_sentences(options.seed, kit::Random(options.seed, kTestStream),
                                        options.smoke ? 5 : 1000, kLongest);
  const Written written = model.write(test.source, copies);
  const std::vector<std::int64_t> source = test.source.to_vector(), expected = test.target.to_vector(),
                                  predicted = written.words.to_vector(),
                                  at = argmax(written.scores.weights).to_vector();
  const auto length = static_cast<std::size_t>(kLongest);
  double names = 0, named = 0, replaced = 0, words = 0, known = 0, sentences = 0;
  for (std::size_t row = 0; row < expected.size(); row += length) {
    bool whole = true;
    for (std::size_t t = row; t < row + length; ++t) {
      const bool is_name = expected[t] >= kFirstName, right = predicted[t] == expected[t];
      whole &= right;
      (is_name ? names : words) += 1;
      (is_name ? named : known) += right ? 1 : 0;
      const std::int64_t instead =
          predicted[t] == kUnknown ? source[row + static_cast<std::size_t>(at[t])] : predicted[t];
      replaced += is_name && instead == expected[t] ? 1 : 0;
    }
    sentences += whole ? 1 : 0;
  }
  return {percent(named, names), percent(known, words), percent(sentences * kLongest, names + words),
          percent(replaced, names)};
}

/// Draws the attention weights for one sentence, with p_gen after each output word.
void draw(const PointerGenerator& model, const kit::Options& options) {
  const Sentences one = draw_sentences(options.seed, kit::Random(options.seed, kTestStream + 1), 1, kLongest);
  const Written written = model.write(one.source, true);
  kit::Heatmap map{"Attention weights; after each output word, p_gen in brackets"};
  for (const std::int64_t id : one.source.to_vector()) map.columns.push_back(word_of(id));
  const std::vector<double> gates = sigmoid(written.scores.gate).to_vector();
  const std::vector<std::int64_t> ids = written.words.to_vector();
  for (std::size_t t = 0; t < ids.size(); ++t)
    map.rows.push_back(fmt::format("{} ({:.2f})", word_of(ids[t]), gates[t]));
  map.values = written.scores.weights.to_vector();
  map.column_axis = "source word", map.row_axis = "output word";
  kit::show(map, options.out / "copying.svg");
}

}  // namespace

void check_copying(Mixture by_hand, std::uint64_t seed, kit::Report& report) {
  const auto normal = [&](const Dims& shape, std::uint64_t stream, const char* name) {
    return variable(random_normal(shape, seed + stream, DType::f64), name);
  };
  const Tensor logits = normal({2, 1, 4}, 0, "logits"), scores = normal({2, 1, 5}, 1, "scores"),
               gate = normal({2, 1}, 2, "gate");
  // V is 4, so 4 and 5 are unknown. One next word can only be copied. The other is known and also in the
  // source.
  const Indices source = Indices{2, 4, 2, 5, 4, 4, 1, 0, 4, 1}.reshape({2, 5}),
                next = Indices{4, 1}.reshape({2, 1});
  kit::check_by_hand(
      report, "copying",
      [&] {
        const Tensor all = by_hand(softmax(select(logits, 1, 0), -1), softmax(select(scores, 1, 0), -1),
                                   sigmoid(gate), source, 2);
        return -log(gather(all, 1, next));
      },
      [&] {
        return copy_loss({logits, softmax(scores, -1), gate}, source, next, {.reduce = Reduce::none});
      },
      {logits, scores, gate}, seed);
}

PointerGenerator::PointerGenerator()
    : read{{*this, "read"}, kKnown + 1, kEmbedding},
      written{{*this, "written"}, kStart + 1, kEmbedding},
      encoder{{*this, "encoder"}, kEmbedding, kHidden / 2, {.both_directions = true}},
      start{{*this, "start"}, kHidden / 2, kHidden},
      attention{{*this, "attention"}, additive(kHidden, kHidden, kHidden)},
      cell{{*this, "cell"}, kEmbedding + kHidden, kHidden},
      output{{*this, "output"}, 2 * kHidden + kEmbedding, kUnknown + 1},
      gate{{*this, "gate"}, 2 * kHidden + kEmbedding, 1} {}

PointerGenerator::State PointerGenerator::begin(const Indices& source) const {
  const RecurrentOutput states = encoder(read(as_read(source)));
  return {attention.prepare(states.states, states.states), tanh(start(states.final.back().hidden)), {}};
}

Tensor PointerGenerator::step(const Indices& word, State& state, Tensor& weights) const {
  const AttentionOutput attended = attention(unsqueeze(state.hidden, 1), state.memory, state.score);
  const Tensor context = squeeze(attended.context, 1), before = written(word);
  state.hidden = cell(concat({before, context}, -1), RecurrentState(state.hidden)).hidden;
  weights = attended.weights;
  return concat({state.hidden, context, before}, -1);
}

CopyScores PointerGenerator::teacher_forced(const Indices& source, const Indices& target) const {
  State state = begin(source);
  const Indices fed = as_written(target);
  Indices word(std::vector<std::int64_t>(static_cast<std::size_t>(source.shape()[0]), kStart),
               {source.shape()[0]});
  std::vector<Tensor> features, weights(static_cast<std::size_t>(target.shape()[1]));
  for (Size t = 0; t < target.shape()[1]; ++t) {
    features.push_back(step(word, state, weights[static_cast<std::size_t>(t)]));
    word = fed.column(t);
  }
  const Tensor all = stack(features, 1);
  return {output(all), concat(weights, 1), squeeze(gate(all), -1)};
}

Written PointerGenerator::write(const Indices& source, bool copies) const {
  State state = begin(source);
  const Size batch = source.shape()[0], length = source.shape()[1];
  Indices word(std::vector<std::int64_t>(static_cast<std::size_t>(batch), kStart), {batch});
  std::vector<Tensor> weights, gates;
  std::vector<std::int64_t> words(static_cast<std::size_t>(batch * length));
  for (Size t = 0; t < length; ++t) {
    Tensor step_weights;
    const Tensor all = unsqueeze(step(word, state, step_weights), 1);
    const CopyScores predicted{output(all), step_weights, squeeze(gate(all), -1)};
    const Indices chosen =
        copies ? likeliest_word(copy_mixture(predicted, source), source) : argmax(predicted.logits);
    const std::vector<std::int64_t> ids = chosen.to_vector();
    for (std::size_t b = 0; b < ids.size(); ++b)
      words[b * static_cast<std::size_t>(length) + static_cast<std::size_t>(t)] = ids[b];
    word = as_written(chosen).reshape({batch});
    weights.push_back(step_weights), gates.push_back(predicted.gate);
  }
  return {{{}, concat(weights, 1), concat(gates, 1)}, Indices(words, {batch, length})};
}

TranslationResults train_translators(const kit::Options& options) {
  PointerGenerator plain, copies;
  train(plain, false, options);
  train(copies, true, options);
  const TranslationResults result{measure(plain, false, options), measure(copies, true, options)};
  fmt::print("  {:<32}{:>10}{:>16}{:>18}\n", "", "names", "known words", "whole sentences");
  const auto row = [](const char* name, double names, const TranslationAccuracy& of,
                      const std::string& sentences) {
    fmt::print("  {:<32}{:>8.1f} %{:>14.1f} %{:>18}\n", name, names, of.words, sentences);
  };
  row("writes only", result.plain.names, result.plain, fmt::format("{:.1f} %", result.plain.sentences));
  row("the same, <unk> replaced", result.plain.replaced, result.plain, "");
  row("writes and copies", result.copies.names, result.copies,
      fmt::format("{:.1f} %", result.copies.sentences));
  draw(copies, options);
  return result;
}

}  // namespace tapestry::lesson29
