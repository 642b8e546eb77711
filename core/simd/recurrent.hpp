// Element-wise part of a GRU or LSTM step, forward and backward; the other part is a matrix product. Each direction is
// one pass over memory. Forward saves the values that backward needs, in one row for each row of the batch.
#pragma once

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// One step of `rows` sequences. x_row is the row stride of x, in elements; `gh` and `saved` are dense.
template <class T>
struct RecurrentStep {
  Size rows = 0, hidden = 0;
  // (rows) or null; inactive rows keep their state, and their gates are not read.
  const bool* active = nullptr;
  const T* gi = nullptr;  // (rows, gates·hidden): W_ih x + b_ih
  Size gi_row = 0;
  const T* gh = nullptr;     // (rows, gates·hidden): W_hh h + b_hh
  const T* state = nullptr;  // (rows, states·hidden)
  Size state_row = 0;
  T* next = nullptr;  // (rows, states·hidden)
  Size next_row = 0;
  T* saved = nullptr;  // (rows, kept·hidden)
};

/// Gradients of a step: dnext → dgi, dgh, and the part of dstate that does not flow through gh. Inactive rows get
/// dgi = dgh = 0 and dstate = dnext. `dgh` is dense.
template <class T>
struct RecurrentStepGradient {
  Size rows = 0, hidden = 0;
  const bool* active = nullptr;
  const T* saved = nullptr;
  const T* state = nullptr;
  Size state_row = 0;
  const T* dnext = nullptr;
  Size dnext_row = 0;
  T* dgi = nullptr;
  Size dgi_row = 0;
  T* dgh = nullptr;
  T* dstate = nullptr;
  Size dstate_row = 0;
};

/// Gated recurrent unit: 3 gates (reset, update, new), 1 state, 4 kept values (r, z, n, gh_n).
///     r = σ(gi_r + gh_r)   z = σ(gi_z + gh_z)   n = tanh(gi_n + r ⊙ gh_n)   h' = n + z ⊙ (h − n)
template <class T>
void gru_forward(const RecurrentStep<T>& step);
template <class T>
void gru_backward(const RecurrentStepGradient<T>& step);

/// Long short-term memory: 4 gates (input, forget, cell, output), 2 states [hidden; cell], 5 kept values (the
/// activated gates and tanh c'). With i, f, g, o the quarters of gi + gh:
///     c' = σ(f) ⊙ c + σ(i) ⊙ tanh(g)        h' = σ(o) ⊙ tanh(c')
template <class T>
void lstm_forward(const RecurrentStep<T>& step);
/// For active rows the hidden half of dstate is 0: its whole gradient flows through gh.
template <class T>
void lstm_backward(const RecurrentStepGradient<T>& step);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
