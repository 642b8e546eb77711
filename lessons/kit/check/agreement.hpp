// Compares two computations of the same tensors, for example a lesson's formula and its layer in nn/.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/indices.hpp"
#include "nn/module.hpp"

namespace tapestry::kit {

/// Returns the largest absolute value of x, or 0 if x is empty. A NaN counts as infinity, so that it fails every
/// tolerance.
double largest(const Tensor& x);
/// Returns the largest absolute difference between two lists of tensors, with NaN as above. Throws Error if the lists
/// differ in length.
double farthest(const std::vector<Tensor>& a, const std::vector<Tensor>& b);
/// Returns the largest absolute difference between a and b, divided by the largest absolute value of b.
double relative_difference(const Tensor& a, const Tensor& b);

/// Returns the gradients of all leaves for one random cotangent of f(), drawn with `seed`.
template <class F>
std::vector<Tensor> gradients(const F& f, const std::vector<Tensor>& leaves, std::uint64_t seed) {
  Tape tape;
  const Tensor y = f();
  return tape.gradients(y, random_normal(y.shape(), seed, y.dtype()), leaves);
}

/// Returns the percentage of equal elements: the accuracy, for `argmax(logits)` and the targets. Throws Error if the
/// shapes differ or are empty.
double percent_equal(const Indices& a, const Indices& b);
/// Returns the percentage of rows of (rows, columns) that are equal in every column. Throws as above.
double percent_rows_equal(const Indices& a, const Indices& b);

/// Number of trainable scalars in a module.
Size weights_of(const Module& module);

}  // namespace tapestry::kit
