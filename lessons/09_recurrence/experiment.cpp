// The models, initialisations, training runs and pictures of lesson 09: name the first symbol after forty more.
//
// A string has forty-one random symbols of ten kinds. At its end, the model must name the first symbol; all later
// symbols are noise. All models have 64 units and get strings from the same random streams.
#include "lessons/09_recurrence/experiment.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/core.hpp"
#include "lessons/09_recurrence/recall.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"

namespace tapestry::lesson09 {
namespace {

constexpr Size kSymbols = kit::kRecallSymbols, kWidth = 64, kEmbedding = 16;

struct Recaller : Module {
  explicit Recaller(CellKind kind) : layer{{*this, "layer"}, kind, kEmbedding, kWidth} {}

  /// Maps symbols (B, T) to logits (B, symbols).
  Tensor operator()(const Indices& symbols, const ValidLengths& lengths = {}) const {
    return out(layer(embedding(symbols), lengths).final[0].hidden);
  }

  Embedding embedding{{*this, "embedding"}, kSymbols, kEmbedding};
  Recurrent layer;
  Linear out{{*this, "out"}, kWidth, kSymbols};
};

/// Initialises the model. In both cells, the gate that keeps the past is the second block: forget (LSTM) or update
/// (GRU).
void prepare(Recaller& model, const Plan& plan, std::uint64_t seed) {
  model.initialise(seed);
  const State weights = model.layer.state();  // PyTorch's names; views that share the weights' memory
  if (plan.start == Start::open_gate) {
    Tensor bias = slice(weights.at("bias_ih_l0"), -1, kWidth, 2 * kWidth);
    assign(bias, full({kWidth}, 3.0));
  }
  if (plan.start == Start::orthogonal) {
    Linear rotation(kWidth, kWidth, Bias::no, orthogonal);
    rotation.initialise(seed);
    Tensor u = weights.at("weight_hh_l0");
    assign(u, rotation.weight);
  }
}

constexpr std::uint64_t kInfluenceStream = 3'000'000;  // test streams, far from those of training

/// Returns ‖∂(u · h_T)/∂x_t‖ for a random u, for each distance T − t, divided by the norm for the last symbol.
kit::Series influence(const Recaller& model, const std::string& name, std::uint64_t seed) {
  const kit::RecallStrings strings =
      kit::draw_recall(kit::Random(seed, kInfluenceStream), 32, kNoise, kNoise);
  const Tensor x = variable(model.embedding(strings.symbols).detach());
  Tape tape;
  const Tensor last = model.layer(x).final[0].hidden;
  const Tensor gradient = tape.gradients(last, random_normal(last.shape(), seed), std::vector{x})[0];
  const std::vector<double> norms = sqrt(sum(gradient * gradient, {0, 2})).to_vector();
  kit::Series series{name, {}, {}};
  for (Size back = 0; back <= kNoise; ++back) {
    series.x.push_back(static_cast<double>(back));
    series.y.push_back(norms[static_cast<std::size_t>(kNoise - back)] / norms.back());
  }
  return series;
}

kit::Chart influence_chart(const char* when, std::vector<kit::Series> series) {
  return {fmt::format("Influence of a symbol on the last state, {} training", when),
          "steps back",
          "gradient ÷ gradient of the last symbol",
          std::move(series),
          {},
          kit::Scale::linear,
          kit::Scale::log};
}

Outcome run(const Plan& plan, const kit::Options& options) {
  constexpr Size kBatch = 64;
  constexpr double kLearned = 0.005;
  Recaller model(plan.cell);
  prepare(model, plan, options.seed);
  Adam adam(model.parameters(), {.learning_rate = 3e-3});
  kit::Progress progress(options.steps, {.unit = "strings"});
  Size steps = 0;
  double mean_loss = std::log(1.0 * kSymbols);  // a running mean that starts with the loss of chance
  while (steps < options.steps && mean_loss > kLearned) {
    const auto stream = static_cast<std::uint64_t>(++steps);
    const kit::RecallStrings strings =
        kit::draw_recall(kit::Random(options.seed, stream), kBatch, plan.mixed ? 0 : kNoise, kNoise);
    Tape tape;
    const Tensor loss = cross_entropy(model(strings.symbols, strings.lengths), strings.first);
    tape.backward(loss);
    clip_gradients(model.parameters(), 1.0);
    adam.step();
    mean_loss = 0.9 * mean_loss + 0.1 * loss.item();
    progress.step(loss.item(), kBatch);
  }
  progress.finish();

  const kit::RecallStrings test =
      kit::draw_recall(kit::Random(options.seed, 2'000'000), options.smoke ? 20 : 1000, kNoise, kNoise);
  const kit::RecallStrings few =
      kit::draw_recall(kit::Random(options.seed, kInfluenceStream), 32, kNoise, kNoise);
  const Tensor last = model.layer(model.embedding(few.symbols)).final[0].hidden;
  Outcome outcome{kit::percent_equal(argmax(model(test.symbols)), test.first),
                  100 * mean(where(less(scalar(0.9), abs(last)), scalar(1), scalar(0))).item(),
                  influence(model, plan.name(), options.seed)};
  fmt::print("  {:<40}{:>7}{:>10.3f}{:>10.1f} %\n", plan.name(), steps, mean_loss, outcome.right);
  return outcome;
}

}  // namespace

void compare(kit::Report& report, const std::string& name, CellKind kind, const Run& by_hand,
             std::uint64_t seed) {
  const Tensor x = random_normal({2, 5, 3}, seed, DType::f64);
  Recurrent layer({}, kind, 3, 4);
  layer.initialise(seed, DType::f64);
  const std::vector<Tensor> weights = layer.parameters();
  const ValidLengths lengths = {5, 3};
  kit::check_by_hand(
      report, name, [&] { return by_hand(x, lengths, weights); },
      [&] { return layer(x, lengths).final[0].hidden; }, weights, seed);
}

std::string Plan::name() const {
  std::string text = cell == CellKind::rnn ? "plain RNN" : cell == CellKind::lstm ? "LSTM" : "GRU";
  if (start == Start::open_gate) text += cell == CellKind::lstm ? ", forget bias 3" : ", update bias 3";
  if (start == Start::orthogonal) text += ", orthogonal";
  if (mixed) text += ", mixed lengths";
  return text;
}

const std::vector<Plan>& plans() {
  using enum CellKind;
  using enum Start;
  static const std::vector<Plan> all = {{rnn, usual, false, 0, 30},  {rnn, Start::orthogonal},
                                        {lstm, usual, false, 0, 30}, {lstm, open_gate, false, 99},
                                        {gru, usual, false, 0, 30},  {gru, open_gate, false, 99},
                                        {rnn, usual, true, 40},      {rnn, Start::orthogonal, true, 70},
                                        {lstm, usual, true, 99},     {gru, usual, true, 99}};
  return all;
}

std::vector<kit::Series> influence_before(const kit::Options& options) {
  std::vector<kit::Series> curves;
  for (const Plan& plan : plans()) {
    if (plan.mixed) continue;
    Recaller model(plan.cell);
    prepare(model, plan, options.seed);
    curves.push_back(influence(model, plan.name(), options.seed));
  }
  kit::show(influence_chart("before", curves), options.out / "before.svg");
  return curves;
}

std::vector<Outcome> train_all(const kit::Options& options, kit::Report& report) {
  std::vector<Outcome> outcomes;
  fmt::print("  {:<40}{:>7}{:>10}{:>12}\n", "", "steps", "loss", "right");
  fmt::print("  {:<40}{:>17.3f}{:>10.1f} %\n", "chance", std::log(1.0 * kSymbols), 100.0 / kSymbols);
  for (const Plan& plan : plans()) outcomes.push_back(run(plan, options));
  fmt::print("\n");
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Plan& plan = plans()[i];
    if (plan.at_least > 0) report.at_least(plan.name(), outcomes[i].right, plan.at_least, "%");
    if (plan.at_most < 100) report.at_most(plan.name(), outcomes[i].right, plan.at_most, "%");
  }
  return outcomes;
}

void draw_after(const std::vector<Outcome>& outcomes, const kit::Options& options) {
  std::vector<kit::Series> curves;
  for (const Which plan : {kPlain, kPlainOrthogonalMixed, kLstm, kLstmOpen, kGru, kGruOpen})
    curves.push_back(outcomes[plan].after);
  kit::Chart chart = influence_chart("after", std::move(curves));
  chart.levels.push_back({1, "last symbol"});
  kit::show(chart, options.out / "after.svg");
}

}  // namespace tapestry::lesson09
