// Cross-entropy loss, fused with its softmax.
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Reduction of the losses: their mean, their sum, or none.
enum class Reduce { mean, sum, none };

/// Options of cross_entropy().
struct CrossEntropy {
  /// Label smoothing ε in [0, 1): the target gets 1 − ε, and all classes share ε evenly (Szegedy et al. 2016).
  double smoothing = 0;
  /// Rows with this target are ignored: their loss and gradient are 0, and the mean does not count them.
  std::int64_t ignore = -1;
  Reduce reduce = Reduce::mean;  // over the rows
};

/// Returns −Σ_c t_c log softmax(logits)_c, where t is the target's smoothed one-hot vector: logits (…, classes),
/// targets (…) → a scalar, or (…) with Reduce::none. The mean over no rows is 0. Throws Error for a smoothing outside
/// [0, 1) and for a target that is neither a class nor `ignore`.
Tensor cross_entropy(const Tensor& logits, const Indices& targets, CrossEntropy options = {},
                     CallSite at = {});

}  // namespace tapestry
