// Measures the capacity of a memory matrix.
#include "lessons/30_memory/recall.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace tapestry::lesson30 {
namespace {

constexpr Size kKeyWidth = 32;

Tensor unit(const Tensor& x) { return x / sqrt(sum(x * x, {-1}, Keep::yes)); }

constexpr std::array kLoads = {0.125, 0.25, 0.5, 1.0, 2.0, 4.0};  // pairs ÷ d; the indices of some of them:
constexpr std::size_t kQuarter = 1, kOne = 3, kFour = 5;

Size batch_of(const kit::Options& options) { return options.smoke ? 4 : 200; }

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Pairs draw_pairs(Size batch, Size pairs, Size width, std::uint64_t seed) {
  kit::Random random(seed);
  std::vector<std::int64_t> code_ids;
  for (Size i = 0; i < batch * pairs; ++i) code_ids.push_back(random.below(kCodes));
  const Indices ids(code_ids, {batch, pairs});
  const Tensor codes = unit(random_normal({kCodes, kCodeWidth}, 2 * seed));
  return {unit(random_normal({batch, pairs, width}, 2 * seed + 1)), embedding(codes, ids), ids, codes};
}

Tensor read_back(const Pairs& pairs, WriteRule rule) {
  return matmul(pairs.keys, linear_attend(pairs.keys, pairs.keys, pairs.values, {.rule = rule}).final_state);
}

Tensor read_by_softmax(const Pairs& pairs) {
  constexpr double kScale = 40;
  return matmul(softmax(kScale * matmul(pairs.keys, transpose(pairs.keys)), -1), pairs.values);
}

std::vector<double> accuracy_by_position(const Pairs& pairs, const Tensor& read) {
  const Indices nearest = argmax(matmul(read, transpose(pairs.codes)));
  const auto predicted = nearest.to_vector(), expected = pairs.code_ids.to_vector();
  const auto places = static_cast<std::size_t>(pairs.code_ids.shape()[1]);
  std::vector<double> right(places);
  const double share = 100 / static_cast<double>(pairs.code_ids.shape()[0]);
  for (std::size_t i = 0; i < predicted.size(); ++i)
    right[i % places] += predicted[i] == expected[i] ? share : 0;
  return right;
}

namespace {

using Read = std::function<Tensor(const Pairs&)>;

/// Prints and returns the percentage of right reads for each of kLoads.
std::vector<double> accuracy_by_load(const std::string& name, Size width, const Read& read,
                                     const kit::Options& options) {
  std::vector<double> right;
  fmt::print("  {:<28}", name);
  for (const double load : kLoads) {
    const Size pairs = std::llround(load * static_cast<double>(width));
    const Pairs drawn = draw_pairs(batch_of(options), pairs, width, options.seed);
    right.push_back(mean_of(accuracy_by_position(drawn, read(drawn))));
    fmt::print("  {:>6.1f}", right.back());
  }
  fmt::print("\n");
  return right;
}

void measure_age_effect(const kit::Options& options, kit::Report& report) {
  const Pairs drawn = draw_pairs(5 * batch_of(options), kKeyWidth, kKeyWidth, options.seed);
  kit::Chart chart{"32 pairs in a matrix of 32 rows", "pairs written afterwards", "right reads in %"};
  std::vector<double> ages(kKeyWidth);
  std::iota(ages.begin(), ages.end(), 0);
  const auto of = [&](const char* name, WriteRule rule) {
    std::vector<double> right = accuracy_by_position(drawn, read_back(drawn, rule));
    std::reverse(right.begin(), right.end());  // newest pair first
    chart.series.push_back({name, ages, right});
    return std::array{mean_of({right.begin(), right.begin() + 8}), mean_of({right.end() - 8, right.end()})};
  };
  const auto [sum_newest, sum_oldest] = of("sum rule", WriteRule::sum);
  const auto [delta_newest, delta_oldest] = of("delta rule", WriteRule::delta);
  kit::show(chart, options.out / "age.svg");
  report.at_least("delta rule, newest 8 of 32 pairs: accuracy", delta_newest, 98, "%");
  report.at_most("delta rule, oldest 8 of 32 pairs: accuracy", delta_oldest, 70, "%");
  report.at_most("sum rule: accuracy, |newest 8 − oldest 8|", std::abs(sum_newest - sum_oldest), 3,
                 "percentage points");
}

}  // namespace

RecallResult measure_capacity(const kit::Options& options, kit::Report& report) {
  kit::Chart chart{"Right reads from a matrix of d rows", "pairs written ÷ d", "right reads in %"};
  chart.x_scale = kit::Scale::log;
  fmt::print("  right reads in %  pairs ÷ d:");
  for (const double load : kLoads) fmt::print("  {:>6}", load);
  fmt::print("\n");
  const auto add = [&](const std::string& name, Size width, const Read& read) {
    const std::vector<double> right = accuracy_by_load(name, width, read, options);
    chart.series.push_back({name, {kLoads.begin(), kLoads.end()}, right});
    return right;
  };
  const Read by_sum = [](const Pairs& pairs) { return read_back(pairs, WriteRule::sum); };
  const Read by_delta = [](const Pairs& pairs) { return read_back(pairs, WriteRule::delta); };
  RecallResult at_32;
  // Of the three d: the lowest accuracy for d ÷ 4 pairs, and the highest for 4 d pairs.
  double quarter = 100, fourfold = 0;
  for (const Size width : {16, 32, 64}) {
    const std::vector<double> right = add(fmt::format("sum rule, d = {}", width), width, by_sum);
    quarter = std::min(quarter, right[kQuarter]), fourfold = std::max(fourfold, right[kFour]);
    if (width == kKeyWidth) at_32.sum_rule_accuracy = right[kOne];
  }
  at_32.delta_rule_accuracy = add("delta rule, d = 32", kKeyWidth, by_delta)[kOne];
  const double softmax = add("softmax, d = 32", kKeyWidth, read_by_softmax)[kFour];
  kit::show(chart, options.out / "capacity.svg");
  report.at_least("sum rule, d ÷ 4 pairs, every d: accuracy", quarter, 99, "%");
  report.at_most("sum rule, 4 d pairs, every d: accuracy", fourfold, 75, "%");
  report.at_least("softmax, 4 d pairs: accuracy", softmax, 99, "%");
  measure_age_effect(options, report);
  const Pairs drawn = draw_pairs(200, kKeyWidth, kKeyWidth, options.seed);
  const Tensor noise = by_sum(drawn) - drawn.values;
  at_32.sum_rule_error = mean(sum(noise * noise, {-1})).item();
  return at_32;
}

}  // namespace tapestry::lesson30
