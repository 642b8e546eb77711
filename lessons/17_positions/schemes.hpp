// The position schemes of a single head, and checks of the chapter's functions against nn/.
#pragma once

#include <functional>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/transformer/transformer.hpp"

namespace tapestry::lesson17 {

/// The weights of a MultiHeadAttention with one head, and its position scheme: one of the four, or none.
struct Head {
  Tensor w_q, w_k, w_v, w_o;  // (d, d)
  /// a^K and a^V: .key and .value, (2 r + 1, d), for the distances −r … r.
  const ShawPositions* shaw = nullptr;
  /// .weight (buckets, 1): a number for each bucket.
  const BucketPositions* t5 = nullptr;
  bool alibi = false, rotary = false;
};

/// Shaw's r in the checks, and the row of a distance. Farther distances count as −r or r.
inline constexpr Size kReach = 2;
Size clipped_row(Size distance);

/// Returns T5's bucket of a distance, key − query. Half of the buckets are for keys to the left. In each half,
/// one half of the buckets is for the nearest distances, with a separate bucket for each. The other buckets
/// grow with the logarithm of the distance up to `farthest`. All distances from `farthest` on share the last
/// bucket.
Size bucket_of(Size distance, Size buckets, Size farthest);
/// The buckets in the checks.
inline constexpr Size kBuckets = 8, kFarthest = 6;
Size bucket(Size distance);

using Angles = std::function<Tensor(Size places, Size width)>;
using Rotate = std::function<Tensor(const Tensor& x, const Tensor& angle)>;

/// Checks the chapter's table. It must equal nn/'s; one rotation must lead three positions on from every
/// position; and PE[p] · PE[q] must depend only on p − q. Draws the table to sinusoids.svg.
void check_sinusoids(const std::function<Tensor(Size places, Size width)>& table, const Angles& angles,
                     const Rotate& rotate, const kit::Options& options, kit::Report& report);

/// Checks the chapter's head with each scheme against nn/'s. Checks that with rotary, a query and a key moved
/// by seven positions have the same score, and that nn/'s buckets equal the chapter's. Prints the buckets.
void check_schemes(const std::function<Tensor(const Tensor& x, const Head& head)>& attend,
                   const Angles& angles, const Rotate& rotate, std::uint64_t seed, kit::Report& report);

}  // namespace tapestry::lesson17
