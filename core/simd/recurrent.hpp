// The element-wise half of a recurrent step (the other half is a matrix product): gates to states, and back.
// One pass over memory each way; what backward needs is saved by forward, a row of numbers for each row of
// the batch.
#pragma once

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// One step of `rows` sequences. Rows of a matrix lie *_row elements apart; `gh` and `saved` are dense.
template <class T>
struct RecurrentStep {
  Size rows = 0, hidden = 0;
  const bool* active =
      nullptr;  // (rows) or null: a row that is not active keeps its state, and its gates are not read
  const T* gi = nullptr;  // (rows, gates·hidden): W_ih x + b_ih
  Size gi_row = 0;
  const T* gh = nullptr;     // (rows, gates·hidden): W_hh h + b_hh
  const T* state = nullptr;  // (rows, states·hidden)
  Size state_row = 0;
  T* next = nullptr;  // (rows, states·hidden)
  Size next_row = 0;
  T* saved = nullptr;  // (rows, kept·hidden)
};

/// dnext → dgi, dgh, and dstate without the part that flows through gh. Rows that were not active get
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

/// A gated recurrent unit: 3 gates (reset, update, new), 1 state, 4 kept (r, z, n, gh_n).
///     r = σ(gi_r + gh_r)   z = σ(gi_z + gh_z)   n = tanh(gi_n + r ⊙ gh_n)   h' = n + z ⊙ (h − n)
template <class T>
void gru_forward(const RecurrentStep<T>& step);
template <class T>
void gru_backward(const RecurrentStepGradient<T>& step);

/// A long short-term memory: 4 gates (input, forget, cell, output), 2 states [hidden; cell], 5 kept (the
/// gates after their functions, tanh c'). With i, f, g, o the quarters of gi + gh:
///     c' = σ(f) ⊙ c + σ(i) ⊙ tanh(g)        h' = σ(o) ⊙ tanh(c')
template <class T>
void lstm_forward(const RecurrentStep<T>& step);
/// The hidden half of dstate is 0 for active rows: all of it flows through gh.
template <class T>
void lstm_backward(const RecurrentStepGradient<T>& step);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
