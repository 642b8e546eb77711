// Counter-based random words: Philox4x32-10 (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as
// 1, 2, 3"). A key and a site identify a stream. Word i is a function of the key, the site and i alone, so any thread
// can generate any part of a stream.
#pragma once

#include <cstdint>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// out[j] = word first + j of the stream (key, site). Word i is word i mod 4 of the block with counter
/// (i / 4, site).
void random_words(std::uint32_t* out, Size n, std::uint64_t key, std::uint64_t site, Size first);

/// Returns the threshold for a dropout rate, exact to 2⁻³²: an element is kept if its word is at least the threshold.
std::uint32_t dropout_threshold(double rate);

/// y[i] = x[i] · scale where word i ≥ threshold, else 0. f32 and f64 drop the same elements.
template <class T>
void dropout(T* y, const T* x, Size n, T scale, std::uint32_t threshold, std::uint64_t key,
             std::uint64_t site);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
