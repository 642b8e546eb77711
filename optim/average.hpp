// A running average of weights, for evaluation; training continues with the weights themselves.
#pragma once

#include <map>
#include <string>

#include "core/io/safetensors.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Exponential moving average of weights (Polyak & Juditsky 1992; the exponential form as in Tarvainen & Valpola
/// 2017): w̄ ← d w̄ + (1 − d) w at each update, where d = min(decay, t / (t + 9)) and t is the number of earlier
/// updates. d is small at first, so the average soon forgets the initial weights. Averaging removes the noise of the
/// last steps, so the average usually has a lower loss than the weights of any single step.
///
///     WeightAverage average(model.state(), 0.99);
///     …                                     // after a step, or after every tenth
///     average.update();
///     {
///       const WeightAverage::InUse averaged(average);
///       evaluate(model);
///     }
class WeightAverage {
 public:
  /// Takes the weights by name, as Module::state() returns them, and shares them with the model. Throws Error if decay
  /// is outside [0, 1).
  WeightAverage(State weights, double decay);

  /// Updates the average with the current weights. The first update copies them.
  void update();
  /// Number of updates so far.
  Size updates() const { return updates_; }

  /// Returns the averages by the same names, for saving and loading. The tensors share memory with this object. They
  /// are 0 before the first update.
  State state() const;
  /// Sets the number of updates. Call it after you have copied saved averages into state().
  void resume(Size updates) { updates_ = updates; }

  /// Guard that swaps the averages into the model: while it exists, the model's weights are the averages. Its
  /// destructor swaps them back. It does nothing before the first update.
  class InUse {
   public:
    explicit InUse(WeightAverage& average);
    ~InUse();
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    WeightAverage& average_;
  };

 private:
  /// Swaps the values of weights and averages; does nothing before the first update.
  void exchange();

  struct Pair {
    Tensor weight, average;
  };
  std::map<std::string, Pair> pairs_;
  double decay_;
  Size updates_ = 0;
};

}  // namespace tapestry
