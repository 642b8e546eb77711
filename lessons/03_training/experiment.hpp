// The network of lesson 03 in terms of nn/, and what the chapter does with it: its first loss, sixteen points
// by heart, hand-written optimisers beside optim/'s, training and its pictures.
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

/// (B, 2) points → (B, kClasses) logits. `{{*this, "first"}, …}` tells a layer whose part it is and its name there:
/// so parameters() finds every weight, and a message can name it. The last layer starts from `first_values`.
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

/// The chapter's network and loss beside nn/'s: checked as kit::check_by_hand does.
void compare_with_nn(Tensor (*network_by_hand)(const Network& of, const Tensor& x),
                     Tensor (*loss_by_hand)(const Tensor& logits, const Indices& labels), std::uint64_t seed,
                     kit::Report& report);

/// One step of one weight by hand: reads its gradient and assigns it. Each weight has a copy with a memory of
/// its own.
using StepByHand = std::function<void(Tensor&)>;
/// How far the last of some steps moves one number whose gradient is the same at every step.
double moved(StepByHand step_by_hand, double gradient, int steps);

/// The loss before any training, the mean over `networks` networks with other first values.
double first_loss(const Initialiser& last_layer, std::uint64_t seed, std::uint64_t networks);

/// The loss on sixteen of the points after 500 steps with the same sixteen; `labels_out_of_step`: with labels
/// that are drawn anew at every step.
double learn_by_heart(const kit::Points& points, std::uint64_t seed, bool labels_out_of_step);

/// For each kind two networks from the same start on the same batches in f64, one by hand, one with optim/: the
/// largest difference between their weights after `steps`.
double farthest(const std::array<StepByHand, 3>& by_hand, std::uint64_t seed, Size steps);

/// What a network made of a grid of places, at some steps of its training.
struct TrainingRecorder {
  std::vector<Size> steps;
  std::vector<std::vector<double>> log_odds;  ///< z₂ − z₁ at each place: the border is where it is 0

  void after(Size step, const Network& network);
};

struct Trained {
  kit::Series loss;      ///< over the steps, each point the mean of about a hundredth of them
  kit::Series held_out;  ///< per cent of the held-out points on the right spiral, at the same steps
  std::unique_ptr<Network> network;
  TrainingRecorder film = {};  ///< after 2, 4, 8, … hundredths of the steps, and at the end

  double last() const { return held_out.y.back(); }
  /// The first step of held_out from which on it is 99 or more to the end; 0: at the end it is less.
  Size steps_to_99() const;
};

/// Trains for options.steps on `unit` times the loss.
Trained train(Kind optimiser, const kit::Points& points, const kit::Points& held_out,
              const kit::Options& options, double unit = 1);
/// All three kinds, from the same start on the same batches, judged on 2,000 held-out points: prints a table, and
/// draws losses.svg, held_out.svg and Adam's border, to border.svg; saves the film of all three borders.
std::array<Trained, 3> train_all(const kit::Points& points, const kit::Options& options, kit::Report& report);

/// Whether steps_to_99() of `one` is `times` that of `other` or more, or never, where `other` gets there.
bool slower(const Trained& one, const Trained& other, Size times);
/// Per cent of the held-out points that are right after training on 100 times the loss.
struct Hundredfold {
  double momentum, adam;
};
/// Prints both; Adam's is a target.
Hundredfold train_on_a_hundredfold(const kit::Points& points, const kit::Options& options,
                                   kit::Report& report);

}  // namespace tapestry::lesson03
