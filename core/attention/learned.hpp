// Marks the tensors that a score written as a lambda learns.
#pragma once

#include <concepts>

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// A tensor that a score learns: it gets an exact gradient, the same bits on any number of threads.
struct Learned {
  Tensor tensor;  // what is to be learned
};
/// Marks what score_mod(), pair_score() or a Sink is to learn. Indices do not compile: they cannot be
/// learned.
inline Learned learned(const Tensor& tensor) { return {tensor}; }
template <std::same_as<Indices> I>
Learned learned(const I&) {
  static_assert(!std::same_as<I, Indices>,
                "learned(): whole numbers cannot be learned; pass the Indices as they are");
  return {};
}

}  // namespace tapestry
