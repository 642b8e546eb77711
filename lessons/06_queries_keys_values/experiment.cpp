// The experiment of lesson 06: the task, the model and three training runs.
//
// A question has sixteen keys. They are vectors of eight numbers in random directions. Each key has one of ten
// symbols. The query for key k is R k, where the rotation R is the same in all examples. A value is the code of a
// symbol: one of ten fixed vectors. The loss depends on the answer alone.
#include "lessons/06_queries_keys_values/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "lessons/kit/check/agreement.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"

namespace tapestry::lesson06 {
namespace {

constexpr Size kWidth = 8, kKeys = 16, kSymbols = 10, kBatch = 128;

struct Questions {
  Tensor query;       // (B, 1, d)
  Tensor keys;        // (B, n, d), each with the norm √d
  Tensor values;      // (B, n, symbols): codes
  Indices symbols;    // (B, n): the symbol of each key
  Indices key_index;  // (B): index of the key k in the query R k
  Indices answer;     // (B): the symbol of that key
};

const char* name_of(LearnedProjections learned) {
  return learned == LearnedProjections::v    ? "W_V alone"
         : learned == LearnedProjections::qv ? "W_Q and W_V"
                                             : "W_Q, W_K and W_V";
}

/// Returns a rotation (width, width): the product of one rotation by a random angle for each pair of axes.
Tensor random_rotation(Size width, kit::Random random) {
  const auto n = static_cast<std::size_t>(width);
  std::vector<double> r(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) r[i * n + i] = 1;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      const double angle = random.uniform(0, 6.283185307179586);
      for (std::size_t j = 0; j < n; ++j) {
        const double x = r[a * n + j], y = r[b * n + j];
        r[a * n + j] = std::cos(angle) * x - std::sin(angle) * y;
        r[b * n + j] = std::sin(angle) * x + std::cos(angle) * y;
      }
    }
  return tensor(r, {width, width});
}

Questions draw_questions(Size batch, std::uint64_t seed, std::uint64_t stream) {
  const Tensor codes = random_rotation(kSymbols, kit::Random(seed, 2));  // row s is the code of symbol s
  kit::Random random(seed, stream);
  const Tensor directions = random_normal({batch, kKeys, kWidth}, random.next());
  const Tensor keys = directions * std::sqrt(static_cast<double>(kWidth)) /
                      sqrt(sum(directions * directions, {-1}, Keep::yes));
  std::vector<std::int64_t> symbols, key_index, place, answer;
  for (Size i = 0; i < batch * kKeys; ++i) symbols.push_back(random.below(kSymbols));
  for (Size row = 0; row < batch; ++row) {
    key_index.push_back(random.below(kKeys));
    place.push_back(row * kKeys + key_index.back());
    answer.push_back(symbols[static_cast<std::size_t>(place.back())]);
  }
  const Tensor asked_keys = embedding(reshape(keys, {batch * kKeys, kWidth}), Indices(place, {batch}));
  const Tensor queries = matmul(asked_keys, transpose(hidden_rotation(seed)));  // rows: (R k)ᵀ = kᵀ Rᵀ
  return {unsqueeze(queries, 1),
          keys,
          embedding(codes, Indices(symbols, {batch, kKeys})),
          Indices(symbols, {batch, kKeys}),
          Indices(key_index, {batch}),
          Indices(answer, {batch})};
}

Questions test_questions(const kit::Options& options) {
  return draw_questions(options.smoke ? 200 : 5000, options.seed, 50);
}

/// Returns the percentage of keys with the most frequent symbol of their example. A model that always names this symbol
/// is right for this percentage of the queries, on average.
double percent_most_frequent(const Questions& questions) {
  const std::vector<std::int64_t> symbols = questions.symbols.to_vector();
  double share = 0;
  for (std::size_t first = 0; first < symbols.size(); first += kKeys) {
    std::array<int, kSymbols> count{};
    for (std::size_t key = first; key < first + kKeys; ++key) ++count[static_cast<std::size_t>(symbols[key])];
    share += 100.0 * *std::max_element(count.begin(), count.end()) / static_cast<double>(symbols.size());
  }
  return share;
}

void train(Retriever& retriever, const char* name, const kit::Options& options) {
  retriever.initialise(options.seed);
  Adam adam(retriever.parameters(), {.learning_rate = 2e-2});
  // The learning rate falls to 0 along half a cosine: large steps first, small steps at the end.
  const Schedule rate = cosine_decay(options.steps);
  kit::Progress progress(options.steps, {.unit = "questions"});
  progress.note(name);
  for (Size step = 1; step <= options.steps; ++step) {
    const Questions questions = draw_questions(kBatch, options.seed, static_cast<std::uint64_t>(100 + step));
    Tape tape;
    const AttentionOutput read = retriever(questions.query, questions.keys, questions.values);
    const Tensor loss = cross_entropy(squeeze(read.context, 1), questions.answer);  // the context as logits
    tape.backward(loss);
    adam.step(rate(step));
    progress.step(loss.item(), kBatch);
  }
  progress.finish();
}

}  // namespace

Retriever::Retriever(Size width, Size value_width, Size context_width, LearnedProjections learned_in)
    : w_q{{*this, "w_q"}, width, width, Bias::no},
      w_k{{*this, "w_k"}, width, width, Bias::no},
      w_v{{*this, "w_v"}, value_width, context_width, Bias::no},
      attention{{*this, "attention"}, scaled_dot()},
      learned(learned_in) {
  if (learned != LearnedProjections::qkv) w_k.freeze();  // not trained and not used
  if (learned == LearnedProjections::v) w_q.freeze();
}

AttentionOutput Retriever::operator()(const Tensor& query, const Tensor& key, const Tensor& value) const {
  return attention(learned == LearnedProjections::v ? query : w_q(query),
                   learned == LearnedProjections::qkv ? w_k(key) : key, w_v(value));
}

Tensor hidden_rotation(std::uint64_t seed) { return random_rotation(kWidth, kit::Random(seed, 1)); }

namespace {
RetrievalResult train_and_test(LearnedProjections learned, const kit::Options& options) {
  Retriever retriever(kWidth, kSymbols, kSymbols, learned);
  train(retriever, name_of(learned), options);
  const Questions questions = test_questions(options);
  const AttentionOutput read = retriever(questions.query, questions.keys, questions.values);
  return {kit::percent_equal(argmax(squeeze(read.context, 1)), questions.answer),
          kit::percent_equal(argmax(squeeze(read.weights, 1)), questions.key_index),
          retriever.w_q.weight.detach(), retriever.w_k.weight.detach()};
}
}  // namespace

RetrievalResults train_retrievers(const kit::Options& options) {
  const RetrievalResults results{
      train_and_test(LearnedProjections::v, options), train_and_test(LearnedProjections::qv, options),
      train_and_test(LearnedProjections::qkv, options), percent_most_frequent(test_questions(options))};
  fmt::print(
      "  learned              right answers            how often the largest weight is on the right key\n");
  const auto row = [](LearnedProjections learned, const RetrievalResult& result) {
    fmt::print("  {:<18} {:>13.1f} % {:>57.1f} %\n", name_of(learned), result.answer_accuracy,
               result.key_accuracy);
  };
  row(LearnedProjections::v, results.v);
  row(LearnedProjections::qv, results.qv);
  row(LearnedProjections::qkv, results.qkv);
  fmt::print("  most frequent symbol {:>11.1f} %\n", results.most_frequent);
  return results;
}

double cosine_similarity(const Tensor& a, const Tensor& b) {
  return sum(a * b).item() / std::sqrt(sum(a * a).item() * sum(b * b).item());
}

NumpyExample numpy_example() {
  constexpr DType f64 = DType::f64;
  return {tensor({{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1}}, f64),
          tensor({{2, 2, 2}, {0, 0, 1}, {2, 0, 2}}, f64), tensor({{2, 0, 0}, {2, 2, 1}, {2, 1, 1}}, f64),
          tensor({{1, 0, 0}, {1, 1, 0}, {0, 1, 0}}, f64),
          tensor({{.98522025, 1.74174051, .75652026},
                  {.90965265, 1.40965265, .5},
                  {.99851226, 1.75849334, .75998108},
                  {.99560386, 1.90407309, .90846923}},
                 f64)};
}

void draw_je_t_aime(const Tensor& weights, const kit::Options& options) {
  kit::Heatmap map{"Weights of je t' aime over I love you", {"I", "love", "you"}, {"je", "t'", "aime"}, {}};
  map.column_axis = "keys", map.row_axis = "queries";
  map.values = weights.to_vector();
  map.numbers = true;
  kit::show(map, options.out / "je_t_aime.svg");
}

void draw_matrices(const Tensor& product, const Tensor& rotation, const kit::Options& options) {
  kit::Heatmap map{"Left: the learned W_Qᵀ W_K, scaled. Right: the hidden rotation R"};
  const Tensor scaled = product * (std::sqrt(double{kWidth}) / std::sqrt(sum(product * product).item()));
  for (Size j = 0; j < 2 * kWidth + 1; ++j)
    map.columns.push_back(j == kWidth ? "" : std::to_string(j % (kWidth + 1) + 1));
  for (Size i = 0; i < kWidth; ++i) {
    map.rows.push_back(std::to_string(i + 1));
    for (Size j = 0; j < kWidth; ++j) map.values.push_back(scaled.at({i, j}));
    map.values.push_back(std::nan(""));
    for (Size j = 0; j < kWidth; ++j) map.values.push_back(rotation.at({i, j}));
  }
  map.least = -1;
  kit::show(map, options.out / "matrices.svg");
}

}  // namespace tapestry::lesson06
