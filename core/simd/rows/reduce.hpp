// Sums, largest and smallest over any axes; argmax and running sums along an axis.
//
// The axes that stay are the outputs; each output adds its elements in an order that follows from the shapes
// alone: contiguous ones in four registers of lanes over blocks, blocks added pairwise; strided ones row by row
// in blocks. So the error of a float sum grows with the logarithm of its length. Time goes to reading memory
// once.
#pragma once

#include <cstdint>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

enum class Reduction { sum, max, min };

/// out = the reduction of `in` over the axes where out has size 1 (all other sizes equal in's; the ranks are
/// equal). An empty sum is 0, an empty max −∞, an empty min +∞; a NaN makes its result NaN. T: float, double.
template <class T>
void reduce(Reduction reduction, const View<T>& out, const View<const T>& in);

/// out[i…] = the first place of the largest in[i…, :]; a NaN counts as largest. `out` has in's shape without
/// its last axis, which must not be empty.
template <class T>
void argmax(const View<std::int64_t>& out, const View<const T>& in);

/// out[…, k, …] = in[…, 0, …] + … + in[…, k, …] along `axis`, or from the far end back to k with `reverse`,
/// summed in double. `out` has in's shape and may be `in` itself.
template <class T>
void cumsum(const View<T>& out, const View<const T>& in, int axis, bool reverse);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
