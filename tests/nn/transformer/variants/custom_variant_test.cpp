// Variants that replace the self-attention of a block, each in a language model and in plain loops.
#include "core/attention/linear_attend.hpp"
#include "core/core.hpp"
#include "nn/attention/masking.hpp"
#include "tests/nn/tensors.hpp"
#include "tests/nn/transformer/variants/projected.hpp"

using namespace tapestry;
using namespace tapestry::testing;

namespace {

/// Differential attention (Ye et al. 2024, equation 1): (softmax(Q₁K₁ᵀ) − λ softmax(Q₂K₂ᵀ)) V.
struct Differential : Projected {
  using Projected::Projected;
  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override {
    const AttendOptions options{.mask = pairs.for_attend()};
    const Tensor v = split(value(x)), first = attend(split(query(x)), split(key(x)), v, options),
                 second = attend(split(query2(x)), split(key2(x)), v, options);
    return output(merged(first - lambda * second));
  }

  Linear query2{{*this, "query2"}, kWidth, kWidth, Bias::no}, key2{{*this, "key2"}, kWidth, kWidth, Bias::no};
  Parameter lambda{*this, "lambda", {}, constant(0.5)};
};

Rows differential(const Weights& w, const Rows& x, const Sees& sees) {
  const std::vector<Rows> first = scores_by_loops(w, x),
                          second = scores_by_loops(w, x, "query2.weight", "key2.weight");
  const Rows v = affine(x, w("value.weight"));
  Rows joined(x.size(), Row(8));
  for (std::size_t h = 0; h < 2; ++h)
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row weights = soft_weights(first[h][i], i, sees);
      const Row less = soft_weights(second[h][i], i, sees);
      for (std::size_t j = 0; j < weights.size(); ++j) weights[j] -= w("lambda")[0] * less[j];
      add_mix(joined[i], h * 4, weights, v, h, 4);
    }
  return affine(joined, w("output.weight"));
}

/// Talking heads (Shazeer et al. 2020): heads are mixed before and after the softmax.
struct TalkingHeads : Projected {
  using Projected::Projected;
  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override {
    const auto mix = [](const Parameter& by, const Tensor& s) {  // over the axis of the heads
      return transpose(matmul(transpose(s, 1, 3), transpose(by)), 1, 3);
    };
    const Tensor mixed = mix(before, scores(x));
    return output(merged(matmul(mix(after, softmax_weights(mixed, pairs.mask())), split(value(x)))));
  }

  Parameter before{*this, "before", {2, 2}, xavier}, after{*this, "after", {2, 2}, xavier};
};

Rows talking(const Weights& w, const Rows& x, const Sees& sees) {
  const std::vector<Rows> scores = scores_by_loops(w, x);
  const Rows v = affine(x, w("value.weight"));
  const Row before = w("before"), after = w("after");
  Rows joined(x.size(), Row(8));
  for (std::size_t i = 0; i < x.size(); ++i) {
    Rows weights;
    for (std::size_t h = 0; h < 2; ++h) {
      Row mixed(x.size());
      for (std::size_t j = 0; j < x.size(); ++j)
        mixed[j] = before[h * 2] * scores[0][i][j] + before[h * 2 + 1] * scores[1][i][j];
      weights.push_back(soft_weights(mixed, i, sees));
    }
    for (std::size_t h = 0; h < 2; ++h) {
      Row mixed(x.size());
      for (std::size_t j = 0; j < x.size(); ++j)
        mixed[j] = after[h * 2] * weights[0][j] + after[h * 2 + 1] * weights[1][j];
      add_mix(joined[i], h * 4, mixed, v, h, 4);
    }
  }
  return affine(joined, w("output.weight"));
}

/// Selective attention (Leviathan, Kalman & Matias 2024): the first head's positive scores of earlier queries, summed,
/// are subtracted from the scores of all heads. No token selects itself or the first token.
struct Selective : Projected {
  using Projected::Projected;
  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override {
    const Tensor s = scores(x);
    const Size time = x.size(1);
    const Mask may = Mask::from(time, time, [](Size i, Size j) { return 0 < j && j < i; });
    const Tensor selected = zero_masked(may, relu(select(s, 1, 0)));
    const Tensor earlier = cumsum(selected, 1) - selected;  // over the queries, without the present one
    return output(merged(matmul(softmax_weights(s - unsqueeze(earlier, 1), pairs.mask()), split(value(x)))));
  }
};

Rows selective(const Weights& w, const Rows& x, const Sees& sees) {
  const std::vector<Rows> scores = scores_by_loops(w, x);
  const Rows v = affine(x, w("value.weight"));
  Rows joined(x.size(), Row(8));
  for (std::size_t h = 0; h < 2; ++h) {
    Row hidden(x.size());  // of each key, by the queries so far
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row lower = scores[h][i];
      for (std::size_t j = 0; j < x.size(); ++j) lower[j] -= hidden[j];
      add_mix(joined[i], h * 4, soft_weights(lower, i, sees), v, h, 4);
      for (std::size_t j = 1; j < i; ++j) hidden[j] += std::max(0.0, scores[0][i][j]);
    }
  }
  return affine(joined, w("output.weight"));
}

/// Gated DeltaNet (Yang, Kautz & Hatamizadeh 2025, equation 10). The cache stores one matrix per head.
struct GatedDelta : Projected {
  using Projected::Projected;
  Tensor operator()(const Tensor& x, const VisiblePairs&) const override { return run(x, {}).output; }
  Tensor next(const Tensor& x, const VisiblePairs&, KeyValueCache& cache) const override {
    const LinearAttendResult all = run(x, cache.state().empty() ? Tensor{} : cache.state().front());
    cache.set_state({all.final_state}, x.size(1));
    return all.output;
  }
  LinearAttendResult run(const Tensor& x, const Tensor& state) const {
    const Tensor k = split(key(x)), unit = k / sqrt(sum(k * k, {-1}, Keep::yes));
    const auto by_head = [](const Tensor& numbers) {
      return transpose(numbers, 1, 2);
    };  // (B, T, 2) → (B, 2, T)
    const LinearAttendResult all = linear_attend(split(query(x)), unit, split(value(x)),
                                                 {.rule = WriteRule::delta,
                                                  .log_decay = by_head(neg(softplus(keep(x)))),
                                                  .beta = by_head(sigmoid(strength(x))),
                                                  .initial_state = state});
    return {output(merged(all.output)), all.final_state};
  }

  Linear keep{{*this, "keep"}, kWidth, kHeads, Bias::yes},
      strength{{*this, "strength"}, kWidth, kHeads, Bias::yes};
};

Rows delta(const Weights& w, const Rows& x, const Sees&) {
  const Rows q = affine(x, w("query.weight")), k = affine(x, w("key.weight")),
             v = affine(x, w("value.weight")), keep = affine(x, w("keep.weight"), w("keep.bias")),
             strength = affine(x, w("strength.weight"), w("strength.bias"));
  Rows joined(x.size(), Row(8));
  for (std::size_t h = 0; h < 2; ++h) {
    double state[4][4] = {};
    for (std::size_t t = 0; t < x.size(); ++t) {
      const double alpha = sigmoid_of(-keep[t][h]), beta = sigmoid_of(strength[t][h]);
      Row unit = head_of(k[t], h, 4);
      const double length = std::sqrt(dot_of(unit, unit));
      for (double& number : unit) number /= length;
      for (std::size_t e = 0; e < 4; ++e) {
        double stored = 0;
        for (std::size_t d = 0; d < 4; ++d) stored += alpha * state[d][e] * unit[d];
        for (std::size_t d = 0; d < 4; ++d)
          state[d][e] = alpha * state[d][e] + unit[d] * beta * (v[t][h * 4 + e] - stored);
        for (std::size_t d = 0; d < 4; ++d) joined[t][h * 4 + e] += state[d][e] * q[t][h * 4 + d];
      }
    }
  }
  return affine(joined, w("output.weight"));
}

}  // namespace

TEST_CASE("variants that replace self-attention work in a language model as in plain loops") {
  check_variant({"differential attention", use<Differential>, differential});
  check_variant({"talking heads", use<TalkingHeads>, talking});
  // A hidden token still selects others, and still writes to the memory.
  check_variant(
      {.name = "selective attention", .set = use<Selective>, .by_loops = selective, .takes_masks = false});
  check_variant({.name = "gated DeltaNet", .set = use<GatedDelta>, .by_loops = delta, .takes_masks = false});
}

TEST_CASE("a custom attention gets the window, and the valid tokens of an encoder") {
  const auto windowed = [](TransformerOptions& options) {
    use<Differential>(options);
    options.block.window = 3;
  };
  check_variant({"differential attention in a window", windowed, differential,
                 [](std::size_t i, std::size_t j) { return i - j < 3; }});
  TransformerOptions options{.vocabulary = 5, .block = {.width = kWidth, .heads = kHeads}};
  use<Differential>(options);
  TransformerEncoder encoder(options);
  encoder.initialise(1, DType::f64);
  encoder.eval();
  const Tensor states = encoder(Indices({1, 2, 3, 4, 1, 0}, {2, 3}), ValidLengths{3, 1});
  CHECK(apart(slice(slice(states, 0, 1, 2), 1, 0, 1), encoder(Indices({4}, {1, 1}))) < 1e-12);
  CHECK(apart(slice(states, 0, 0, 1), encoder(Indices({1, 2, 3}, {1, 3}))) < 1e-12);
}
