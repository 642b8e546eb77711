// The training loop with which the judge of a design exercise trains the learner's model.
#pragma once

#include <algorithm>
#include <vector>

#include "core/tape/tape.hpp"
#include "core/tensor/tensor.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"

namespace tapestry::grader {

/// Trains the weights with `steps` steps of Adam; loss() draws a batch and returns its loss. The learning rate decays
/// linearly to 0 in the second half, and gradients are clipped to norm 1.
template <class Loss>
void train(const std::vector<Tensor>& weights, double rate, Size steps, const Loss& loss) {
  Adam adam(weights, {.learning_rate = rate});
  for (Size step = 0; step < steps; ++step) {
    adam.group().learning_rate =
        rate * std::min(1.0, 2.0 * static_cast<double>(steps - step) / static_cast<double>(steps));
    Tape tape;
    tape.backward(loss());
    clip_gradients(weights, 1.0);
    adam.step();
  }
}

}  // namespace tapestry::grader
