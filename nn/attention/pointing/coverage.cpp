#include "nn/attention/pointing/coverage.hpp"

#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

Tensor covered_before(const Tensor& weights) {
  if (weights.rank() < 2)
    fail("[covered_before] weights must be (…, queries, keys), got {}", describe(weights));
  const Size queries = weights.size(-2);
  if (queries == 0) return weights;
  return pad(cumsum(slice(weights, -2, 0, queries - 1), -2), -2, 1, 0);
}

Tensor coverage_loss(const Tensor& weights) {
  if (weights.rank() < 2)
    fail("[coverage_loss] weights must be (…, queries, keys), got {}", describe(weights));
  return sum(minimum(weights, covered_before(weights)), {-1});
}

}  // namespace tapestry
