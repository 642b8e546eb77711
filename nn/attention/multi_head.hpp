// Multi-head attention (Vaswani et al. 2017, section 3.2.2): several heads attend in parallel, each with its
// own projections.
#pragma once

#include <optional>

#include "nn/attention/attention.hpp"
#include "nn/linear.hpp"
#include "nn/norm.hpp"

namespace tapestry {

struct MultiHeadOptions {
  /// d_model: width of the queries and of the result.
  Size width = 0;
  /// H: number of query heads.
  Size heads = 1;
  /// Number of key and value heads, a divisor of `heads`. Each serves several query heads (grouped-query
  /// attention, Ainslie et al. 2023); 1 serves all (multi-query, Shazeer 2019). 0 means `heads`.
  Size kv_heads = 0;
  /// Widths of the inputs of keys and values; 0 means `width`.
  Size key_width = 0, value_width = 0;
  /// d_k and d_v of one head; 0 means width / heads, and d_k.
  Size head_width = 0, value_head_width = 0;
  Bias bias = Bias::yes;  // in all four projections
  /// True if no query sees a later key. This only informs the position scheme; the caller must pass the mask.
  bool causal = false;
  ScoreFactory score = scaled_dot();  // compares queries and keys within a head
  /// Fails to compile if it is set: the option is attend.normalise.
  [[no_unique_address]] detail::NormaliseOfAttend normalise = {};
  /// Applies an RMSNorm with a learned weight (d_k) to each query and key of a head, before rotary positions (QK-norm;
  /// Henry et al. 2020, Dehghani et al. 2023), with ε.
  bool qk_norm = false;
  double qk_norm_epsilon = 1e-6;  // ε of qk_norm
  /// Multiplies the heads' results by sigmoid(W^G x + b^G), element by element, before W^O; x is the input of the
  /// queries (gated attention, Qiu et al. 2025, G1).
  bool output_gate = false;
  /// Normaliser, dropout of weights, strict mode, positions.
  AttentionOptions attend = {};
};

/// head_i = attend(Q W_i^Q, K W_i^K, V W_i^V), result = concat(heads) W^O, with a gate and QK-norm if the options set
/// them. One product projects all heads, and the heads are strided views of it, so splitting them copies nothing.
/// Concatenating the results copies them only if they are not interleaved in memory, for example after a mask that
/// hides all keys from a query.
class MultiHeadAttention : public Module {
 public:
  MultiHeadAttention(Parent parent, const MultiHeadOptions& options);
  explicit MultiHeadAttention(const MultiHeadOptions& options) : MultiHeadAttention(Parent{}, options) {}

  /// Projects keys (B, Tk, key_width) and values (B, Tk, value_width) and splits them into heads, once for
  /// any number of queries. A mask broadcasts to (Tq, Tk), (B, Tq, Tk) or (B, heads, Tq, Tk). Input rows that
  /// no query of any head may see have no effect. `positions` are those of the keys.
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const Mask& mask = {},
                     const TokenPositions& positions = {}) const;
  PreparedKV prepare(const Tensor& keys, const Tensor& values, const ValidLengths& lengths) const;

  /// Adds a mask to keys, values and data from earlier calls of prepare(), which the caller has joined along time. The
  /// mask has the shapes and effects that it has in prepare(). The keys are not rotated again.
  PreparedKV with_mask(const PreparedKV& memory, const Mask& mask) const;

  /// queries (B, Tq, width) → context (B, Tq, width) and weights (B, H, Tq, Tk). For windows and rotary positions, the
  /// queries are at `positions`; for schemes of distances (Shaw, T5, ALiBi), the last query is at the position of the
  /// last key. A list of positions has one for each key, and the queries are the last keys; see Attention for what
  /// supports a list. A batch size of 1 is broadcast; any other mismatch of queries and memory throws.
  AttentionOutput operator()(const Tensor& queries, const PreparedKV& memory,
                             const TokenPositions& positions = {}) const;
  /// Returns the context alone, in tiles where possible: see Attention::context.
  Tensor context(const Tensor& queries, const PreparedKV& memory, const TokenPositions& positions = {}) const;
  AttentionOutput operator()(const Tensor& queries, const Tensor& keys, const Tensor& values,
                             const Mask& mask = {}) const {
    return (*this)(queries, prepare(keys, values, mask));
  }
  AttentionOutput operator()(const Tensor& queries, const Tensor& keys, const Tensor& values,
                             const ValidLengths& lengths) const {
    return (*this)(queries, prepare(keys, values, lengths));
  }

  /// Returns the options as given, with every 0 replaced by its default.
  const MultiHeadOptions& options() const { return options_; }

 private:
  /// Returns the projected queries of each head, (B, heads…, Tq, d), after query_norm. Throws if the batch sizes of
  /// queries and memory differ and neither is 1.
  Tensor query_heads(const Tensor& queries, const PreparedKV& memory) const;
  /// Returns the mask with the axes of the heads, grouped as the keys are.
  Mask with_head_axes(const Mask& mask) const;
  /// Returns concat(heads) W^O, (B, Tq, width), of the heads' results (B, heads…, Tq, d_v). Applies the gate, which is
  /// computed from the input of the queries, before W^O.
  Tensor project_output(const Tensor& heads, const Tensor& queries) const;

  MultiHeadOptions options_;  // declared before the layers, which are built from it

 public:
  /// W^Q (H · d_k, width), W^K (kv_heads · d_k, key_width), W^V (kv_heads · d_v, value_width) and W^O
  /// (width, H · d_v), with optional biases
  Linear query, key, value, output;
  /// Attention within each head. A WeightRecorder on it records all heads, grouped ones as (B, kv_heads,
  /// H / kv_heads, Tq, Tk).
  Attention attention;
  /// W^G and b^G (H · d_v, width) of output_gate; empty without it.
  std::optional<Linear> gate;
  /// Norms of each query and key, with gains (d_k) that all heads share; empty without qk_norm.
  std::optional<RMSNorm> query_norm, key_norm;
};

}  // namespace tapestry
