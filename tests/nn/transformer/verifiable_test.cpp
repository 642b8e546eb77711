// A tree of guesses in one pass of a language model: each word has the logits of the text that leads to it.
#include "nn/transformer/verifiable.hpp"

#include <cmath>
#include <numeric>

#include "nn/positions/positions.hpp"
#include "nn/transformer/transformer.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using test::message_of;
using Words = std::vector<std::int64_t>;
using Places = std::vector<Size>;

namespace {

constexpr Size kWords = 7;

TransformerOptions with(const PositionScheme& positions) {
  return {.vocabulary = kWords, .layers = 2, .block = {.width = 16, .heads = 4}, .positions = positions};
}

LanguageModel& spread_out(LanguageModel& model, std::uint64_t seed = 1) {
  model.initialise(seed, DType::f64);
  // Initial weights give almost the same logits everywhere; larger ones tell texts and positions apart.
  for (const Tensor& weight : model.parameters())
    if (weight.rank() == 2) {
      Tensor larger = weight;
      assign(larger, weight.detach() * 2.0);
    }
  model.eval();
  return model;
}

/// A layer of the user's, which knows nothing of positions.
struct Own : SelfAttention {
  using SelfAttention::SelfAttention;
  Tensor operator()(const Tensor& x, const VisiblePairs&) const override { return x; }
};

/// Words and parents of all positions, and the logits of the texts that lead to them by plain passes.
struct Plain {
  const LanguageModel& model;
  Words words = {};
  Places parents = {};

  Words text_to(Size position) const {
    Words text;
    for (; position >= 0; position = parents[static_cast<std::size_t>(position)])
      text.insert(text.begin(), words[static_cast<std::size_t>(position)]);
    return text;
  }
  /// Extends both and compares each row of logits.
  void extend(VerifiableModel& model_with_cache, const Words& added, const Places& after) {
    const Tensor logits = model_with_cache.extend(added, after);
    REQUIRE(logits.shape() == Dims{static_cast<Size>(added.size()), kWords});
    for (std::size_t i = 0; i < added.size(); ++i) {
      words.push_back(added[i]);
      parents.push_back(after[i]);
      const Words text = text_to(static_cast<Size>(words.size()) - 1);
      const Size count = static_cast<Size>(text.size());
      const Tensor whole = select(model(Indices(text, {1, count})), 1, count - 1);
      CAPTURE(i, count);
      CHECK(max(abs(select(logits, 0, static_cast<Size>(i)) - select(whole, 0, 0))).item() < 1e-11);
    }
    CHECK(model_with_cache.length() == static_cast<Size>(words.size()));
  }
  void keep(VerifiableModel& model_with_cache, Size length, const Places& path) {
    model_with_cache.keep(length, path);
    Words kept(words.begin(), words.begin() + length);
    for (const Size position : path) kept.push_back(words[static_cast<std::size_t>(position)]);
    words = kept;
    parents.resize(words.size());
    std::iota(parents.begin(), parents.end(), -1);
    CHECK(model_with_cache.length() == static_cast<Size>(words.size()));
  }
};

void check_rounds(const TransformerOptions& options, Size capacity) {
  LanguageModel model(options);
  spread_out(model);
  VerifiableLanguageModel tree(model, capacity);
  Plain plain{model};
  plain.extend(tree, {1, 2, 3}, {-1, 0, 1});
  // Two branches after the last word, each with children; the order mixes the depths.
  plain.extend(tree, {4, 5, 6, 0, 1, 1, 2}, {2, 2, 3, 3, 4, 6, 8});
  // A pass that follows words of an earlier one, without a keep in between.
  plain.extend(tree, {3, 3, 0}, {9, 5, 0});
  plain.keep(tree, 3, {3, 6, 8, 9, 10});
  plain.extend(tree, {2, 4}, {7, 8});
  plain.extend(tree, {0, 6, 5}, {9, 9, 11});
  plain.keep(tree, 10, {11, 12});
  plain.extend(tree, {1}, {11});
  plain.keep(tree, 2, {});
  plain.extend(tree, {6, 6, 5}, {1, 1, 3});
  plain.keep(tree, 0, {});
  plain.extend(tree, {2, 3}, {-1, -1});
  plain.keep(tree, 0, {1});
  plain.extend(tree, {4, 5}, {0, 0});
}

}  // namespace

TEST_CASE("a tree in one pass has the logits of its texts, after each keep()") {
  const Size capacity = GENERATE(1, 64);
  SECTION("rotary") { check_rounds(with(rotary()), capacity); }
  SECTION("learned") { check_rounds(with(learned_positions(20)), capacity); }
  SECTION("sinusoidal") { check_rounds(with(sinusoidal()), capacity); }
  SECTION("alibi") { check_rounds(with(alibi()), capacity); }
  SECTION("buckets") { check_rounds(with(t5_buckets(4, 6)), capacity); }
  SECTION("grouped heads, sliding window with a sink, QK-norm") {
    for (const PositionScheme& positions : {rotary(), alibi()}) {
      TransformerOptions options = with(positions);
      options.block.kv_heads = 2;
      options.block.window = 3;
      options.block.sink_tokens = 1;
      options.block.qk_norm = options.block.learned_sink = true;
      check_rounds(options, capacity);
    }
  }
}

TEST_CASE("a tree long enough for tiles has the logits of its texts") {
  LanguageModel model(with(GENERATE(0, 1) == 0 ? rotary() : alibi()));
  spread_out(model);
  VerifiableLanguageModel tree(model);
  Plain plain{model};
  Words words;
  Places parents;
  for (Size i = 0; i < 200; ++i) {
    words.push_back((i * i + i / 3) % kWords);
    parents.push_back(i - 1);
  }
  tree.extend(words, parents);
  plain.words = words;
  plain.parents = parents;
  words.clear();
  parents.clear();
  for (Size i = 0; i < 24; ++i) {
    words.push_back((3 * i + 1) % kWords);
    parents.push_back(i < 2 ? 199 : 200 + (i - 2) / 2);
  }
  plain.extend(tree, words, parents);
}

TEST_CASE("greedy speculation with language models writes the words of greedy()") {
  LanguageModel large(with(rotary())), small(with(learned_positions(60)));
  spread_out(large, 3);
  spread_out(small, GENERATE(3u, 4u));
  const Words prompt{1, 2, 3, 1, 2};
  const SearchOptions how{.first = {2}, .end = -1, .max_length = 40};
  const auto plain = large.begin(Indices(prompt, {1, 5}));
  const Words expected = greedy(*plain, how).front().ids;
  const SamplingOptions sampling{.max_length = 40, .temperature = 0};
  const auto check = [&](Draft& draft) {
    VerifiableLanguageModel target(large);
    const Speculated found = speculate(target, draft, prompt, sampling);
    CHECK(found.text.ids == expected);
    CHECK(found.statistics.passes < found.statistics.generated);
  };
  PromptLookup lookup(3, 6);
  check(lookup);
  VerifiableLanguageModel guesses(small), same(large);
  ModelDraft tree(guesses, {2, 2, 1}), chain(same, {1, 1, 1});
  check(tree);
  check(chain);
}

TEST_CASE("speculation has the distribution of sample() for two language models", "[unsanitized]") {
  TransformerOptions options = with(rotary());
  options.layers = 1;
  options.block.width = 8;
  options.block.heads = 2;
  LanguageModel large(options), small(options);
  spread_out(large, 1);
  spread_out(small, 2);
  // Expected counts from the model's probabilities of all texts of two words after the prompt.
  const Words prompt{1, 4};
  const auto next = [&](const Words& text) {
    const Size count = static_cast<Size>(text.size());
    return softmax(select(select(large(Indices(text, {1, count})), 1, count - 1), 0, 0), -1).to_vector();
  };
  std::vector<double> expected, seen(kWords * kWords, 0), drawn = seen;
  const std::vector<double> first = next(prompt);
  for (std::int64_t a = 0; a < kWords; ++a)
    for (const double p : next({1, 4, a})) expected.push_back(first[static_cast<std::size_t>(a)] * p);
  constexpr int kTexts = 4000;
  const auto place = [](const Words& ids) { return static_cast<std::size_t>(ids[0] * kWords + ids[1]); };
  VerifiableLanguageModel guesses(small, 8);
  for (int i = 0; i < kTexts; ++i) {
    SamplingOptions how{.max_length = 2, .seed = static_cast<std::uint64_t>(i)};
    VerifiableLanguageModel target(large, 8);
    guesses.keep(0, {});
    ModelDraft draft(guesses, {2});
    seen[place(speculate(target, draft, prompt, how).text.ids)] += 1;
  }
  Words repeated;
  for (int i = 0; i < kTexts; ++i) repeated.insert(repeated.end(), prompt.begin(), prompt.end());
  const auto plain = large.begin(Indices(repeated, {kTexts, 2}), 8);
  for (const Decoded& text :
       sample(*plain, {.first = Words(kTexts, prompt.back()), .max_length = 2, .seed = 9}))
    drawn[place(text.ids)] += 1;
  double of_speculation = 0, of_sample = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double mean = kTexts * expected[i];
    of_speculation += (seen[i] - mean) * (seen[i] - mean) / mean;
    of_sample += (drawn[i] - mean) * (drawn[i] - mean) / mean;
  }
  const double freedom = kWords * kWords - 1, most = freedom + 4 * std::sqrt(2 * freedom);
  CHECK(of_speculation < most);
  CHECK(of_sample < most);
}

TEST_CASE("a cache keeps chosen positions of keys, values and data, and a state cannot forget") {
  KeyValueCache cache(2);
  const Tensor keys = random_normal({2, 3, 6, 4}, 1), values = random_normal({2, 3, 6, 5}, 2);
  const Tensor data = random_normal({2, 6, 1}, 3);
  cache.append(keys, values, data);
  cache.keep_positions(1, {2, 5});
  const auto rows = [](const Tensor& x) {
    return concat({slice(x, -2, 0, 1), slice(x, -2, 2, 3), slice(x, -2, 5, 6)}, -2);
  };
  CHECK(cache.length() == 3);
  CHECK(testing::equal_bits(cache.keys(), rows(keys)));
  CHECK(testing::equal_bits(cache.values(), rows(values)));
  CHECK(testing::equal_bits(cache.data(), rows(data)));
  cache.append(keys, values, data);
  CHECK(cache.length() == 9);
  CHECK(testing::equal_bits(slice(cache.keys(), -2, 3, 9), keys));
  CHECK(message_of([&] {
          cache.keep_positions(2, {3, 3});
        }) == "[cache] kept positions must increase, from 2 on and below the length 9, got 3 after 3");
  CHECK(message_of([&] { cache.keep_positions(2, {1}); }) ==
        "[cache] kept positions must increase, from 2 on and below the length 9, got 1 after 1");
  CHECK(message_of([&] { cache.keep_positions(2, {9}); }) ==
        "[cache] kept positions must increase, from 2 on and below the length 9, got 9 after 1");
  CHECK(message_of([&] { cache.keep_positions(10); }) ==
        "[cache] length must be from 0 to the number of positions, 9, got 10");
  CHECK(cache.length() == 9);
  KeyValueCache state(1);
  state.set_state({random_normal({1, 2}, 1)}, 4);
  state.keep_positions(4);
  CHECK(message_of([&] { state.keep_positions(3); }) ==
        "[cache] a state of constant size cannot forget, got 3 of 4 positions to keep; copy the cache "
        "first");
}

TEST_CASE("a tree of guesses: errors") {
  LanguageModel model(with(rotary()));
  model.initialise(1);
  model.train();
  CHECK_THROWS_AS(VerifiableLanguageModel(model), Error);
  model.eval();
  VerifiableLanguageModel tree(model);
  CHECK(message_of([&] { tree.extend({}, {}); }) ==
        "[verifiable] there must be at least one word, and one parent for each, got 0 words and 0 parents");
  CHECK(message_of([&] {
          tree.extend({1, 2}, {-1});
        }) ==
        "[verifiable] there must be at least one word, and one parent for each, got 2 words and 1 parents");
  CHECK(message_of([&] {
          tree.extend({1, 2}, {-1, 1});
        }) == "[verifiable] a parent must be −1 or come before its child, got parent 1 of position 1");
  CHECK(tree.length() == 0);
  tree.extend({1, 2, 3}, {-1, 0, 0});
  CHECK(message_of([&] { tree.keep(2, {2}); }) ==
        "[verifiable] the kept words must form one text, got position 2 after 1, among 3 positions");
  CHECK(message_of([&] { tree.keep(4, {}); }) ==
        "[verifiable] the kept words must form one text, got position 2 after 1, among 3 positions");
  CHECK(tree.length() == 3);

  StackCache cache = model.cache(4);
  const Indices two({1, 2}, {1, 2});
  CHECK(
      message_of([&] { model(two, cache, {}, {0}); }) ==
      "[language_model] positions must be given for all tokens so far, got 1 for 0 in the cache and ids (1,2)");
  CHECK(message_of([&] {
          model(two, cache, {}, {0, -1});
        }) == "[pairs] positions must be at least 0, one for each of the 2 keys, got 2 positions from -1 on");
}

TEST_CASE("a layer that computes with places reads a chain and refuses a tree") {
  TransformerOptions by_shaw = with(shaw(2)), by_function = with(rotary()), own = with(sinusoidal());
  by_function.block.score = [](const Tensor& q, const Tensor& k) { return matmul(q, transpose(k)); };
  own.block.attention = self_attention<Own>();
  const auto refused = [](const TransformerOptions& options) {
    LanguageModel model(options);
    model.initialise(1);
    model.eval();
    VerifiableLanguageModel text(model);
    text.extend({1, 2}, {-1, 0});
    text.extend({3, 4}, {1, 2});
    text.keep(3, {});
    const std::string message = message_of([&] { text.extend({5, 6}, {2, 2}); });
    CHECK(text.length() == 3);  // and no layer has kept a word that was refused
    const Tensor next = text.extend({5}, {2}), whole = model(Indices({1, 2, 3, 5}, {1, 4}));
    CHECK(max(abs(squeeze(next, 0) - select(select(whole, 0, 0), 0, 3))).item() < 1e-5);
    return message;
  };
  const auto says = [](const std::string& message, const std::string& part) {
    INFO(message);
    CHECK(message.find("tokens must follow one another with " + part) != std::string::npos);
  };
  says(refused(by_shaw), "a position scheme that is no score_mod");
  says(refused(by_function), "a score that is no dot product");
  says(refused(own), "BlockOptions::attention");
}
