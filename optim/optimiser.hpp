// The base class of all optimisers: parameter groups, a step that consumes the gradients, and state by name.
//
//     Adam adam(model.parameters(), {.learning_rate = 1e-3});
//     …
//     tape.backward(loss);
//     adam.step(schedule(t));      // also clears the gradients
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/io/safetensors.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Base class of all optimisers. Each group of weights has its own settings. A weight listed twice in a group counts
/// once.
class Optimiser {
 public:
  Optimiser(const Optimiser&) = delete;
  Optimiser& operator=(const Optimiser&) = delete;
  virtual ~Optimiser() = default;

  /// Updates every weight that is not frozen, then clears all gradients, those of frozen weights too.
  /// `rate_factor`, from a schedule, multiplies every group's learning rate; `gradient_scale` multiplies the
  /// gradients. If a weight that is not frozen has no gradient, throws Error with the weights' names. Also throws if an
  /// option of a group was set to a number out of range. Changes nothing if it throws for one of these reasons.
  void step(double rate_factor = 1, double gradient_scale = 1);

  /// Clears all gradients without a step.
  void clear_gradients() const;

  /// Returns the optimiser's state by weight and kind ("encoder.rnn.weight_ih_l0/m"), for resuming a run. The tensors
  /// share memory with the optimiser, so writing to them (assign, TrainingState::restore) changes it. Throws Error if
  /// two weights have the same name.
  State state();
  /// Copies values into state(). If names are missing or extra, or shapes differ, throws one Error that lists them all
  /// and changes nothing.
  void load_state(const State& state);

 protected:
  /// A weight with its state: up to two buffers of its shape, and its step count.
  struct Slot {
    Tensor weight;
    std::size_t group = 0;
    std::array<Tensor, 2> buffers;
    Tensor steps;  // f64, rank 0
  };
  /// A slot to update in this step, with its dense gradient.
  struct Ready {
    Slot* slot;
    Tensor gradient;
  };

  Optimiser() = default;
  /// Adds weights under a group's number. Throws Error if one is not a leaf, is not dense, or is already in a group.
  void add(std::vector<Tensor> weights, std::size_t group);

 private:
  /// Throws Error if an option of a group is out of range: group() lets a caller change them after add_group().
  virtual void check_options() const {}
  /// Names of the buffers of each weight in a group (such as "m" and "v"): at most two.
  virtual std::span<const char* const> buffer_names(std::size_t group) const = 0;
  /// Returns true if state() includes each weight's number of steps.
  virtual bool counts_steps() const = 0;
  /// Updates the values of all weights in the list. step() marks them as written before, and clears the gradients
  /// after.
  virtual void update(std::span<const Ready> ready, double rate_factor, double gradient_scale) = 0;
  /// Creates missing buffers of a slot, as zeros. Throws Error if the weight's type has changed.
  void prepare(Slot& slot);

  std::vector<Slot> slots_;
};

}  // namespace tapestry
