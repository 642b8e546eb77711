// check_attention(): exactly the right part finds the one mistake of each attention, and right ones pass.
#include "nn/check/check_attention.hpp"

#include <cmath>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"
#include "nn/attention/hard.hpp"
#include "nn/attention/normalise.hpp"
#include "nn/attention/scores.hpp"
#include "nn/positions/positions.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/check/wrong_attentions.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;
using namespace testing::attentions;

namespace {

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
