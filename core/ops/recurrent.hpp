// GRU and LSTM cells, for single steps and whole sequences, with fused forward and backward kernels.
#pragma once

#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// One step of a gated recurrent unit (Cho et al. 2014). As in PyTorch, the reset gate multiplies W_hn h + b_hn.
/// gates (B, 3H): W_ih x + b_ih in the order reset, update, new; hidden (B, H); weight_hh (3H, H);
/// bias_hh (3H) or an empty handle → the new hidden (B, H). Throws Error for other shapes.
Tensor gru_step(const Tensor& gates, const Tensor& hidden, const Tensor& weight_hh, const Tensor& bias_hh,
                CallSite at = {});
/// Runs a GRU over whole sequences: gates (B, T, 3H), initial hidden (B, H) → all states (B, T, H). `lengths` has the
/// number of valid steps of each row. The other steps are padding: they leave the state unchanged and have output 0,
/// and their inputs, even NaN, have no effect. `reverse` runs each row from its last valid step to its first. Throws
/// Error for other shapes and for a length above T.
Tensor gru_sequence(const Tensor& gates, const Tensor& hidden, const Tensor& weight_hh, const Tensor& bias_hh,
                    const ValidLengths& lengths = {}, bool reverse = false, CallSite at = {});

/// One step of a long short-term memory (Hochreiter & Schmidhuber 1997; forget gate of Gers et al. 2000).
/// gates (B, 4H): W_ih x + b_ih in the order input, forget, cell, output; state (B, 2H) = [hidden; cell];
/// weight_hh (4H, H); bias_hh (4H) or an empty handle → the new state (B, 2H). Throws Error for other shapes.
Tensor lstm_step(const Tensor& gates, const Tensor& state, const Tensor& weight_hh, const Tensor& bias_hh,
                 CallSite at = {});
/// Runs an LSTM over whole sequences: gates (B, T, 4H), initial state (B, 2H) → all states (B, T, 2H). `lengths`,
/// `reverse` and errors are as in gru_sequence().
Tensor lstm_sequence(const Tensor& gates, const Tensor& state, const Tensor& weight_hh, const Tensor& bias_hh,
                     const ValidLengths& lengths = {}, bool reverse = false, CallSite at = {});

}  // namespace tapestry
