// The neural Turing machine: a recurrent controller that reads and writes an external memory (Graves, Wayne &
// Danihelka 2014, arXiv 1410.5401).
#pragma once

#include "nn/attention/recurrent/addressing.hpp"
#include "nn/recurrent.hpp"

namespace tapestry {

/// Addressing of the heads: by content, by shift, or both.
enum class HeadMoves { by_content, by_shift, by_both };
/// Initial behaviour of a head, set by the initial `interface_bias`. `undecided`: all biases are 0, so all shifts are
/// equally likely and the weights blur. `stay` and `advance`: the head favours its current slot, or the next one. The
/// gate is ½ in all three; β starts near 4 in the latter two, so content counts as well.
enum class HeadStart { undecided, stay, advance };

struct NeuralTuringMachineOptions {
  /// Width of the inputs.
  Size in = 0;
  /// Hidden units of the controller, a GRU.
  Size hidden = 32;
  /// Shape of the memory: N slots of W numbers.
  Size slots = 32, width = 16;
  Size readers = 1, writers = 1;  // numbers of read heads and write heads
  /// r: a head shifts by −r … r slots.
  Size reach = 1;
  HeadMoves moves = HeadMoves::by_both;                                           // addressing of all heads
  HeadStart readers_start = HeadStart::stay, writers_start = HeadStart::advance;  // initial behaviour
};

/// State of the machine between two steps.
struct NeuralTuringMachineState {
  Tensor memory;  ///< M (B, N, W)
  Tensor heads;   ///< (B, readers + writers, N): weights over the slots, readers first
  Tensor read;    ///< (B, readers, W): vectors read
  Tensor hidden;  ///< (B, hidden): state of the controller
};

/// Result of a NeuralTuringMachine.
struct NeuralTuringMachineOutput {
  Tensor states;                  ///< (B, T, output_width()): the controller's state and the vectors read
  Tensor heads;                   ///< (B, T, readers + writers, N): weights over the slots
  NeuralTuringMachineState last;  // state after the last step
};

/// At each step the controller sees [x_t; vectors read]. For each head it emits a key k, a strength
/// (softplus), a gate (sigmoid), shifts (softmax) and a sharpness (1 + softplus); for each writer also an
/// erase vector (sigmoid) and an add vector. All heads address the memory of the previous step; then the
/// writers write, and then the readers read.
///     NeuralTuringMachine machine({.in = 8});
///     NeuralTuringMachineOutput all = machine(words);             // (B, T, 8)
///     NeuralTuringMachineOutput more = machine(next, all.last);   // continues after `words`
class NeuralTuringMachine : public Module {
 public:
  /// Throws if a size is below 1, `reach` is below 0, or there are more shifts (2r + 1) than slots.
  NeuralTuringMachine(Parent parent, const NeuralTuringMachineOptions& options);
  explicit NeuralTuringMachine(const NeuralTuringMachineOptions& options)
      : NeuralTuringMachine(Parent{}, options) {}

  /// x (B, T, in). Undefined parts of a state take their initial values: the learned row `blank` in every
  /// slot, all heads at slot 0, and zeros for the rest.
  NeuralTuringMachineOutput operator()(const Tensor& x, const NeuralTuringMachineState& state = {}) const;

  /// options(): as given. output_width(): width of the states, hidden + readers · width.
  const NeuralTuringMachineOptions& options() const { return options_; }
  Size output_width() const { return options_.hidden + options_.readers * options_.width; }

 private:
  NeuralTuringMachineState step(const Tensor& x, const NeuralTuringMachineState& state) const;
  Size heads() const { return options_.readers + options_.writers; }

  NeuralTuringMachineOptions options_;  // declared before the layers, which are built from it

 public:
  GRUCell controller;
  /// Layer from the controller's state to the interface, a row with the parameters of all heads: (rows, hidden) and
  /// (rows).
  Parameter interface_weight, interface_bias;
  Parameter blank;  ///< (W): initial contents of each slot
};

}  // namespace tapestry
