// An LSTM with a memory of its past states: the long short-term memory-network (Cheng, Dong & Lapata 2016,
// arXiv 1601.06733, section 3.1), which attends to what it was itself (intra-attention).
#pragma once

#include <vector>

#include "nn/linear.hpp"
#include "nn/recurrent.hpp"

namespace tapestry {

/// All that an LSTMN has been so far.
struct LSTMNState {
  Tensor past;   ///< (B, t, 2H): [hidden; cell] after each step
  Tensor keys;   ///< (B, t, U): W_h h of each
  Tensor blend;  ///< (B, H): h̃ of the last step
};

/// What an LSTMN gives.
struct LSTMNOutput {
  /// (B, T, H)
  Tensor states;
  /// Of each step over all steps before it, (B, 1, t); of the very first (B, 1, 0).
  std::vector<Tensor> weights;
  LSTMNState last;  // to go on from
};

/// At step t, with states 1 … t − 1 behind it:
///
///     a_i = v · tanh(W_h h_i + W_x x_t + W_b h̃_{t−1} + b)          s = softmax over i
///     h̃_t = Σ_i s_i h_i          c̃_t = Σ_i s_i c_i                 zeros at the first step
///     h_t, c_t = LSTM(x_t, h̃_t, c̃_t)
///
/// so the cell goes on from any of its past states, or a blend, where an LSTM goes on from the last. T²
/// pairs.
///     LSTMN layer(8, 64, 64);
///     LSTMNOutput all = layer(words);             // (B, T, 8)
///     LSTMNOutput more = layer(next, all.last);   // as if it had stood behind them
class LSTMN : public Module {
 public:
  /// `units` is the width U of the score.
  LSTMN(Parent parent, Size in, Size hidden, Size units);
  LSTMN(Size in, Size hidden, Size units) : LSTMN(Parent{}, in, hidden, units) {}

  /// x (B, T, in), and a state to go on from or none. Throws for shapes that do not fit.
  LSTMNOutput operator()(const Tensor& x, const LSTMNState& state = {}) const;

  LSTMCell cell;
  /// W_x with b, W_h, W_b; U numbers each.
  Linear from_input, from_past, from_blend;
  Parameter v;  ///< (U)
};

}  // namespace tapestry
