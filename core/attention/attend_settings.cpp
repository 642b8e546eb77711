#include "core/attention/attend_settings.hpp"

#include <algorithm>
#include <cmath>

#include "core/ops/views.hpp"
#include "core/tensor/broadcast.hpp"

namespace tapestry::detail {

Size batch_of(const Tensor& x) { return x.rank() > 2 ? x.size(0) : 1; }
Size heads_of(const Tensor& x) { return x.shape().count(1, x.rank() - 2); }

Tensor broadcast_batch_dims(const Tensor& query, const Tensor& x, bool shared) {
  Dims shape = query.shape();
  const int lead = query.rank() - 2;
  shape[lead] = x.size(-2), shape[lead + 1] = x.size(-1);
  if (shared) shape[lead - 1] = 1;
  return shape == x.shape() ? x : expand(x, shape);
}

namespace {

double scale_of(const Tensor& query, const AttendOptions& options) {
  if (options.pair_score.defined()) return 1;
  return options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<Size>(1, query.size(-1)))));
}

}  // namespace

AttendSettings settings_of(const Tensor& query, const Tensor& key, const Tensor& value,
                           const AttendOptions& options, CallSite at) {
  check_same_dtype(query, key, "attend", at);
  check_same_dtype(query, value, "attend", at);
  if (query.rank() < 2 || key.rank() < 2 || value.rank() < 2 || key.rank() > query.rank() ||
      value.rank() > query.rank() || query.size(-1) != key.size(-1) || key.size(-2) != value.size(-2))
    fail(
        "[attend] query {}, key {} and value {} must have "
        "shapes (…,Tq,d), (…,Tk,d) and (…,Tk,d_v) ({}:{})",
        describe(query), describe(key), describe(value), at.file, at.line);
  for (const Tensor* x : {&key, &value}) {
    Dims leading = x->shape();
    leading[x->rank() - 2] = leading.back() = 1;
    if (!broadcasts_to(leading, query.shape()))
      fail(
          "[attend] leading axes of {} {} must broadcast to those of query {}; for grouped heads "
          "pass query (B,groups,heads per group,Tq,d) with key and value (B,groups,1,Tk,…) ({}:{})",
          x == &key ? "key" : "value", describe(*x), describe(query), at.file, at.line);
  }
  if (options.strict && key.size(-2) == 0 && query.shape().count(0, query.rank() - 1) > 0)
    fail("[attend] key {} must have rows for query {} to attend to; add keys or turn strict off ({}:{})",
         describe(key), describe(query), at.file, at.line);
  if (options.scale && !std::isfinite(*options.scale))
    fail("[attend] scale must be finite, got {}; leave it unset for 1/√d ({}:{})", *options.scale, at.file,
         at.line);
  const Size batch = batch_of(query), all_heads = heads_of(query);
  for (const Tensor& weight : options.pair_score.learned())
    if (!(weight.shape() == Dims{query.size(-1)}) && !(weight.shape() == Dims{all_heads, query.size(-1)}))
      fail(
          "[attend] weight {} of a pair score must have shape (U) or (heads,U) for query {}, where U is the "
          "width of the query ({}:{})",
          describe(weight), describe(query), at.file, at.line);
  if (const Tensor& sink = options.sink.scores();
      sink.defined() && sink.rank() != 0 && !(sink.shape() == Dims{all_heads}))
    fail("[attend] scores {} of a sink must have one number for each of {} heads, or one for all ({}:{})",
         describe(sink), all_heads, at.file, at.line);
  for (const auto* part : {&options.pair_score.learned(), &options.score_mod.learned()})
    for (const Tensor& one : *part) check_same_dtype(query, one, "attend", at);
  if (options.sink.scores().defined()) check_same_dtype(query, options.sink.scores(), "attend", at);
  if (!(options.dropout >= 0 && options.dropout < 1))
    fail("[attend] dropout must be in [0, 1), got {}; pass the fraction of weights to set to 0 ({}:{})",
         options.dropout, at.file, at.line);
  AttendSettings settings{scale_of(query, options),
                          options.mask.tiled(query.size(-2), key.size(-2)),
                          options.pair_score,
                          options.score_mod,
                          options.sink,
                          options.dropout};
  if (options.dropout > 0) settings.stream = next_stream();
  const BlockMask& mask = settings.mask;
  if (!mask.defined()) return settings;
  if (mask.queries() != query.size(-2) || mask.keys() != key.size(-2) ||
      (mask.batch() != 1 && mask.batch() != batch) || (mask.heads() != 1 && mask.heads() != all_heads))
    fail(
        "[attend] mask for batch {}, {} heads, {} queries and {} keys must fit batch {}, {} heads, {} "
        "queries and {} keys; its batch and heads may be 1 ({}:{})",
        mask.batch(), mask.heads(), mask.queries(), mask.keys(), batch, all_heads, query.size(-2),
        key.size(-2), at.file, at.line);
  if (const auto masked_query = options.strict ? mask.fully_masked_query() : std::nullopt)
    fail(
        "[attend] mask must leave query {} of batch row {}, head {} at least one key; unmask a key or "
        "turn strict off ({}:{})",
        masked_query->i, masked_query->b, masked_query->h, at.file, at.line);
  return settings;
}

PoolVector<Tensor> learned_of(const AttendSettings& settings) {
  PoolVector<Tensor> all;
  for (const auto* part : {&settings.pair_score.learned(), &settings.score_mod.learned()})
    all.insert(all.end(), part->begin(), part->end());
  if (settings.sink.scores().defined()) all.push_back(settings.sink.scores());
  return all;
}

}  // namespace tapestry::detail
