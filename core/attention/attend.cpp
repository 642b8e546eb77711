// Prepares tensors for the kernels of core/simd/attention and records the op. The loop over tiles is in forward.cpp
// there, the gradients in backward.cpp.
#include "core/attention/attend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>

#include "core/attention/attend_settings.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/simd/attention/attention.hpp"
#include "core/simd/random.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/layout.hpp"
#include "core/tensor/pool_vector.hpp"
#include "core/tensor/random.hpp"

namespace tapestry {

using detail::AttendSettings, detail::batch_of, detail::heads_of;

namespace {

/// Returns true if all heads are one stride apart and rows are contiguous.
bool has_uniform_head_stride(const Tensor& x) {
  Size step = 0, size = 1;
  for (int axis = x.rank() - 3; axis >= 1; --axis) {
    if (x.shape()[axis] == 1) continue;
    if (size > 1 && x.strides()[axis] != step * size) return false;
    if (size == 1) step = x.strides()[axis];
    size *= x.shape()[axis];
  }
  return x.strides().back() == 1 || x.shape().back() == 1;
}

/// Returns x, or a contiguous copy if the kernel cannot use its strides.
Tensor with_uniform_head_stride(const Tensor& x) {
  return has_uniform_head_stride(x) ? x : contiguous(x.detach());
}

/// Returns the kernel's view of x, which must have a uniform head stride.
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

/// The inputs of attend(), prepared for the kernel.
struct Problem {
  Tensor query, key, value;
  std::vector<Tensor> sources;  // learned tensors of pair_score and score_mod, then score_mod's constants
  Tensor sink;                  // (heads): scores of the sink, if there is one
  AttendSettings settings;
  CallSite at;

  /// Calls f with the kernel's arguments, which are valid during the call. Turns errors of a lambda into Error.
  template <class T, class F>
  void run(const F& f) const {
    simd::Attention<T> x;
    x.batch = batch_of(query), x.heads = heads_of(query);
    x.group_size = x.heads / std::max<Size>(1, heads_of(key));
    x.queries = query.size(-2), x.keys = key.size(-2);
    x.width = query.size(-1), x.value_width = value.size(-1);
    const auto& [scale, mask, pairs, score, has_sink, dropout, stream] = settings;
    x.scale = static_cast<T>(scale);
    x.query = heads<const T>(query), x.key = heads<const T>(key), x.value = heads<const T>(value);
    const simd::TileMask tiles = mask.defined() ? mask.view() : simd::TileMask{};
    if (mask.defined()) x.mask = &tiles;
    const auto from_pairs =
        pairs.defined() ? pairs.impl().on_tiles(T(0), sources.data(), query.size(-1)) : nullptr;
    x.pairs = from_pairs.get();
    const auto of_score = sources.begin() + static_cast<std::ptrdiff_t>(pairs.learned().size());
    const auto on_tiles = score.defined() ? score.impl().on_tiles(T(0), {of_score, sources.end()}) : nullptr;
    x.score = on_tiles.get();
    if (has_sink.defined()) x.sink = sink.data<T>();
    const simd::DropWeights drop{simd::dropout_threshold(dropout), 1 / (1 - dropout), stream.key(),
                                 stream.site()};
    if (dropout > 0) x.drop = &drop;
    try {
      f(x);
    } catch (const std::logic_error& mistake) {
      fail("{} ({}:{})", mistake.what(), at.file, at.line);
    } catch (const std::bad_alloc&) {
      Size learned = 0;
      for (const std::vector<Tensor>* of : {&pairs.learned(), &score.learned()})
        for (const Tensor& one : *of) learned += one.count();
      fail(
          "[attend] out of memory for query {}, key {} and a score with {} learned numbers, whose sums need up to {} "
          "bytes; use a smaller batch ({}:{})",
          describe(query), describe(key), learned, learned * static_cast<Size>(sizeof(double)), at.file,
          at.line);
    }
  }
};

/// Computes the gradient of the sink's scores: Σ −P D over batch rows and queries, where P is the sink's weight and
/// D = dO·O − d lse, as in the kernel. This is dS = P (dP − D) for a key with value 0.
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
          double delta = d_lse.defined() ? -static_cast<double>(d_lse.data<T>()[row]) : 0;
          if (log_sum ==
              -std::numeric_limits<double>::infinity()) {  // no pairs: the sink has weight 1, the output is 0
            sum -= delta;
            continue;
          }
          for (Size c = 0; c < width; ++c)
            delta += static_cast<double>(y.at(b, h)[i * y.row + c]) *
                     static_cast<double>(dy.at(b, h)[i * dy.row + c]);
          if (score > -std::numeric_limits<double>::infinity()) sum -= std::exp(score - log_sum) * delta;
        }
      gradient.mutable_data<T>()[h] = static_cast<T>(sum);
    }
  });
  const Tensor& scores = problem.settings.sink.scores();
  return scores.rank() == 0 ? tapestry::sum(gradient) : gradient;
}

/// Records the result (…, Tq, d_v), or (…, Tq, d_v + 1) if the log-sum-exp is its last column.
Tensor record(const Tensor& query, const Tensor& key, const Tensor& value, bool with_lse,
              const Problem& problem, Tensor out, const Tensor& lse, CallSite at) {
  const PoolVector<Tensor> learned = detail::learned_of(problem.settings);
  PoolVector<const Tensor*> targets{&query, &key, &value};
  for (const Tensor& one : learned) targets.push_back(&one);
  const auto rule = [problem, with_lse, lse, count = targets.size()](const Tensor& dy, const Tensor& y) {
    PoolVector<Tensor> gradients;
    gradients.reserve(count);
    Tensor dq = uninitialised_like(problem.query, problem.query.shape()),
           dk = uninitialised_like(problem.key, problem.key.shape()),
           dv = uninitialised_like(problem.value, problem.value.shape());
    const Size width = problem.value.size(-1);
    const Tensor out_part = slice(y, -1, 0, width), d_out = with_uniform_head_stride(slice(dy, -1, 0, width)),
                 d_lse = with_lse ? contiguous(slice(dy, -1, width, width + 1)) : Tensor{};
    const Tensor& sink = problem.settings.sink.scores();
    const std::size_t of_scores = count - 3 - (sink.defined() ? 1 : 0);  // of pair_score and score_mod
    Size numbers = 0;
    for (std::size_t i = 0; i < of_scores; ++i) numbers += problem.sources[i].count();
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
    for (std::size_t i = 0; i < of_scores; ++i) {
      const Tensor& source = problem.sources[i];
      gradients.push_back(reshape(slice(d_learned, 0, first, first + source.count()), source.shape()));
      first += source.count();
    }
    if (sink.defined()) gradients.push_back(sink_gradient(problem, out_part, lse, d_out, d_lse));
    return gradients;
  };
  const auto by_ops = [query, key, value, settings = problem.settings, with_lse, at] {
    return detail::by_ops(query, key, value, settings, with_lse, at);
  };
  return op<"attend">(at, std::move(out), wrt_all(targets, rule), decomposition(by_ops));
}

Tensor run(const Tensor& query, const Tensor& all_keys, const Tensor& all_values,
           const AttendOptions& options, bool with_lse, CallSite at) {
  const AttendSettings settings = detail::settings_of(query, all_keys, all_values, options, at);
  const int lead = query.rank() - 2;
  const auto has_one = [&](const Tensor& x) { return x.rank() == query.rank() && x.size(lead - 1) == 1; };
  const bool shared = lead >= 2 && query.size(lead - 1) > 0 && has_one(all_keys) && has_one(all_values);
  const Tensor key = detail::broadcast_batch_dims(query, all_keys, shared),
               value = detail::broadcast_batch_dims(query, all_values, shared);
  Problem problem{with_uniform_head_stride(query),
                  with_uniform_head_stride(key),
                  with_uniform_head_stride(value),
                  {},
                  {},
                  settings,
                  at};
  const ScoreMod& score = settings.score_mod;
  for (const auto* part : {&settings.pair_score.learned(), &score.learned(), &score.constants()})
    for (const Tensor& source : *part)
      problem.sources.push_back(contiguous(source.detach().to(query.dtype())));
  if (settings.sink.defined()) {
    const Tensor& scores = settings.sink.scores();
    problem.sink = scores.defined() ? contiguous(expand(scores.detach(), {heads_of(query)}))
                                    : zeros({heads_of(query)}, query.dtype());
  }
  Dims shape = query.shape();
  shape.back() = value.size(-1) + (with_lse ? 1 : 0);
  Tensor out =
      with_lse ? Tensor::uninitialised(shape, query.dtype()) : uninitialised_like(problem.query, shape);
  Tensor lse = Tensor::uninitialised({shape.count(0, shape.rank() - 1)}, query.dtype());
  dispatch(query.dtype(), [&](auto zero) {
    using T = decltype(zero);
    problem.run<T>([&](const simd::Attention<T>& x) {
      simd::attention_forward(x, heads<T>(out), lse.mutable_data<T>());
    });
    // For a query without pairs the kernel gives −∞; with a sink the log-sum-exp is the sink's score.
    const Size queries = std::max<Size>(1, query.size(-2)), all_heads = std::max<Size>(1, heads_of(query));
    const auto log_sum = [&](Size row) {
      const T sum = lse.data<T>()[row];
      const bool blind = sum == -std::numeric_limits<T>::infinity();
      return blind && options.sink.defined() ? problem.sink.data<T>()[row / queries % all_heads] : sum;
    };
    if (with_lse)
      for (Size row = 0; row < lse.count(); ++row)
        out.mutable_data<T>()[(row + 1) * shape.back() - 1] = log_sum(row);
  });
  return record(query, key, value, with_lse, problem, std::move(out), lse, at);
}

}  // namespace

// O = P V, P = softmax(S), S = score(scale·Q Kᵀ)
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

}  // namespace tapestry
