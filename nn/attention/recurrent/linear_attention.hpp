// Linear attention as a layer with heads: a state of constant size in place of a cache of keys and values.
#pragma once

#include "core/attention/linear_attend.hpp"
#include "nn/linear.hpp"

namespace tapestry {

/// What is made of queries and keys.
enum class KeyFeatures {
  /// Of length 1.
  unit,
  /// elu(x) + 1, and what is read is divided by Σ_j φ(q) · φ(k_j), as softmax's weights sum to 1 (Katharopoulos
  /// et al. 2020). With WriteRule::sum only.
  positive
};
/// Whether words make the memory forget: α_t = sigmoid(w · x_t + b) for each head, b starting at 4 (α 0.98).
enum class Gate { no, yes };

struct LinearAttentionOptions {
  /// d_model: of words and of the result.
  Size width = 0;
  Size heads = 1;  // each with a memory of its own
  /// d and e of one head; 0: width / heads, and d.
  Size head_width = 0, value_head_width = 0;
  WriteRule rule = WriteRule::sum;               // what a word writes
  KeyFeatures features = KeyFeatures::positive;  // what is made of queries and keys
  Gate gate = Gate::no;                          // whether it forgets
  Bias bias = Bias::yes;                         // of its projections
  /// Words of a chunk; see linear_attend().
  Size chunk = 32;
};

/// Causal self-attention: each word reads what it and earlier ones have written. In the delta rule how strongly
/// is β_t = sigmoid(w · x_t + b), b starting at 2.
///     LinearAttention layer({.width = 64, .heads = 4, .rule = WriteRule::delta, .features = KeyFeatures::unit});
///     Remembered first = layer(words);                  // (B, T, width): read, and the state after them
///     Remembered next = layer(one_more, first.state);   // as if it had stood behind them
class LinearAttention : public Module {
 public:
  /// Throws for sizes below 1, heads that do not divide the width, and positive features with the delta rule.
  LinearAttention(Parent parent, const LinearAttentionOptions& options);
  explicit LinearAttention(const LinearAttentionOptions& options) : LinearAttention(Parent{}, options) {}

  /// x (B, T, width) → read (B, T, width); state (B, heads, d, e), with one column more for positive features.
  /// An empty state is zeros. A single word takes one step, more go in chunks.
  Remembered operator()(const Tensor& x, const Tensor& state = {}) const;

  /// As given, with every 0 filled in.
  const LinearAttentionOptions& options() const { return options_; }

 private:
  LinearAttentionOptions options_;  // before the layers, which are made from it

 public:
  /// (heads · d, width) twice, (heads · e, width), (width, heads · e)
  Linear query, key, value, output;
  /// (heads, width) and (heads); empty handles in a layer without gates, or with another rule.
  Parameter gate_weight, gate_bias, strength_weight, strength_bias;
};

}  // namespace tapestry
