// The experiments of lesson 03 with nn/'s layers: the first loss, overfitting sixteen points, a comparison of the
// hand-written optimisers with optim/'s, and training with its pictures.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/ops/pointwise.hpp"
#include "lessons/03_training/spirals.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson03 {

constexpr Size kClasses = 2, kWidth = 32;

/// Maps points (B, 2) to logits (B, kClasses). `{{*this, "first"}, …}` gives a layer its parent and its name, so that
/// parameters() finds every weight and messages can name it. The last layer starts from `first_values`.
struct Network : Module {
  explicit Network(const Initialiser& first_values)
      : last{{*this, "last"}, kWidth, kClasses, Bias::yes, first_values} {}

  Tensor operator()(const Tensor& x) const { return last(relu(second(relu(first(x))))); }

  Linear first{{*this, "first"}, 2, kWidth, Bias::yes, kaiming};
  Linear second{{*this, "second"}, kWidth, kWidth, Bias::yes, kaiming};
  Linear last;
};

enum class Kind { sgd, momentum, adam };
constexpr const char* kNames[] = {"SGD", "momentum", "Adam"};
constexpr double kRates[] = {0.1, 0.03, 5e-3};  ///< η of each kind; momentum has μ = 0.9

/// Compares the chapter's network and loss with nn/'s, using kit::check_by_hand.
void compare_with_nn(Tensor (*network_by_hand)(const Network& of, const Tensor& x),
                     Tensor (*loss_by_hand)(const Tensor& logits, const Indices& labels), std::uint64_t seed,
                     kit::Report& report);

/// Takes one step by hand: reads the gradient of a weight and assigns the weight. Each weight has its own copy of the
/// function, with its own memory.
using StepByHand = std::function<void(Tensor&)>;
/// Returns how far the last of `steps` steps moves a single number whose gradient is the same at every step.
double length_of_step(StepByHand step_by_hand, double gradient, int steps);

/// Returns the loss before training, as the mean over `networks` networks with different initial weights.
double first_loss(const Initialiser& last_layer, std::uint64_t seed, std::uint64_t networks);

/// Returns the loss on sixteen of the points after 500 steps on the same sixteen. With `new_labels`, new labels
/// are drawn at every step.
double loss_after_overfitting(const kit::Points& points, std::uint64_t seed, bool new_labels);

/// Trains two networks for each kind, one by hand and one with optim/, from the same initial weights and on the same
/// batches, in f64. Returns the largest difference between their weights after `steps` steps.
double difference_from_library(const std::array<StepByHand, 3>& by_hand, std::uint64_t seed, Size steps);

/// Records a network's output on a grid of places at some steps of its training.
struct TrainingRecorder {
  std::vector<Size> steps;
  std::vector<std::vector<double>> log_odds;  ///< z₂ − z₁ at each place; the border is where it is 0

  void after(Size step, const Network& network);
};

struct Trained {
  kit::Series loss;      ///< over the steps; each point is the mean over about a hundredth of them
  kit::Series held_out;  ///< per cent of the held-out points classified correctly, at the same steps
  std::unique_ptr<Network> network;
  TrainingRecorder recorder = {};  ///< after 2, 4, 8, … hundredths of the steps, and at the end

  double last() const { return held_out.y.back(); }
  /// Returns the first step from which held_out stays at 99 or more, or 0 if it is below 99 at the end.
  Size steps_to_99() const;
};

/// Trains for options.steps steps on `unit` times the loss.
Trained train(Kind optimiser, const kit::Points& points, const kit::Points& held_out,
              const kit::Options& options, double unit = 1);
/// Trains with all three kinds from the same initial weights on the same batches, and tests on 2,000 held-out points.
/// Prints a table, draws losses.svg, held_out.svg and, for Adam, border.svg, and saves the recordings of all three.
std::array<Trained, 3> train_all(const kit::Points& points, const kit::Options& options, kit::Report& report);

/// Returns true if steps_to_99() of `one` is at least `times` times as large as that of `other`. Never reaching 99 counts
/// as infinitely many steps, but `other` must reach it.
bool slower(const Trained& one, const Trained& other, Size times);
/// Per cent of the held-out points classified correctly after training on 100 times the loss.
struct Hundredfold {
  double momentum, adam;
};
/// Trains with momentum and Adam, and prints both results. Adam's result is a target.
Hundredfold train_on_a_hundredfold(const kit::Points& points, const kit::Options& options,
                                   kit::Report& report);

}  // namespace tapestry::lesson03
