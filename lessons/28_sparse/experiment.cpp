// Trains and measures the model that finds a customer's receipts with three normalisers, and plots the
// results.
#include "lessons/28_sparse/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "core/core.hpp"
#include "lessons/kit/train/loop.hpp"

namespace tapestry::lesson28 {
namespace {

constexpr Size kWidth = 16, kBatch = 64;
constexpr std::uint64_t kTestStreams = 1'000'000, kProbeStream = 2'000'000;  // far from the training streams

/// Adds the results of one batch of piles to `total`.
void add(Metrics& total, const ReceiptModel& model, const Receipts& piles) {
  const AttentionOutput read = model(piles);
  const std::vector<double> weights = read.weights.to_vector(), predicted = read.context.to_vector(),
                            expected = piles.average.to_vector();
  const std::vector<bool> yours = piles.yours.to_vector();
  const std::size_t keys = weights.size() / predicted.size();
  for (std::size_t row = 0; row < predicted.size(); ++row) {
    double support = 0;
    for (std::size_t j = row * keys; j < (row + 1) * keys; ++j) {
      support += weights[j] > 0 ? 1 : 0;
      total.mass += yours[j] ? weights[j] : 0;
      total.own_supported += yours[j] && weights[j] > 0 ? 100.0 / kYours : 0;
    }
    const bool right = std::abs(kYours * (predicted[row] - expected[row])) < 0.5;
    total.right += right ? 100 : 0;
    total.sparse_right += right && support <= kYours ? 100 : 0;
    total.support += support;
  }
}

TrainingRun run(const std::string& name, const Normaliser& normalise, double deviation, Size steps,
                const kit::Options& options) {
  ReceiptModel model(normalise, deviation);
  model.initialise(options.seed);
  TrainingRun run{name, measure(model, kTrained, options), {}, {name}};
  const Receipts probe = draw_receipts(kit::Random(options.seed, kProbeStream), 100, kTrained);
  const auto record_support = [&](Size step) {
    if (step > 200 || step % 2 != 0) return;
    Metrics total;
    add(total, model, probe);
    run.support.x.push_back(static_cast<double>(step));
    run.support.y.push_back(total.support / 100);
  };
  record_support(0);
  kit::train(model,
             {.name = name,
              .steps = steps,
              .rate = 1e-2,
              .batch = kBatch,
              .unit = "piles",
              .seed = options.seed,
              .after_step = record_support},
             [&](kit::Random random) {
               const Receipts piles = draw_receipts(random, kBatch, kTrained);
               const Tensor error = model(piles).context - piles.average;
               return mean(error * error);
             });
  for (const Size keys : kTested) run.at.push_back(measure(model, keys, options));
  return run;
}

std::vector<double> masses(const TrainingRun& run) {
  std::vector<double> all;
  for (const Metrics& one : run.at) all.push_back(one.mass);
  return all;
}

void report_runs(const std::vector<TrainingRun>& runs, kit::Report& report) {
  const auto& [soft, entmax, sparse, longer] =
      std::tie(runs[kSoftmax].at, runs[kEntmax].at, runs[kSparsemax].at, runs[kLonger].at);
  const auto odds = [](const Metrics& one) { return (1 - one.mass) / one.mass; };
  report.at_least("sparsemax, 64: right with at most 3 weights", sparse[0].sparse_right, 99, "%");
  report.at_least("sparsemax: the least of the same at 256, 1,024 and 4,096",
                  std::min({sparse[1].sparse_right, sparse[2].sparse_right, sparse[3].sparse_right}), 99,
                  "%");
  report.at_least("entmax-1.5: right at 1,024", entmax[2].right, 99, "%");
  report.at_least("softmax: right at 64", soft[0].right, 99, "%");
  report.at_most("softmax: right at 1,024", soft[2].right, 50, "%");
  report.check_quoted("odds of softmax's wrong mass ÷ the odds after 6 × the steps",
                      odds(soft[0]) / odds(longer[0]), 5, 0.3);
  report.check_quoted("softmax's mass at 1,024 ÷ mass predicted from the odds",
                      soft[2].mass / predicted_mass(soft[0].mass, 1024), 1, 0.1);
}

}  // namespace

ReceiptModel::ReceiptModel(const Normaliser& normalise, double deviation)
    : query{{*this, "query"}, kCustomers, kWidth, {}, normal(deviation)},
      key{{*this, "key"}, kCustomers, kWidth, {}, normal(deviation)},
      attention{{*this, "attention"}, dot(), {.normalise = normalise}} {}

AttentionOutput ReceiptModel::operator()(const Receipts& receipts) const {
  return attention(query(receipts.asking), key(receipts.customers), receipts.amounts);
}

Metrics measure(const ReceiptModel& model, Size keys, const kit::Options& options) {
  const Size batches = options.smoke ? 1 : 20, rows = options.smoke ? 5 : 25;
  Metrics total;
  for (Size batch = 0; batch < batches; ++batch)
    add(total, model,
        draw_receipts(
            kit::Random(options.seed, kTestStreams + static_cast<std::uint64_t>(100 * keys + batch)), rows,
            keys));
  const auto piles = static_cast<double>(batches * rows);
  for (double* sum : {&total.right, &total.sparse_right, &total.mass, &total.support, &total.own_supported})
    *sum /= piles;
  return total;
}

double predicted_mass(double mass, Size keys) {
  const double odds = (1 - mass) / mass * static_cast<double>(keys - kYours) / (kTrained - kYours);
  return 1 / (1 + odds);
}

std::vector<TrainingRun> train_each(double deviation, const kit::Options& options, kit::Report& report) {
  const std::vector<TrainingRun> runs = {
      run("softmax", softmax_weights, deviation, options.steps, options),
      run("entmax-1.5", entmax15_weights, deviation, options.steps, options),
      run("sparsemax", sparsemax_weights, deviation, options.steps, options),
      run("softmax, 6 × the steps", softmax_weights, deviation, 6 * options.steps, options)};
  fmt::print("  {:<24}{:>10}{:>12}{:>12}{:>16}\n", "", "receipts", "right", "own mass", "non-zero");
  for (const TrainingRun& one : runs)
    for (std::size_t i = 0; i < one.at.size(); ++i)
      fmt::print("  {:<24}{:>10}{:>10.1f} %{:>12.3f}{:>16.1f}\n", i == 0 ? one.name : "", kTested[i],
                 one.at[i].right, one.at[i].mass, one.at[i].support);
  kit::Chart chart{
      "Mass on the customer's three receipts", "receipts in the pile", "mass", {}, {}, kit::Scale::log};
  const std::vector<double> sizes(std::begin(kTested), std::end(kTested));
  for (const TrainingRun& one : runs) chart.series.push_back({one.name, sizes, masses(one)});
  kit::Series formula{"softmax, predicted", sizes, {}, kit::Mark::points};
  for (const Size keys : kTested) formula.y.push_back(predicted_mass(runs[kSoftmax].at[0].mass, keys));
  chart.series.push_back(formula);
  chart.series[kSparsemax].dashes = 1;  // the curve coincides with entmax's
  kit::show(chart, options.out / "mass.svg");
  report_runs(runs, report);
  return runs;
}

std::vector<TrainingRun> train_from_larger(const std::vector<TrainingRun>& small, const kit::Options& options,
                                           kit::Report& report) {
  std::vector<TrainingRun> runs;
  const auto from = [&](const char* name, const Normaliser& normalise, double at) {
    runs.push_back(run(fmt::format("{} from {}", name, at), normalise, at, options.steps, options));
  };
  for (const double larger : {0.1, 0.3, 1.0}) from("sparsemax", sparsemax_weights, larger);
  from("softmax", softmax_weights, 1);
  fmt::print("  {:<24}{:>16}{:>18}{:>18}\n", "", "initial support", "own with weight", "right at the end");
  const auto row = [](const std::string& name, const TrainingRun& one) {
    fmt::print("  {:<24}{:>16.1f}{:>16.1f} %{:>16.1f} %\n", name, one.before.support,
               one.before.own_supported, one.at[0].right);
  };
  row("sparsemax, as above", small[kSparsemax]);
  for (const TrainingRun& one : runs) row(one.name, one);
  kit::Chart chart{"Non-zero weights, of 64", "training steps", "non-zero weights", {}, {},
                   kit::Scale::linear,        kit::Scale::log};
  for (const RunIndex which : {kSoftmax, kEntmax, kSparsemax}) chart.series.push_back(small[which].support);
  chart.series.push_back(runs[2].support);
  chart.levels.push_back({kYours, "the customer's own"});
  kit::show(chart, options.out / "support.svg");
  report.at_most("sparsemax from 1: right", runs[2].at[0].right, 70, "%");
  return runs;
}

void draw_two_keys(const kit::Options& options) {
  kit::Chart chart{
      "Two keys", "score of the first key minus score of the second", "weight of the first", {}, {}};
  const Tensor first = arange(-3, 3.01, 0.1, DType::f64), second = zeros(first.shape(), DType::f64);
  const Tensor scores = stack({first, second}, -1);
  const auto curve = [&](const char* name, const Tensor& weights) {
    chart.series.push_back({name, first.to_vector(), select(weights, -1, 0).to_vector()});
  };
  curve("softmax", softmax(scores, -1));
  curve("entmax-1.5", entmax15(scores));
  curve("sparsemax", sparsemax(scores));
  kit::show(chart, options.out / "two_keys.svg");
}

}  // namespace tapestry::lesson28
