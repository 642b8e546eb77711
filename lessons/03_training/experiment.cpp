// The experiments of lesson 03 with nn/'s layers: the first loss, overfitting sixteen points, a comparison of the
// hand-written optimisers with optim/'s, and training with its pictures.
#include "lessons/03_training/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/core.hpp"
#include "lessons/03_training/recording.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/picture/contour.hpp"
#include "optim/adam.hpp"
#include "optim/sgd.hpp"

namespace tapestry::lesson03 {
namespace {

using kit::Points, kit::draw, kit::draw_spirals;

constexpr Size kBatch = 64;

Points batch_at(const Points& points, std::uint64_t seed, Size step) {
  return draw(points, kit::Random(seed, static_cast<std::uint64_t>(10'000 + step)), kBatch);
}

std::unique_ptr<Optimiser> make(Kind kind, std::vector<Tensor> weights) {
  const double rate = kRates[static_cast<int>(kind)];
  if (kind == Kind::adam)
    return std::make_unique<Adam>(std::move(weights), AdamOptions{.learning_rate = rate});
  const double mu = kind == Kind::momentum ? 0.9 : 0;
  return std::make_unique<SGD>(std::move(weights), SGDOptions{.learning_rate = rate, .momentum = mu});
}

double apart(const StepByHand& by_hand, Kind library, std::uint64_t seed, Size steps) {
  const Points points = draw_spirals(seed, 1, 1000, DType::f64);
  Network ours(zeros), theirs(zeros);
  ours.initialise(seed, DType::f64);
  theirs.initialise(seed, DType::f64);
  std::vector<Tensor> weights = ours.parameters();
  std::vector<StepByHand> step_of(weights.size(), by_hand);
  const std::unique_ptr<Optimiser> optimiser = make(library, theirs.parameters());
  for (Size step = 1; step <= steps; ++step) {
    const Points batch = batch_at(points, seed, step);
    {
      Tape tape;
      tape.backward(cross_entropy(ours(batch.x), batch.labels));
      for (std::size_t i = 0; i < weights.size(); ++i) {
        step_of[i](weights[i]);
        weights[i].clear_grad();
      }
    }
    Tape tape;
    tape.backward(cross_entropy(theirs(batch.x), batch.labels));
    optimiser->step();
  }
  return kit::farthest(weights, theirs.parameters());
}

Points draw_held_out(const kit::Options& options) { return draw_spirals(options.seed, 2, 2000); }

double percent_right(const Network& network, const Points& points) {
  return kit::percent_equal(argmax(network(points.x)), points.labels);
}

void print(const std::array<Trained, 3>& trained) {
  fmt::print("  optimiser   held-out points right   ≥ 99 % since step   last loss\n");
  for (const Trained& one : trained) {
    const Size steps = one.steps_to_99();
    fmt::print("  {:<9} {:>21.1f} % {:>19} {:>11.5f}\n", one.loss.name, one.last(),
               steps > 0 ? std::to_string(steps) : "never", one.loss.y.back());
  }
}

void show_curves(const std::array<Trained, 3>& trained, const kit::Options& options) {
  kit::Chart losses{"Loss of three optimisers, with the same initial weights and batches", "step", "loss"};
  losses.y_scale = kit::Scale::log;
  kit::Chart right{"Held-out points on the right spiral", "step", "per cent"};
  for (const Trained& one : trained) {
    losses.series.push_back(one.loss);
    right.series.push_back(one.held_out);
  }
  losses.levels.push_back({std::log(static_cast<double>(kClasses)), "log 2: guessing"});
  right.levels.push_back({50, "guessing"});
  kit::show(losses, options.out / "losses.svg");
  kit::show(right, options.out / "held_out.svg");
}

void show_border(const Network& network, const Points& points, const kit::Options& options) {
  kit::Chart chart{"Two spirals, and the border learned with Adam", "x₁", "x₂"};
  chart.same_units = true;
  for (Size label = 0; label < kClasses; ++label) {
    const Tensor of_one = slice(points.x, 0, label, points.x.size(0), kClasses);
    chart.series.push_back({label == 0 ? "first spiral" : "second spiral", select(of_one, 1, 0).to_vector(),
                            select(of_one, 1, 1).to_vector(), kit::Mark::points});
  }
  const kit::SquareGrid grid{-1.15, 1.15, 120};
  const Tensor probability =
      softmax(network(tensor(grid.points(), {grid.points_per_side * grid.points_per_side, 2})), -1);
  chart.series.push_back(kit::contour("border", grid, select(probability, -1, 1).to_vector(), 0.5));
  kit::show(chart, options.out / "border.svg");
}

}  // namespace

void compare_with_nn(Tensor (*network_by_hand)(const Network& of, const Tensor& x),
                     Tensor (*loss_by_hand)(const Tensor& logits, const Indices& labels), std::uint64_t seed,
                     kit::Report& report) {
  Network network(kaiming);
  network.initialise(seed, DType::f64);
  const Points batch = draw_spirals(seed, 3, 8, DType::f64);
  kit::check_by_hand(
      report, "network and loss",
      [&] { return loss_by_hand(network_by_hand(network, batch.x), batch.labels); },
      [&] { return cross_entropy(network(batch.x), batch.labels); }, network.parameters(), seed);
}

double first_loss(const Initialiser& last_layer, std::uint64_t seed, std::uint64_t networks) {
  const Points points = draw_spirals(seed, 1, 1000, DType::f64);
  double total = 0;
  for (std::uint64_t i = 0; i < networks; ++i) {
    Network network(last_layer);
    network.initialise(networks * seed + i, DType::f64);
    total += cross_entropy(network(points.x), points.labels).item();
  }
  return total / static_cast<double>(networks);
}

double loss_after_overfitting(const Points& points, std::uint64_t seed, bool new_labels) {
  constexpr Size kPoints = 16, kSteps = 500;
  Network network(zeros);
  network.initialise(seed);
  Adam adam(network.parameters(), {.learning_rate = 1e-2});
  const Points batch = draw(points, kit::Random(seed, 91), kPoints);
  double last = 0;
  for (Size step = 1; step <= kSteps; ++step) {
    const auto stream = static_cast<std::uint64_t>(1000 + step);
    const Indices labels =
        new_labels ? draw(points, kit::Random(seed, stream), kPoints).labels : batch.labels;
    Tape tape;
    const Tensor loss = cross_entropy(network(batch.x), labels);
    tape.backward(loss);
    adam.step();
    last = loss.item();
  }
  return last;
}

double length_of_step(StepByHand step_by_hand, double gradient, int steps) {
  Tensor weight = variable(scalar(0, DType::f64));
  double before = 0;
  for (int step = 0; step < steps; ++step) {
    before = weight.item();
    Tape tape;
    tape.backward(gradient * weight);
    step_by_hand(weight);
    weight.clear_grad();
  }
  return before - weight.item();
}

double difference_from_library(const std::array<StepByHand, 3>& by_hand, std::uint64_t seed, Size steps) {
  double most = 0;
  for (const Kind kind : {Kind::sgd, Kind::momentum, Kind::adam})
    most = std::max(most, apart(by_hand[static_cast<std::size_t>(kind)], kind, seed, steps));
  return most;
}

Size Trained::steps_to_99() const {
  std::size_t from = held_out.y.size();
  while (from > 0 && held_out.y[from - 1] >= 99) --from;
  return from == held_out.y.size() ? 0 : static_cast<Size>(held_out.x[from]);
}

Trained train(Kind kind, const Points& points, const Points& held_out, const kit::Options& options,
              double unit) {
  const char* const name = kNames[static_cast<int>(kind)];
  Trained trained{{name}, {name}, std::make_unique<Network>(Initialiser(zeros))};
  const Network& network = *trained.network;
  trained.network->initialise(options.seed);
  const std::unique_ptr<Optimiser> optimiser = make(kind, network.parameters());
  const Size interval = std::max<Size>(1, options.steps / 100);
  double total = 0;
  kit::Progress progress(options.steps, {.unit = "points"});
  for (Size step = 1; step <= options.steps; ++step) {
    {
      const Points batch = batch_at(points, options.seed, step);
      Tape tape;
      const Tensor loss = cross_entropy(network(batch.x), batch.labels);
      tape.backward(unit * loss);
      optimiser->step();
      progress.step(loss.item(), kBatch);
      total += loss.item();
    }
    if (step % interval != 0) continue;
    trained.loss.x.push_back(static_cast<double>(step));
    trained.loss.y.push_back(total / static_cast<double>(interval));
    trained.held_out.x.push_back(static_cast<double>(step));
    trained.held_out.y.push_back(percent_right(network, held_out));
    total = 0;
    const Size hundredths = step / interval;
    if ((hundredths > 1 && (hundredths & (hundredths - 1)) == 0) || step == options.steps)
      trained.recorder.after(step, network);
  }
  progress.finish();
  return trained;
}

std::array<Trained, 3> train_all(const Points& points, const kit::Options& options, kit::Report& report) {
  const Points held_out = draw_held_out(options);
  std::array<Trained, 3> all{train(Kind::sgd, points, held_out, options),
                             train(Kind::momentum, points, held_out, options),
                             train(Kind::adam, points, held_out, options)};
  const auto& [sgd, momentum, adam] = all;
  print(all);
  show_curves(all, options);
  show_border(*adam.network, points, options);
  save_recordings(all, points, options);
  report.at_least("momentum: held-out points right", momentum.last(), 99, "%");
  report.at_least("Adam: held-out points right", adam.last(), 99, "%");
  report.at_least("SGD's last loss ÷ Adam's last loss", sgd.loss.y.back() / adam.loss.y.back(), 10);
  return all;
}

Hundredfold train_on_a_hundredfold(const Points& points, const kit::Options& options, kit::Report& report) {
  const Points held_out = draw_held_out(options);
  const double momentum = train(Kind::momentum, points, held_out, options, 100).last();
  const double adam = train(Kind::adam, points, held_out, options, 100).last();
  report.figure("momentum: held-out points right", momentum, "%");
  report.at_least("Adam: held-out points right", adam, 99, "%");
  return {momentum, adam};
}

bool slower(const Trained& one, const Trained& other, Size times) {
  const Size mine = one.steps_to_99(), its = other.steps_to_99();
  return its > 0 && (mine == 0 || mine >= times * its);
}

}  // namespace tapestry::lesson03
