#include "core/score_lambda.hpp"

#include <limits>

#include "core/op.hpp"
#include "core/ops/reduce.hpp"
#include "core/records.hpp"

namespace tapestry::detail {

namespace {

/// make(live), and again without the pairs that turn out to be hidden: their slopes may be infinite, too.
template <class Make>
Tensor with_hidden(const Make& make, const Mask& live) {
  const Tensor scores = make(live);
  const std::optional<Mask> rest = without_hidden(live, scores);
  if (!rest) return scores;
  return where(*rest, make(*rest), scalar(-std::numeric_limits<double>::infinity(), scores.dtype()));
}

}  // namespace

Tensor source_of(const Tensor& argument) {
  const Body& body = argument.body();
  if (Recorder::asks_for_gradient(body) || (context.tape && !body.leaf && (body.node >= 0 || body.outside)))
    fail(
        "[score_mod] a tensor {} asks for a gradient and would get none: wrap it in wrt() to train it, or "
        "detach() it",
        describe(argument));
  return argument.detach();
}

Tensor changed_scores(const Tensor& scores, const Symbol& result, const Mask& live) {
  return with_hidden(
      [&](const Mask& counts) {
        Tensor after = result.evaluate(counts);
        if (result.is_number()) after = after.to(scores.dtype());
        if (!(after.shape() == scores.shape())) after = expand(after, scores.shape());  // it may ignore s
        check_scores(scores, after, counts);
        return after;
      },
      live);
}

Tensor summed_units(const Tensor& query, const Tensor& key, const Symbol& units, const Mask& live) {
  const Tensor& like = query;
  const Dims pairs{like.size(0), like.size(1), like.size(2), key.size(2)};
  return with_hidden(
      [&](const Mask& counts) {
        Tensor each = units.evaluate(counts.defined() ? counts.unsqueeze(-1) : Mask{});
        if (units.is_number()) each = each.to(query.dtype());
        Dims shape = pairs;
        shape.push_back(query.size(3));
        return sum(each.shape() == shape ? each : expand(each, shape), {-1});
      },
      live);
}

}  // namespace tapestry::detail
