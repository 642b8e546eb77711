// Steps of Adam, AdamW and SGD on one chunk of a parameter, and the sum of squares and scaling of a gradient. A chunk
// runs on one thread; the optimiser cuts its parameters into chunks and distributes them.
#pragma once

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Adam (Kingma & Ba 2015), with learning rate η, weight decay λ and g = scale · gradient + λ w:
///     m ← β₁ m + (1 − β₁) g    v ← β₂ v + (1 − β₂) g²    w ← w − η (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
/// If `decoupled`, AdamW (Loshchilov & Hutter 2019): g = scale · gradient, and before the step w ← (1 − η λ) w.
struct AdamStep {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;
  double correction1 = 1, correction2 = 1;  // bias corrections 1 − β₁ᵗ and 1 − β₂ᵗ at step t
  double scale = 1;                         // multiplies the gradient: clipping without an extra pass
};
/// One Adam step. m and v are the moments; all arrays have n elements.
template <class T>
void adam(T* weight, const T* gradient, T* m, T* v, Size n, const AdamStep& step);

/// SGD: w ← w − η d, with d = g + λ w and g = scale · gradient. With momentum μ, first b ← μ b + d (b = 0 initially),
/// and then d ← b, or d ← d + μ b (Nesterov).
struct SgdStep {
  double learning_rate = 1e-2, momentum = 0, weight_decay = 0;
  bool nesterov = false;
  double scale = 1;  // multiplies the gradient, as in AdamStep
};
/// One SGD step. `velocity` (b) may be null without momentum.
template <class T>
void sgd(T* weight, const T* gradient, T* velocity, Size n, const SgdStep& step);

/// Σ x², summed in f64.
template <class T>
double sum_of_squares(const T* x, Size n);
/// x ← x · factor
template <class T>
void scale(T* x, Size n, double factor);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
