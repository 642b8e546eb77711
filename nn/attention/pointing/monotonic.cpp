#include "nn/attention/pointing/monotonic.hpp"

#include <array>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/views.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "nn/attention/masking.hpp"

namespace tapestry {

namespace {

/// Returns y_j = x_j + keep_j y_{j−1} along the last axis, with y_0 = x_0; keep_0 is ignored.
Tensor scan(const Tensor& x, const Tensor& keep) {
  const Tensor from = contiguous(x.detach()), factors = contiguous(keep.detach());
  const Size length = x.size(-1), rows = length == 0 ? 0 : x.count() / length;
  Tensor y = Tensor::uninitialised(x.shape(), x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *added = from.data<T>(), *factor = factors.data<T>();
    T* out = y.mutable_data<T>();
    for (Size row = 0; row < rows; ++row) {
      T last = 0;
      for (Size j = 0; j < length; ++j, ++added, ++factor)
        *out++ = last = *added + (j == 0 ? T(0) : *factor * last);
    }
  });
  return y;
}

// y_j = x_j + k_j y_{j−1}        ∂x_j = dy_j + k_{j+1} ∂x_{j+1}, the same in reverse        ∂k_j = ∂x_j y_{j−1}
Tensor running(const Tensor& x, const Tensor& keep) {
  return op<"running">({}, scan(x, keep),
                       wrt_all(std::array{&x, &keep}, [x, keep](const Tensor& dy, const Tensor& y) {
                         const Size length = dy.size(-1);
                         if (length == 0) return std::array{dy, dy};
                         const Tensor following = pad(flip(slice(keep, -1, 1, length), -1), -1, 1, 0);
                         const Tensor dx = flip(running(flip(dy, -1), following), -1);
                         return std::array{dx, dx * pad(slice(y, -1, 0, length - 1), -1, 1, 0)};
                       }));
}

void check_pair(const char* name, const Tensor& scores, const Tensor& previous) {
  if (scores.rank() < 1 || scores.shape() != previous.shape() || scores.dtype() != previous.dtype())
    fail("[{}] scores and previous must have one shape, (…, keys), and one type, got {} and {}", name,
         describe(scores), describe(previous));
}

/// Returns α_0: the reader starts at the first key.
Tensor at_first_key(const Tensor& scores) {
  if (scores.size(-1) == 0) return scores.detach();
  Dims one = scores.shape();
  one.back() = 1;
  return pad(ones(one, scores.dtype()), -1, 0, scores.size(-1) - 1);
}

/// Probabilities (…, keys): of stopping at each key once there, and of passing the key before it.
struct StopProbabilities {
  Tensor stop, passed;
};
StopProbabilities stop_probabilities(const Tensor& scores, const Mask& mask) {
  const Tensor seen = zero_masked(mask, scores), one = scalar(1, scores.dtype());
  // 1 − p, accurate where p is near 1. Masked keys are always passed.
  const Tensor go_on = mask.defined() ? where(mask, sigmoid(-seen), one) : sigmoid(-seen);
  return {zero_masked(mask, sigmoid(seen)), pad(slice(go_on, -1, 0, go_on.size(-1) - 1), -1, 1, 0)};
}

}  // namespace

Tensor monotonic_step(const Tensor& scores, const Tensor& previous, const Mask& mask) {
  check_pair("monotonic_step", scores, previous);
  if (scores.count() == 0) return scores;
  const StopProbabilities p = stop_probabilities(scores, mask);
  return p.stop * running(previous, p.passed);
}

Tensor monotonic_weights(const Tensor& scores, const Mask& mask) {
  if (scores.rank() < 2)
    fail("[monotonic_weights] scores must be (…, queries, keys), got {}", describe(scores));
  if (scores.count() == 0) return scores;
  const StopProbabilities p = stop_probabilities(scores, mask);
  std::vector<Tensor> rows;
  Tensor previous = at_first_key(select(scores, -2, 0));
  for (Size t = 0; t < scores.size(-2); ++t) {
    previous = select(p.stop, -2, t) * running(previous, select(p.passed, -2, t));
    rows.push_back(previous);
  }
  return stack(rows, -2);
}

Tensor monotonic_stop(const Tensor& scores, const Tensor& previous, const Mask& mask) {
  check_pair("monotonic_stop", scores, previous);
  const std::vector<double> score = scores.to_vector(), before = previous.to_vector();
  const std::vector<bool> may = mask.defined() ? mask.expand(scores.shape(), "monotonic_stop").to_vector()
                                               : std::vector<bool>(score.size(), true);
  const std::size_t keys = score.empty() ? 1 : static_cast<std::size_t>(scores.size(-1));
  std::vector<double> stops(score.size(), 0.0);
  for (std::size_t row = 0; row < score.size(); row += keys) {
    std::size_t j = row;
    while (j < row + keys && !(before[j] > 0)) ++j;
    while (j < row + keys && !(may[j] && score[j] > 0)) ++j;
    if (j < row + keys) stops[j] = 1;
  }
  return tensor(stops, scores.shape(), scores.dtype());
}

MonotonicAttention::MonotonicAttention(Parent parent, const ScoreFactory& score, MonotonicOptions options)
    : Module(std::move(parent)),
      offset{*this, "offset", {1}, constant(options.first_offset)},
      score_(score({*this, ""})),
      options_(options) {
  if (!(options.noise >= 0))
    fail("[monotonic{}] noise must be at least 0, got {}", in_quotes(), options.noise);
}

PreparedKV MonotonicAttention::prepare(const Tensor& keys, const Tensor& values,
                                       const ValidLengths& lengths) const {
  if (keys.rank() != 3 || values.rank() != 3 || keys.size(0) != values.size(0) ||
      keys.size(1) != values.size(1))
    fail(
        "[monotonic{}] keys and values must be (batch, time, width) with equal batch and time, got {} and {}",
        in_quotes(), describe(keys), describe(values));
  if (!lengths.defined()) return {score_->prepare(keys), values, {}, {}};
  if (lengths.per_query() || lengths.shape()[0] != keys.size(0))
    fail("[monotonic{}] lengths must be one for each row, got keys {} and lengths {}", in_quotes(),
         describe(keys), to_string(lengths.shape()));
  const Mask mask = lengths.mask(keys.size(1));
  return {score_->prepare(zero_masked(visible_keys(mask, keys.shape()), keys)),
          zero_masked(visible_keys(mask, values.shape()), values),
          mask,
          {}};
}

MonotonicAttention::ScoredQuery MonotonicAttention::score_query(const Tensor& query, const PreparedKV& memory,
                                                                ScoreState& state) const {
  if (query.rank() != 3 || query.size(1) != 1)
    fail(
        "[monotonic{}] query must be (batch, 1, width), got {}; each query starts where the previous one stopped",
        in_quotes(), describe(query));
  state.mask = memory.mask.mask(memory.values.size(-2));
  const Tensor scores = score_->score(query, memory.keys, state) + offset;
  return {scores, state.weights.defined() ? state.weights : at_first_key(scores)};
}

AttentionOutput MonotonicAttention::read(const Tensor& weights, const PreparedKV& memory, ScoreState& state) {
  state.weights = weights;
  ++state.step;
  return {matmul(weights, memory.values), weights};
}

AttentionOutput MonotonicAttention::operator()(const Tensor& query, const PreparedKV& memory,
                                               ScoreState& state) const {
  auto [scores, previous] = score_query(query, memory, state);
  if (training() && options_.noise > 0) {
    const Stream stream = next_stream();
    std::vector<double> noise;
    for (Size i = 0; i < scores.count(); ++i)
      noise.push_back(options_.noise * stream.normal(static_cast<std::uint64_t>(i)));
    scores = scores + tensor(noise, scores.shape(), scores.dtype());
  }
  return read(monotonic_step(scores, previous, state.mask), memory, state);
}

AttentionOutput MonotonicAttention::stop(const Tensor& query, const PreparedKV& memory,
                                         ScoreState& state) const {
  const ScoredQuery scored = score_query(query, memory, state);
  return read(monotonic_stop(scored.scores, scored.previous, state.mask), memory, state);
}

}  // namespace tapestry
