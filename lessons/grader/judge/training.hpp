// How the judge of a design trains what the learner has built.
#pragma once

#include <algorithm>
#include <vector>

#include "core/tape/tape.hpp"
#include "core/tensor/tensor.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"

namespace tapestry::grader {

/// `steps` steps of Adam for these weights, of which each draws a batch and computes its loss with loss(). The learner's
/// rate falls to 0 in the second half; gradients longer than 1 are cut.
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
