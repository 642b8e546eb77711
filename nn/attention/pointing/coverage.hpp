// Coverage: how much of each key has been looked at so far, and a loss for looking again (See, Liu & Manning 2017,
// section 2.3; for translation Tu et al. 2016). A score that is told of it: additive(…, Coverage::yes).
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// c_tj = Σ_{i<t} α_ij: weights (…, T, S) of T queries in their order → (…, T, S). Nothing at the first query.
Tensor covered_before(const Tensor& weights);

/// Σ_j min(α_tj, c_tj), one number for each query: weights (…, T, S) → (…, T). It is 0 where a query looks only at
/// what nobody has looked at, and at most Σ_j α_tj. Steps that are padding: multiply by 0, or leave them out.
Tensor coverage_loss(const Tensor& weights);

}  // namespace tapestry
