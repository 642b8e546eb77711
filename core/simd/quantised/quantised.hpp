// Products of f32 activations and block-quantised weights with 8-bit integer arithmetic: y = x·Wᵀ.
//
// The activations are rounded to 8 bits per block of 32, as llama.cpp does. A block of weights is w = d·q + m with
// integers q, a block of activations x ≈ e·p with |p| ≤ 127. Their dot product is then
//
//     Σ w·x  =  d·e · Σ q·p  +  m · e·Σ p          Σ over the 32 elements
//
// The integer sums are exact. y adds the blocks in the order of k: for each, d·e·Σ q·p, then m·e·Σ p. So with fused
// multiply-adds, y has the same bits on every processor.
#pragma once

#include <cstdint>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Number of elements that share a scale.
inline constexpr Size kBlock = 32;

/// Formats of weights with integer kernels; core/quantised/blocks.cpp draws them.
enum class WeightFormat { q8_0, q4_0, q4_1 };

/// y (m, n) = x (m, k) · Wᵀ, where W is (n, k). k must be a multiple of kBlock. m, n and k may be 0. Strides are in
/// elements, and rows of x and y are contiguous.
struct QuantisedProduct {
  Size m = 0, n = 0, k = 0;
  const float* x = nullptr;
  Size x_row = 0;
  WeightFormat format = WeightFormat::q8_0;
  const std::uint8_t* weights = nullptr;  ///< n rows of k / kBlock blocks each, without gaps
  float* y = nullptr;
  Size y_row = 0;
};

/// Computes the product, in parallel over the rows of W. The bits are the same for any number of threads and of rows
/// of x. A block of x with NaN or infinity makes its row of y NaN.
void quantised_matmul(const QuantisedProduct& product);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
