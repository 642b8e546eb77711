// Relative positions for attention, by distance of query and key: Shaw's vectors, T5's buckets, ALiBi's
// slopes.
#pragma once

#include <vector>

#include "nn/positions/scheme.hpp"

namespace tapestry {

/// A learned vector for each distance from −reach to reach; larger distances are clipped (Shaw, Uszkoreit &
/// Vaswani 2018, equations 3–5): s_ij = q_i · (k_j + a^K_{j−i}) / √d, c_i = Σ_j α_ij (v_j + a^V_{j−i}). The
/// heads share the vectors, the layers do not. The scale 1/√d is that of scaled_dot().
class ShawPositions : public PairPositions {
 public:
  ShawPositions(Parent parent, const PairShape& shape, Size reach);

  Tensor score(const Tensor& query, Size keys) const override;
  Tensor context(const Tensor& weights) const override;

  /// a^K (2 · reach + 1, d_k), a^V (2 · reach + 1, d_v); row `reach` is distance 0
  Parameter key, value;

 private:
  Size reach_;
};

/// A learned number for each head and bucket of distances, added to the scores (Raffel et al. 2020, section
/// 2.1). Small distances have one bucket each; larger ones share buckets of logarithmically growing width,
/// and all from `farthest` on share the last. All layers share the numbers.
class BucketPositions : public PairPositions {
 public:
  BucketPositions(Parent parent, const PairShape& shape, Size buckets, Size farthest);

  std::optional<Size> heads() const override { return weight.size(1); }
  std::optional<ScoreMod> as_score_mod(Size queries, Size keys) const override;
  void share(const PairPositions& other) override;

  /// Returns the bucket of the distance key − query.
  Size bucket(Size distance) const;

  /// (buckets, heads)
  Parameter weight;

 private:
  Size buckets_, farthest_;
  bool causal_;
};

/// Slopes m_h of ALiBi for the heads h = 1 … H. The two choices are equal if H is a power of two.
enum class AlibiSlopes {
  /// 2^{−8h/H} for every H: the paper's text (Press, Smith & Lewis 2022, section 3).
  geometric,
  /// With P the largest power of two up to H: 2^{−8h/P} for the first P heads, then every second slope of 2P heads,
  /// 2^{−4/P}, 2^{−12/P}, …: as in the paper's code, and in the weights of BLOOM and MPT.
  interleaved,
};

/// s_ij − m_h · |i − j| with fixed slopes m_h; no parameters (Press, Smith & Lewis 2022). Without a causal mask it
/// cannot tell left from right.
class AlibiPositions : public PairPositions {
 public:
  AlibiPositions(Parent parent, const PairShape& shape, AlibiSlopes slopes)
      : PairPositions(std::move(parent)), heads_(shape.heads), slopes_(slopes) {}

  std::optional<Size> heads() const override { return heads_; }
  std::optional<ScoreMod> as_score_mod(Size queries, Size keys) const override;

  /// Returns m_1 … m_H.
  std::vector<double> slopes() const;

 private:
  Size heads_;
  AlibiSlopes slopes_;
};

/// Returns ShawPositions as a scheme. Throws for a reach below 0.
PositionScheme shaw(Size reach);
/// Returns BucketPositions as a scheme. Building the layer throws unless `buckets` is even and at least 4 (2
/// if attention is causal) and `farthest` is above buckets / 2.
PositionScheme t5_buckets(Size buckets = 32, Size farthest = 128);
/// Returns AlibiPositions as a scheme. The slopes follow from the number of heads.
PositionScheme alibi(AlibiSlopes slopes = AlibiSlopes::geometric);

}  // namespace tapestry
