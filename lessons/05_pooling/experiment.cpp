// The experiment of lesson 05: fifty noisy measurements of a curve, and the training of σ on them.
#include "lessons/05_pooling/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "nn/attention/attention.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"

namespace tapestry::lesson05 {
namespace {

constexpr DType f64 = DType::f64;
constexpr Size kPoints = 50, kQueries = 51;
constexpr double kNoise = 0.5, kEnd = 5;

/// Returns vectors with one element: (n) as (n, 1).
Tensor as_vectors(const Tensor& x) { return unsqueeze(x, 1); }

void draw_fit(const Points& points, const Tensor& answers, const kit::Options& options) {
  const std::vector<double> x = queries().to_vector();
  kit::Chart chart{"Fifty points: the plain mean, and attention with a query", "x", "y"};
  chart.series.push_back({"measured", points.x.to_vector(), points.y.to_vector(), kit::Mark::points});
  chart.series.push_back({"true curve", x, curve_at(queries()).to_vector(), kit::Mark::line});
  chart.series.push_back(
      {"plain mean", {0, kEnd}, {mean(points.y).item(), mean(points.y).item()}, kit::Mark::line});
  chart.series.push_back({"attention", x, answers.to_vector(), kit::Mark::line});
  kit::show(chart, options.out / "fit.svg");
}

void draw_weights(const Points& points, const Tensor& weights, const kit::Options& options) {
  const Tensor query_points = queries();
  kit::Heatmap map;
  for (Size j = 0; j < kPoints; j += 2)
    map.columns.push_back(fmt::format("{:.1f}", (points.x.at({j}) + points.x.at({j + 1})) / 2));
  for (Size i = 0; i < kQueries; i += 2) {
    map.rows.push_back(fmt::format("{:.1f}", query_points.at({i})));
    for (Size j = 0; j < kPoints; j += 2) map.values.push_back(weights.at({i, j}) + weights.at({i, j + 1}));
  }
  map.column_axis = "keys", map.row_axis = "queries";
  map.most = *std::max_element(map.values.begin(), map.values.end());
  map.title = fmt::format("Sum of the weights of two neighbouring keys, from 0 to {:.2f}", map.most);
  kit::show(map, options.out / "weights.svg");
}

}  // namespace

Points measure(std::uint64_t seed) {
  const Tensor cell = arange(0, kPoints, 1, f64) + random_uniform({kPoints}, seed, 0, 1, f64);
  const Tensor x = cell * (kEnd / kPoints);
  return {x, curve_at(x) + kNoise * random_normal({kPoints}, seed, f64)};
}

Tensor queries() { return arange(0, kQueries, 1, f64) * (kEnd / (kQueries - 1)); }

Tensor curve_at(const Tensor& x) {
  std::vector<double> y = x.to_vector();
  for (double& value : y) value = 2 * std::sin(value) + value;
  return tensor(y, x.shape(), f64);
}

double squared_error(const Tensor& answers, const Tensor& queries) {
  return mean_squared_error(answers, curve_at(queries)).item();
}

KeysAlone try_keys_alone(Pooled (*pool)(const Tensor& scores, const Tensor& values), const Points& points) {
  KeysAlone found{};
  Pooled pooled;
  fmt::print("        β   largest weight   first answer   last answer   squared error\n");
  for (const double beta : {0.0, 1.0, 1e6}) {
    pooled = pool(expand(unsqueeze(beta * points.x, 0), {kQueries, kPoints}), points.y);
    const double first = pooled.answers.at({0}), error = squared_error(pooled.answers, queries());
    fmt::print("  {:>7.0f} {:>16.3f} {:>14.3f} {:>13.3f} {:>15.3f}\n", beta, max(pooled.weights).item(),
               first, pooled.answers.at({kQueries - 1}), error);
    if (beta == 0) found.mean_error = error;
    found.spread = std::max(found.spread, kit::largest(pooled.answers - first));
  }
  const double answer = pooled.answers.at({0});
  found.picks_the_last_key = std::abs(answer - points.y.at({kPoints - 1})) < 1e-3;
  return found;
}

void compare_with_nn(Tensor (*answers)(const Tensor& queries, const Tensor& keys, const Tensor& values,
                                       const Tensor& log_sigma),
                     std::uint64_t seed, kit::Report& report) {
  Attention attention{nadaraya_watson(0.3, Sigma::learned)};
  attention.initialise(seed, f64);
  const Tensor log_sigma = attention.parameters()[0];
  const auto some = [&](Size n, std::uint64_t more) {
    return variable(random_normal({n}, seed + more, f64));
  };
  const Tensor query_points = some(3, 0), keys = some(5, 1), values = some(5, 2);
  kit::check_by_hand(
      report, "pool()", [&] { return as_vectors(answers(query_points, keys, values, log_sigma)); },
      [&] { return attention(as_vectors(query_points), as_vectors(keys), as_vectors(values)).context; },
      {query_points, keys, values, log_sigma}, seed);
}

LearnedSigma learn_sigma(const char* name, const Points& points, const Mask& mask, std::int64_t steps) {
  Attention attention{nadaraya_watson(1, Sigma::learned)};
  attention.initialise(1, f64);
  const Tensor x = as_vectors(points.x), y = as_vectors(points.y);
  Adam adam(attention.parameters(), {.learning_rate = 0.03});
  kit::Progress progress(steps);
  progress.note(name);
  double last = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    Tape tape;
    const Tensor loss = mean_squared_error(attention(x, x, y, mask).context, y);
    tape.backward(loss);
    adam.step();
    last = loss.item();
    progress.step(last);
  }
  progress.finish();
  return {std::exp(attention.parameters()[0].item()), last};
}

void print_learned(const LearnedSigma& with_itself, double error_with_itself, const LearnedSigma& left_out,
                   double error_left_out) {
  fmt::print("                             σ   loss on the points   error on the curve\n");
  const auto row = [](const char* name, const LearnedSigma& learned, double on_the_curve) {
    fmt::print("  {:<20} {:>7.3f} {:>20.3f} {:>20.3f}\n", name, learned.sigma, learned.loss, on_the_curve);
  };
  row("attends to itself", with_itself, error_with_itself);
  row("leaves itself out", left_out, error_left_out);
}

void draw(const Points& points, const Tensor& answers, const Tensor& weights, const kit::Options& options) {
  draw_fit(points, answers, options);
  draw_weights(points, weights, options);
}

}  // namespace tapestry::lesson05
