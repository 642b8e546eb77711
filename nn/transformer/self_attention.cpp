#include "nn/transformer/self_attention.hpp"

#include "core/ops/views.hpp"

namespace tapestry {

Tensor SelfAttention::next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const {
  const VisiblePairs all = pairs.of_whole_text();
  cache.append(x);
  return slice((*this)(cache.keys(), all), 1, pairs.first(), pairs.keys());
}

}  // namespace tapestry
