// Reference implementation of attend() from plain ops, with the full score matrix; also merge().
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/attention/attend_settings.hpp"
#include "core/ops/arithmetic.hpp"
#include "core/ops/dropout.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace detail {

namespace {

/// Broadcasts x to the leading axes of query and returns it as (B, H, rows, columns).
Tensor by_head(const Tensor& query, const Tensor& x) {
  return reshape(broadcast_batch_dims(query, x, false),
                 {batch_of(query), heads_of(query), x.size(-2), x.size(-1)});
}

/// Appends a key to which all queries may attend.
Mask with_sink(const Mask& mask) {
  Dims shape = mask.shape();
  const Size keys = shape.back()++;
  return Mask::from(shape.count(0, shape.rank() - 1), keys + 1,
                    [&](Size row, Size j) { return j == keys || mask.data()[row * keys + j]; })
      .reshape(shape);
}

/// Returns a mask (…, Tq, 1): true for queries with at least one of the unmasked pairs (…, Tq, Tk).
Mask live_queries(const Mask& pairs) {
  Dims shape = pairs.shape();
  shape.back() = 1;
  return pairs.any(shape);
}

/// Computes the scores, which are unspecified at masked pairs. Also removes the pairs with score −∞ from `live`.
Tensor scores_by_ops(const Tensor& q, const Tensor& k, const AttendSettings& settings, Mask& live,
                     CallSite at) {
  const PairScore& pairs = settings.pair_score;
  const auto from = [&](const Tensor& query) {
    Tensor scores = pairs.defined() ? pairs.impl().by_ops(query, k, pairs.learned().data(), live)
                                    : matmul(query, transpose(k)) * settings.scale;
    if (settings.score_mod.defined()) scores = settings.score_mod.by_ops(scores, live, at);
    if (!pairs.defined()) return scores;
    try {
      check_pair_scores(query, k, scores, live);
    } catch (const std::logic_error& mistake) {
      fail("{} ({}:{})", mistake.what(), at.file, at.line);
    }
    return scores;
  };
  const auto live_q = [&] { return live.defined() ? where(live_queries(live), q, scalar(0, q.dtype())) : q; };
  const Tensor scores = from(live_q());
  const std::optional<Mask> rest = mask_out_neg_inf(live, scores);
  if (!rest) return scores;
  live = *rest;
  return from(live_q());
}

}  // namespace

// Masked values are replaced before an op reads them, since they may be NaN.
Tensor by_ops(const Tensor& query, const Tensor& key, const Tensor& value, const AttendSettings& settings,
              bool with_lse, CallSite at) {
  Mask live = settings.mask.mask();
  Tensor q = by_head(query, query), k = by_head(query, key), v = by_head(query, value);
  const Tensor zero = scalar(0, q.dtype());
  if (live.defined())
    k = where(settings.mask.live_keys(), k, zero), v = where(settings.mask.live_keys(), v, zero);
  Tensor scores = scores_by_ops(q, k, settings, live, at);
  const Mask queries = live.defined() ? live_queries(live) : Mask{};
  if (live.defined()) scores = where(live, scores, zero);
  if (settings.sink.defined()) {
    const Tensor& learned = settings.sink.scores();
    const Tensor column =
        learned.defined() ? reshape(expand(learned, {q.size(1)}), {1, q.size(1), 1, 1}) : zero;
    scores = concat({scores, expand(column, {q.size(0), q.size(1), q.size(2), 1})}, -1);
    if (live.defined()) live = with_sink(live);
  }
  Tensor weights = live.defined() ? masked_softmax(scores, live) : softmax(scores, -1);
  if (settings.sink.defined()) weights = slice(weights, -1, 0, k.size(2));
  weights = dropout(weights, settings.dropout, settings.stream);
  Tensor out = matmul(weights, v);
  if (queries.defined()) out = where(queries, out, zero);
  if (with_lse) {
    if (live.defined())
      scores = where(live, scores, scalar(-std::numeric_limits<double>::infinity(), q.dtype()));
    out = concat({out, logsumexp(scores, {-1}, Keep::yes)}, -1);
  }
  Dims shape = query.shape();
  shape.back() = out.size(-1);
  return reshape(out, shape);
}

}  // namespace detail

Tensor attend_by_ops(const Tensor& query, const Tensor& key, const Tensor& value,
                     const AttendOptions& options, CallSite at) {
  return detail::by_ops(query, key, value, detail::settings_of(query, key, value, options, at), false, at);
}

PartialAttention merge(std::span<const PartialAttention> parts) {
  if (parts.empty()) fail("[merge] parts must not be empty; pass at least one PartialAttention");
  std::vector<Tensor> sums;
  for (const PartialAttention& part : parts) sums.push_back(part.log_sum_exp);
  const Tensor all = stack(sums, -1);
  // Each part is weighted by its share of the sum. A query without pairs in any part stays 0.
  const Tensor shares = masked_softmax(all, Mask::from(1, all.size(-1), [](Size, Size) { return true; }));
  PartialAttention whole;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto place = static_cast<Size>(i);
    const Tensor term = parts[i].context * slice(shares, -1, place, place + 1);
    whole.context = i == 0 ? term : whole.context + term;
  }
  whole.log_sum_exp = logsumexp(all, {-1});
  return whole;
}

}  // namespace tapestry
