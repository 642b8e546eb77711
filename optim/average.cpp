#include "optim/average.hpp"

#include <algorithm>

#include "core/ops/arithmetic.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/error.hpp"

namespace tapestry {

WeightAverage::WeightAverage(State weights, double decay) : decay_(decay) {
  if (!(decay >= 0 && decay < 1)) fail("[WeightAverage] decay must be in [0, 1), got {}", decay);
  for (const auto& [name, weight] : weights)
    pairs_.emplace(name, Pair{weight, zeros(weight.shape(), weight.dtype())});
}

void WeightAverage::update() {
  const double t = static_cast<double>(updates_++), keep = std::min(decay_, t / (t + 9));
  for (auto& [name, pair] : pairs_)
    assign(pair.average, pair.average * keep + pair.weight.detach() * (1 - keep));
}

State WeightAverage::state() const {
  State state;
  for (const auto& [name, pair] : pairs_) state.emplace(name, pair.average);
  return state;
}

void WeightAverage::exchange() {
  if (updates_ == 0) return;
  for (auto& [name, pair] : pairs_) {
    const Tensor before = pair.weight.detach() + 0.0;  // a copy: detach() shares the values
    assign(pair.weight, pair.average);
    assign(pair.average, before);
  }
}

WeightAverage::InUse::InUse(WeightAverage& average) : average_(average) { average_.exchange(); }

WeightAverage::InUse::~InUse() { average_.exchange(); }

}  // namespace tapestry
