// Recurrent layers: the plain RNN, the GRU and the LSTM, as single cells and over sequences.
#pragma once

#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "core/tensor/pool_vector.hpp"
#include "core/tensor/values.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// rnn: h' = tanh(W_ih x + b_ih + W_hh h + b_hh) (Elman 1990). gru: Cho et al. 2014, the reset gate applied
/// after W_hn, as in PyTorch. lstm: Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000.
enum class CellKind { rnn, gru, lstm };

/// Rows of each of the weights for one hidden unit: 1, 3 or 4.
Size gate_count(CellKind kind);

/// What a recurrent layer carries from step to step: hidden (B, H), and for an LSTM its cell (B, H) as well.
struct RecurrentState {
  RecurrentState() = default;
  RecurrentState(Tensor hidden_in, Tensor cell_in = {})
      : hidden(std::move(hidden_in)), cell(std::move(cell_in)) {}

  Tensor hidden;  // (B, H)
  Tensor cell;    // (B, H), of an LSTM only
};

/// One step at a time. Weights in PyTorch's layout: (gates · H, in) and (gates · H, H), the gates in the
/// order reset, update, new (GRU) and input, forget, cell, output (LSTM); first values uniform on ±1/√H.
class RecurrentCell : public Module {
 public:
  RecurrentCell(Parent parent, CellKind kind, Size in, Size hidden);

  /// x (B, in) and a state → the next state. An empty state is zeros.
  RecurrentState operator()(const Tensor& x, const RecurrentState& state = {}, CallSite at = {}) const;
  /// The same from gates = W_ih x + b_ih (B, gates · H), for who computes them for many steps at once.
  RecurrentState from_gates(const Tensor& gates, const RecurrentState& state, CallSite at = {}) const;
  /// All steps of a sequence of gates (B, T, gates · H) → hidden states (B, T, H).
  Tensor states_from_gates(const Tensor& gates, const RecurrentState& initial = {}, CallSite at = {}) const;
  /// Its kind() and its hidden() units.
  CellKind kind() const { return kind_; }
  Size hidden() const { return weight_hh.shape()[1]; }

 private:
  CellKind kind_;

 public:
  /// (gates · H, in), (gates · H, H), and (gates · H) each.
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

struct RecurrentOptions {
  /// 1 or more.
  int layers = 1;
  /// A second run from the end to the beginning in every layer (Schuster & Paliwal 1997); outputs are
  /// [forward; backward].
  bool both_directions = false;
  /// Between layers, in training.
  double dropout = 0;
};

/// What a sequence layer returns.
struct RecurrentOutput {
  /// (B, T, directions · H), the last layer's states; 0 after a row's length.
  Tensor states;
  /// The state after each row's last valid step: layer by layer, forward before backward.
  PoolVector<RecurrentState> final;
};

/// Over whole sequences. Parameters are named as PyTorch's: weight_ih_l0, weight_hh_l0, bias_ih_l0,
/// bias_hh_l0, weight_ih_l0_reverse, …
class Recurrent : public Module {
 public:
  Recurrent(Parent parent, CellKind kind, Size in, Size hidden, RecurrentOptions options = {});

  /// x (B, T, in), one length for each row or none, and a state for each layer and direction or none (zeros).
  /// What stands after a row's length, NaN too, changes no output and no gradient.
  RecurrentOutput operator()(const Tensor& x, const ValidLengths& lengths = {},
                             std::span<const RecurrentState> initial = {}, CallSite at = {}) const;
  RecurrentOutput operator()(const Tensor& x, const ValidLengths& lengths,
                             std::initializer_list<RecurrentState> initial, CallSite at = {}) const {
    return (*this)(x, lengths, std::span(initial.begin(), initial.size()), at);
  }

  /// Its kind() and hidden() units, and its directions(): 1 or 2.
  CellKind kind() const { return kind_; }
  Size hidden() const { return hidden_; }
  int directions() const { return options_.both_directions ? 2 : 1; }

 private:
  /// The weights of one layer in one direction.
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
