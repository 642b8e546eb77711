#include "core/attention/score_lambda.hpp"

#include "core/ops/reduce.hpp"
#include "core/tape/op.hpp"

namespace tapestry::detail {

Tensor source_of(const Tensor& argument) {
  if (is_tracked(argument))
    fail(
        "[score_mod] constant tensor {} must not require a gradient; wrap it in learned() to train it, "
        "or detach() it",
        describe(argument));
  return argument.detach();
}

Tensor changed_scores(const Tensor& scores, const Symbol& result, const Mask& live) {
  Tensor after = result.evaluate(live);
  if (result.is_number()) after = after.to(scores.dtype());
  if (!(after.shape() == scores.shape())) after = expand(after, scores.shape());  // a lambda may ignore s
  check_scores(scores, after, live);
  return after;
}

Tensor summed_units(const Tensor& query, const Tensor& key, const Symbol& units, const Mask& live) {
  Tensor each = units.evaluate(live.defined() ? live.unsqueeze(-1) : Mask{});
  if (units.is_number()) each = each.to(query.dtype());
  const Dims shape{query.size(0), query.size(1), query.size(2), key.size(2), query.size(3)};
  return sum(each.shape() == shape ? each : expand(each, shape), {-1});
}

}  // namespace tapestry::detail
