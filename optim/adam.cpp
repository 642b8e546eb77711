// Adam's and AdamW's step, in parallel over the elements of all weights. The arithmetic is in
// core/simd/optimiser_step.cpp.
#include "optim/adam.hpp"

#include <cmath>

#include "core/simd/optimiser_step.hpp"
#include "optim/parameter_chunks.hpp"

namespace tapestry {

namespace {

void check(const AdamOptions& options) {
  const auto is_beta = [](double beta) { return beta >= 0 && beta < 1; };
  if (!(options.learning_rate >= 0) || !(options.epsilon >= 0) || !(options.weight_decay >= 0))
    fail("[Adam] learning_rate, epsilon and weight_decay must be 0 or more, got {}, {} and {}",
         options.learning_rate, options.epsilon, options.weight_decay);
  if (!is_beta(options.beta1) || !is_beta(options.beta2))
    fail("[Adam] beta1 and beta2 must be at least 0 and below 1, got {} and {}", options.beta1,
         options.beta2);
}

}  // namespace

void Adam::add_group(std::vector<Tensor> weights, const AdamOptions& options) {
  check(options);
  add(std::move(weights), groups_.size());
  groups_.push_back(options);
}

void Adam::check_options() const {
  for (const AdamOptions& options : groups_) check(options);
}

std::span<const char* const> Adam::buffer_names(std::size_t) const {
  static constexpr const char* kNames[] = {"m", "v"};
  return kNames;
}

void Adam::update(std::span<const Ready> ready, double rate_factor, double gradient_scale) {
  detail::ParameterChunks chunks;
  // Coefficients of a step, shared by the weights of a group with equal step counts, which is usually all of them.
  struct Shared {
    std::size_t group;
    double t;
    simd::AdamStep step;
  };
  PoolVector<Shared> shared;
  PoolVector<std::size_t> numbers;
  numbers.reserve(ready.size());
  for (const Ready& one : ready) {
    Slot& slot = *one.slot;
    const double t = *slot.steps.data<double>() + 1;
    *slot.steps.mutable_data<double>() = t;
    std::size_t i = 0;
    while (i < shared.size() && (shared[i].group != slot.group || shared[i].t != t)) ++i;
    if (i == shared.size()) {
      const AdamOptions& o = groups_[slot.group];
      simd::AdamStep step;
      step.learning_rate = o.learning_rate * rate_factor;
      step.beta1 = o.beta1;
      step.beta2 = o.beta2;
      step.epsilon = o.epsilon;
      step.weight_decay = o.weight_decay;
      step.decoupled = decoupled_;
      step.correction1 = 1 - std::pow(o.beta1, t);
      step.correction2 = 1 - std::pow(o.beta2, t);
      step.scale = gradient_scale;
      shared.push_back({slot.group, t, step});
    }
    numbers.push_back(i);
    chunks.add(one.gradient.count());
  }
  chunks.run([&](std::size_t i, Size begin, Size end) {
    Slot& slot = *ready[i].slot;
    dispatch(slot.weight.dtype(), [&](auto zero) {
      using T = decltype(zero);
      simd::adam(slot.weight.mutable_data<T>() + begin, ready[i].gradient.data<T>() + begin,
                 slot.buffers[0].mutable_data<T>() + begin, slot.buffers[1].mutable_data<T>() + begin,
                 end - begin, shared[numbers[i]].step);
    });
  });
}

}  // namespace tapestry
