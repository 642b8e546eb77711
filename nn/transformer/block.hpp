// The transformer block: attention, perhaps a second one to another sequence, and a feed-forward, each with a
// residual and a norm.
#pragma once

#include <optional>

#include "nn/attention/multi_head.hpp"
#include "nn/norm.hpp"
#include "nn/transformer/cache.hpp"
#include "nn/transformer/feed_forward.hpp"

namespace tapestry {

///     pre     x + part(norm(x))     Xiong et al. 2020
///     post    norm(x + part(x))     Vaswani et al. 2017
///     none    x + part(x)
enum class NormPlace { pre, post, none };
/// LayerNorm or RMSNorm.
enum class NormKind { layer_norm, rms_norm };

struct BlockOptions {
  Size width = 128;  // d_model
  Size heads = 4;    // of queries
  /// As in MultiHeadOptions: 0 is as many as heads.
  Size key_heads = 0;
  /// Units of the feed-forward; 0: four times the width.
  Size hidden = 0;
  NormPlace norm_place = NormPlace::pre;     // beside the residual
  NormKind norm = NormKind::layer_norm;      // which one
  double epsilon = 1e-5;                     // ε of the norms
  Activation activation = Activation::gelu;  // of the feed-forward
  Bias bias = Bias::yes;                     // of all its linear layers
  /// In training: of what each part adds, of attention's weights, of the feed-forward's units.
  double dropout = 0, attention_dropout = 0, hidden_dropout = 0;
  /// How queries and keys are compared and scores become weights, in all of its attention.
  ScoreFactory score = scaled_dot();
  /// What is done to each score of its self-attention; every block has parameters of its own.
  LearnedScoreMod score_mod = {};
  Normaliser normalise = softmax_weights;  // makes weights of scores
  /// Parts that can be left out, to see what they do.
  bool feed_forward = true, residual = true;
};

/// Either norm, or none.
class Norm : public Module {
 public:
  Norm(Parent parent, NormKind kind, Size width, double epsilon);

  Tensor operator()(const Tensor& x) const;

 private:
  std::optional<LayerNorm> layer_;
  std::optional<RMSNorm> rms_;
};

/// What a block attends with.
struct BlockKind {
  /// No query sees a later key of its own sequence.
  bool causal = false;
  /// Width of another sequence that it attends to as well; 0: there is none.
  Size memory_width = 0;
  /// Position information of its self-attention.
  PositionScheme positions = {};
};

/// Self-attention, attention to another sequence where there is one, feed-forward: each with its norm and
/// residual.
class TransformerBlock : public Module {
 public:
  TransformerBlock(Parent parent, const BlockOptions& options, const BlockKind& kind);
  TransformerBlock(const BlockOptions& options, const BlockKind& kind)
      : TransformerBlock(Parent{}, options, kind) {}

  /// x (B, T, width), a mask as MultiHeadAttention takes it (causal blocks have theirs already; both must
  /// allow), and where the block has `cross`, what that attends to → (B, T, width).
  Tensor operator()(const Tensor& x, const Mask& mask = {}, const PreparedKV* memory = nullptr) const;
  /// The same for words that come after those in the cache, which takes them in too. Causal blocks only.
  Tensor operator()(const Tensor& x, KeyValueCache& cache, const PreparedKV* memory = nullptr) const;

  MultiHeadAttention self;
  std::optional<MultiHeadAttention> cross;
  std::optional<FeedForward> feed_forward;
  /// Before or after `self`, `cross` and `feed_forward`; as they are there.
  std::optional<Norm> self_norm, cross_norm, feed_forward_norm;
  Dropout dropout;

 private:
  template <class Part>
  Tensor with_residual(const Tensor& x, const std::optional<Norm>& norm, const Part& part) const;
  template <class Self>
  Tensor run(const Tensor& x, const PreparedKV* memory, const Self& attend) const;

  NormPlace norm_place_;
  bool residual_, causal_;
};

}  // namespace tapestry
