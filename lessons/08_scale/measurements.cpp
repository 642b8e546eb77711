// The measurements of lesson 08: sizes of scores, norms of the softmax's Jacobian, and the cost of each score.
#include "lessons/08_scale/measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/program/stopwatch.hpp"

namespace tapestry::lesson08 {
namespace {

Sizes measure_one(const Norm& norm, const Scores& scores, Size width, Size queries, Size groups,
                  std::uint64_t seed) {
  constexpr Size kBlock = 100, kKeys = 10;
  const Tensor keys = random_normal({groups * kKeys, width}, seed + 21, DType::f64);
  std::vector<double> norms;
  double total = 0;
  for (Size block = 0; block < queries / kBlock; ++block) {
    const Tensor q =
        random_normal({kBlock, width}, seed + 1000 + static_cast<std::uint64_t>(block), DType::f64);
    const Tensor weights = softmax(reshape(scores(q, keys), {kBlock * groups, kKeys}), -1);
    for (const double one : norm(weights).to_vector()) {
      norms.push_back(one);
      total += one;
    }
  }
  const auto middle = norms.begin() + static_cast<std::ptrdiff_t>(norms.size() / 2);
  std::nth_element(norms.begin(), middle, norms.end());
  return {*middle, total / static_cast<double>(norms.size())};
}

constexpr Size kBatch = 2, kLength = 64;

/// Runs f() forward and backward once more. `cost` keeps the shortest time.
void take_turn(Cost& cost, const std::function<Tensor()>& f) {
  constexpr double kQueries = kBatch * kLength;
  Tape tape;
  double bytes = 0;
  const double seconds = kit::seconds([&] {
    const Tensor y = f();
    for (std::size_t i = 0; i < tape.size(); ++i) bytes += static_cast<double>(tape.node(i).saved_bytes);
    tape.backward(sum(y));
  });
  cost.microseconds = std::min(cost.microseconds, 1e6 * seconds / kQueries);
  cost.kilobytes = bytes / 1024 / kQueries;
}

}  // namespace

Spread measure_spread(const Scores& dot, const Scores& scaled, std::uint64_t seed) {
  Spread worst{0, 0};
  fmt::print("      d   mean of q·k   variance   deviation of dot   of scaled\n");
  for (const Size d : kWidths) {
    const Tensor q = random_normal({400, d}, seed + 10, DType::f64),
                 k = random_normal({400, d}, seed + 11, DType::f64);
    const Tensor plain = dot(q, k);
    const double width = static_cast<double>(d), middle = mean(plain).item(), variance = var(plain).item();
    fmt::print("  {:>5} {:>13.3f} {:>10.1f} {:>18.2f} {:>11.2f}\n", d, middle, variance, std::sqrt(variance),
               std::sqrt(var(scaled(q, k)).item()));
    worst.mean = std::max(worst.mean, std::abs(middle) / std::sqrt(width));
    worst.variance = std::max(worst.variance, std::abs(variance / width - 1));
  }
  return worst;
}

std::vector<Tensor> additive_weights(const Attention& attention) {
  const auto& score = dynamic_cast<const AdditiveScore&>(attention.score());
  return {score.query.weight, score.key.weight, score.vector};
}

void compare_additive(const ScoresOf& additive_with, std::uint64_t seed, kit::Report& report) {
  Attention attention{additive(4, 4, 6)};
  attention.initialise(seed, DType::f64);
  const auto some = [&](Size t, Size d, std::uint64_t i) {
    return variable(random_normal({2, t, d}, seed + i, DType::f64));
  };
  const Tensor q = some(3, 4, 0), k = some(5, 4, 1), v = some(5, 2, 2);
  std::vector<Tensor> leaves = attention.parameters();
  leaves.insert(leaves.end(), {q, k, v});
  const Scores by_hand = additive_with(attention);
  kit::check_by_hand(
      report, "additive_scores()", [&] { return matmul(softmax(by_hand(q, k), -1), v); },
      [&] { return attention(q, k, v).context; }, leaves, seed);
}

Norms measure_norms(const Norm& norm, const Scores& dot, const Scores& scaled, const ScoresOf& additive_with,
                    const kit::Options& options) {
  const Size queries = options.smoke ? 100 : 4000, groups = options.smoke ? 20 : 200;
  kit::Chart chart{"Median norm of the softmax's Jacobian",
                   "width d",
                   "median ‖J‖",
                   {{"dot"}, {"scaled"}, {"additive"}},
                   {},
                   kit::Scale::log,
                   kit::Scale::log};
  Norms all{};
  fmt::print("      d   median of ‖J‖: dot     scaled   additive        mean: dot   scaled\n");
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    const Size d = kWidths[i];
    all.dot[i] = measure_one(norm, dot, d, queries, groups, options.seed);
    all.scaled[i] = measure_one(norm, scaled, d, queries, groups, options.seed);
    Attention attention{additive(d, d, kHidden)};
    attention.initialise(options.seed, DType::f64);
    all.additive[i] = measure_one(norm, additive_with(attention), d, std::min<Size>(queries, 1000),
                                  groups / 5, options.seed);
    fmt::print("  {:>5} {:>20.3g} {:>10.3f} {:>10.3f} {:>16.3f} {:>8.3f}\n", d, all.dot[i].median,
               all.scaled[i].median, all.additive[i].median, all.dot[i].mean, all.scaled[i].mean);
    const double medians[] = {all.dot[i].median, all.scaled[i].median, all.additive[i].median};
    for (std::size_t s = 0; s < 3; ++s) {
      chart.series[s].x.push_back(static_cast<double>(d));
      chart.series[s].y.push_back(medians[s]);
    }
  }
  kit::show(chart, options.out / "gradient.svg");
  return all;
}

Costs measure_costs(const Scores& dot, const ScoresOf& additive_with, const kit::Options& options) {
  fmt::print("  {} queries and {} keys, forward and backward, per query:\n", kLength, kLength);
  fmt::print("                  time in µs                        stored for backward, in KB\n");
  fmt::print("      d      dot   additive   nn/'s additive        dot   additive   nn/'s additive\n");
  Costs costs{};
  for (const Size d : kWidths) {
    if (options.smoke && d > 64) break;
    Attention layer{additive(d, d, d)};
    layer.initialise(options.seed);
    const auto some = [&](std::uint64_t i) {
      return variable(random_normal({kBatch, kLength, d}, options.seed + i));
    };
    const Tensor q = some(31), k = some(32), v = some(33);
    const Scores by_hand = additive_with(layer);
    costs.dot.microseconds = costs.additive.microseconds = costs.nn.microseconds = HUGE_VAL;
    for (int turn = 0; turn < (options.smoke ? 1 : 10); ++turn) {
      take_turn(costs.dot, [&] { return matmul(softmax(dot(q, k), -1), v); });
      take_turn(costs.additive, [&] { return matmul(softmax(by_hand(q, k), -1), v); });
      take_turn(costs.nn, [&] { return layer(q, k, v).context; });
    }
    fmt::print("  {:>5}   {:>6.1f}   {:>8.1f}   {:>14.1f}   {:>8.1f}   {:>8.1f}   {:>14.1f}\n", d,
               costs.dot.microseconds, costs.additive.microseconds, costs.nn.microseconds,
               costs.dot.kilobytes, costs.additive.kilobytes, costs.nn.kilobytes);
  }
  return costs;
}

}  // namespace tapestry::lesson08
