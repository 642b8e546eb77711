// Normalisers: functions that turn scores into weights. To add a normaliser, declare a function (scores, mask) →
// weights here and define it in normalise.cpp. Then add a row to tests/nn/attention/normalise_test.cpp, which tests its
// formula, gradient and mask. Only softmax runs in the tiled kernel; all other normalisers use plain ops. Learned
// parameters of a normaliser must be part of a Score.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Type of softmax_weights. It is a type rather than a function, so that a Normaliser can recognise it.
struct SoftmaxWeights {
  Tensor operator()(const Tensor& scores, const Mask& mask = {}) const;
};
/// α_j = e^{s_j} / Σ_i e^{s_i}: positive, and each row sums to 1.
inline constexpr SoftmaxWeights softmax_weights;

/// A function (scores, mask) → weights that is not of the type Self.
template <class F, class Self>
concept WeightsFunctionBut = !std::same_as<std::remove_cvref_t<F>, Self> &&
                             std::convertible_to<F, std::function<Tensor(const Tensor&, const Mask&)>>;

/// Turns scores (…, Tq, Tk) into weights over the last axis: softmax, or any function (scores, mask) → weights. The
/// mask is optional and broadcasts to the scores. A function must keep this contract:
///  - The weights have the shape of the scores.
///  - A masked pair gets the weight 0 exactly and no gradient, whatever its score. A row whose keys are all masked is
///    all 0. A layer also masks pairs with a score of −∞, and sets their scores to 0.
///  - A row of weights depends only on the scores of the row's visible pairs. So masked scores must not enter a sum:
///    apply zero_masked(mask, …) from masking.hpp before you sum. Do not use Tk: with a cache it is the number of
///    tokens so far, and without one it includes masked keys. Count the visible keys, or capture a fixed number.
///  - With AttentionOptions::learned_sink, the last column of the scores is the sink, so scores.size(-1) is the number
///    of keys + 1. So a function must not compute a query's position from Tk − Tq; write what depends on positions as a
///    score_mod, a window or a mask. The layer drops the sink's weight. If a function treats each score separately, a
///    sink has no effect.
class Normaliser {
 public:
  /// (scores, mask) → weights
  using Function = std::function<Tensor(const Tensor& scores, const Mask& mask)>;

  Normaliser(SoftmaxWeights = {}) {}
  /// Throws if the function is empty.
  template <WeightsFunctionBut<Normaliser> F>
  Normaliser(F&& function) : function_(std::forward<F>(function)) {
    check();
  }
  /// Same, without the check that masked pairs get the weight 0. For functions whose tests check it.
  static Normaliser unchecked(Function function);

  /// Fails to compile, because `Other` is no function of scores and mask.
  template <class Other>
  requires(std::is_class_v<Other> && !std::same_as<Other, Normaliser> &&
           !std::same_as<Other, SoftmaxWeights> && !WeightsFunctionBut<const Other&, Normaliser>)
      Normaliser(const Other&) {
    static_assert(
        sizeof(Other) == 0,
        "a normaliser must be a function (const Tensor& scores, const Mask& mask) that returns a Tensor");
  }

  /// Returns the weights. Throws, naming both shapes, unless they have the shape of the scores. Throws if a masked pair
  /// has another weight than 0; the functions of this library are not checked.
  Tensor operator()(const Tensor& scores, const Mask& mask) const;
  /// Returns true for softmax_weights, the only normaliser that attend() computes in tiles. A function that calls
  /// softmax_weights is not recognised.
  bool is_softmax() const { return !function_; }

 private:
  void check();
  Function function_;       // empty: softmax
  bool keeps_mask_ = true;  // masked pairs need no check
};

/// Softmax of s / τ. τ → 0 approaches hardmax, τ = 1 is softmax, and τ → ∞ approaches equal weights. Throws unless τ is
/// positive and finite.
Normaliser softmax_with_temperature(double temperature);
/// 1 at the largest score (the first of several equal ones), 0 elsewhere. It is piecewise constant, so no gradient
/// reaches the scores.
Tensor hardmax_weights(const Tensor& scores, const Mask& mask = {});
/// α_j = 1 / (1 + e^{−s_j}), independently for each key; a row sums to a value between 0 and Tk.
Tensor sigmoid_weights(const Tensor& scores, const Mask& mask = {});
/// Softmax with an extra key of score 0 and value 0, so that a query can attend to nothing (Miller 2023,
/// "Attention is off by one").
Tensor sink_weights(const Tensor& scores, const Mask& mask = {});
/// Softmax of c tanh(s / c), which bounds the scores by ±c (Bello et al. 2017; Gemma 2, 2024). Throws unless
/// c is positive and finite.
Normaliser soft_capped(double cap);
/// sparsemax_weights and entmax15_weights: sparsemax and entmax-1.5 (core/ops/sparse.hpp). Both give weights of exactly
/// 0 to keys with scores far below the largest.
Tensor sparsemax_weights(const Tensor& scores, const Mask& mask = {});
Tensor entmax15_weights(const Tensor& scores, const Mask& mask = {});
/// α_j = s_j: no normalisation, as in linear attention.
Tensor plain_weights(const Tensor& scores, const Mask& mask = {});

}  // namespace tapestry
