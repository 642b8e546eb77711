// The training loop of most lessons: AdamW, a rate that rises and falls, gradients cut to length 1.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/tensor/tensor.hpp"
#include "lessons/kit/random.hpp"
#include "nn/module.hpp"

namespace tapestry::kit {

struct Training {
  /// Of the model, for the line that says how long it took.
  std::string name;
  Size steps = 0;
  /// The learning rate at its highest.
  double rate = 3e-3;
  /// λ of AdamW; without it, it is Adam.
  double weight_decay = 0;
  /// Rows of a step, and what they are, for the speed.
  Size batch = 64;
  std::string unit = "strings";
  std::uint64_t seed = 1;
  /// Runs after each step, 1, 2, …; its time is not counted.
  std::function<void(Size step)> after_step = {};
};

/// Trains with AdamW; returns how many seconds it took. In step i, `loss` draws its batch from Random(seed,
/// i) and computes its loss; then backward, gradients of all weights together cut to length 1, AdamW's step.
/// The rate rises over the first 25th of the steps, while Adam's means are still poor, and then falls along
/// half a cosine. Coins and dropout draw from set_random(seed, i).
double train(Module& model, const Training& how, const std::function<Tensor(Random random)>& loss);

}  // namespace tapestry::kit
