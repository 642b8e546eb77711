// The update of gradient descent: one parallel kernel over the elements of all weights.
#include "optim/sgd.hpp"

#include "core/simd/optimiser_step.hpp"
#include "optim/parameter_chunks.hpp"

namespace tapestry {

namespace {

void check(const SGDOptions& options) {
  if (!(options.learning_rate >= 0) || !(options.momentum >= 0) || !(options.weight_decay >= 0))
    fail("[SGD] learning_rate, momentum and weight_decay must be 0 or more, got {}, {} and {}",
         options.learning_rate, options.momentum, options.weight_decay);
  if (options.nesterov && options.momentum == 0)
    fail("[SGD] nesterov must have a momentum above 0, got 0; set momentum");
}

}  // namespace

void SGD::add_group(std::vector<Tensor> weights, const SGDOptions& options) {
  check(options);
  add(std::move(weights), groups_.size());
  groups_.push_back(options);
}

void SGD::check_options() const {
  for (const SGDOptions& options : groups_) check(options);
}

std::span<const char* const> SGD::buffer_names(std::size_t group) const {
  static constexpr const char* kNames[] = {"momentum"};
  return {kNames, groups_[group].momentum != 0 ? std::size_t{1} : std::size_t{0}};
}

void SGD::update(std::span<const Ready> ready, double rate_factor, double gradient_scale) {
  detail::ParameterChunks chunks;
  PoolVector<simd::SgdStep> steps(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    steps[g].learning_rate = groups_[g].learning_rate * rate_factor;
    steps[g].momentum = groups_[g].momentum;
    steps[g].weight_decay = groups_[g].weight_decay;
    steps[g].nesterov = groups_[g].nesterov;
    steps[g].scale = gradient_scale;
  }
  for (const Ready& one : ready) chunks.add(one.gradient.count());
  chunks.run([&](std::size_t i, Size begin, Size end) {
    Slot& slot = *ready[i].slot;
    dispatch(slot.weight.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* velocity = groups_[slot.group].momentum != 0 ? slot.buffers[0].mutable_data<T>() + begin : nullptr;
      simd::sgd(slot.weight.mutable_data<T>() + begin, ready[i].gradient.data<T>() + begin, velocity,
                end - begin, steps[slot.group]);
    });
  });
}

}  // namespace tapestry
