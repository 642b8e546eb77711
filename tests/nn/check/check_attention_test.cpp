// check_attention(): attentions with one mistake each, which exactly the right part must find; and right ones.
#include "nn/check/check_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"
#include "core/tensor/map.hpp"
#include "nn/attention/hard.hpp"
#include "nn/attention/normalise.hpp"
#include "nn/attention/scores.hpp"
#include "nn/positions/positions.hpp"
#include "nn/transformer/latent_attention.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

constexpr Size kWidth = 8;

/// One head without a mistake, whose cache has keys and values. The classes below override one step each.
struct OneHead : SelfAttention {
  explicit OneHead(Parent parent) : SelfAttention(std::move(parent)) {}
  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override {
    return read(x, key(x), value(x), pairs);
  }
  Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const override {
    cache.append(key(x), value(x));
    return read(x, cache.keys(), cache.values(), pairs);
  }
  virtual Tensor read(const Tensor& x, const Tensor& k, const Tensor& v, const VisiblePairs& pairs) const {
    return mix(matmul(query(x), transpose(k)) * 0.5, v, pairs);
  }
  virtual Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const {
    return matmul(masked_softmax(scores, mask(pairs, scores)), v);
  }
  virtual Mask mask(const VisiblePairs& pairs, const Tensor& scores) const { return pairs.mask_for(scores); }

  Linear query{{*this, "query"}, kWidth, kWidth, Bias::no}, key{{*this, "key"}, kWidth, kWidth, Bias::no},
      value{{*this, "value"}, kWidth, kWidth, Bias::no};
};

/// Without a cache of its own: the text is computed again.
struct Recomputed : OneHead {
  using OneHead::OneHead;
  Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const override {
    return SelfAttention::next(x, pairs, cache);
  }
};

struct SeesAll : OneHead {
  using OneHead::OneHead;
  Mask mask(const VisiblePairs& pairs, const Tensor&) const override { return pairs.caller_mask(); }
};

struct ForgetsTheGivenMask : OneHead {
  using OneHead::OneHead;
  Mask mask(const VisiblePairs& pairs, const Tensor&) const override {
    return Mask::causal(pairs.queries(), pairs.keys());
  }
};

struct DividesByKeys : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores / static_cast<double>(pairs.keys()), v, pairs);
  }
};

/// ReLU attention divided by its sum, without a thought for a query that sees no key.
struct DividesByZero : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    const Tensor lowest = full({}, -std::numeric_limits<double>::infinity(), scores.dtype());
    const Tensor raised =
        exp(mask(pairs, scores).defined() ? where(mask(pairs, scores), scores, lowest) : scores);
    return matmul(raised / sum(raised, {-1}, Keep::yes), v);
  }
};

struct MixesRows : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores - mean(scores, {0}, Keep::yes), v, pairs);
  }
};

/// Its derivative with respect to the values is missing.
struct Detaches : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return matmul(masked_softmax(scores, mask(pairs, scores)), v.detach());
  }
};

Tensor wrong_square(const Tensor& x, CallSite at = {}) {
  return op<"wrong_square">(at, map(x, [](auto v) { return v * v; }),
                            wrt(x, [x](const Tensor& dy) { return dy * x; }));
}
struct WrongRule : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(wrong_square(scores), v, pairs);
  }
};

/// Right at first, but the derivative itself is not recorded correctly.
Tensor square_once(const Tensor& x, CallSite at = {}) {
  return op<"square_once">(at, map(x, [](auto v) { return v * v; }),
                           wrt(x, [x](const Tensor& dy) { return dy * (2.0 * x.detach()); }));
}
struct WrongSecond : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(square_once(scores), v, pairs);
  }
};

struct LosesDigits : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix((scores + 1e4) - 1e4, v, pairs);
  }
};

struct NeedsF64 : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores * full({1}, 2, DType::f64), v, pairs);
  }
};

/// A weight that is no Parameter: each layer has another one.
struct PlainWeight : OneHead {
  explicit PlainWeight(Parent parent) : OneHead(std::move(parent)), factor(static_cast<double>(++made)) {}
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores * factor, v, pairs);
  }
  inline static int made = 0;
  double factor;
};

/// A variable that is not registered.
struct FreeVariable : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores * factor_.to(scores.dtype()), v, pairs);
  }
  Tensor factor_ = variable(tensor({2}, DType::f64));
};

/// A random rotation of the inputs: each layer draws another one.
struct DrawnConstant : OneHead {
  using OneHead::OneHead;
  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override {
    return OneHead::operator()(matmul(x, drawn_.to(x.dtype())), pairs);
  }
  Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const override {
    return OneHead::next(matmul(x, drawn_.to(x.dtype())), pairs, cache);
  }
  inline static std::uint64_t made = 0;
  Tensor drawn_ = random_normal({kWidth, kWidth}, ++made, DType::f64);
};
/// The same one in each layer.
struct FixedConstant : DrawnConstant {
  explicit FixedConstant(Parent parent) : DrawnConstant(std::move(parent)) {
    drawn_ = random_normal({kWidth, kWidth}, 5, DType::f64);
  }
};
/// A variable with another value in each layer.
struct DrawnVariable : DrawnConstant {
  explicit DrawnVariable(Parent parent) : DrawnConstant(std::move(parent)) { drawn_ = variable(drawn_); }
};

/// Draws in eval mode too.
struct DrawsAlways : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores + random_normal(scores.shape(), ++calls, scores.dtype()), v, pairs);
  }
  inline static std::uint64_t calls = 0;
};
/// Scores are divided by the largest one so far, also of earlier calls.
struct LargestSoFar : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    for (const double s : scores.detach().to_vector()) largest = std::max(largest, std::abs(s));
    return OneHead::mix(scores / largest, v, pairs);
  }
  mutable double largest = 0;
};
struct NotFinite : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores, v, pairs) * std::numeric_limits<double>::quiet_NaN();
  }
};

/// next() takes the keys for the values.
struct ExchangesThem : OneHead {
  using OneHead::OneHead;
  Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const override {
    cache.append(key(x), value(x));
    return read(x, cache.values(), cache.keys(), pairs);
  }
};

struct AtMost20 : OneHead {
  using OneHead::OneHead;
  Mask mask(const VisiblePairs& pairs, const Tensor& scores) const override {
    if (pairs.keys() > 20) fail("at most 20 tokens, got {}", pairs.keys());
    return pairs.mask_for(scores);
  }
};

struct TwoHeads : OneHead {
  using OneHead::OneHead;
  static Tensor split(const Tensor& x) {
    return transpose(reshape(x, {x.size(0), x.size(1), 2, kWidth / 2}), 1, 2);
  }
  Tensor read(const Tensor& x, const Tensor& k, const Tensor& v, const VisiblePairs& pairs) const override {
    const Tensor scores = matmul(split(query(x)), transpose(split(k)));
    return reshape(transpose(mix(scores, split(v), pairs), 1, 2), x.shape());
  }
};
struct TwoHeadsByMask : TwoHeads {
  using TwoHeads::TwoHeads;
  Mask mask(const VisiblePairs& pairs, const Tensor&) const override { return pairs.mask(); }
};
/// The scores (B, 2, T, T) get a mask (B, T, T) in silence if B = 2.
struct MaskByHead : TwoHeads {
  using TwoHeads::TwoHeads;
  Mask mask(const VisiblePairs& pairs, const Tensor&) const override {
    return pairs.caller_mask() & Mask::causal(pairs.queries(), pairs.keys());
  }
};

/// Scores fall with the square of the distance.
struct Distance : OneHead {
  using OneHead::OneHead;
  virtual Size first(const VisiblePairs& pairs) const { return pairs.first(); }
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    std::vector<double> near;
    for (Size i = 0; i < pairs.queries(); ++i)
      for (Size j = 0; j < pairs.keys(); ++j) near.push_back(-0.01 * std::pow(i + first(pairs) - j, 2));
    return OneHead::mix(scores + tensor(near, {pairs.queries(), pairs.keys()}, scores.dtype()), v, pairs);
  }
};
struct ForgetsTheFirst : Distance {
  using Distance::Distance;
  Size first(const VisiblePairs&) const override { return 0; }
};

/// The sum of all values so far, as a state.
struct RunningSum : OneHead {
  using OneHead::OneHead;
  Tensor operator()(const Tensor& x, const VisiblePairs&) const override {
    return query(x) * cumsum(value(x), 1) + key(x);
  }
  Tensor next(const Tensor& x, const VisiblePairs&, KeyValueCache& cache) const override {
    Tensor sums = cumsum(value(x), 1);
    if (!cache.state().empty()) sums = sums + state_of(cache);
    cache.set_state({stored(slice(sums, 1, x.size(1) - 1, x.size(1)))}, x.size(1));
    return query(x) * sums + key(x);
  }
  virtual Tensor state_of(const KeyValueCache& cache) const { return cache.state().front(); }
  virtual Tensor stored(const Tensor& state) const { return state; }
};
/// Keeps the sum in the layer.
struct OwnMemory : RunningSum {
  using RunningSum::RunningSum;
  Tensor state_of(const KeyValueCache&) const override { return kept_; }
  Tensor stored(const Tensor& state) const override { return kept_ = state; }
  mutable Tensor kept_;
};

/// Stores the sum with the batch as its second axis.
struct RowsSecond : RunningSum {
  using RunningSum::RunningSum;
  Tensor state_of(const KeyValueCache& cache) const override {
    return transpose(cache.state().front(), 0, 1);
  }
  Tensor stored(const Tensor& state) const override { return transpose(state, 0, 1); }
};

template <class A>
AttentionCheckResult check_of(const AttentionCheckOptions& check = {}) {
  BlockOptions options{.width = kWidth, .heads = 2};
  options.attention = self_attention<A>();
  return check_attention(options, {.causal = true}, check);
}

/// Names of the parts that failed: "causal, prefix".
std::string failed(const AttentionCheckResult& check) {
  std::string names;
  for (const AttentionCheckPart& part : check.parts)
    if (!part.ok) names += (names.empty() ? "" : ", ") + part.name;
  return names;
}
std::string finding(const AttentionCheckResult& check, const std::string& name) {
  for (const AttentionCheckPart& part : check.parts)
    if (part.name == name) return part.finding;
  return "no such part";
}

template <class A>
void check_fails(const char* parts, const char* first, const char* says,
                 const AttentionCheckOptions& check = {}) {
  const AttentionCheckResult found = check_of<A>(check);
  INFO(found.report());
  CHECK(failed(found) == parts);
  CHECK_THAT(finding(found, first), ContainsSubstring(says));
  CHECK_FALSE(found.ok());
}

void check_passes(const BlockOptions& options, const BlockKind& kind = {.causal = true},
                  const AttentionCheckOptions& check = {}) {
  const AttentionCheckResult found = check_attention(options, kind, check);
  INFO(found.report());
  CHECK(found.ok());
  CHECK(static_cast<bool>(found));
}

}  // namespace

TEST_CASE("check_attention finds the one mistake of each attention, and says what to look at") {
  check_fails<SeesAll>("causal", "causal", "if token 1 changes, which comes later");
  check_fails<ForgetsTheGivenMask>("mask", "mask", "token 0 is hidden by a mask, but");
  check_fails<DividesByKeys>("prefix", "prefix", "the number of keys, such as scores.size(-1)");
  check_fails<DividesByZero>("fully masked query", "fully masked query",
                             "token 6 may see no key, and the results");
  check_fails<MixesRows>("batch", "batch", "Keep the batch axis");
  check_fails<Detaches>("gradients", "gradients", "self.value.weight");
  check_fails<WrongRule>("gradients", "gradients", "the rule gives 0.5 times the slope everywhere");
  check_fails<WrongSecond>("second derivatives", "second derivatives", "the block's gradient");
  check_fails<LosesDigits>("f32", "f32", "in f32, the result at token");
  check_fails<NeedsF64>("f32", "f32", "the layer threw an error: ");
  check_fails<PlainWeight>("construction", "construction",
                           "a member of the layer differs at each construction");
  check_fails<FreeVariable>("copies", "copies", "a variable of shape (1) that is not one of its parameters");
  check_fails<ExchangesThem>("cache", "cache",
                             "next() differs from operator() already for a whole text of 12 tokens");
  check_fails<MaskByHead>("mask", "mask", "pairs.mask_for(scores) has the axes of the scores");
  check_fails<ForgetsTheFirst>("cache", "cache", "query i is at position i + keys − queries");
}

TEST_CASE("check_attention finds a layer that differs at each construction before it compares two of them") {
  check_fails<DrawnConstant>("construction", "construction", "draw random constants from a fixed seed");
  check_fails<DrawnVariable>("construction", "construction",
                             "a variable of shape (8,8) that is not one of its parameters");
  const AttentionCheckResult found = check_of<DrawnConstant>();
  CHECK(finding(found, "gradients") == "no such part");
  CHECK(finding(found, "f32") == "no such part");
  CHECK(finding(found, "cache") == "");  // needs one block alone
  CHECK(check_of<FixedConstant>().ok());
}

TEST_CASE("check_attention says of a layer that is not repeatable only that") {
  const auto check_calls = [](const AttentionCheckResult& found, const char* says) {
    INFO(found.report());
    CHECK(found.parts.size() == 1);
    CHECK(failed(found) == "calls");
    CHECK_THAT(finding(found, "calls"), ContainsSubstring(says));
  };
  check_calls(check_of<DrawsAlways>(), "In eval mode, do not draw random numbers");
  check_calls(check_of<LargestSoFar>(), "keep nothing from one call to the next");
  check_calls(check_attention({.width = 8, .heads = 2, .normalise = gumbel_softmax(0.5)}, {.causal = true}),
              "gradcheck() can check the gradients of an attention that is meant to draw");
  Size calls = 0;
  const auto random_mask = [&](Size queries, Size keys) {
    return Mask::from(queries, keys, [by = ++calls % 2](Size i, Size j) { return (i + j) % 2 == by; });
  };
  check_calls(check_attention({.width = 8, .heads = 2}, {.causal = true}, {.mask = random_mask}),
              "AttentionCheckOptions::mask must return one mask for 12 queries and 12 keys");
  CHECK(finding(check_of<NotFinite>(), "calls") == "");  // it is repeatable
  CHECK_FALSE(check_of<NotFinite>().ok());
}

TEST_CASE("check_attention finds a state that a copied, reordered or rewound cache lacks") {
  check_fails<OwnMemory>("cache, moved", "cache, moved", "not in members of the layer",
                         {.takes_masks = false});
}

TEST_CASE("check_attention passes attentions without a mistake, with and without a cache of their own") {
  for (const AttentionCheckResult& check :
       {check_of<OneHead>(), check_of<TwoHeads>(), check_of<TwoHeadsByMask>(), check_of<Distance>(),
        check_of<RunningSum>({.takes_masks = false})}) {
    INFO(check.report());
    CHECK(check.ok());
  }
}

TEST_CASE("check_attention passes every way to change the attention of a block") {
  check_passes({.width = 12, .heads = 3});
  check_passes({.width = 12, .heads = 3}, {.causal = false});
  check_passes({.width = 8,
                .heads = 4,
                .kv_heads = 2,
                .norm_position = NormPosition::post,
                .norm = NormKind::rms_norm,
                .window = 5,
                .sink_tokens = 2,
                .learned_sink = true,
                .output_gate = true,
                .qk_norm = true},
               {.causal = true, .positions = rotary()});
  check_passes({.width = 8, .heads = 2, .score = cosine(), .normalise = sparsemax_weights});
  check_passes({.width = 8, .heads = 2, .score = additive(4, 4, 5), .normalise = sigmoid_weights},
               {.causal = true, .positions = alibi()});
  const auto nearer = [](const auto& p, Size queries, Size keys) {
    const auto first = static_cast<double>(keys - queries);
    return score_mod(
        [first](auto s, auto at, auto rate) { return s - rate(at.h) * log(1 + abs(at.i + first - at.j)); },
        learned(p[0]));
  };
  check_passes({.width = 8, .heads = 2, .score_mod = {{{"rate", {2}, constant(1)}}, nearer}});
  const auto lost = [](const auto& p, Size, Size) {  // `first` is forgotten
    return score_mod([](auto s, auto at, auto rate) { return s - rate(at.h) * log(1 + abs(at.i - at.j)); },
                     learned(p[0]));
  };
  const AttentionCheckResult found =
      check_attention({.width = 8, .heads = 2, .score_mod = {{{"rate", {2}, constant(1)}}, lost}});
  CHECK(failed(found) == "cache");
}

TEST_CASE("check_attention finds a normaliser that takes a learned sink for a key") {
  const auto check_with = [](const Normaliser& normalise, bool sink) {
    return check_attention({.width = 8, .heads = 2, .normalise = normalise, .learned_sink = sink});
  };
  const auto sees_last = [](const Tensor& scores, Size first) {  // a window of four keys
    return Mask::from(scores.size(-2), scores.size(-1), [=](Size i, Size j) { return j > i + first - 4; });
  };
  // With a sink, its window has three keys, in all parts alike.
  const auto window = [=](const Tensor& scores, const Mask& mask) {
    return softmax_weights(scores, sees_last(scores, scores.size(-1) - scores.size(-2)) & mask);
  };
  // The square of a distance: with a sink, each distance is one too large.
  const auto nearer = [](double power) {
    return [power](const Tensor& scores, const Mask& mask) {
      const Size queries = scores.size(-2), keys = scores.size(-1);
      std::vector<double> less;
      for (Size i = 0; i < queries; ++i)
        for (Size j = 0; j < keys; ++j)
          less.push_back(-0.02 * std::pow(std::abs(i + keys - queries - j), power));
      return softmax_weights(scores + tensor(less, {queries, keys}, scores.dtype()), mask);
    };
  };
  for (const Normaliser& normalise : {Normaliser(window), Normaliser(nearer(2))}) {
    CHECK(check_with(normalise, false).ok());
    const AttentionCheckResult found = check_with(normalise, true);
    INFO(found.report());
    CHECK(failed(found) == "sink");
    CHECK_THAT(
        finding(found, "sink"),
        ContainsSubstring("so scores.size(-1) is the number of keys + 1. Write what depends on positions"));
    CHECK(finding(found, "prefix") == "no such part");
  }
  // Softmax is the same if each distance is one too large, but the sink's distance grows with the text.
  const AttentionCheckResult found = check_with(nearer(1), true);
  CHECK(failed(found) == "prefix");
  CHECK_THAT(finding(found, "prefix"), ContainsSubstring("the sink, which has no position"));
  CHECK_FALSE(
      Catch::Matchers::ContainsSubstring("the sink").match(finding(check_of<DividesByKeys>(), "prefix")));
}

TEST_CASE("check_attention passes normalisers that treat a learned sink as they should") {
  // The last column is a gate of all keys.
  const auto gated = [](const Tensor& scores, const Mask& mask) {
    const Size keys = scores.size(-1) - 1;
    const Tensor gate = sigmoid(slice(scores, -1, keys, keys + 1));
    Mask seen;
    if (mask.defined()) {
      const Mask all = mask.expand(scores.shape());
      const std::vector<bool> pairs = all.to_vector();
      Dims without = scores.shape();
      without.back() = keys;
      seen = Mask::from(without.count() / keys, keys, [&](Size row, Size j) {
               return pairs[static_cast<std::size_t>(row * (keys + 1) + j)];
             }).reshape(without);
    }
    const Tensor weights = masked_softmax(slice(scores, -1, 0, keys), seen);
    return concat({weights * (1.0 - gate), zeros(gate.shape(), gate.dtype())}, -1);
  };
  const std::vector<Normaliser> right = {sigmoid_weights,
                                         sink_weights,
                                         sparsemax_weights,
                                         entmax15_weights,
                                         plain_weights,
                                         soft_capped(3),
                                         softmax_with_temperature(2.0),
                                         gated};
  for (const Normaliser& normalise : right) {
    const AttentionCheckResult found =
        check_attention({.width = 8, .heads = 2, .normalise = normalise, .learned_sink = true},
                        {.causal = true}, {.lengths = {6}});
    INFO(found.report());
    CHECK(failed(found) == "");
    CHECK(finding(found, "sink") == "");
  }
  CHECK(finding(check_attention({.width = 8, .heads = 2, .learned_sink = true}, {.causal = true},
                                {.lengths = {4}}),
                "sink") == "no such part");
}

TEST_CASE("check_attention uses its options") {
  // Keys at an even distance only: a mask of the user's, which the attention must get in every part.
  const auto even = [](Size queries, Size keys) {
    return Mask::from(queries, keys,
                      [first = keys - queries](Size i, Size j) { return (i + first - j) % 2 == 0; });
  };
  check_passes({.width = 8, .heads = 2}, {.causal = true}, {.mask = even});
  CHECK(failed(check_of<SeesAll>({.mask = Mask::causal})).empty());  // the user's mask is causal here
  const auto late = [](Size queries, Size keys) {                    // `first` is forgotten
    return Mask::from(queries, keys, [](Size i, Size j) { return (i - j) % 2 == 0; });
  };
  const AttentionCheckResult found =
      check_attention({.width = 8, .heads = 2}, {.causal = true}, {.mask = late});
  CHECK(failed(found) == "cache");
  CHECK(failed(check_of<SeesAll>({.tolerance = 1e3})).empty());
  CHECK(finding(check_of<SeesAll>({.seed = 2}), "causal") != finding(check_of<SeesAll>(), "causal"));
  check_fails<AtMost20>("causal, mask", "causal", "at most 20 tokens, got 100");
  CHECK(check_of<AtMost20>({.lengths = {20}}).ok());
}

TEST_CASE("check_attention remarks on parameters without influence, and reports a line for each part") {
  const AttentionCheckResult found =
      check_attention({.width = 8, .heads = 2}, {.causal = true}, {.lengths = {4}});
  CHECK(found.report() ==
        "passed: calls\npassed: construction\n"
        "passed: gradients: without influence on the result: self.key.bias\npassed: second derivatives\n"
        "passed: batch\npassed: causal\npassed: prefix\npassed: cache\npassed: cache, moved\npassed: mask\n"
        "passed: mask, cached\npassed: fully masked query\n"
        "passed: f32\npassed: copies\n");
  const AttentionCheckResult encoder =
      check_attention({.width = 8, .heads = 2}, {.causal = false}, {.lengths = {4}, .takes_masks = false});
  CHECK(encoder.parts.size() == 7);
}

TEST_CASE("check_attention refuses what it cannot check") {
  const BlockOptions options{.width = 8, .heads = 2};
  CHECK_THAT(message_of([&] { check_attention(options, {.causal = true, .memory_width = 3}); }),
             ContainsSubstring("memory_width must be 0"));
  CHECK_THAT(message_of([&] { check_attention(options, {.causal = true}, {.lengths = {}}); }),
             ContainsSubstring("at least one length"));
  CHECK_THAT(message_of([&] {
               check_attention(options, {.causal = true}, {.lengths = {5, 1}});
             }),
             ContainsSubstring("at least 2, got 1"));
}
