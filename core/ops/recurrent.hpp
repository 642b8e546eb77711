// The steps of recurrent cells: one fused kernel each way, for sequences and for single steps.
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// One step of a gated recurrent unit (Cho et al. 2014, in the form of PyTorch: the reset gate acts on
/// W_hn h + b_hn). gates (B, 3H): W_ih x + b_ih in the order reset, update, new; hidden (B, H);
/// weight_hh (3H, H); bias_hh (3H) → (B, H).
Tensor gru_step(const Tensor& gates, const Tensor& hidden, const Tensor& weight_hh, const Tensor& bias_hh,
                CallSite at = {});
/// A whole sequence: gates (B, T, 3H), hidden (B, H) at the start → all states (B, T, H). With lengths, a
/// row's state does not change after its end and its outputs there are 0; `reverse` runs each row from its
/// last valid step to its first. What stands in padding (NaN too) changes nothing.
Tensor gru_sequence(const Tensor& gates, const Tensor& hidden, const Tensor& weight_hh, const Tensor& bias_hh,
                    const ValidLengths& lengths = {}, bool reverse = false, CallSite at = {});

/// One step of a long short-term memory (Hochreiter & Schmidhuber 1997; forget gate of Gers et al. 2000).
/// gates (B, 4H) in the order input, forget, cell, output; state (B, 2H) = [hidden; cell] → (B, 2H).
Tensor lstm_step(const Tensor& gates, const Tensor& state, const Tensor& weight_hh, const Tensor& bias_hh,
                 CallSite at = {});
/// A whole sequence: gates (B, T, 4H), state (B, 2H) → all states (B, T, 2H), rules for padding as above.
Tensor lstm_sequence(const Tensor& gates, const Tensor& state, const Tensor& weight_hh, const Tensor& bias_hh,
                     const ValidLengths& lengths = {}, bool reverse = false, CallSite at = {});

}  // namespace tapestry
