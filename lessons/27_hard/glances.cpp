// The task of lesson 27, sixteen covered cells of which one may be read, its model, and five training
// methods.
#include "lessons/27_hard/glances.hpp"

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
class Step {
 public:
  explicit Step(const TrainingPlan& plan)
      : plan_(plan),
        gumbel_(gumbel_softmax(plan.temperature, plan.method == Method::soft
                                                     ? GumbelKind::soft
                                                     : GumbelKind::straight_through)) {}

  Tensor operator()(const Reader& reader, const Table& table) {
    const Tensor scores = reader.scores(table);
    const auto losses_of = [&](const Tensor& weights) {
      return cross_entropy(reader.answers(table, weights), table.answer, {.reduce = Reduce::none}) +
             plan_.added;
    };
    if (is_gumbel(plan_.method)) return mean(losses_of(gumbel_(scores, {})));
    const Choice choice = choose(plan_.method == Method::at_random ? zeros(scores.shape()) : scores);
    const Tensor losses = losses_of(choice.weights);
    const double b = plan_.method == Method::baseline ? baseline_.value() : 0;
    const Tensor surrogate = mean(score_function_loss(losses, choice.log_probability, b));
    baseline_.add(losses);
    return surrogate +
           (mean(losses) - surrogate).detach();  // replace the surrogate's value, which has no meaning
  }

 private:
  const TrainingPlan& plan_;
  Normaliser gumbel_;
  MovingBaseline baseline_{0.9};
};

double percent_right(const Reader& reader, Method method, const kit::Options& options) {
  const Table test = lay_table(options.smoke ? 200 : 5000, options.seed, kit::Random(options.seed, kTest));
  set_random(options.seed, kAtRandom);
  const Tensor scores = reader.scores(test);
  const Tensor read =
      method == Method::at_random ? choose(zeros(scores.shape())).weights : hardmax_weights(scores);
  return kit::percent_equal(argmax(reader.answers(test, read)), test.answer);
}

Table glimpsed_table(std::uint64_t seed) { return lay_table(1, seed, kit::Random(seed, kGlimpsed)); }

}  // namespace

Table lay_table(Size batch, std::uint64_t seed, kit::Random random) {
  const Tensor arrows = random_normal({batch, kCells, kWidth}, random.next());
  const Tensor covers = arrows * std::sqrt(double{kWidth}) / sqrt(sum(arrows * arrows, {-1}, Keep::yes));
  std::vector<std::int64_t> symbols, meant, place, answer;
  for (Size i = 0; i < batch * kCells; ++i) symbols.push_back(random.below(kSymbols));
  for (Size row = 0; row < batch; ++row) {
    meant.push_back(random.below(kCells));
    place.push_back(row * kCells + meant.back());
    answer.push_back(symbols[static_cast<std::size_t>(place.back())]);
  }
  const Tensor k = embedding(reshape(covers, {batch * kCells, kWidth}), Indices(place, {batch}));
  return {unsqueeze(matmul(k, transpose(rotation(seed))), 1), covers,  // rows: (R k)ᵀ = kᵀ Rᵀ
          one_hot(Indices(symbols, {batch, kCells}), kSymbols), Indices(meant, {batch}),
          Indices(answer, {batch})};
}

Tensor Reader::scores(const Table& table) const {
  return squeeze(matmul(w_q(table.query), transpose(w_k(table.covers))), 1) / std::sqrt(double{kWidth});
}

Tensor Reader::answers(const Table& table, const Tensor& weights) const {
  return says(squeeze(matmul(unsqueeze(weights, 1), table.symbols), 1));
}

std::vector<Size> glimpse_steps(Size steps) {
  std::vector<Size> at = {0};
  for (const Size share : {50, 20, 10, 5, 2, 1})
    if (steps / share > at.back()) at.push_back(steps / share);
  return at;
}

Size glimpsed_cell(std::uint64_t seed) { return glimpsed_table(seed).meant.to_vector().front(); }

Trained train(const TrainingPlan& plan, const kit::Options& options) {
  constexpr Size kBatch = 64;
  Reader reader;
  reader.initialise(options.seed);
  if (plan.method == Method::at_random)
    for (const char* unused : {"w_q", "w_k"}) reader.freeze(unused);
  Trained trained;
  const Table glimpsed = glimpsed_table(options.seed);
  const std::vector<Size> moments = glimpse_steps(options.steps);
  const auto look = [&](Size step) {
    if (std::binary_search(moments.begin(), moments.end(), step))
      trained.glimpses.push_back(reshape(softmax(reader.scores(glimpsed), -1), {kCells}).detach());
  };
  look(0);
  Step loss(plan);
  kit::train(reader,
             {.name = plan.name,
              .steps = options.steps,
              .rate = 1e-2,
              .batch = kBatch,
              .unit = "tables",
              .seed = options.seed,
              .after_step = look},
             [&](kit::Random random) { return loss(reader, lay_table(kBatch, options.seed, random)); });
  trained.right = percent_right(reader, plan.method, options);
  return trained;
}

}  // namespace tapestry::lesson27
