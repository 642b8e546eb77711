// Reductions (sum, max, min) over any axes; argmax and cumulative sums along an axis.
//
// The elements of an output are reduced in an order that depends on shapes alone: contiguous ones in four registers
// over blocks, with the blocks combined pairwise; strided ones row by row in blocks. So the error of a float sum grows
// with the logarithm of its length. The time is that of reading memory once.
#pragma once

#include <cstdint>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

enum class Reduction { sum, max, min };

/// Reduces `in` to `out` over the axes where out has size 1 (the ranks and all other sizes are equal). An empty sum is
/// 0, an empty max −∞, an empty min +∞; a NaN makes its result NaN. T: float, double.
template <class T>
void reduce(Reduction reduction, const View<T>& out, const View<const T>& in);

/// out[i…] = index of the first maximum of in[i…, :]; NaN counts as the maximum. `out` has in's shape without the last
/// axis, which must not be empty.
template <class T>
void argmax(const View<std::int64_t>& out, const View<const T>& in);

/// out[…, k, …] = in[…, 0, …] + … + in[…, k, …] along `axis`, or from the last element back to k with `reverse`,
/// summed in double. `out` has in's shape and may be `in` itself.
template <class T>
void cumsum(const View<T>& out, const View<const T>& in, int axis, bool reverse);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
