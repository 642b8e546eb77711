// Coverage: a decoder whose query is only the previous word copies texts with repeated words, with and without
// coverage.
#include "lessons/29_pointer/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/attention/pointing/coverage.hpp"

namespace tapestry::lesson29 {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr Size kEmbedding = 24, kHidden = 32, kBatch = 64, kShortest = 6, kLongest = 12;
constexpr std::uint64_t kTestStream = 1'000'000;

/// For each step, the probability of each word: the sum of the weights of all its positions, (B, n, words).
Tensor word_probabilities(const Tensor& weights, const Indices& source) {
  const Size batch = source.shape()[0], length = source.shape()[1], steps = weights.size(1);
  const Ids ids = source.to_vector();
  Ids at;
  for (Size b = 0; b < batch; ++b)
    for (Size t = 0; t < steps; ++t)
      at.insert(at.end(), ids.begin() + b * length, ids.begin() + (b + 1) * length);
  return scatter_add(zeros({batch, steps, kCopyWords}), -1, Indices(at, {batch, steps, length}), weights);
}

Tensor loss_of(const Copier& copier, const Indices& source, double lambda) {
  const Tensor weights = copier(source, true).weights, probabilities = word_probabilities(weights, source);
  const Indices right = source.reshape({source.shape()[0], source.shape()[1], 1});
  const Tensor wrong = -mean(log(clamp(gather(probabilities, -1, right), 1e-6, 2)));
  return lambda > 0 ? wrong + lambda * mean(coverage_loss(weights)) : wrong;
}

CopyResult measure(const Copier& copier, const kit::Options& options) {
  const Indices texts = draw_texts(kit::Random(options.seed, kTestStream), options.smoke ? 5 : 500, kLongest);
  const Copier::Read read = copier(texts, false);
  const Ids expected = texts.to_vector(), predicted = read.words.to_vector();
  double repeated = 0;
  for (std::size_t row = 0; row < expected.size(); row += static_cast<std::size_t>(kLongest)) {
    std::array<int, static_cast<std::size_t>(kCopyWords)> left{};
    for (std::size_t t = row; t < row + static_cast<std::size_t>(kLongest); ++t)
      ++left[static_cast<std::size_t>(expected[t])];
    for (std::size_t t = row; t < row + static_cast<std::size_t>(kLongest); ++t)
      repeated += --left[static_cast<std::size_t>(predicted[t])] < 0 ? 1 : 0;
  }
  return {100 * repeated / static_cast<double>(expected.size()), kit::percent_equal(read.words, texts),
          mean(coverage_loss(read.weights)).item()};
}

CopyResult train(Copier& copier, const char* name, double lambda, const kit::Options& options) {
  copier.initialise(options.seed);
  kit::train(copier,
             {.name = name,
              .steps = options.steps,
              .rate = 1e-2,
              .batch = kBatch,
              .unit = "texts",
              .seed = options.seed},
             [&](kit::Random random) {
               return loss_of(copier, draw_texts(random, kBatch, random.between(kShortest, kLongest)),
                              lambda);
             });
  return measure(copier, options);
}

std::string text_of(const Indices& words) {
  std::string text;
  for (const std::int64_t id : words.to_vector()) text += fmt::format(" w{}", id);
  return text;
}

kit::Heatmap map_of(const Copier::Read& read, const Indices& text, const char* title) {
  kit::Heatmap map{title};
  for (const std::int64_t id : text.to_vector()) map.columns.push_back(fmt::format("w{}", id));
  for (const std::int64_t id : read.words.to_vector()) map.rows.push_back(fmt::format("w{}", id));
  map.values = read.weights.to_vector();
  map.column_axis = "source word", map.row_axis = "output word";
  return map;
}

}  // namespace

void check_coverage(CoverageWeights by_hand, std::uint64_t seed, kit::Report& report) {
  Attention attention(additive(3, 4, 5, Coverage::yes));
  attention.initialise(seed, DType::f64);
  const Tensor queries = variable(random_normal({3, 3}, seed, DType::f64), "queries"),
               keys = variable(random_normal({6, 4}, seed + 1, DType::f64), "keys");
  std::vector<Tensor> leaves = attention.parameters();  // W_q, W_k, v, w_c
  const std::vector<Tensor> weights = leaves;
  leaves.insert(leaves.end(), {queries, keys});
  const auto by_nn = [&] {
    const PreparedKV memory = attention.prepare(keys, keys);
    ScoreState state;
    std::vector<Tensor> rows;
    for (Size t = 0; t < queries.size(0); ++t)
      rows.push_back(attention(slice(queries, 0, t, t + 1), memory, state).weights);
    const Tensor all = concat(rows, 0);
    return concat({all, unsqueeze(coverage_loss(all), 1)}, 1);
  };
  kit::check_by_hand(
      report, "coverage", [&] { return by_hand(queries, keys, weights); }, by_nn, leaves, seed);
}

Indices draw_texts(kit::Random random, Size count, Size length) {
  Ids all(static_cast<std::size_t>(kCopyWords)), texts;
  std::iota(all.begin(), all.end(), std::int64_t{0});
  const std::int64_t few = std::max<Size>(3, length * 3 / 4);  // so that some words are repeated
  for (Size row = 0; row < count; ++row) {
    random.shuffle(all);
    std::int64_t word = random.below(few);
    for (Size t = 0; t < length; ++t) {
      texts.push_back(all[static_cast<std::size_t>(word)]);
      word = (word + random.between(1, few - 1)) % few;
    }
  }
  return Indices(texts, {count, length});
}

Copier::Copier(Coverage coverage)
    : words{{*this, "words"}, kCopyWords + 1, kEmbedding},
      attention{{*this, "attention"}, additive(kEmbedding, 2 * kEmbedding + 1, kHidden, coverage)} {}

Copier::Read Copier::operator()(const Indices& source, bool teacher_forced) const {
  const Size batch = source.shape()[0], length = source.shape()[1];
  const Indices first(Ids(static_cast<std::size_t>(batch), kCopyWords), {batch});  // "begin"
  const Tensor here = words(source), begin = unsqueeze(words(first), 1);
  const Tensor before = concat({begin, slice(here, 1, 0, length - 1)}, 1);
  const Tensor places =
      expand(reshape(arange(0, static_cast<double>(length)) / 8.0, {1, length, 1}), {batch, length, 1});
  const Tensor keys = concat({before, here, places}, -1);
  const PreparedKV memory = attention.prepare(keys, here);
  ScoreState state;
  Indices word = first;
  std::vector<Tensor> weights;
  Ids written(static_cast<std::size_t>(batch * length));
  for (Size t = 0; t < length; ++t) {
    weights.push_back(attention(unsqueeze(words(word), 1), memory, state).weights);
    word = teacher_forced ? source.column(t)
                          : argmax(word_probabilities(weights.back(), source)).reshape({batch});
    const Ids ids = word.to_vector();
    for (std::size_t b = 0; b < ids.size(); ++b)
      written[b * static_cast<std::size_t>(length) + static_cast<std::size_t>(t)] = ids[b];
  }
  return {concat(weights, 1), Indices(written, {batch, length})};
}

CoverageResults train_copiers(double lambda, const kit::Options& options) {
  Copier plain(Coverage::no), loss_only(Coverage::no), coverage(Coverage::yes), both(Coverage::yes);
  const CoverageResults all{train(plain, "no coverage", 0, options),
                            train(loss_only, "coverage loss alone", lambda, options),
                            train(coverage, "coverage in the score", 0, options),
                            train(both, "coverage and its loss", lambda, options)};
  fmt::print("  {:<24}{:>16}{:>16}{:>22}\n", "", "repeated", "words right", "coverage loss");
  const auto row = [](const char* name, const CopyResult& one) {
    fmt::print("  {:<24}{:>14.1f} %{:>14.1f} %{:>22.3f}\n", name, one.repeated, one.right, one.coverage_loss);
  };
  row("no coverage", all.plain), row("coverage loss alone", all.loss_only);
  row("coverage in the score", all.coverage), row("coverage and its loss", all.both);
  const Indices text = draw_texts(kit::Random(options.seed, kTestStream + 1), 1, kLongest);
  const Copier::Read without = plain(text, false), with = both(text, false);
  fmt::print("  the text       {}\n  no coverage    {}\n  with coverage  {}\n", text_of(text),
             text_of(without.words), text_of(with.words));
  kit::show(map_of(without, text, "No coverage: attention weights"), options.out / "circles.svg");
  kit::show(map_of(with, text, "Coverage and its loss: attention weights"), options.out / "covered.svg");
  return all;
}

}  // namespace tapestry::lesson29
