// Recurrent layers: RNN, GRU and LSTM, as single cells and over sequences.
#pragma once

#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "core/tensor/mask.hpp"
#include "core/tensor/pool_vector.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// Kind of recurrent cell. rnn: h' = tanh(W_ih x + b_ih + W_hh h + b_hh) (Elman 1990). gru: Cho et al. 2014,
/// with the reset gate applied after W_hn, as in PyTorch. lstm: Hochreiter & Schmidhuber 1997, with the
/// forget gate of Gers et al. 2000.
enum class CellKind { rnn, gru, lstm };

/// Returns the number of gates, that is, rows of each weight per hidden unit: rnn 1, gru 3, lstm 4.
Size gate_count(CellKind kind);

/// State of a recurrent layer between steps: hidden (B, H) and, for an LSTM only, cell (B, H).
struct RecurrentState {
  RecurrentState() = default;
  RecurrentState(Tensor hidden_in, Tensor cell_in = {})
      : hidden(std::move(hidden_in)), cell(std::move(cell_in)) {}

  Tensor hidden;  // (B, H)
  Tensor cell;    // (B, H), of an LSTM only
};

/// A recurrent layer that runs one step at a time. The weights have PyTorch's layout, (gates · H, in) and
/// (gates · H, H), with the gates in the order reset, update, new (GRU) or input, forget, cell, output (LSTM). Initial
/// weights and biases are uniform on ±1/√H.
class RecurrentCell : public Module {
 public:
  RecurrentCell(Parent parent, CellKind kind, Size in, Size hidden);

  /// Returns the state after one step on x (B, in). An empty `state` means zeros.
  RecurrentState operator()(const Tensor& x, const RecurrentState& state = {}, CallSite at = {}) const;
  /// Same, from gates = W_ih x + b_ih (B, gates · H), for callers that compute the gates of many steps at once.
  RecurrentState from_gates(const Tensor& gates, const RecurrentState& state, CallSite at = {}) const;
  /// Runs all steps of a sequence of gates (B, T, gates · H) and returns the hidden states (B, T, H).
  Tensor states_from_gates(const Tensor& gates, const RecurrentState& initial = {}, CallSite at = {}) const;
  /// Kind of cell, and number of hidden units.
  CellKind kind() const { return kind_; }
  Size hidden() const { return weight_hh.shape()[1]; }

 private:
  CellKind kind_;

 public:
  /// weight_ih (gates · H, in), weight_hh (gates · H, H), and biases (gates · H).
  Parameter weight_ih, weight_hh, bias_ih, bias_hh;
};

/// A RecurrentCell of kind rnn.
struct RNNCell : RecurrentCell {
  RNNCell(Parent parent, Size in, Size hidden)
      : RecurrentCell(std::move(parent), CellKind::rnn, in, hidden) {}
  RNNCell(Size in, Size hidden) : RNNCell(Parent{}, in, hidden) {}
};
/// A RecurrentCell of kind gru.
struct GRUCell : RecurrentCell {
  GRUCell(Parent parent, Size in, Size hidden)
      : RecurrentCell(std::move(parent), CellKind::gru, in, hidden) {}
  GRUCell(Size in, Size hidden) : GRUCell(Parent{}, in, hidden) {}
};
/// A RecurrentCell of kind lstm.
struct LSTMCell : RecurrentCell {
  LSTMCell(Parent parent, Size in, Size hidden)
      : RecurrentCell(std::move(parent), CellKind::lstm, in, hidden) {}
  LSTMCell(Size in, Size hidden) : LSTMCell(Parent{}, in, hidden) {}
};

/// Options of Recurrent.
struct RecurrentOptions {
  /// Number of layers, at least 1.
  int layers = 1;
  /// Adds a backward pass over the sequence to every layer (Schuster & Paliwal 1997). Each layer outputs
  /// [forward; backward].
  bool both_directions = false;
  /// Dropout rate between layers, in training.
  double dropout = 0;
};

/// Result of Recurrent.
struct RecurrentOutput {
  /// Hidden states of the last layer, (B, T, directions · H); 0 after the length of each row.
  Tensor states;
  /// Final states (B, H), layer by layer, forward before backward. The forward one of a row is that of its last valid
  /// step, the backward one that of its first.
  PoolVector<RecurrentState> final;
};

/// Recurrent layers over whole sequences. The parameters have PyTorch's names: weight_ih_l0, weight_hh_l0,
/// bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, … Throws if options.layers is below 1.
class Recurrent : public Module {
 public:
  Recurrent(Parent parent, CellKind kind, Size in, Size hidden, RecurrentOptions options = {});

  /// Runs over x (B, T, in). `lengths` has one length for each row, or is empty (every row has T steps).
  /// `initial` has one state for each layer and direction, or is empty (zeros). Values of x after the length
  /// of a row, even NaN, affect neither output nor gradients. Throws if a shape or a length does not fit.
  RecurrentOutput operator()(const Tensor& x, const ValidLengths& lengths = {},
                             std::span<const RecurrentState> initial = {}, CallSite at = {}) const;
  RecurrentOutput operator()(const Tensor& x, const ValidLengths& lengths,
                             std::initializer_list<RecurrentState> initial, CallSite at = {}) const {
    return (*this)(x, lengths, std::span(initial.begin(), initial.size()), at);
  }

  /// Kind of cell, number of hidden units, and number of directions (1 or 2).
  CellKind kind() const { return kind_; }
  Size hidden() const { return hidden_; }
  int directions() const { return options_.both_directions ? 2 : 1; }

 private:
  /// Weights of one layer in one direction.
  struct Weights {
    Weights(Module& owner, const std::string& suffix, Size gates, Size in, Size hidden);
    Parameter weight_ih, weight_hh, bias_ih, bias_hh;
  };

  CellKind kind_;
  Size hidden_;
  RecurrentOptions options_;
  std::deque<Weights> weights_;
};

/// A Recurrent layer of kind rnn.
struct RNN : Recurrent {
  RNN(Parent parent, Size in, Size hidden, RecurrentOptions options = {})
      : Recurrent(std::move(parent), CellKind::rnn, in, hidden, options) {}
  RNN(Size in, Size hidden, RecurrentOptions options = {}) : RNN(Parent{}, in, hidden, options) {}
};
/// A Recurrent layer of kind gru.
struct GRU : Recurrent {
  GRU(Parent parent, Size in, Size hidden, RecurrentOptions options = {})
      : Recurrent(std::move(parent), CellKind::gru, in, hidden, options) {}
  GRU(Size in, Size hidden, RecurrentOptions options = {}) : GRU(Parent{}, in, hidden, options) {}
};
/// A Recurrent layer of kind lstm.
struct LSTM : Recurrent {
  LSTM(Parent parent, Size in, Size hidden, RecurrentOptions options = {})
      : Recurrent(std::move(parent), CellKind::lstm, in, hidden, options) {}
  LSTM(Size in, Size hidden, RecurrentOptions options = {}) : LSTM(Parent{}, in, hidden, options) {}
};

}  // namespace tapestry
