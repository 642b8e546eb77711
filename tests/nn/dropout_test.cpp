// Dropout stands where the options say, and nowhere else: counted on the tape, layer by layer. An option that
// is ignored changes no shape and no gradient check; only what is dropped tells.
#include "nn/dropout.hpp"

#include "nn/seq2seq/seq2seq.hpp"
#include "nn/transformer/transformer.hpp"
#include "tests/dropped.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using test::Dropped;
using test::dropped;
using testing::apart;
using testing::normal;

namespace {

constexpr double kAll = 1 - 1e-9;  // drops every element of what is small

/// A block with cross-attention: x (2,3,4), memory (2,5,4), 2 heads, 6 units.
struct BlockRun {
  explicit BlockRun(BlockOptions options) : block(complete(std::move(options)), kKind) {
    block.initialise(1, DType::f64);
  }
  Tensor operator()() const {
    const PreparedKV prepared = block.cross->prepare(memory, memory);
    return block(x, {}, &prepared);
  }
  static BlockOptions complete(BlockOptions options) {
    options.width = 4;
    options.heads = 2;
    options.hidden = 6;
    return options;
  }

  const BlockKind kKind{.causal = true, .memory_width = 4};
  TransformerBlock block;
  const Tensor x = normal({2, 3, 4}, 1), memory = normal({2, 5, 4}, 2);
};

const Indices source() { return Indices{4, 5, 6, 7, 8, 0}.reshape({2, 3}); }
const Indices words() { return Indices{2, 4, 5, 3, 2, 6, 3, 0}.reshape({2, 4}); }
const ValidLengths kLengths = {3, 2};

/// Embedding 3 and 4, encoder 5 each way, decoder 6, readout 7.
TranslatorOptions small_translator() {
  TranslatorOptions options;
  options.encoder = {.vocabulary = 9, .embedding = 3, .hidden = 5};
  options.decoder = {.vocabulary = 8, .embedding = 4, .hidden = 6, .attention = 2, .readout = 7};
  return options;
}

/// What a translator drops in training, with this share of given words; and that in eval mode it drops
/// nothing.
template <class Model>
Dropped dropped_by(const TranslatorOptions& options, double forcing = 1) {
  Model model(options);
  model.initialise(1, DType::f64);
  const auto run = [&] { return model(source(), kLengths, words(), forcing); };
  const Dropped found = dropped(run);
  model.eval();
  CHECK(dropped(run).empty());
  return found;
}

}  // namespace

TEST_CASE("the dropout layer drops in training only, and at its rate") {
  Dropout layer(0.25);
  const Tensor x = variable(full({40, 50}, 3, DType::f64));
  CHECK(dropped([&] { return layer(x); }) == Dropped{{"leaf (40,50)", 1}});
  set_random(1, 1);
  Size kept = 0;
  for (const double value : layer(x.detach()).to_vector()) {
    if (value == 0) continue;
    CHECK(value == Approx(3 / 0.75));
    ++kept;
  }
  CHECK(std::abs(static_cast<double>(kept) - 1500) < 5 * std::sqrt(2000 * 0.25 * 0.75));
  layer.eval();
  CHECK(dropped([&] { return layer(x); }).empty());
  CHECK(layer(x.detach()).to_vector() == x.to_vector());
}

TEST_CASE("a block drops what each part adds, attention's weights and the feed-forward's units") {
  const auto place = GENERATE(NormPosition::pre, NormPosition::post, NormPosition::none);
  // The feed-forward's output is a product with a bias, and so is each attention's.
  CHECK(dropped(BlockRun({.norm_position = place, .dropout = 0.5})) == Dropped{{"linear (2,3,4)", 3}});
  CHECK(dropped(BlockRun({.norm_position = place, .attention_dropout = 0.5})) ==
        Dropped{{"masked_softmax (2,2,3,3)", 1}, {"softmax (2,2,3,5)", 1}});
  CHECK(dropped(BlockRun({.norm_position = place, .hidden_dropout = 0.5})) == Dropped{{"gelu (2,3,6)", 1}});
  CHECK(dropped(BlockRun({.norm_position = place})).empty());
  BlockRun evaluated(
      {.norm_position = place, .dropout = 0.5, .attention_dropout = 0.5, .hidden_dropout = 0.5});
  evaluated.block.eval();
  CHECK(dropped(evaluated).empty());
}

TEST_CASE("a block drops what a part adds, not the residual") {
  const BlockRun pre({.dropout = kAll});
  CHECK(apart(pre(), pre.x) == 0);
  const BlockRun none({.norm_position = NormPosition::none, .dropout = kAll});
  CHECK(apart(none(), none.x) == 0);
  const BlockRun post({.norm_position = NormPosition::post, .dropout = kAll});
  LayerNorm norm(4);
  norm.initialise(1, DType::f64);
  CHECK(apart(post(), norm(norm(norm(post.x)))) < 1e-12);
  const BlockRun alone({.dropout = kAll, .residual = false});
  CHECK(max(abs(alone())).item() == 0);
}

TEST_CASE("the feed-forward drops its units, whatever their activation") {
  const auto& [activation, made_by] = GENERATE(Catch::Generators::table<Activation, const char*>({
      {Activation::relu, "relu (2,3,6)"},
      {Activation::gelu, "gelu (2,3,6)"},
      {Activation::gelu_tanh, "gelu_tanh (2,3,6)"},
      {Activation::swiglu, "mul (2,3,6)"},
  }));
  FeedForward layer({}, 4, 6, activation, Bias::yes, kAll);
  layer.initialise(1, DType::f64);
  const Tensor x = normal({2, 3, 4}, 1);
  CHECK(dropped([&] { return layer(x); }) == Dropped{{made_by, 1}});
  CHECK(apart(layer(x), zeros({2, 3, 4}, DType::f64) + layer.out.bias) == 0);  // nothing but the bias is left
  layer.eval();
  CHECK(dropped([&] { return layer(x); }).empty());
}

TEST_CASE("a transformer drops its words once, when they have their places, segments and norm") {
  TransformerOptions options{.vocabulary = 9, .layers = 2, .block = {.width = 4, .heads = 2}, .dropout = 0.5};
  const Indices ids = Indices{4, 5, 6, 7, 8, 0}.reshape({2, 3});
  const auto run = [&] {
    TransformerInput input({}, options);
    input.initialise(1, DType::f64);
    return dropped([&] { return input(ids); });
  };
  CHECK(run() == Dropped{{"add (2,3,4)", 1}});  // of words and places
  options.positions = no_positions();
  CHECK(run() == Dropped{{"mul (2,3,4)", 1}});
  options.input_norm = true;
  CHECK(run() == Dropped{{"layer_norm (2,3,4)", 1}});
  options.input_norm = false;
  options.segments = 2;
  CHECK(run() == Dropped{{"add (2,3,4)", 1}});

  TransformerInput input({}, {.vocabulary = 9, .block = {.width = 4}, .dropout = kAll});
  input.initialise(1, DType::f64);
  CHECK(max(abs(input(ids))).item() == 0);
  input.eval();
  CHECK(max(abs(input(ids))).item() > 0);
}

TEST_CASE("whole transformers drop in every block and on both sides") {
  TransformerOptions side{.vocabulary = 9, .layers = 3, .block = {.width = 4, .heads = 2, .hidden = 6}};
  side.dropout = 0.1;
  side.block.dropout = side.block.attention_dropout = side.block.hidden_dropout = 0.1;
  const Indices ids = Indices{4, 5, 6, 7, 8, 3}.reshape({2, 3}),
                target = Indices{2, 4, 5, 3, 2, 6, 3, 0}.reshape({2, 4});
  LanguageModel writes(side);
  writes.initialise(1, DType::f64);
  const Dropped by_writer{
      {"add (2,3,4)", 1}, {"linear (2,3,4)", 3 * 2}, {"masked_softmax (2,2,3,3)", 3}, {"gelu (2,3,6)", 3}};
  CHECK(dropped([&] { return writes(ids); }) == by_writer);

  TransformerTranslator translates({side, side, false});
  translates.initialise(1, DType::f64);
  const auto run = [&] { return translates(ids, {3, 2}, target); };
  const Dropped by_both{// the encoder: words, self-attention and feed-forward of three blocks
                        {"add (2,3,4)", 1},
                        {"linear (2,3,4)", 3 * 2},
                        {"masked_softmax (2,2,3,3)", 3},
                        {"gelu (2,3,6)", 3},
                        // the decoder: those, and cross-attention
                        {"add (2,4,4)", 1},
                        {"linear (2,4,4)", 3 * 3},
                        {"masked_softmax (2,2,4,4)", 3},
                        {"masked_softmax (2,2,4,3)", 3},
                        {"gelu (2,4,6)", 3}};
  CHECK(dropped(run) == by_both);
  translates.eval();
  CHECK(dropped(run).empty());
}

TEST_CASE("a recurrent layer drops what goes from layer to layer, and neither its input nor its output") {
  const Tensor x = normal({2, 3, 4}, 1);
  for (const CellKind kind : {CellKind::rnn, CellKind::gru, CellKind::lstm}) {
    const auto of = [&](int layers, bool both) {
      Recurrent layer({}, kind, 4, 5, {.layers = layers, .both_directions = both, .dropout = 0.5});
      layer.initialise(1, DType::f64);
      int all = 0;
      for (const auto& [what, count] : dropped([&] { return layer(x).states; })) {
        CHECK(what.ends_with(both ? "(2,3,10)" : "(2,3,5)"));  // states, never the input
        all += count;
      }
      layer.eval();
      CHECK(dropped([&] { return layer(x).states; }).empty());
      return all;
    };
    CHECK(of(1, false) == 0);
    CHECK(of(1, true) == 0);
    CHECK(of(2, true) == 1);
    CHECK(of(4, false) == 3);
  }
}

TEST_CASE("an encoder drops its words, and the layers below what they hand on") {
  TranslatorOptions options = small_translator();
  options.encoder.dropout = 0.5;
  const auto run = [&] {
    Encoder encoder(options.encoder);
    encoder.initialise(1, DType::f64);
    return dropped([&] { return encoder(source(), kLengths).states; });
  };
  CHECK(run() == Dropped{{"where (2,3,3)", 1}});  // words; the vector of padding is kept out
  options.encoder.recurrent.layers = 3;
  options.encoder.recurrent.dropout = 0.5;
  CHECK(run() == Dropped{{"where (2,3,3)", 1}, {"concat (2,3,10)", 2}});
  options.encoder.dropout = 0;
  CHECK(run() == Dropped{{"concat (2,3,10)", 2}});
}

TEST_CASE("decoders drop their words and what stands before the vocabulary") {
  TranslatorOptions options = small_translator();
  options.decoder.dropout = 0.5;
  // All words at once: (batch, 4 words, embedding 4), and the readout (batch, 4 words, 7).
  CHECK(dropped_by<Translator>(options) == Dropped{{"where (2,4,4)", 1}, {"tanh (2,4,7)", 1}});
  CHECK(dropped_by<PlainTranslator>(options) == Dropped{{"where (2,4,4)", 1}, {"tanh (2,4,7)", 1}});
  for (const bool feeding : {false, true}) {
    options.decoder.input_feeding = feeding;
    CHECK(dropped_by<LuongTranslator>(options) ==
          Dropped{{"where (2,4,4)", 1}, {feeding ? "concat (2,4,7)" : "tanh (2,4,7)", 1}});
  }
  TranslatorOptions maxout = options;
  maxout.decoder.readout_kind = ReadoutKind::maxout;
  CHECK(dropped_by<Translator>(maxout) == Dropped{{"where (2,4,4)", 1}, {"max (2,4,7)", 1}});
  // Word by word, the same in each of four steps.
  const auto by_steps = [](const Dropped& found, const char* readout) {
    int embedded = 0, read = 0;
    for (const auto& [what, count] : found) {
      const bool of_words = what.ends_with(" (2,4)");
      CHECK((of_words || what == readout));
      (of_words ? embedded : read) += count;
    }
    CHECK(embedded == 4);
    CHECK(read == 4);
  };
  by_steps(dropped_by<Translator>(options, 0.5), "tanh (2,7)");
  by_steps(dropped_by<PlainTranslator>(options, 0.5), "tanh (2,7)");
  by_steps(dropped_by<LuongTranslator>(options, 0.5), "squeeze (2,7)");
}

TEST_CASE("with all of the readout dropped, a decoder says its bias") {
  TranslatorOptions options = small_translator();
  options.decoder.dropout = kAll;
  const auto check = [](auto& model) {
    model.initialise(1, DType::f64);
    const Tensor bias = model.decoder.output.bias;
    for (const double forcing : {1.0, 0.5})
      CHECK(apart(model(source(), kLengths, words(), forcing), zeros({2, 4, 8}, DType::f64) + bias) == 0);
  };
  Translator bahdanau(options);
  check(bahdanau);
  PlainTranslator plain(options);
  check(plain);
  for (const bool feeding : {false, true}) {
    options.decoder.input_feeding = feeding;
    LuongTranslator luong(options);
    check(luong);
  }
}

TEST_CASE("attention drops its weights, after they were handed out") {
  TranslatorOptions options = small_translator();
  options.decoder.attend.dropout = 0.5;
  CHECK(dropped_by<Translator>(options) == Dropped{{"masked_softmax (2,1,3)", 4}});
  options.decoder.input_feeding = false;
  CHECK(dropped_by<LuongTranslator>(options) == Dropped{{"masked_softmax (2,4,3)", 1}});

  Attention attention(dot(), {.dropout = kAll});
  const Tensor x = normal({2, 3, 4}, 1);
  const AttentionOutput found = attention(x, x, x);
  CHECK(max(abs(found.context)).item() == 0);
  CHECK(apart(sum(found.weights, {-1}), ones({2, 3}, DType::f64)) < 1e-12);
}
