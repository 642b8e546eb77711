#include "core/simd/quantised/quantised.hpp"

#include "core/simd/quantised/product.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

void quantised_matmul(const QuantisedProduct& product) { quantised_product<ByteSums>(product); }

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
