// A recurrent controller with a memory beside it that it reads and writes: the neural Turing machine (Graves,
// Wayne & Danihelka 2014, arXiv 1410.5401).
#pragma once

#include "nn/attention/recurrent/addressing.hpp"
#include "nn/recurrent.hpp"

namespace tapestry {

/// How a head may move.
enum class HeadMoves { by_content, by_shift, by_both };
/// What a head does before anything is learned. `undecided`: all biases 0, so each shift as likely, and
/// blurred. `stay`, `step_on`: biases such that it stays where it is, or goes one slot on at each step,
/// sharply. The gate is ½ in all of them, but β starts near 4 in the latter, so that content is heard, too.
enum class HeadStart { undecided, stay, step_on };

struct NeuralTuringMachineOptions {
  /// Width of the inputs.
  Size in = 0;
  /// Of the controller, a GRU.
  Size hidden = 32;
  /// N and W of the memory.
  Size slots = 32, width = 16;
  Size readers = 1, writers = 1;  // heads that read, and heads that write
  /// r: shifts go from −r to r.
  Size reach = 1;
  HeadMoves moves = HeadMoves::by_both;                                           // of all heads
  HeadStart readers_start = HeadStart::stay, writers_start = HeadStart::step_on;  // of either kind
};

/// All that a machine has been so far.
struct NeuralTuringMachineState {
  Tensor memory;  ///< (B, N, W)
  Tensor heads;   ///< (B, readers + writers, N): where they stand, readers first
  Tensor read;    ///< (B, readers, W)
  Tensor hidden;  ///< (B, hidden)
};

/// What a machine gives.
struct NeuralTuringMachineOutput {
  Tensor states;                  ///< (B, T, output_width()): the controller's state and what was read
  Tensor heads;                   ///< (B, T, readers + writers, N)
  NeuralTuringMachineState last;  // to go on from
};

/// At each step the controller sees [x_t; what was read], and says for each head a key k, strength softplus,
/// gate sigmoid, shift softmax, sharpness 1 + softplus; for each writer what to erase, sigmoid, and to add.
/// All heads find their place in the memory as it was; then it is written, and then read.
///     NeuralTuringMachine machine({.in = 8});
///     NeuralTuringMachineOutput all = machine(words);             // (B, T, 8)
///     NeuralTuringMachineOutput more = machine(next, all.last);   // as if it had stood behind them
class NeuralTuringMachine : public Module {
 public:
  /// Throws for sizes below 1 (a reach below 0), and more shifts, 2r + 1, than slots.
  NeuralTuringMachine(Parent parent, const NeuralTuringMachineOptions& options);
  explicit NeuralTuringMachine(const NeuralTuringMachineOptions& options)
      : NeuralTuringMachine(Parent{}, options) {}

  /// x (B, T, in). Empty parts of a state are as at the beginning: every slot the learned row `blank`, all
  /// heads on slot 0, zeros for the rest.
  NeuralTuringMachineOutput operator()(const Tensor& x, const NeuralTuringMachineState& state = {}) const;

  /// Its options(), as given, and the output_width() of its states: hidden + readers · width.
  const NeuralTuringMachineOptions& options() const { return options_; }
  Size output_width() const { return options_.hidden + options_.readers * options_.width; }

 private:
  NeuralTuringMachineState step(const Tensor& x, const NeuralTuringMachineState& state) const;
  Size heads() const { return options_.readers + options_.writers; }

  NeuralTuringMachineOptions options_;  // before the layers, which are made from it

 public:
  GRUCell controller;
  /// What heads are told, in one row (the interface): (rows, hidden) and (rows).
  Parameter interface_weight, interface_bias;
  Parameter blank;  ///< (W)
};

}  // namespace tapestry
