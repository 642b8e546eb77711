// Coverage: the attention that each key has received so far, and a loss on repeated attention (See, Liu & Manning 2017,
// section 2.3; for translation Tu et al. 2016). additive(…, Coverage::yes) is a score that uses it.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Returns c_tj = Σ_{i<t} α_ij: weights (…, T, S) of T queries in order → (…, T, S). The first query has 0.
Tensor covered_before(const Tensor& weights);

/// Returns Σ_j min(α_tj, c_tj) for each query: weights (…, T, S) → (…, T). It is 0 where a query attends only to keys
/// without coverage, and at most Σ_j α_tj. For padded steps, multiply the result by 0 or drop them.
Tensor coverage_loss(const Tensor& weights);

}  // namespace tapestry
