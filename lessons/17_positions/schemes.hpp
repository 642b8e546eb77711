// Position schemes of one head, laid open for the chapter, and the checks of what it writes.
#pragma once

#include <functional>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/transformer/transformer.hpp"

namespace tapestry::lesson17 {

/// The weights of a MultiHeadAttention with one head, and what it is told of order: one of the four, or none.
struct Head {
  Tensor w_q, w_k, w_v, w_o;  // (d, d)
  /// a^K and a^V: .key and .value (2 r + 1, d) for the distances −r … r
  const ShawPositions* shaw = nullptr;
  /// .weight (buckets, 1): a number for each bucket
  const BucketPositions* t5 = nullptr;
  bool alibi = false, rotary = false;
};

/// Shaw's r for the heads that are checked, and the row of a distance: farther ones count as −r or r.
inline constexpr Size kReach = 2;
Size within_reach(Size distance);

/// T5's bucket of a distance key − query. Half of the buckets are for keys to the left. Of each half, the
/// nearest distances fill one half, a bucket each; the others grow like the logarithm up to `farthest`, and
/// all from there on share the last.
Size bucket_of(Size distance, Size buckets, Size farthest);
/// Of the heads that are checked.
inline constexpr Size kBuckets = 8, kFarthest = 6;
Size bucket(Size distance);

using Angles = std::function<Tensor(Size places, Size width)>;
using Turned = std::function<Tensor(const Tensor& x, const Tensor& angle)>;

/// Judges the chapter's table: nn/'s is the same; one rotation leads three places on from everywhere; and
/// PE[p] · PE[q] depends on p − q alone. Draws it to sinusoids.svg.
void check_sinusoids(const std::function<Tensor(Size places, Size width)>& table, const Angles& angles,
                     const Turned& turned, const kit::Options& options, kit::Report& report);

/// Judges the chapter's one head for each scheme against nn/'s; that a query and a key that are moved seven
/// places on have the same score with rotary; and that nn/'s buckets are the chapter's, which it prints.
void check_schemes(const std::function<Tensor(const Tensor& x, const Head& head)>& attend,
                   const Angles& angles, const Turned& turned, std::uint64_t seed, kit::Report& report);

}  // namespace tapestry::lesson17
