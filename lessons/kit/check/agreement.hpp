// Two ways to the same numbers: how far apart are they? For "by hand equals nn/".
#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/values.hpp"
#include "nn/module.hpp"

namespace tapestry::kit {

/// The largest absolute value; infinity where there is a NaN, so that no comparison lets one pass; 0 of
/// nothing.
double largest(const Tensor& x);
/// The largest difference between two lists of tensors, NaN as above. Throws if they are not equally long.
double farthest(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

/// The gradients of all leaves for one random cotangent of f().
template <class F>
std::vector<Tensor> gradients(const F& f, const std::vector<Tensor>& leaves, std::uint64_t seed) {
  Tape tape;
  const Tensor y = f();
  return tape.gradients(y, random_normal(y.shape(), seed, y.dtype()), leaves);
}

/// The share of places at which both have the same number, in per cent: accuracy, of `argmax(logits)` and the
/// answers. Throws if the shapes differ or there is no place.
double percent_equal(const Indices& a, const Indices& b);
/// Of (rows, places): the share of rows that are equal at every place, in per cent. Throws as above.
double percent_rows_equal(const Indices& a, const Indices& b);

/// How many numbers a model learns.
Size weights_of(const Module& module);

}  // namespace tapestry::kit
