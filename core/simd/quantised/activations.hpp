// Rounds activations to 8 bits per block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/simd/horizontal.hpp"
#include "core/simd/lanes.hpp"
#include "core/simd/quantised/byte_sums.hpp"
#include "core/simd/quantised/quantised.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// A block of rounded activations: x ≈ scale · p.
struct ActivationBlock {
  std::int8_t p[kBlock];  // from −127 to 127
  std::int32_t sum;       // Σ p
  float scale;            // max |x| / 127, or NaN if an x is infinite or NaN
  float scaled_sum;       // scale · Σ p
};

/// Rounds a block of x to the nearest multiples of its scale, ties to even.
inline void round_block(const float* x, ActivationBlock& out) {
  constexpr Size kL = kLanes<float>;
  static_assert(kBlock % kL == 0);
  Lanes<float> largest(0.0f);
  for (Size j = 0; j < kBlock; j += kL) largest = max_nan(largest, abs(load(x + j)));
  out.scale = reduce_max(largest) / 127;
  if (!std::isfinite(out.scale)) out.scale = std::numeric_limits<float>::quiet_NaN();
  float inverse = 1 / out.scale;
  if (!std::isfinite(inverse)) inverse = 0;  // every x is 0, or nearly so, or the scale is NaN

  // A float of about 1.5·2²³ has no fraction, so the sum is rounded to an integer, which is in its lowest bits.
  const Lanes<float> magic(0x1.8p23f);
  Words sum(0);
  std::int32_t rounded[kBlock];
  for (Size j = 0; j < kBlock; j += kL) {
    Lanes<float> steps = load(x + j) * Lanes<float>(inverse);
    keep_in_register(steps);  // rounded before the sum, with and without fused multiply-adds
    const Words p = to_bits(steps + magic) - to_bits(magic);
    sum += p;
    store(rounded + j, p);
  }
  for (Size j = 0; j < kBlock; ++j) out.p[j] = static_cast<std::int8_t>(rounded[j]);
  out.sum = reduce_add(sum);
  out.scaled_sum = out.scale * static_cast<float>(out.sum);
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
