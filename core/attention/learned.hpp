// learned(), which marks a tensor as a learned parameter of a score lambda or of an attention sink.
#pragma once

#include <concepts>

#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// A learned parameter of a score. Its gradient has the same bits on any number of threads.
struct Learned {
  Tensor tensor;  // the values: a leaf, or computed from one
};
/// Marks `tensor` as a learned parameter of score_mod(), pair_score() or a Sink. Indices do not compile: they
/// have no gradient.
inline Learned learned(const Tensor& tensor) { return {tensor}; }
template <std::same_as<Indices> I>
Learned learned(const I&) {
  static_assert(!std::same_as<I, Indices>,
                "learned(): whole numbers cannot be learned; pass the Indices without learned()");
  return {};
}

}  // namespace tapestry
