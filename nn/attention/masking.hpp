// Which keys no query may see, and which queries may see no key: what the pipeline keeps out of its products.
#pragma once

#include "core/tensor/values.hpp"

namespace tapestry {

/// For a mask (…, Tq, Tk) over keys of this shape (…, Tk, d): (…, Tk, 1), true for keys that some query may
/// see. Leading axes are those of the keys. No mask at all if every key is live.
Mask live_keys_of(const Mask& mask, const Dims& keys);

/// x where the mask is true (no mask: everywhere), 0 elsewhere. Weights of 0 are not enough: 0 · NaN is NaN,
/// in the sum over values and in the gradients of the score.
Tensor zero_masked(const Mask& mask, const Tensor& x);

/// (…, Tq, 1), true for queries that may see some key; no mask at all if every query does.
Mask live_queries_of(const Mask& mask);

}  // namespace tapestry
