// The long short-term memory-network (LSTMN): an LSTM that attends to its own past states (intra-attention;
// Cheng, Dong & Lapata 2016, arXiv 1601.06733, section 3.1).
#pragma once

#include <vector>

#include "nn/linear.hpp"
#include "nn/recurrent.hpp"

namespace tapestry {

/// State of an LSTMN after t steps.
struct LSTMNState {
  Tensor past;   ///< (B, t, 2H): [hidden; cell] of each step
  Tensor keys;   ///< (B, t, U): W_h h of each step
  Tensor blend;  ///< (B, H): h̃ of the last step
};

/// Result of an LSTMN.
struct LSTMNOutput {
  /// Hidden states (B, T, H).
  Tensor states;
  /// Attention weights of each step over all earlier steps, (B, 1, t); (B, 1, 0) for the first step.
  std::vector<Tensor> weights;
  LSTMNState last;  // state after the last step
};

/// Step t attends to the states of steps 1 … t − 1:
///
///     a_i = v · tanh(W_h h_i + W_x x_t + W_b h̃_{t−1} + b)          s = softmax over i
///     h̃_t = Σ_i s_i h_i          c̃_t = Σ_i s_i c_i                 zeros at the first step
///     h_t, c_t = LSTM(x_t, h̃_t, c̃_t)
///
/// The cell continues from a weighted average of all past states, whereas an LSTM continues from the last one. The cost
/// grows as T².
///     LSTMN layer(8, 64, 64);
///     LSTMNOutput all = layer(words);             // (B, T, 8)
///     LSTMNOutput more = layer(next, all.last);   // continues after `words`
class LSTMN : public Module {
 public:
  /// `units`: width U of the score's hidden layer.
  LSTMN(Parent parent, Size in, Size hidden, Size units);
  LSTMN(Size in, Size hidden, Size units) : LSTMN(Parent{}, in, hidden, units) {}

  /// x (B, T, in), and a state to continue from, or none. Throws if shapes do not match.
  LSTMNOutput operator()(const Tensor& x, const LSTMNState& state = {}) const;

  LSTMCell cell;
  /// W_x (U, in) with b (U), W_h (U, H), W_b (U, H)
  Linear from_input, from_past, from_blend;
  Parameter v;  ///< (U): output weights of the score
};

}  // namespace tapestry
