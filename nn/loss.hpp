// Losses: cross-entropy as an object that a model can hold, and the mean squared error.
#pragma once

#include "core/ops/arithmetic.hpp"
#include "core/ops/loss.hpp"
#include "core/ops/reduce.hpp"

namespace tapestry {

/// Cross-entropy of logits (…, classes) for targets (…), with options such as label smoothing:
///     CrossEntropyLoss loss{{.smoothing = 0.1, .ignore = 0}};
struct CrossEntropyLoss {
  CrossEntropy options;  // of cross_entropy()

  Tensor operator()(const Tensor& logits, const Indices& targets, CallSite at = {}) const {
    return cross_entropy(logits, targets, options, at);
  }
};

/// Returns (prediction − target)², averaged over all elements, summed, or without reduction. Throws unless
/// the shapes are equal, because broadcasting here is nearly always a mistake.
inline Tensor mean_squared_error(const Tensor& prediction, const Tensor& target, Reduce reduce = Reduce::mean,
                                 CallSite at = {}) {
  if (prediction.shape() != target.shape())
    fail("[mean_squared_error] prediction {} and target {} must have the same shape; reshape one ({}:{})",
         describe(prediction), describe(target), at.file, at.line);
  const Tensor difference = sub(prediction, target, at);
  const Tensor squares = mul(difference, difference, at);
  if (reduce == Reduce::none) return squares;
  return reduce == Reduce::sum ? sum(squares, {}, Keep::no, at) : mean(squares, {}, Keep::no, at);
}

}  // namespace tapestry
