// Transformers as wholes: derivatives, who depends on whom, padding, caches.
#include "nn/transformer/transformer.hpp"

#include "core/tape/derivatives.hpp"
#include "nn/attention/weight_recorder.hpp"
#include "nn/sample.hpp"
#include "nn/seq2seq/seq2seq.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using testing::apart;

namespace {

struct NamedScheme {
  const char* name;
  PositionScheme scheme;
};

constexpr int kRotary = 6;
std::vector<NamedScheme> schemes() {
  return {{"none", no_positions()}, {"sinusoidal", sinusoidal()}, {"learned", learned_positions(12, 0.3)},
          {"shaw", shaw(2)},        {"t5", t5_buckets(8, 6)},     {"alibi", alibi()},
          {"rotary", rotary()}};
}

TransformerOptions small(const PositionScheme& positions = sinusoidal()) {
  TransformerOptions options;
  options.vocabulary = 9;
  options.layers = 2;
  options.block = {.width = 8, .heads = 2, .hidden = 10};
  options.positions = positions;
  return options;
}

const Indices ids() { return Indices{4, 5, 6, 7, 8, 3, 2, 1, 1, 2}.reshape({2, 5}); }

/// A bias of the keys moves all scores of a query alike, which softmax does not see, unless keys are turned
/// after it.
bool moves_nothing(const Tensor& leaf) { return leaf.name().ends_with("key.bias"); }

/// The parameters but those.
std::vector<Tensor> moving(const Module& model) {
  std::vector<Tensor> leaves = model.parameters();
  std::erase_if(leaves, moves_nothing);
  return leaves;
}

}  // namespace

TEST_CASE("gradients of a language model, with every scheme of positions") {
  const auto all = schemes();
  const auto which = GENERATE(range(0, 7));
  const NamedScheme& named = all[static_cast<std::size_t>(which)];
  INFO(named.name);
  TransformerOptions options = small(named.scheme);
  options.dropout = options.block.dropout = options.block.attention_dropout = 0.1;
  LanguageModel model(options);
  model.initialise(1, DType::f64);
  CHECK_GRADIENTS(
      [&](std::span<const Tensor>) {
        return cross_entropy(model(ids().columns(0, 4)), ids().columns(1, 5), {.smoothing = 0.1});
      },
      GradcheckInputs{}, which == kRotary ? model.parameters() : moving(model));
}

TEST_CASE("a bias of the keys gets a gradient of zero") {
  LanguageModel model(small());
  model.initialise(1, DType::f64);
  Tape tape;
  tape.backward(cross_entropy(model(ids().columns(0, 4)), ids().columns(1, 5)));
  int found = 0;
  for (const Tensor& leaf : model.parameters())
    if (moves_nothing(leaf)) {
      ++found;
      CHECK(max(abs(leaf.grad())).item() < 1e-15);
    }
  CHECK(found == 2);
}

TEST_CASE("gradients of blocks: norms, activations, grouped heads, cross-attention") {
  BlockOptions options{.width = 6, .heads = 3, .hidden = 5};
  BlockKind kind{.causal = true, .memory_width = 4};
  SECTION("pre") {}
  SECTION("post, relu, no bias") {
    options.norm_position = NormPosition::post;
    options.activation = Activation::relu;
    options.bias = Bias::no;
  }
  SECTION("root mean square, swiglu, one head of keys") {
    options.norm = NormKind::rms_norm;
    options.activation = Activation::swiglu;
    options.kv_heads = 1;
  }
  SECTION("no norm, gelu's tanh form") {
    options.norm_position = NormPosition::none;
    options.activation = Activation::gelu_tanh;
  }
  SECTION("neither residual nor feed-forward") { options.residual = options.feed_forward = false; }
  SECTION("another score and another normaliser") {
    options.score = cosine();
    options.normalise = sink_weights;
  }
  TransformerBlock block(options, kind);
  block.initialise(2, DType::f64);
  const auto f = [&](const Tensor& x, const Tensor& memory) {
    const PreparedKV prepared = block.cross->prepare(memory, memory, ValidLengths{3, 0});
    return block(x, ValidLengths{4, 2}.mask(4), &prepared);
  };
  CHECK_GRADIENTS(f, {random_normal({2, 4, 6}, 1, DType::f64), random_normal({2, 3, 4}, 2, DType::f64)},
                  moving(block));
}

TEST_CASE("a block without residual and feed-forward is its attention") {
  BlockOptions options{.width = 6, .heads = 2, .norm_position = NormPosition::none};
  options.residual = options.feed_forward = false;
  TransformerBlock block(options, {});
  block.initialise(2, DType::f64);
  const Tensor x = random_normal({2, 4, 6}, 1, DType::f64);
  CHECK(apart(block(x), (*block.self)(x, x, x).context) == 0);
}

TEST_CASE("a block compares and weighs as its options say, in both attentions") {
  TransformerBlock block({.width = 6, .heads = 2, .score = cosine(5), .normalise = plain_weights},
                         {.causal = true, .memory_width = 4});
  block.initialise(2, DType::f64);
  const Tensor x = random_normal({2, 4, 6}, 1, DType::f64), memory = random_normal({2, 3, 4}, 2, DType::f64);
  const WeightRecorder self(block.self->attention), cross(block.cross->attention);
  const PreparedKV prepared = block.cross->prepare(memory, memory);
  block(x, {}, &prepared);
  for (const Tensor& weights : {self.weights()[0], cross.weights()[0]}) {
    CHECK(max(abs(weights)).item() <= 5);  // a cosine's gain, not normalised
    CHECK(min(weights).item() < 0);
  }
  const Tensor ahead = select(select(self.weights()[0], -1, 3), -1, 0);  // of query 0, by key 3
  CHECK(max(abs(ahead)).item() == 0);
}

TEST_CASE("gradients of a whole transformer translator") {
  TransformerTranslatorOptions options{small(), small(), false};
  options.shared_words = GENERATE(false, true);
  options.encoder.block.dropout = 0.1;
  TransformerTranslator model(options);
  model.initialise(1, DType::f64);
  CHECK_GRADIENTS(
      [&](std::span<const Tensor>) {
        return cross_entropy(model(ids(), {5, 3}, ids().columns(0, 3)), ids().columns(1, 4), {.ignore = 0});
      },
      GradcheckInputs{}, moving(model));
}

TEST_CASE("gradients of a recurrent decoder behind a transformer encoder") {
  Seq2SeqOptions<TransformerEncoder> options;
  options.encoder = small();
  options.decoder = {.vocabulary = 9, .embedding = 4, .hidden = 5, .attention = 6, .readout = 7};
  Seq2Seq<BahdanauDecoder, TransformerEncoder> model(options);
  model.initialise(1, DType::f64);
  CHECK_GRADIENTS(
      [&](std::span<const Tensor>) {
        return cross_entropy(model(ids(), {5, 3}, ids().columns(0, 3)), ids().columns(1, 4), {.ignore = 0});
      },
      GradcheckInputs{}, moving(model));
}

TEST_CASE("no word of a causal model depends on a later one") {
  const auto all = schemes();
  const auto which = GENERATE(range(0, 7));
  const NamedScheme& named = all[static_cast<std::size_t>(which)];
  INFO(named.name);
  TransformerStack stack(2, small().block, BlockKind{.causal = true, .positions = named.scheme});
  stack.initialise(3, DType::f64);
  const Tensor x = random_normal({1, 4, 8}, 1, DType::f64);
  const Tensor all_pairs = jacobian([&](const Tensor& in) { return stack(in); }, x);  // (1,4,8, 1,4,8)
  const Tensor by_place = reshape(all_pairs, {4, 8, 4, 8});
  for (Size out = 0; out < 4; ++out)
    for (Size in = 0; in < 4; ++in) {
      const double most = max(abs(select(select(by_place, 2, in), 0, out))).item();
      if (in > out)
        CHECK(most == 0);
      else
        CHECK(most > 1e-6);
    }
}

TEST_CASE("without positions, words in another order give states in that order") {
  TransformerEncoder with(small(no_positions()));
  with.initialise(4, DType::f64);
  const Indices straight = Indices{4, 5, 6, 7}.reshape({1, 4}), turned = Indices{7, 4, 6, 5}.reshape({1, 4});
  const Tensor a = with(straight), b = with(turned);
  for (const auto& [from, to] : {std::pair<Size, Size>{0, 1}, {1, 3}, {2, 2}, {3, 0}})
    CHECK(apart(select(a, 1, from), select(b, 1, to)) < 1e-12);
}

TEST_CASE("relative schemes do not see where a text begins; absolute ones do") {
  const auto all = schemes();
  const auto which = GENERATE(range(0, 7));
  const NamedScheme& named = all[static_cast<std::size_t>(which)];
  INFO(named.name);
  // The same words at the places 0 … 2 and 5 … 7: what is before them is hidden by the mask.
  MultiHeadOptions options{.width = 8, .heads = 2};
  options.attend.positions.pairs = named.scheme.pairs;
  MultiHeadAttention attention(options);
  attention.initialise(5, DType::f64);
  const Tensor words = random_normal({1, 3, 8}, 6, DType::f64),
               before = random_normal({1, 5, 8}, 7, DType::f64);
  const auto placed = [&](const Tensor& x) {
    if (!named.scheme.input) return x;
    struct Root : Module {
    } root;
    const auto positions = named.scheme.input({root, "positions"}, 8);
    root.initialise(1, DType::f64);
    return (*positions)(x, 0);
  };
  const Mask window = Mask::from(8, 8, [](Size i, Size j) { return (i >= 5) == (j >= 5); });
  const Tensor near = placed(words), far = placed(concat({before, words}, 1));
  const Tensor a = attention(near, near, near).context,
               b = slice(attention(far, far, far, window).context, 1, 5, 8);
  const bool absolute = named.scheme.input != nullptr;
  if (absolute)
    CHECK(apart(a, b) > 1e-3);
  else
    CHECK(apart(a, b) < 1e-12);
}

TEST_CASE("a cache changes no logits, however the text is cut") {
  const auto all = schemes();
  const auto which = GENERATE(range(0, 7));
  const NamedScheme& named = all[static_cast<std::size_t>(which)];
  INFO(named.name);
  TransformerOptions options = small(named.scheme);
  options.block.heads = 4;
  options.block.kv_heads = GENERATE(4, 2, 1);
  LanguageModel model(options);
  model.initialise(6);
  model.eval();
  const Tensor whole = model(ids());
  for (const std::vector<Size>& cuts :
       std::vector<std::vector<Size>>{{0, 1, 2, 3, 4, 5}, {0, 5}, {0, 2, 5}, {0, 3, 4, 5}}) {
    StackCache cache = model.cache(GENERATE(1, 8));
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
      parts.push_back(model(ids().columns(cuts[i], cuts[i + 1]), cache));
    CHECK(apart(concat(parts, 1), whole) < 1e-5);
    if (options.block.kv_heads == 2) CHECK(cache.layers[0].keys().shape() == Dims{2, 2, 1, 5, 2});
  }
}

TEST_CASE("padding changes nothing, and what stands there touches nothing") {
  TransformerTranslator model({small(), small(), false});
  model.initialise(7, DType::f64);
  model.eval();
  const Indices target = Indices{1, 4, 5}.reshape({1, 3});
  const Tensor alone = model(Indices{4, 5, 6}.reshape({1, 3}), {3}, target);
  const Tensor states = model.encoder(Indices{4, 5, 6, 7, 8}.reshape({1, 5}), {3});
  CHECK(max(abs(slice(states, 1, 3, 5))).item() == 0);
  const Tensor padded = model(Indices{4, 5, 6, 0, 0}.reshape({1, 5}), {3}, target);
  const Tensor other = model(Indices{4, 5, 6, 7, 8}.reshape({1, 5}), {3}, target);
  CHECK(apart(alone, padded) < 1e-12);
  CHECK(apart(padded, other) < 1e-12);

  // NaN in the vector of the padding word, which is used nowhere else.
  Tensor words = model.encoder.input.words.weight;
  Tensor padding = slice(words, 0, 0, 1);
  assign(padding, full({1, 8}, std::nan(""), DType::f64));
  CHECK(apart(model(Indices{4, 5, 6, 0, 0}.reshape({1, 5}), {3}, target), alone) < 1e-12);
}

TEST_CASE("a search with a cache walks as teacher forcing does, and a beam of one as greedy") {
  TransformerTranslator model({small(), small(rotary()), false});
  model.initialise(8, DType::f64);
  model.eval();
  const ValidLengths lengths{5, 3};
  const Tensor forced = model(ids(), lengths, ids().columns(0, 4));
  const auto search = model.begin(ids(), lengths);
  for (Size t = 0; t < 4; ++t) {
    const AutoregressiveModel::Step step = search->step(ids().column(t));
    CHECK(apart(step.logits, select(forced, 1, t)) < 1e-12);
    CHECK(apart(sum(step.alignment, {1}), ones({2}, DType::f64)) < 1e-12);
    CHECK(step.alignment.at({1, 4}) == 0);
  }
  const SearchOptions options{.begin = 1, .end = 2, .max_length = 9, .beam = 1};
  const auto a = greedy(*model.begin(ids(), lengths), options);
  const auto b = beam_search(*model.begin(ids(), lengths), options);
  for (std::size_t row = 0; row < 2; ++row) CHECK(a[row].ids == b[row].ids);

  SearchOptions wide = options;
  wide.beam = 4;
  const auto both = beam_search(*model.begin(ids(), lengths), wide);
  const auto second = beam_search(*model.begin(Indices{3, 2, 1}.reshape({1, 3}), {3}), wide);
  CHECK(both[1].ids == second[0].ids);
  CHECK(both[1].log_probability == Approx(second[0].log_probability).epsilon(1e-9));
}

TEST_CASE("layers share the parameters of T5's buckets, not those of Shaw's vectors") {
  LanguageModel buckets(small(t5_buckets(8, 6))), vectors(small(shaw(2)));
  CHECK(buckets.state().count("stack.blocks.0.self.attention.positions.weight") == 1);
  CHECK(buckets.state().count("stack.blocks.1.self.attention.positions.weight") == 0);
  CHECK(vectors.state().count("stack.blocks.1.self.attention.positions.key") == 1);
}

TEST_CASE("a cloned transformer computes the same, and is another") {
  const auto all = schemes();
  const auto which = GENERATE(range(0, 7));
  LanguageModel model(small(all[static_cast<std::size_t>(which)].scheme));
  model.initialise(9);
  model.eval();
  const auto twin = clone(model, DType::f64);
  CHECK(apart(model(ids()).to(DType::f64), (*twin)(ids())) < 1e-5);
  const Tensor before = model(ids());
  twin->initialise(10, DType::f64);
  CHECK(testing::equal_bits(before, model(ids())));
}

TEST_CASE("samples follow the model's probabilities, temperature and cuts") {
  // A model whose next word does not depend on anything: probabilities 0.5, 0.3, 0.15, 0.05.
  class Dice final : public AutoregressiveModel {
   public:
    explicit Dice(Size rows) : rows_(rows) {}
    Size rows() const override { return rows_; }
    Step step(const Indices&) override {
      return {expand(log(tensor({0.5, 0.3, 0.15, 0.05}, DType::f64)), {rows_, 4}), {}};
    }
    void reorder_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

   private:
    Size rows_;
  };
  const auto shares = [](const SamplingOptions& options) {
    Dice dice(200);
    std::vector<double> counts(4, 0.0);
    for (const Decoded& row : sample(dice, options))
      for (const std::int64_t id : row.ids) counts[static_cast<std::size_t>(id)] += 1.0 / (200 * 50);
    return counts;
  };
  const auto close = [](const std::vector<double>& found, const std::vector<double>& wanted) {
    for (std::size_t i = 0; i < 4; ++i) CHECK(found[i] == Approx(wanted[i]).margin(0.02));
  };
  close(shares({}), {0.5, 0.3, 0.15, 0.05});
  close(shares({.temperature = 0}), {1, 0, 0, 0});
  const double norm = 0.25 + 0.09 + 0.0225 + 0.0025;
  close(shares({.temperature = 0.5}), {0.25 / norm, 0.09 / norm, 0.0225 / norm, 0.0025 / norm});
  close(shares({.top_k = 2}), {0.625, 0.375, 0, 0});
  close(shares({.top_p = 0.75}), {0.625, 0.375, 0, 0});
  close(shares({.top_p = 0.85}), {0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0});
  CHECK(shares({.seed = 3}) == shares({.seed = 3}));
  CHECK(shares({.seed = 3}) != shares({.seed = 4}));

  // Words are told as they are chosen, each with its row; the one that ends a sentence is not.
  std::vector<std::vector<std::int64_t>> told(3);
  Dice three(3);
  const auto heard = sample(three, {.end = 1, .on_token = [&](Size row, std::int64_t word) {
                                      told[static_cast<std::size_t>(row)].push_back(word);
                                    }});
  for (std::size_t row = 0; row < 3; ++row) CHECK(told[row] == heard[row].ids);
  CHECK((heard[0].ids != heard[1].ids && heard[0].ended));

  Dice two(2), many(5);
  const auto a = sample(two, {.max_length = 20, .seed = 3}), b = sample(many, {.max_length = 20, .seed = 3});
  CHECK(a[1].ids == b[1].ids);
  // A row that ends leaves the others' draws as they were.
  Dice five(5), again(5);
  const auto endless = sample(five, {.max_length = 100}), ends = sample(again, {.end = 0, .max_length = 100});
  for (std::size_t row = 0; row < 5; ++row) {
    std::vector<std::int64_t> wanted = endless[row].ids;
    wanted.erase(std::find(wanted.begin(), wanted.end(), 0), wanted.end());
    CHECK(ends[row].ids == wanted);
  }
  for (const Decoded& row : ends) CHECK((row.ended && std::count(row.ids.begin(), row.ids.end(), 0) == 0));
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(sample(two, {.temperature = -1}), Contains("temperature"));
  CHECK_THROWS_WITH(sample(two, {.top_p = 0}), Contains("top_p"));
}

TEST_CASE("a model has as many kinds of segments as it was given, one among them, or none") {
  for (const Size count : {0, 1, 3}) {
    CAPTURE(count);
    TransformerOptions options = small();
    options.segments = count;
    TransformerInput input({}, options);
    input.initialise(2, DType::f64);
    CHECK(input.segments.has_value() == (count > 0));
    CHECK_THROWS_AS(input(ids(), 0, Indices{0, 0}), Error);
    if (count == 0) continue;
    Tensor vectors = input.segments->weight;
    REQUIRE(vectors.shape() == Dims{count, 8});
    const Tensor before = contiguous(vectors.detach()) * 1.0, with_segments = input(ids());
    assign(vectors, zeros(vectors.shape(), DType::f64));
    const Tensor without = input(ids());
    CHECK(apart(with_segments - without, expand(select(before, 0, 0), {2, 5, 8})) < 1e-14);
  }
}

TEST_CASE("transformers say what is wrong with their input") {
  using Catch::Matchers::Contains;
  LanguageModel model(small(learned_positions(4)));
  model.initialise(1);
  CHECK_THROWS_WITH(model(ids()), Contains("the 4 learned positions, got 5 tokens from position 0"));
  CHECK_THROWS_WITH(model(Indices{1, 2}), Contains("(batch, time)"));
  CHECK_THROWS_WITH(model.begin(ids()), Contains("eval()"));
  CHECK_THROWS_WITH(MultiHeadAttention({.width = 6, .heads = 4}),
                    Contains("heads (4) must divide width (6)"));
  CHECK_THROWS_WITH(MultiHeadAttention({.width = 8, .heads = 4, .kv_heads = 3}), Contains("divisor"));
  MultiHeadAttention attention({.width = 4, .heads = 2});
  attention.initialise(1);
  CHECK_THROWS_WITH(attention(zeros({2, 3, 5}), zeros({2, 3, 4}), zeros({2, 3, 4})),
                    Contains("(batch, time, 4)"));
  CHECK_THROWS_WITH(
      TransformerEncoder({.vocabulary = 5, .block = {.width = 6, .heads = 2}, .positions = rotary()}),
      Contains("even"));
  TransformerTranslator translator({small(), small(), false});
  translator.initialise(1);
  CHECK_THROWS_WITH(translator(ids(), {5, 3}, ids(), 0.5), Contains("forcing ratio"));
  // One part in training mode is enough.
  model.eval();
  model.stack.blocks[1].train();
  CHECK_THROWS_WITH(model.begin(ids().columns(0, 3)), Contains("eval()"));
  translator.eval();
  translator.encoder.train();
  CHECK_THROWS_WITH(translator.begin(ids(), {5, 3}), Contains("eval()"));
}

TEST_CASE("a search runs while the learner records the same layer") {
  TransformerTranslator model({small(), small(), false});
  model.initialise(8);
  model.eval();
  const WeightRecorder recorder(model.stack.blocks[1].cross->attention);
  const auto found = greedy(*model.begin(ids(), {5, 3}), {.begin = 1, .end = -1, .max_length = 3});
  CHECK(found[0].alignment.size() == 3);
  CHECK(recorder.weights().size() == 3);
}
