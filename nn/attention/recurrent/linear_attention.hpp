// Linear attention as a multi-head layer: a state of constant size replaces the cache of keys and values.
#pragma once

#include "core/attention/linear_attend.hpp"
#include "nn/linear.hpp"

namespace tapestry {

/// Feature map φ of queries and keys.
enum class KeyFeatures {
  /// φ(x) = x / √(‖x‖² + 10⁻¹²), of length 1.
  unit,
  /// φ(x) = elu(x) + 1. The result is divided by Σ_j φ(q) · φ(k_j) + 10⁻⁶, so that the weights sum to nearly 1, as
  /// with softmax (Katharopoulos et al. 2020, whose code adds 10⁻⁶, too). Only with WriteRule::sum.
  positive
};
/// Forget gate: multiplies the state by α_t = sigmoid(w · x_t + b) for each head. b starts at 4 (α = 0.98).
enum class Gate { no, yes };

struct LinearAttentionOptions {
  /// d_model: width of the inputs and of the result.
  Size width = 0;
  Size heads = 1;  // each with its own state
  /// d and e: widths of one head's keys and values. 0 means width / heads, and d.
  Size head_width = 0, value_head_width = 0;
  WriteRule rule = WriteRule::sum;               // update of the state
  KeyFeatures features = KeyFeatures::positive;  // feature map of queries and keys
  Gate gate = Gate::no;                          // forget gate
  Bias bias = Bias::yes;                         // in all four projections
  /// Tokens per chunk; see linear_attend().
  Size chunk = 32;
};

/// Causal self-attention: each token reads from a state that it and all earlier tokens have written to. With the delta
/// rule, the write strength is β_t = sigmoid(w · x_t + b), and b starts at 2.
///     LinearAttention layer({.width = 64, .heads = 4, .rule = WriteRule::delta, .features = KeyFeatures::unit});
///     LinearAttendResult first = layer(x);                            // (B, T, width), and the state after `x`
///     LinearAttendResult next = layer(one_more, first.final_state);   // continues after `x`
class LinearAttention : public Module {
 public:
  /// Throws if a size is below 1, the heads do not divide the width (unless head_width is given), or positive
  /// features are combined with the delta rule.
  LinearAttention(Parent parent, const LinearAttentionOptions& options);
  explicit LinearAttention(const LinearAttentionOptions& options) : LinearAttention(Parent{}, options) {}

  /// x (B, T, width) → output (B, T, width) and state (B, heads, d, e), with e + 1 columns for positive
  /// features. An undefined state is zeros. A single token takes one step; longer inputs run in chunks.
  LinearAttendResult operator()(const Tensor& x, const Tensor& state = {}) const;

  /// Returns the options as given, with every 0 replaced by its default.
  const LinearAttentionOptions& options() const { return options_; }

 private:
  LinearAttentionOptions options_;  // declared before the layers, which are built from it

 public:
  /// query and key (heads · d, width), value (heads · e, width), output (width, heads · e)
  Linear query, key, value, output;
  /// Weights (heads, width) and biases (heads) of the gate α and of the write strength β; undefined without a gate, or
  /// without the delta rule.
  Parameter gate_weight, gate_bias, strength_weight, strength_bias;
};

}  // namespace tapestry
