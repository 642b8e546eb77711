// Training loop of most lessons: AdamW, warm-up and cosine decay, gradients clipped to norm 1.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/tensor/tensor.hpp"
#include "lessons/kit/random.hpp"
#include "nn/module.hpp"

namespace tapestry::kit {

struct Training {
  /// Name of the model in the final line with the training time.
  std::string name;
  Size steps = 0;
  /// Peak learning rate.
  double rate = 3e-3;
  /// Weight decay λ of AdamW; with 0, AdamW is Adam.
  double weight_decay = 0;
  /// Batch size and its unit, for the displayed speed.
  Size batch = 64;
  std::string unit = "strings";
  std::uint64_t seed = 1;
  /// Callback after each step 1, 2, …; its time is not counted.
  std::function<void(Size step)> after_step = {};
};

/// Trains a model with AdamW and returns the training time in seconds. In step i, `loss` draws a batch from
/// Random(seed, i) and returns its loss. The global gradient norm is clipped to 1. The learning rate warms up over the
/// first 1/25 of the steps, while Adam's moment estimates are unreliable, and then follows a cosine decay. Dropout and
/// other random ops draw from set_random(seed, i).
double train(Module& model, const Training& how, const std::function<Tensor(Random random)>& loss);

}  // namespace tapestry::kit
