// Measurements of lesson 19's blocks: the effects of residuals on depth, and of norms on the learning rate.
#include "lessons/19_block/depth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"

namespace tapestry::lesson19 {
namespace {

using kit::Cards;

struct Depth {
  std::vector<double> unlike;    // spread of the tokens before the first block, after it, …
  std::vector<double> gradient;  // of each block's query and key weights
};

Depth measure_blocks(const Parts& parts, const kit::Options& options) {
  Reader model(kDeep, parts);
  model.initialise(options.seed, DType::f64);
  const Cards cards = kit::deal_cards(kit::Random(options.seed), batch_of(options));
  Depth depth;
  Tape tape;
  Tensor x = model.enter(cards);
  const auto measure = [&] {
    const Tensor differs = x - mean(x, {1}, Keep::yes);
    depth.unlike.push_back(std::sqrt(sum(differs * differs).item() / sum(x * x).item()));
  };
  measure();
  for (const TransformerBlock& block : model.stack.blocks) {
    x = block(x);
    measure();
  }
  tape.backward(cross_entropy(model.answers(model.stack.norm ? (*model.stack.norm)(x) : x), cards.answers));
  for (const TransformerBlock& block : model.stack.blocks)
    depth.gradient.push_back(gradient_norm({block.self->query.weight, block.self->key.weight}));
  return depth;
}

constexpr std::array<double, 5> kRates = {2e-3, 4e-3, 8e-3, 16e-3, 32e-3};

/// Returns the mean loss of the last steps. Trains `longer` times the usual number of steps.
double loss_at(double rate, Size blocks, NormPosition norm, const kit::Options& options, Size longer = 1) {
  Reader model(blocks, {.norm = norm});
  model.initialise(options.seed);
  Adam adam(model.parameters(), {.learning_rate = rate});
  const Size steps = std::max<Size>(2, longer * 3 * options.steps / 4), last = std::max<Size>(1, steps / 15);
  double late = 0;
  for (Size step = 1; step <= steps; ++step) {
    const kit::Random random(options.seed, static_cast<std::uint64_t>(step));
    const Cards cards = kit::deal_cards(random, batch_of(options));
    Tape tape;
    const Tensor loss = cross_entropy(model(cards), cards.answers);
    if (!(loss.item() < 1e6)) return 1e6;  // the training has diverged
    if (step > steps - last) late += loss.item() / static_cast<double>(last);
    tape.backward(loss);
    adam.step();
  }
  return late;
}

/// Trains at all learning rates, prints the losses as a row, and returns them.
kit::Series scan(const char* name, Size blocks, NormPosition norm, const kit::Options& options) {
  fmt::print("  {:<12} {} blocks   ", name, blocks);
  kit::Series series{name, {kRates.begin(), kRates.end()}, {}};
  for (const double rate : kRates) {
    const double loss = loss_at(rate, blocks, norm, options);
    series.y.push_back(std::min(loss, 10.0));
    fmt::print("{:>9}", loss > 10 ? "> 10" : fmt::format("{:.3f}", loss));
  }
  fmt::print("\n");
  return series;
}

/// Returns the largest learning rate with which the model learns, or 0.
double largest_rate(const kit::Series& series, double learns) {
  double rate = 0;
  for (std::size_t i = 0; i < series.x.size(); ++i)
    if (series.y[i] <= learns) rate = series.x[i];
  return rate;
}

}  // namespace

double measure_depth(const kit::Options& options, kit::Report& report) {
  kit::Chart chart{"Gradient of the weights of queries and keys, before training", "block", "norm"};
  chart.y_scale = kit::Scale::log;
  const auto print = [](const std::string& name, const std::vector<double>& values) {
    fmt::print("  {:<22}", name);
    if (values.size() == kDeep) fmt::print("{:>9}", "");  // before the first block
    for (const double value : values) fmt::print("{:>9.2g}", value);
    fmt::print("\n");
  };
  print("block", {0, 1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<Depth> depths;
  for (const std::size_t i : {kWhole, kNoResidual, kNoNorm}) {
    const std::string name = i == kWhole ? "whole" : i == kNoResidual ? "no residual" : "no norm";
    const Depth& depth = depths.emplace_back(measure_blocks(kRecipes[i].parts, options));
    print(name + ": spread", depth.unlike);
    print(name + ": gradient", depth.gradient);
    chart.series.push_back({name, {1, 2, 3, 4, 5, 6, 7, 8}, depth.gradient});
  }
  report.at_least("whole: spread of the tokens after 8 blocks", depths[0].unlike.back(), 0.5);
  report.at_most("no residual: spread of the tokens after 8 blocks", depths[1].unlike.back(), 1e-4);
  report.at_most("no residual: gradient in block 8 ÷ gradient of the whole",
                 depths[1].gradient.back() / depths[0].gradient.back(), 1e-6);
  const double ratio = depths[2].gradient[0] / depths[0].gradient[0];
  report.at_least("no norm: gradient in block 1 ÷ gradient of the whole", ratio, 1000);
  kit::show(chart, options.out / "gradients.svg");
  return ratio;
}

void try_rates(double learns, const kit::Options& options, kit::Report& report) {
  fmt::print("  loss at learning rate   ");
  for (const double rate : kRates) fmt::print("{:>9}", rate);
  fmt::print("\n");
  const kit::Series two_pre = scan("norm before", 2, NormPosition::pre, options),
                    two_none = scan("no norm", 2, NormPosition::none, options),
                    pre = scan("norm before", 4, NormPosition::pre, options),
                    post = scan("norm after", 4, NormPosition::post, options),
                    none = scan("no norm", 4, NormPosition::none, options);
  report.at_least("2 blocks, norm before: largest learning rate", largest_rate(two_pre, learns), 0.016);
  report.at_least("2 blocks, no norm: largest learning rate", largest_rate(two_none, learns), 0.004);
  report.at_least("4 blocks, norm before: largest learning rate", largest_rate(pre, learns), 0.008);
  report.figure("4 blocks, norm after: largest learning rate", largest_rate(post, learns));
  report.at_most("4 blocks: largest learning rate, norm after ÷ norm before",
                 largest_rate(post, learns) / largest_rate(pre, learns), 0.5);
  report.at_most("4 blocks, no norm: largest learning rate (0 if none)", largest_rate(none, learns), 0);
  constexpr double kSmall = 1e-3;
  constexpr Size kLonger = 4;
  report.at_most(fmt::format("learning rate {}, {} times the steps, norm before: loss", kSmall, kLonger),
                 loss_at(kSmall, 4, NormPosition::pre, options, kLonger), learns);
  report.at_least(fmt::format("learning rate {}, {} times the steps, no norm: loss", kSmall, kLonger),
                  loss_at(kSmall, 4, NormPosition::none, options, kLonger), 1);
  kit::Chart chart{"Four blocks: final loss by learning rate", "learning rate", "loss (capped at 10)"};
  chart.series = {pre, post, none};
  chart.levels = {{learns, "has learned"}};
  chart.x_scale = chart.y_scale = kit::Scale::log;
  kit::show(chart, options.out / "rates.svg");
}

}  // namespace tapestry::lesson19
