// The task of lesson 27, sixteen cells of which one may be read, its model, and five training methods.
#include "lessons/27_hard/hard_attention.hpp"

#include <algorithm>
#include <cmath>

#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/attention/hard.hpp"

namespace tapestry::lesson27 {

namespace {

// Random streams of a seed, far from the training streams 1, 2, …
constexpr std::uint64_t kTest = 1'000'000, kGlimpsed = 2'000'000, kRotation = 3'000'000,
                        kAtRandom = 4'000'000;

/// Returns orthonormal rows, by the Gram–Schmidt process.
Tensor rotation(std::uint64_t seed) {
  kit::Random random(seed, kRotation);
  constexpr auto n = static_cast<std::size_t>(kWidth);
  std::vector<double> rows;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t u = 0; u < n; ++u) rows.push_back(random.normal());
    double* row = &rows[i * n];
    const auto along = [&](const double* other) {
      double sum = 0;
      for (std::size_t u = 0; u < n; ++u) sum += row[u] * other[u];
      return sum;
    };
    for (std::size_t j = 0; j < i; ++j) {
      const double part = along(&rows[j * n]);
      for (std::size_t u = 0; u < n; ++u) row[u] -= part * rows[j * n + u];
    }
    const double length = std::sqrt(along(row));
    for (std::size_t u = 0; u < n; ++u) row[u] /= length;
  }
  return tensor(rows, {kWidth, kWidth});
}

bool is_gumbel(Method method) { return method == Method::soft || method == Method::straight_through; }

/// Returns the loss of a batch, which the progress shows, with the gradient of the training method.
class MethodLoss {
 public:
  explicit MethodLoss(const TrainingConfig& config)
      : config_(config),
        gumbel_(gumbel_softmax(config.temperature, config.method == Method::soft
                                                       ? GumbelKind::soft
                                                       : GumbelKind::straight_through)) {}

  Tensor operator()(const Reader& reader, const Questions& questions) {
    const Tensor scores = reader.scores(questions);
    const auto losses_of = [&](const Tensor& weights) {
      return cross_entropy(reader.answers(questions, weights), questions.answer, {.reduce = Reduce::none}) +
             config_.added;
    };
    if (is_gumbel(config_.method)) return mean(losses_of(gumbel_(scores, {})));
    const Choice choice = choose(config_.method == Method::at_random ? zeros(scores.shape()) : scores);
    const Tensor losses = losses_of(choice.weights);
    const double b = config_.method == Method::baseline ? baseline_.value() : 0;
    const Tensor surrogate = mean(score_function_loss(losses, choice.log_probability, b));
    baseline_.add(losses);
    return surrogate +
           (mean(losses) - surrogate).detach();  // replace the surrogate's value, which has no meaning
  }

 private:
  const TrainingConfig& config_;
  Normaliser gumbel_;
  MovingBaseline baseline_{0.9};
};

double percent_right(const Reader& reader, Method method, const kit::Options& options) {
  const Questions test =
      draw_questions(options.smoke ? 200 : 5000, options.seed, kit::Random(options.seed, kTest));
  set_random(options.seed, kAtRandom);
  const Tensor scores = reader.scores(test);
  const Tensor read =
      method == Method::at_random ? choose(zeros(scores.shape())).weights : hardmax_weights(scores);
  return kit::percent_equal(argmax(reader.answers(test, read)), test.answer);
}

Questions glimpsed_question(std::uint64_t seed) {
  return draw_questions(1, seed, kit::Random(seed, kGlimpsed));
}

}  // namespace

Questions draw_questions(Size batch, std::uint64_t seed, kit::Random random) {
  const Tensor directions = random_normal({batch, kCells, kWidth}, random.next());
  const Tensor keys =
      directions * std::sqrt(double{kWidth}) / sqrt(sum(directions * directions, {-1}, Keep::yes));
  std::vector<std::int64_t> symbols, target_cell, place, answer;
  for (Size i = 0; i < batch * kCells; ++i) symbols.push_back(random.below(kSymbols));
  for (Size row = 0; row < batch; ++row) {
    target_cell.push_back(random.below(kCells));
    place.push_back(row * kCells + target_cell.back());
    answer.push_back(symbols[static_cast<std::size_t>(place.back())]);
  }
  const Tensor k = embedding(reshape(keys, {batch * kCells, kWidth}), Indices(place, {batch}));
  return {unsqueeze(matmul(k, transpose(rotation(seed))), 1), keys,  // rows: (R k)ᵀ = kᵀ Rᵀ
          one_hot(Indices(symbols, {batch, kCells}), kSymbols), Indices(target_cell, {batch}),
          Indices(answer, {batch})};
}

Tensor Reader::scores(const Questions& questions) const {
  return squeeze(matmul(w_q(questions.query), transpose(w_k(questions.keys))), 1) / std::sqrt(double{kWidth});
}

Tensor Reader::answers(const Questions& questions, const Tensor& weights) const {
  return output(squeeze(matmul(unsqueeze(weights, 1), questions.symbols), 1));
}

std::vector<Size> glimpse_steps(Size steps) {
  std::vector<Size> at = {0};
  for (const Size share : {50, 20, 10, 5, 2, 1})
    if (steps / share > at.back()) at.push_back(steps / share);
  return at;
}

Size glimpsed_cell(std::uint64_t seed) { return glimpsed_question(seed).target_cell.to_vector().front(); }

Trained train(const TrainingConfig& config, const kit::Options& options) {
  constexpr Size kBatch = 64;
  Reader reader;
  reader.initialise(options.seed);
  if (config.method == Method::at_random)
    for (const char* unused : {"w_q", "w_k"}) reader.freeze(unused);
  Trained trained;
  const Questions glimpsed = glimpsed_question(options.seed);
  const std::vector<Size> moments = glimpse_steps(options.steps);
  const auto look = [&](Size step) {
    if (std::binary_search(moments.begin(), moments.end(), step))
      trained.glimpses.push_back(reshape(softmax(reader.scores(glimpsed), -1), {kCells}).detach());
  };
  look(0);
  MethodLoss loss(config);
  kit::train(reader,
             {.name = config.name,
              .steps = options.steps,
              .rate = 1e-2,
              .batch = kBatch,
              .unit = "tables",
              .seed = options.seed,
              .after_step = look},
             [&](kit::Random random) { return loss(reader, draw_questions(kBatch, options.seed, random)); });
  trained.right = percent_right(reader, config.method, options);
  return trained;
}

}  // namespace tapestry::lesson27
