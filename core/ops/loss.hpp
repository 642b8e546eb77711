// Cross-entropy, fused with its softmax.
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

enum class Reduce { mean, sum, none };

struct CrossEntropy {
  /// ε: the target gets 1 − ε, and ε is spread evenly over all classes (Szegedy et al. 2016).
  double smoothing = 0;
  /// Rows with this target have loss 0 and no gradient, and the mean does not count them.
  std::int64_t ignore = -1;
  Reduce reduce = Reduce::mean;
};

/// −Σ_c t_c log softmax(logits)_c: logits (…, classes), targets (…) → a scalar, or (…) with Reduce::none. The
/// mean of no rows at all is 0.
Tensor cross_entropy(const Tensor& logits, const Indices& targets, CrossEntropy options = {},
                     CallSite at = {});

}  // namespace tapestry
