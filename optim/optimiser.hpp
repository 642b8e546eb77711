// What all optimisers share: weights in groups, a step that consumes the gradients, state by name.
//
//     Adam adam(model.parameters(), {.learning_rate = 1e-3});
//     …
//     tape.backward(loss);
//     adam.step(schedule(t));      // afterwards the gradients are absent
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/io/safetensors.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// The base of all optimisers. Groups of weights have settings of their own; a weight that is listed twice
/// counts once.
class Optimiser {
 public:
  Optimiser(const Optimiser&) = delete;
  Optimiser& operator=(const Optimiser&) = delete;
  virtual ~Optimiser() = default;

  /// Changes every weight that is not frozen, and consumes the gradients, those of frozen weights too.
  /// `rate_factor`, from a schedule, multiplies every group's learning rate; `gradient_scale` multiplies the
  /// gradients. Throws, naming the weights, and changes nothing if a gradient is absent.
  void step(double rate_factor = 1, double gradient_scale = 1);

  /// Drops all gradients, for a step that is not to be taken.
  void clear_gradients() const;

  /// What a resumed run needs, by weight ("encoder.rnn.weight_ih_l0/m"). The tensors are the living ones:
  /// writing them (assign, load_state, TrainingState::restore) changes the optimiser. Throws if two weights
  /// have one name.
  State state();
  /// Takes values for state(). Missing, extra and misshapen names are all listed in one error, and then
  /// nothing changed.
  void load_state(const State& state);

 protected:
  /// A weight, and what is kept for it: up to two tensors of its shape, and the number of its steps.
  struct Slot {
    Tensor weight;
    std::size_t group = 0;
    std::array<Tensor, 2> kept;
    Tensor steps;  // f64, rank 0
  };
  /// A slot that takes part in a step, with its dense gradient.
  struct Ready {
    Slot* slot;
    Tensor gradient;
  };

  Optimiser() = default;
  /// Adds weights under a group's number. Throws if one is no leaf, is not dense, or is in another group.
  void add(std::vector<Tensor> weights, std::size_t group);

 private:
  /// Names of the tensors kept for weights of a group: at most two.
  virtual std::span<const char* const> kept_names(std::size_t group) const = 0;
  /// Whether state has the number of steps.
  virtual bool counts_steps() const = 0;
  /// Changes all weights of the list; their versions and gradients are not its business.
  virtual void update(std::span<const Ready> ready, double rate_factor, double gradient_scale) = 0;
  /// Sees to it that what is kept exists.
  void prepare(Slot& slot);

  std::vector<Slot> slots_;
};

}  // namespace tapestry
