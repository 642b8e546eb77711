// Positions told to attention as distances between query and key: Shaw's vectors, T5's buckets, ALiBi's
// slopes.
#pragma once

#include <vector>

#include "nn/positions/scheme.hpp"

namespace tapestry {

/// A learned vector for each distance from −reach to reach; farther ones count as these (Shaw, Uszkoreit &
/// Vaswani 2018, equations 3–5): s_ij = q_i · (k_j + a^K_{j−i}) / √d, c_i = Σ_j α_ij (v_j + a^V_{j−i}). The
/// heads share them, layers do not. Its scale fits scaled_dot().
class ShawPositions : public PairPositions {
 public:
  ShawPositions(Parent parent, const PairShape& shape, Size reach);

  Tensor score(const Tensor& query, Size keys) const override;
  Tensor context(const Tensor& weights) const override;

  /// a^K (2 · reach + 1, d_k), a^V (2 · reach + 1, d_v); row reach is distance 0
  Parameter key, value;

 private:
  Size reach_;
};

/// A learned number for each head and bucket of distances, added to the scores: near distances have buckets
/// of their own, farther ones share them in steps that grow like the logarithm, those from `farthest` on the
/// last (Raffel et al. 2020, section 2.1). All layers share them.
class BucketPositions : public PairPositions {
 public:
  BucketPositions(Parent parent, const PairShape& shape, Size buckets, Size farthest);

  std::optional<Size> heads() const override { return weight.size(1); }
  std::optional<ScoreMod> as_score_mod(Size queries, Size keys) const override;
  void share(const PairPositions& other) override;

  /// Which bucket the distance key − query falls into.
  Size bucket(Size distance) const;

  /// (buckets, heads)
  Parameter weight;

 private:
  Size buckets_, farthest_;
  bool causal_;
};

/// The slopes m_h of ALiBi for the heads h = 1 … H. The two are equal where H is a power of two.
enum class AlibiSlopes {
  /// 2^{−8h/H} for every H: the paper's text (Press, Smith & Lewis 2022, section 3).
  geometric,
  /// With P the largest power of two up to H: 2^{−8h/P} for the first P heads, then every second slope of 2P heads,
  /// 2^{−4/P}, 2^{−12/P}, …: the paper's code, and with it BLOOM's and MPT's weights.
  interleaved,
};

/// s_ij − m_h · |i − j| with fixed slopes m_h: nothing to learn (Press, Smith & Lewis 2022). Where attention is not
/// causal it cannot tell left from right.
class AlibiPositions : public PairPositions {
 public:
  AlibiPositions(Parent parent, const PairShape& shape, AlibiSlopes slopes)
      : PairPositions(std::move(parent)), heads_(shape.heads), slopes_(slopes) {}

  std::optional<Size> heads() const override { return heads_; }
  std::optional<ScoreMod> as_score_mod(Size queries, Size keys) const override;

  /// m_1 … m_H
  std::vector<double> slopes() const;

 private:
  Size heads_;
  AlibiSlopes slopes_;
};

/// A reach below 0 throws.
PositionScheme shaw(Size reach);
/// Making the layer throws unless `buckets` is even and 4 or more (2 where attention is causal) and
/// `farthest` above half of it.
PositionScheme t5_buckets(Size buckets = 32, Size farthest = 128);
/// The slopes follow from the number of heads.
PositionScheme alibi(AlibiSlopes slopes = AlibiSlopes::geometric);

}  // namespace tapestry
