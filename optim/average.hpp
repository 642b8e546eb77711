// The running average of weights: evaluate with it, train without it.
#pragma once

#include <map>
#include <string>

#include "core/io/safetensors.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// w̄ ← d w̄ + (1 − d) w after each update, with d = min(decay, t / (t + 9)) so that the first values are soon
/// forgotten (Polyak & Juditsky 1992; the exponential form as in Tarvainen & Valpola 2017). Averaged weights
/// sit in the middle of where the last steps jump about, which is better than any of those places.
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
  /// The weights by name, as Module::state() gives them; they stay the model's. Throws for a decay outside
  /// [0, 1).
  WeightAverage(State weights, double decay);

  /// Takes in the present weights; the first time, copies them.
  void update();
  /// How many updates there were.
  Size updates() const { return updates_; }

  /// The averages by the same names: to be saved, and to be written into; zeros before the first update.
  State state() const;
  /// Goes on from values that were written into state() after this many updates.
  void resume(Size updates) { updates_ = updates; }

  /// While one lives, the model's weights are the averages; then they are again what they were. Before the
  /// first update it changes nothing.
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
  /// Exchanges the values of weights and averages.
  void exchange();

  struct Pair {
    Tensor weight, average;
  };
  std::map<std::string, Pair> pairs_;
  double decay_;
  Size updates_ = 0;
};

}  // namespace tapestry
