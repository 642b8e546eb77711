#include "core/attention/attend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/norm.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"
#include "core/simd/attention/attention.hpp"
#include "core/simd/random.hpp"
#include "core/tape/op.hpp"
#include "core/tape/records.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/layout.hpp"
#include "core/tensor/pool_vector.hpp"
#include "core/tensor/random.hpp"

namespace tapestry {

namespace {

constexpr std::size_t kMostLearned = 60;  // an op takes 64 arguments

double scale_of(const Tensor& query, const AttendOptions& options) {
  if (options.pairs.defined()) return 1;
  return options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<Size>(1, query.size(-1)))));
}

/// The product of the axes [first, last).
Size product(const Dims& shape, int first, int last) {
  Size n = 1;
  for (int axis = first; axis < last; ++axis) n *= shape[axis];
  return n;
}

Size batch_of(const Tensor& x) { return x.rank() > 2 ? x.size(0) : 1; }
Size heads_of(const Tensor& x) { return product(x.shape(), 1, x.rank() - 2); }

/// Whether the axes of the heads step evenly through memory, and rows are contiguous.
bool is_even(const Tensor& x) {
  Size step = 0, size = 1;
  for (int axis = x.rank() - 3; axis >= 1; --axis) {
    if (x.shape()[axis] == 1) continue;
    if (size > 1 && x.strides()[axis] != step * size) return false;
    if (size == 1) step = x.strides()[axis];
    size *= x.shape()[axis];
  }
  return x.strides().back() == 1 || x.shape().back() == 1;
}

/// x as the kernel takes it: a copy only if its strides ask for one.
Tensor even(const Tensor& x) {
  const detail::Paused paused;
  return is_even(x) ? x : contiguous(x);
}

/// How x's (batch, heads, rows) are strided; x is even.
template <class T>
simd::Heads<T> heads(const Tensor& x) {
  simd::Heads<T> to;
  to.data = const_cast<T*>(x.data<std::remove_const_t<T>>());
  to.row = x.strides()[x.rank() - 2];
  if (x.rank() > 2) to.batch = x.strides()[0];
  for (int axis = x.rank() - 3; axis >= 1 && to.head == 0; --axis)
    if (x.shape()[axis] != 1) to.head = x.strides()[axis];
  return to;
}

/// Leading axes of x as those of the query, but for a last one of 1, which the query's heads share.
Tensor led_as(const Tensor& query, const Tensor& x, bool shared) {
  Dims shape = query.shape();
  const int lead = query.rank() - 2;
  shape[lead] = x.size(-2), shape[lead + 1] = x.size(-1);
  if (shared) shape[lead - 1] = 1;
  return shape == x.shape() ? x : expand(x, shape);
}

/// (B, H, rows, columns), with the leading axes of the query.
Tensor by_head(const Tensor& query, const Tensor& x) {
  return reshape(led_as(query, x, false), {batch_of(query), heads_of(query), x.size(-2), x.size(-1)});
}

/// One more key that all may see.
Mask with_sink(const Mask& mask) {
  Dims shape = mask.shape();
  const Size keys = shape.back()++;
  return Mask::from(product(shape, 0, shape.rank() - 1), keys + 1,
                    [&](Size row, Size j) { return j == keys || mask.data()[row * keys + j]; })
      .reshape(shape);
}

/// What the options say, for the sizes at hand.
struct Settings {
  double scale = 1;
  BlockMask mask;
  PairScore pairs;
  ScoreMod score;
  Sink sink;
  double dropout = 0;
  Stream stream{0, 0};  // of dropout
};

/// What is learned: by pairs, by score, by the sink.
PoolVector<Tensor> learned_of(const Settings& settings) {
  PoolVector<Tensor> all;
  for (const auto* part : {&settings.pairs.learned(), &settings.score.learned()})
    all.insert(all.end(), part->begin(), part->end());
  if (settings.sink.scores().defined()) all.push_back(settings.sink.scores());
  return all;
}

/// (…, Tq, 1): queries with some of the pairs (…, Tq, Tk).
Mask seeing(const Mask& pairs) {
  Dims shape = pairs.shape();
  const Size keys = shape.back();
  shape.back() = 1;
  const std::vector<bool> may = pairs.to_vector();
  const auto sees = [&](Size row, Size) {
    const auto begin = may.begin() + row * keys;
    return std::find(begin, begin + keys, true) != begin + keys;
  };
  return Mask::from(shape.count(), 1, sees).reshape(shape);
}

/// The scores of the pairs that count, anything at others; `live` loses those whose score is −∞.
Tensor scores_by_ops(const Tensor& q, const Tensor& k, const Settings& settings, Mask& live) {
  const PairScore& pairs = settings.pairs;
  const auto from = [&](const Tensor& query) {
    Tensor scores = pairs.defined() ? pairs.form().by_ops(query, k, pairs.learned().data(), live)
                                    : matmul(query, transpose(k)) * settings.scale;
    return settings.score.defined() ? settings.score.by_ops(scores, live) : scores;
  };
  const auto asking = [&] { return live.defined() ? where(seeing(live), q, scalar(0, q.dtype())) : q; };
  const Tensor scores = from(asking());
  const std::optional<Mask> rest = without_hidden(live, scores);
  if (!rest) return scores;
  live = *rest;
  return from(asking());
}

/// The result as record() has it. Whatever could be NaN and does not count is taken out before an op meets
/// it.
Tensor by_ops(const Tensor& query, const Tensor& key, const Tensor& value, const Settings& settings,
              bool with_lse) {
  Mask live = settings.mask.mask();
  Tensor q = by_head(query, query), k = by_head(query, key), v = by_head(query, value);
  const Tensor zero = scalar(0, q.dtype());
  if (live.defined()) k = where(settings.mask.seen(), k, zero), v = where(settings.mask.seen(), v, zero);
  Tensor scores = scores_by_ops(q, k, settings, live);
  const Mask sees = live.defined() ? seeing(live) : Mask{};
  if (live.defined()) scores = where(live, scores, zero);
  if (settings.sink.on()) {
    const Tensor& learned = settings.sink.scores();
    const Tensor column =
        learned.defined() ? reshape(expand(learned, {q.size(1)}), {1, q.size(1), 1, 1}) : zero;
    scores = concat({scores, expand(column, {q.size(0), q.size(1), q.size(2), 1})}, -1);
    if (live.defined()) live = with_sink(live);
  }
  Tensor weights = live.defined() ? masked_softmax(scores, live) : softmax(scores, -1);
  if (settings.sink.on()) weights = slice(weights, -1, 0, k.size(2));
  weights = dropout(weights, settings.dropout, settings.stream);
  Tensor out = matmul(weights, v);
  if (sees.defined()) out = where(sees, out, zero);
  if (with_lse) {
    if (live.defined())
      scores = where(live, scores, scalar(-std::numeric_limits<double>::infinity(), q.dtype()));
    out = concat({out, logsumexp(scores, {-1}, Keep::yes)}, -1);
  }
  Dims shape = query.shape();
  shape.back() = out.size(-1);
  return reshape(out, shape);
}

/// What an attention is computed from, fit for the kernel, and its result.
struct Problem {
  Tensor query, key, value;
  std::vector<Tensor> sources;  // what pairs and score learn, then the score's constants
  Tensor sink;                  // a score for each head, if there is one
  Settings settings;
  CallSite at;

  /// Calls f(problem of the kernel), with all that it points to alive. A lambda's mistake becomes an Error.
  template <class T, class F>
  void run(const F& f) const {
    simd::Attention<T> x;
    x.batch = batch_of(query), x.heads = heads_of(query);
    x.share = x.heads / std::max<Size>(1, heads_of(key));
    x.queries = query.size(-2), x.keys = key.size(-2);
    x.width = query.size(-1), x.value_width = value.size(-1);
    const auto& [scale, mask, pairs, score, has_sink, dropout, stream] = settings;
    x.scale = static_cast<T>(scale);
    x.query = heads<const T>(query), x.key = heads<const T>(key), x.value = heads<const T>(value);
    const simd::TileMask tiles = mask.defined() ? mask.view() : simd::TileMask{};
    if (mask.defined()) x.mask = &tiles;
    const auto from_pairs =
        pairs.defined() ? pairs.form().on_tiles(T(0), sources.data(), query.size(-1)) : nullptr;
    x.pairs = from_pairs.get();
    const auto of_score = sources.begin() + static_cast<std::ptrdiff_t>(pairs.learned().size());
    const auto on_tiles = score.defined() ? score.form().on_tiles(T(0), {of_score, sources.end()}) : nullptr;
    x.score = on_tiles.get();
    if (has_sink.on()) x.sink = sink.data<T>();
    const simd::DropWeights drop{simd::dropout_threshold(dropout), 1 / (1 - dropout), stream.key(),
                                 stream.site()};
    if (dropout > 0) x.drop = &drop;
    try {
      f(x);
    } catch (const std::logic_error& mistake) {
      fail("{} ({}:{})", mistake.what(), at.file, at.line);
    }
  }
};

/// Throws unless all fits; then the options for these sizes.
Settings settings_of(const Tensor& query, const Tensor& key, const Tensor& value,
                     const AttendOptions& options, CallSite at) {
  check_same_dtype(query, key, "attend", at);
  check_same_dtype(query, value, "attend", at);
  if (query.rank() < 2 || key.rank() < 2 || value.rank() < 2 || key.rank() > query.rank() ||
      value.rank() > query.rank() || query.size(-1) != key.size(-1) || key.size(-2) != value.size(-2))
    fail(
        "[attend] query {}, key {} and value {} do not fit: they are (…,Tq,d), (…,Tk,d) and (…,Tk,d_v) "
        "({}:{})",
        describe(query), describe(key), describe(value), at.file, at.line);
  for (const Tensor* x : {&key, &value})
    for (int back = 3; back <= x->rank(); ++back)
      if (x->size(-back) != 1 && x->size(-back) != query.size(-back))
        fail(
            "[attend] leading axes of {} {} do not broadcast to those of query {}; heads that share keys and "
            "values in groups have an axis of their own: query (B,groups,heads of a group,Tq,d), key and "
            "value "
            "(B,groups,1,Tk,…) ({}:{})",
            x == &key ? "key" : "value", describe(*x), describe(query), at.file, at.line);
  if (options.strict && key.size(-2) == 0 && product(query.shape(), 0, query.rank() - 1) > 0)
    fail("[attend] key {} has no rows, so that query {} has nothing to attend to: turn strict off ({}:{})",
         describe(key), describe(query), at.file, at.line);
  if (options.scale && !std::isfinite(*options.scale))
    fail("[attend] scale is {}: it is a finite number, or none for 1/√d ({}:{})", *options.scale, at.file,
         at.line);
  const Size batch = batch_of(query), all_heads = heads_of(query);
  for (const Tensor& weight : options.pairs.learned())
    if (!(weight.shape() == Dims{query.size(-1)}) && !(weight.shape() == Dims{all_heads, query.size(-1)}))
      fail(
          "[attend] a weight {} of a pair score does not fit query {}: it has a number for each unit, or for "
          "each head and unit ({}:{})",
          describe(weight), describe(query), at.file, at.line);
  if (const Tensor& sink = options.sink.scores();
      sink.defined() && sink.rank() != 0 && !(sink.shape() == Dims{all_heads}))
    fail("[attend] scores {} of a sink do not fit {} heads: one for each, or one for all ({}:{})",
         describe(sink), all_heads, at.file, at.line);
  if (!(options.dropout >= 0 && options.dropout < 1))
    fail(
        "[attend] a dropout of {} is outside 0 <= rate < 1: it is the share of weights that become 0 ({}:{})",
        options.dropout, at.file, at.line);
  Settings settings{scale_of(query, options),
                    options.mask.in_tiles(query.size(-2), key.size(-2)),
                    options.pairs,
                    options.score,
                    options.sink,
                    options.dropout};
  if (options.dropout > 0) settings.stream = next_stream();
  const BlockMask& mask = settings.mask;
  if (!mask.defined()) return settings;
  if (mask.queries() != query.size(-2) || mask.keys() != key.size(-2) ||
      (mask.batch() != 1 && mask.batch() != batch) || (mask.heads() != 1 && mask.heads() != all_heads))
    fail(
        "[attend] a mask for batch {}, {} heads, {} queries and {} keys does not fit batch {}, {} heads, {} "
        "queries and {} keys ({}:{})",
        mask.batch(), mask.heads(), mask.queries(), mask.keys(), batch, all_heads, query.size(-2),
        key.size(-2), at.file, at.line);
  if (const auto blind = options.strict ? mask.blind_query() : std::nullopt)
    fail(
        "[attend] the mask leaves query {} of batch row {}, head {} nothing to attend to: give it a key, or "
        "turn strict off ({}:{})",
        blind->i, blind->b, blind->h, at.file, at.line);
  return settings;
}

/// The gradient of the sink's scores: Σ −P D over batch rows and queries, with P its weight and D as the
/// kernel has it, dO·O less d lse. The sink's value is 0.
Tensor sink_gradient(const Problem& problem, const Tensor& out, const Tensor& lse, const Tensor& d_out,
                     const Tensor& d_lse) {
  const Tensor& query = problem.query;
  const Size batch = batch_of(query), heads_count = heads_of(query), queries = query.size(-2),
             width = problem.value.size(-1);
  Tensor gradient = Tensor::uninitialised({heads_count}, query.dtype());
  dispatch(query.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto y = heads<const T>(out), dy = heads<const T>(d_out);
    for (Size h = 0; h < heads_count; ++h) {
      const double score = static_cast<double>(problem.sink.data<T>()[h]);
      double sum = 0;
      for (Size b = 0; b < batch; ++b)
        for (Size i = 0; i < queries; ++i) {
          const Size row = (b * heads_count + h) * queries + i;
          const double log_sum = static_cast<double>(lse.data<T>()[row]);
          double compared = d_lse.defined() ? -static_cast<double>(d_lse.data<T>()[row]) : 0;
          if (log_sum ==
              -std::numeric_limits<double>::infinity()) {  // no pairs: the sink has all, its output is 0
            sum -= compared;
            continue;
          }
          for (Size c = 0; c < width; ++c)
            compared += static_cast<double>(y.at(b, h)[i * y.row + c]) *
                        static_cast<double>(dy.at(b, h)[i * dy.row + c]);
          if (score > -std::numeric_limits<double>::infinity()) sum -= std::exp(score - log_sum) * compared;
        }
      gradient.mutable_data<T>()[h] = static_cast<T>(sum);
    }
  });
  const Tensor& scores = problem.settings.sink.scores();
  return scores.rank() == 0 ? tapestry::sum(gradient) : gradient;
}

/// The result (…, Tq, d_v), or with the log-sum-exp behind it (…, Tq, d_v + 1), recorded.
Tensor record(const Tensor& query, const Tensor& key, const Tensor& value, bool with_lse,
              const Problem& problem, Tensor out, const Tensor& lse, CallSite at) {
  const PoolVector<Tensor> learned = learned_of(problem.settings);
  PoolVector<const Tensor*> targets{&query, &key, &value};
  for (const Tensor& one : learned) targets.push_back(&one);
  const auto rule = [problem, with_lse, lse, count = targets.size()](const Tensor& dy, const Tensor& y) {
    PoolVector<Tensor> gradients;
    gradients.reserve(count);
    Tensor dq = uninitialised_like(problem.query, problem.query.shape()),
           dk = uninitialised_like(problem.key, problem.key.shape()),
           dv = uninitialised_like(problem.value, problem.value.shape());
    const Size width = problem.value.size(-1);
    const Tensor out_part = slice(y, -1, 0, width), d_out = even(slice(dy, -1, 0, width)),
                 d_lse = with_lse ? contiguous(slice(dy, -1, width, width + 1)) : Tensor{};
    const Tensor& sink = problem.settings.sink.scores();
    const std::size_t in_tiles = count - 3 - (sink.defined() ? 1 : 0);  // of the learned
    Size numbers = 0;
    for (std::size_t i = 0; i < in_tiles; ++i) numbers += problem.sources[i].count();
    Tensor d_learned = Tensor::uninitialised({numbers}, y.dtype());
    dispatch(y.dtype(), [&](auto zero) {
      using T = decltype(zero);
      problem.run<T>([&](const simd::Attention<T>& x) {
        simd::attention_backward(x, heads<const T>(out_part), lse.data<T>(), heads<const T>(d_out),
                                 with_lse ? d_lse.data<T>() : nullptr, heads<T>(dq), heads<T>(dk),
                                 heads<T>(dv), d_learned.mutable_data<T>());
      });
    });
    gradients.insert(gradients.end(), {dq, dk, dv});
    Size first = 0;
    for (std::size_t i = 0; i < in_tiles; ++i) {
      const Tensor& source = problem.sources[i];
      gradients.push_back(reshape(slice(d_learned, 0, first, first + source.count()), source.shape()));
      first += source.count();
    }
    if (sink.defined()) gradients.push_back(sink_gradient(problem, out_part, lse, d_out, d_lse));
    return gradients;
  };
  // What op() does, for a number of arguments that is known only now.
  static_cast<void>(&detail::kRegistered<"attend">);
  if (detail::Recorder recorder("attend", at, out, targets.data(), targets.size()); recorder) {
    recorder.rule<detail::JointList<decltype(rule)>>(targets.data(), targets.size(), rule);
    recorder.replay([query, key, value, settings = problem.settings, with_lse] {
      return by_ops(query, key, value, settings, with_lse);
    });
    recorder.finish();
  }
  return out;
}

Tensor run(const Tensor& query, const Tensor& all_keys, const Tensor& all_values,
           const AttendOptions& options, bool with_lse, CallSite at) {
  const Settings settings = settings_of(query, all_keys, all_values, options, at);
  const int lead = query.rank() - 2;
  const auto has_one = [&](const Tensor& x) { return x.rank() == query.rank() && x.size(lead - 1) == 1; };
  const bool shared = lead >= 2 && query.size(lead - 1) > 0 && has_one(all_keys) && has_one(all_values);
  const Tensor key = led_as(query, all_keys, shared), value = led_as(query, all_values, shared);
  if (const std::size_t learned = learned_of(settings).size(); learned > kMostLearned)
    fail("[attend] a score learns {} tensors: {} at most; join some of them ({}:{})", learned, kMostLearned,
         at.file, at.line);
  Problem problem{even(query), even(key), even(value), {}, {}, settings, at};
  {
    const detail::Paused paused;
    const ScoreMod& score = settings.score;
    for (const auto* part : {&settings.pairs.learned(), &score.learned(), &score.constants()})
      for (const Tensor& source : *part) {
        if (part != &score.constants()) check_same_dtype(query, source, "attend", at);
        problem.sources.push_back(
            contiguous(source.dtype() == query.dtype() ? source : source.to(query.dtype())));
      }
    if (settings.sink.on()) {
      const Tensor& scores = settings.sink.scores();
      if (scores.defined()) check_same_dtype(query, scores, "attend", at);
      problem.sink = scores.defined() ? contiguous(expand(scores, {heads_of(query)}))
                                      : zeros({heads_of(query)}, query.dtype());
    }
  }
  Dims shape = query.shape();
  shape.back() = value.size(-1) + (with_lse ? 1 : 0);
  Tensor out =
      with_lse ? Tensor::uninitialised(shape, query.dtype()) : uninitialised_like(problem.query, shape);
  Tensor lse = Tensor::uninitialised({product(shape, 0, shape.rank() - 1)}, query.dtype());
  dispatch(query.dtype(), [&](auto zero) {
    using T = decltype(zero);
    problem.run<T>([&](const simd::Attention<T>& x) {
      simd::attention_forward(x, heads<T>(out), lse.mutable_data<T>());
    });
    // A query with no pairs: −∞ for the kernel, and the sink's score if there is one.
    const Size queries = std::max<Size>(1, query.size(-2)), all_heads = std::max<Size>(1, heads_of(query));
    const auto log_sum = [&](Size row) {
      const T sum = lse.data<T>()[row];
      const bool blind = sum == -std::numeric_limits<T>::infinity();
      return blind && options.sink.on() ? problem.sink.data<T>()[row / queries % all_heads] : sum;
    };
    if (with_lse)
      for (Size row = 0; row < lse.count(); ++row)
        out.mutable_data<T>()[(row + 1) * shape.back() - 1] = log_sum(row);
  });
  return record(query, key, value, with_lse, problem, std::move(out), lse, at);
}

}  // namespace

// O = P V, P = softmax(S), S = score(scale·Q Kᵀ): see core/simd/attention/backward.cpp for the derivatives.
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const AttendOptions& options,
              CallSite at) {
  return run(query, key, value, options, false, at);
}

PartialAttention attend_partial(const Tensor& query, const Tensor& key, const Tensor& value,
                                const AttendOptions& options, CallSite at) {
  const Tensor both = run(query, key, value, options, true, at);
  const Size width = value.size(-1);
  return {slice(both, -1, 0, width), select(both, -1, width)};
}

PartialAttention merge(std::span<const PartialAttention> parts) {
  if (parts.empty()) fail("[merge] no parts of attention to merge: give one or more");
  std::vector<Tensor> sums;
  for (const PartialAttention& part : parts) sums.push_back(part.log_sum_exp);
  const Tensor all = stack(sums, -1);
  // Each part counts by its share of the sum; a query that no part has pairs for stays 0.
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

Tensor attend_by_ops(const Tensor& query, const Tensor& key, const Tensor& value,
                     const AttendOptions& options) {
  return by_ops(query, key, value, settings_of(query, key, value, options, {}), false);
}

}  // namespace tapestry
