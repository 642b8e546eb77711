// The runs of lesson 27: five training methods, losses with an added number, and their pictures.
#include "lessons/27_hard/experiment.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "lessons/27_hard/hard_attention.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"

namespace tapestry::lesson27 {

void show(const EstimatorQualities& all, const kit::Options& options) {
  kit::Bars bars{"Variance of six estimates of one gradient", "variance ÷ gradient²", {}, {}};
  fmt::print("  {:<26} {:>10} {:>17} {:>20}\n", "", "variance", "error of the mean", "in standard errors");
  for (const Quality* one : {&all.no_baseline, &all.baseline, &all.straight_cold, &all.straight_warm,
                             &all.soft_cold, &all.soft_warm}) {
    fmt::print("  {:<26} {:>10.1f} {:>15.1f} % {:>20.1f}\n", one->name, one->variance, one->relative_error,
               one->standard_errors);
    bars.bars.push_back({one->name, one->variance});
  }
  kit::show(bars, options.out / "variance.svg");
}

namespace {

/// Draws how the probabilities of the cells of one table change during training: a row for each moment.
kit::Heatmap glimpses_of(const TrainingConfig& config, const Trained& trained, const kit::Options& options) {
  kit::Heatmap map{config.name};
  const Size target_cell = glimpsed_cell(options.seed);
  for (Size cell = 0; cell < kCells; ++cell) map.columns.push_back(cell == target_cell ? "◆" : "·");
  for (const Size step : glimpse_steps(options.steps)) map.rows.push_back(std::to_string(step));
  for (const Tensor& chances : trained.glimpses)
    for (const double chance : chances.to_vector()) map.values.push_back(chance);
  map.column_axis = "cells, ◆ is the right one", map.row_axis = "training steps";
  return map;
}

}  // namespace

MethodResults train_five(double temperature, const kit::Options& options) {
  const std::array configs = {TrainingConfig{"a cell at random", Method::at_random},
                              TrainingConfig{"REINFORCE, no baseline", Method::no_baseline},
                              TrainingConfig{"REINFORCE, baseline", Method::baseline},
                              TrainingConfig{"Gumbel-softmax, soft", Method::soft, 0, temperature},
                              TrainingConfig{"straight-through", Method::straight_through, 0, temperature}};
  std::array<double, configs.size()> right{};
  kit::HeatmapGrid grid{
      fmt::format(
          "Probability of each cell of one table during training (rows: steps); cell {} is the right one",
          glimpsed_cell(options.seed) + 1),
      {},
      2};
  fmt::print("  {:<24} right answers\n", "");
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const Trained trained = train(configs[i], options);
    right[i] = trained.right;
    fmt::print("  {:<24} {:>11.1f} %\n", configs[i].name, right[i]);
    if (configs[i].method != Method::at_random)
      grid.maps.push_back(glimpses_of(configs[i], trained, options));
  }
  kit::show(grid, options.out / "glimpses.svg");
  return {right[0], right[1], right[2], right[3], right[4]};
}

AddedLossAccuracy train_with_added_losses(const SingleQuestion& question, const MethodResults& five,
                                          double largest_added, const kit::Options& options) {
  kit::Series without{"no baseline", {}, {}}, with{"baseline", {}, {}, kit::Mark::points};
  const double with_baseline = exact_variance(question, -question.expected);
  AddedLossAccuracy right{five.no_baseline, five.baseline};
  fmt::print("  {:>16} {:>10} {:>14} {:>12}\n", "added to losses", "variance", "no baseline", "baseline");
  for (const double share : {0.0, 1.0 / 30, 0.1, 1.0 / 3, 1.0}) {
    const double added = share * largest_added, variance = exact_variance(question, added);
    const bool at_an_end = share == 0 || share == 1;
    if (share > 0) right.no_baseline = train({"no baseline", Method::no_baseline, added}, options).right;
    if (share == 1) right.baseline = train({"baseline", Method::baseline, added}, options).right;
    without.x.push_back(variance), without.y.push_back(right.no_baseline);
    if (at_an_end) with.x.push_back(with_baseline), with.y.push_back(right.baseline);
    fmt::print("  {:>16.1f} {:>10.0f} {:>12.1f} % {:>12}\n", added, variance, right.no_baseline,
               at_an_end ? fmt::format("{:.1f} %", right.baseline) : "");
  }
  kit::Chart chart{"Right answers by variance of the gradient",
                   "variance ÷ gradient², for the question of section 3", "right answers in %"};
  chart.series = {without, with}, chart.levels = {{95, "target"}};
  chart.x_scale = kit::Scale::log;
  kit::show(chart, options.out / "raised.svg");
  return right;
}

}  // namespace tapestry::lesson27
