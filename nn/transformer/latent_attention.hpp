// Multi-head latent attention (MLA; DeepSeek-AI 2024, DeepSeek-V2, section 2.1): keys and values of all heads are
// products of one small vector per token, and the cache stores this vector alone.
#pragma once

#include <optional>

#include "core/attention/attend.hpp"
#include "nn/linear.hpp"
#include "nn/positions/rotary.hpp"
#include "nn/transformer/self_attention.hpp"

namespace tapestry {

/// Options of LatentAttention.
struct LatentAttentionOptions {
  Size width = 0;       // d: width of the inputs and of the result
  Size heads = 1;       // H: number of heads
  Size head_width = 0;  // d_h: width of a head's keys, without the rotary part, and of its values
  Size rank = 0;        // d_c: width of the latent vector
  /// d_R: width of the rotary part, which is even; 0: no positions.
  Size rotary_width = 0;
  double base = 10000;  // of the rotary frequencies, as in RotaryOptions
};

/// For a token x at position t, and head i (equations 9 to 19, without the compression of queries and without
/// biases):
///     c = W^DKV x                       (d_c), shared by all heads
///     k_i = [W^UK_i c; R_t W^KR x]      (d_h + d_R); the rotary part is shared by all heads
///     v_i = W^UV_i c                    (d_h)
///     q_i = [W^Q_i x; R_t W^QR_i x]     (d_h + d_R)
/// Weights are softmax(q_i · k_i / √(d_h + d_R)), and the result is W^O [Σ w v_1; …; Σ w v_H].
///
/// The cache stores [c; R_t W^KR x], d_c + d_R numbers per token. A cached step uses absorbed matrices: it compares
/// (W^UK_i)ᵀ W^Q_i x with c, sums the latent vectors, and multiplies the sum by W^UV_i. So it never computes the
/// keys and values of earlier tokens.
///     options.block.attention = self_attention<LatentAttention>(LatentAttentionOptions{…});
///     options.positions = no_positions();
class LatentAttention : public SelfAttention {
 public:
  /// Throws unless width, heads, head_width and rank are at least 1, and rotary_width is even and at least 0.
  LatentAttention(Parent parent, const LatentAttentionOptions& options);

  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override;
  /// Appends the latent vectors to the cache's keys (B, T, d_c + d_R); it stores no values.
  Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const override;

  /// Returns the options as given.
  const LatentAttentionOptions& options() const { return options_; }

 private:
  /// Returns [c; R_t W^KR x] (B, T, d_c + d_R) for tokens at positions `first`, `first` + 1, …
  Tensor latents(const Tensor& x, Size first) const;
  /// Returns W^Q x by heads, (B, H, T, d_h).
  Tensor content_queries(const Tensor& x) const;
  /// Returns `content` (B, H, T, n), joined with the rotary queries (B, H, T, d_R).
  Tensor with_rotary(const Tensor& content, const Tensor& x, Size first) const;
  AttendOptions attend_options(const VisiblePairs& pairs) const;
  void check_input(const Tensor& x) const;

  LatentAttentionOptions options_;  // declared before the layers, which are built from it

 public:
  /// W^DKV (d_c, d), W^UK and W^UV (H · d_h, d_c), W^Q (H · d_h, d), W^O (d, H · d_h)
  Linear down, key_up, value_up, query, output;
  /// W^KR (d_R, d) and W^QR (H · d_R, d); empty without a rotary part.
  std::optional<Linear> rotary_key, rotary_query;

 private:
  std::optional<RotaryPositions> rotary_;
};

}  // namespace tapestry
