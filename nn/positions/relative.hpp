// Relative positions for attention. They depend only on the distance between query and key: Shaw's vectors, T5's
// buckets and ALiBi's slopes.
#pragma once

#include <vector>

#include "nn/positions/scheme.hpp"

namespace tapestry {

/// Adds learned vectors to keys and values, one of each for every distance j − i from −reach to reach (Shaw, Uszkoreit
/// & Vaswani 2018, equations 3–5). Distances outside this range are clipped to it. The score and the context are
///
///     s_ij = q_i · (k_j + a^K_{j−i}) / √d          c_i = Σ_j α_ij (v_j + a^V_{j−i})
///
/// with the scale 1/√d of scaled_dot(). All heads of a layer use the same vectors. Each layer has its own.
class ShawPositions : public PairPositions {
 public:
  ShawPositions(Parent parent, const PairShape& shape, Size reach);

  Tensor score(const Tensor& query, Size keys) const override;
  Tensor context(const Tensor& weights) const override;

  /// a^K (2 · reach + 1, d_k) and a^V (2 · reach + 1, d_v). Row `reach` belongs to distance 0.
  Parameter key, value;

 private:
  Size reach_;
};

/// Adds a learned number for each head and each bucket of distances to the scores (Raffel et al. 2020, section 2.1). A
/// small distance has a bucket for itself. Larger distances share buckets, whose width grows logarithmically, and all
/// distances from `farthest` on share the last bucket. Without a causal mask, half of the buckets are for later keys.
/// All layers of a model use the same numbers (share()).
class BucketPositions : public PairPositions {
 public:
  BucketPositions(Parent parent, const PairShape& shape, Size buckets, Size farthest);

  std::optional<Size> heads() const override { return weight.size(1); }
  std::optional<ScoreMod> as_score_mod(Size queries, Size keys) const override;
  void share(const PairPositions& other) override;

  /// Returns the bucket of a distance, which is the position of the key minus that of the query.
  Size bucket(Size distance) const;

  /// The number for each bucket and head, (buckets, heads).
  Parameter weight;

 private:
  Size buckets_, farthest_;
  bool causal_;
};

/// Slopes m_h of ALiBi for the heads h = 1 … H. If H is a power of two, both choices give the same slopes.
enum class AlibiSlopes {
  /// m_h = 2^{−8h/H} for every H, as in the text of the paper (Press, Smith & Lewis 2022, section 3).
  geometric,
  /// Let P be the largest power of two that is at most H. The first P heads have the slopes of P heads, 2^{−8h/P}. The
  /// others have every second slope of 2P heads: 2^{−4/P}, 2^{−12/P}, …. The code of the paper uses these slopes, so
  /// the weights of BLOOM and MPT need them.
  interleaved,
};

/// Changes each score s_ij of head h to s_ij − m_h · |i − j|, with fixed slopes m_h and without parameters (Press,
/// Smith & Lewis 2022). Only the distance counts, so without a causal mask, attention cannot tell left from right.
class AlibiPositions : public PairPositions {
 public:
  AlibiPositions(Parent parent, const PairShape& shape, AlibiSlopes slopes)
      : PairPositions(std::move(parent)), heads_(shape.heads), slopes_(slopes) {}

  std::optional<Size> heads() const override { return heads_; }
  std::optional<ScoreMod> as_score_mod(Size queries, Size keys) const override;

  /// Returns the slopes m_1 … m_H.
  std::vector<double> slopes() const;

 private:
  Size heads_;
  AlibiSlopes slopes_;
};

/// Returns ShawPositions as a scheme. Throws Error if `reach` is negative.
PositionScheme shaw(Size reach);
/// Returns BucketPositions as a scheme. Building a layer with it throws Error unless `buckets` is even and at least 4
/// (at least 2 for causal attention), and `farthest` is greater than buckets / 2.
PositionScheme t5_buckets(Size buckets = 32, Size farthest = 128);
/// Returns AlibiPositions as a scheme. The slopes depend only on the number of heads.
PositionScheme alibi(AlibiSlopes slopes = AlibiSlopes::geometric);

}  // namespace tapestry
