// Cross-entropy, fused with its softmax.
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// What becomes of a loss's elements: their mean, their sum, or they stay as they are.
enum class Reduce { mean, sum, none };

/// Options of cross_entropy(). A smoothing outside [0, 1) throws there.
struct CrossEntropy {
  /// ε: the target gets 1 − ε, and ε is spread evenly over all classes (Szegedy et al. 2016).
  double smoothing = 0;
  /// Rows with this target have loss 0 and no gradient, and the mean does not count them.
  std::int64_t ignore = -1;
  Reduce reduce = Reduce::mean;  // of the rows' losses
};

/// −Σ_c t_c log softmax(logits)_c: logits (…, classes), targets (…) → a scalar, or (…) with Reduce::none. The
/// mean of no rows at all is 0.
Tensor cross_entropy(const Tensor& logits, const Indices& targets, CrossEntropy options = {},
                     CallSite at = {});

}  // namespace tapestry
