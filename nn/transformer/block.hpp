// The transformer block: self-attention, optional cross-attention and a feed-forward layer, each with a
// residual and a norm.
#pragma once

#include <optional>

#include "nn/attention/multi_head.hpp"
#include "nn/norm.hpp"
#include "nn/transformer/cache.hpp"
#include "nn/transformer/feed_forward.hpp"
#include "nn/transformer/self_attention.hpp"

namespace tapestry {

/// Position of the norm:
///     pre     x + part(norm(x))     Xiong et al. 2020
///     post    norm(x + part(x))     Vaswani et al. 2017
///     none    x + part(x)
enum class NormPosition { pre, post, none };
/// LayerNorm or RMSNorm.
enum class NormKind { layer_norm, rms_norm };

struct BlockOptions {
  Size width = 128;  // d_model
  Size heads = 4;    // query heads
  /// Number of key and value heads, as in MultiHeadOptions; 0 means `heads`.
  Size kv_heads = 0;
  /// Units of the feed-forward layer; 0 means 4 · width.
  Size hidden = 0;
  NormPosition norm_position = NormPosition::pre;  // relative to the residual
  NormKind norm = NormKind::layer_norm;            // type of the norms
  double epsilon = 1e-5;                           // ε of the norms
  Activation activation = Activation::gelu;        // of the feed-forward layer
  Bias bias = Bias::yes;                           // in all linear layers
  /// Dropout rates in training: for the output of each sublayer, for attention weights, and for the hidden units of the
  /// feed-forward layer.
  double dropout = 0, attention_dropout = 0, hidden_dropout = 0;
  /// Score of self-attention and cross-attention.
  ScoreFactory score = scaled_dot();
  /// Function applied to each score of the self-attention. Every block has its own parameters.
  LearnedScoreMod score_mod = {};
  /// Turns scores into weights, in self-attention and cross-attention.
  Normaliser normalise = softmax_weights;
  /// False removes the feed-forward layer, or the residual connections, to measure their effect.
  bool feed_forward = true, residual = true;
  /// Sliding window of the self-attention in tokens, as in VisibilityRule; 0: none.
  Size window = 0;
  /// Number of first keys that every query sees (if causal, every later query) in addition to its window.
  Size sink_tokens = 0;
  /// Options of the self-attention: a learned sink for each head (AttentionOptions), a gate of the heads' results, and
  /// QK-norm with ε = `epsilon` (MultiHeadOptions).
  bool learned_sink = false, output_gate = false, qk_norm = false;
  /// Replaces the self-attention: self_attention<MyAttention>(args…). The options above for heads, score and weights
  /// then apply to cross-attention alone. The constructor throws if one of these options is set and would have no
  /// effect: score_mod, learned_sink, output_gate, qk_norm and positions for pairs; without cross-attention also
  /// score, normalise, attention_dropout and kv_heads. Without cross-attention, it ignores `heads`, and a score of
  /// the default's class, because both may be defaults.
  SelfAttentionFactory attention = {};
};

/// A LayerNorm or an RMSNorm.
class Norm : public Module {
 public:
  Norm(Parent parent, NormKind kind, Size width, double epsilon);

  Tensor operator()(const Tensor& x) const;

 private:
  std::optional<LayerNorm> layer_;
  std::optional<RMSNorm> rms_;
};

/// Role of a block in a model.
struct BlockKind {
  /// If true, no query sees a later key of its own sequence.
  bool causal = false;
  /// Width of the other sequence for cross-attention; 0: no cross-attention.
  Size memory_width = 0;
  /// Position information of the self-attention.
  PositionScheme positions = {};
};

/// Self-attention, optional cross-attention and feed-forward layer, each with a norm and a residual.
class TransformerBlock : public Module {
 public:
  TransformerBlock(Parent parent, const BlockOptions& options, const BlockKind& kind);
  TransformerBlock(const BlockOptions& options, const BlockKind& kind)
      : TransformerBlock(Parent{}, options, kind) {}

  /// x (B, T, width) → (B, T, width). `mask` is as in MultiHeadAttention; a causal block combines it with the causal
  /// mask. `memory`: keys and values from cross.prepare(). Throws if it is missing in a block with `cross`, or given in
  /// a block without.
  Tensor operator()(const Tensor& x, const Mask& mask = {}, const PreparedKV* memory = nullptr) const;
  /// Same, for tokens that follow those in the cache; their keys and values are appended to it. The mask has these T
  /// tokens as queries and all tokens so far as keys, (…, T, cache.length() + T). `positions`, if given, has the
  /// position of each key, as in VisiblePairs. Throws if the block is not causal, or if `positions` are given although
  /// BlockOptions::attention is set.
  Tensor operator()(const Tensor& x, KeyValueCache& cache, const PreparedKV* memory = nullptr,
                    const Mask& mask = {}, const std::vector<Size>& positions = {}) const;

  /// Self-attention; empty if `custom_self` replaces it.
  std::optional<MultiHeadAttention> self;
  /// Self-attention made by BlockOptions::attention, also named "self"; empty without one.
  ModulePtr<SelfAttention> custom_self;
  std::optional<MultiHeadAttention> cross;
  std::optional<FeedForward> feed_forward;
  /// Norms before or after `self`, `cross` and `feed_forward`; empty without that part, or for
  /// NormPosition::none.
  std::optional<Norm> self_norm, cross_norm, feed_forward_norm;
  Dropout dropout;

 private:
  template <class Part>
  Tensor with_residual(const Tensor& x, const std::optional<Norm>& norm, const Part& part) const;
  template <class Self>
  Tensor run(const Tensor& x, const PreparedKV* memory, const Self& attend) const;

  NormPosition norm_position_;
  bool residual_;
  VisibilityRule rule_;
};

}  // namespace tapestry
