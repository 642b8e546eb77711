// Clones of every layer: the parts and the parameters stand in the original's order.
#include "nn/seq2seq/seq2seq.hpp"
#include "nn/transformer/transformer.hpp"
#include "tests/nn/attention/score_table.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;

namespace {

void same_order(const Module& a, const Module& b) {
  INFO(a.type_name() << a.in_quotes());
  REQUIRE(a.children().size() == b.children().size());
  for (std::size_t i = 0; i < a.children().size(); ++i) {
    const Module::Child &one = a.children()[i], &other = b.children()[i];
    REQUIRE((one.module == nullptr) == (other.module == nullptr));
    if (!one.module) {
      CHECK(one.parameter->own_name() == other.parameter->own_name());
      continue;
    }
    CHECK(one.module->name() == other.module->name());
    same_order(*one.module, *other.module);
  }
}

template <class M>
void check(const M& model) {
  INFO(model.type_name());
  const auto twin = clone(model, DType::f64);
  same_order(model, *twin);
  const std::vector<Tensor> a = model.parameters(), b = twin->parameters();
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].name() == b[i].name());
}

TransformerOptions small(const PositionScheme& positions = sinusoidal()) {
  TransformerOptions options;
  options.vocabulary = 9;
  options.block = {.width = 8, .heads = 2, .activation = Activation::swiglu};
  options.positions = positions;
  options.segments = 2;
  options.input_norm = true;
  return options;
}

}  // namespace

TEST_CASE("a clone's parts stand in the original's order: single layers") {
  check(Linear(2, 3));
  check(Embedding(4, 3, 1));
  check(LayerNorm(3));
  check(RMSNorm(3));
  check(Norm({}, NormKind::rms_norm, 3, 1e-5));
  check(Norm({}, NormKind::layer_norm, 3, 1e-5));
  for (const Activation activation : {Activation::relu, Activation::swiglu})
    check(FeedForward({}, 3, 4, activation, Bias::yes, 0.1));
  check(LSTMCell(2, 3));
  check(GRU(2, 3, {.layers = 2, .both_directions = true}));
  for (const table::ScoreRow& row : table::score_rows())
    check(Attention(row.make({.query = 5, .key = 5, .third = 6})));
  check(Attention(additive(5, 5, 4, Coverage::yes), {.dropout = 0.1, .local = local_p(2, 5, 3)}));
}

TEST_CASE("a clone's parts stand in the original's order: transformers") {
  for (const PositionScheme& positions :
       {no_positions(), learned_positions(9), shaw(2), t5_buckets(), alibi(), rotary()}) {
    MultiHeadOptions attention{.width = 8, .heads = 2};
    attention.attend.positions.pairs = positions.pairs;
    check(MultiHeadAttention(attention));
    check(LanguageModel(small(positions)));
  }
  for (const NormPosition place : {NormPosition::pre, NormPosition::post, NormPosition::none})
    for (const bool feed_forward : {true, false})
      check(TransformerBlock({.width = 8, .heads = 2, .norm_position = place, .feed_forward = feed_forward},
                             {.causal = true, .memory_width = 6}));
  check(TransformerEncoder(small()));
  check(TransformerTranslator({small(), small(), false}));
  check(TransformerTranslator({small(), small(rotary()), true}));
}

TEST_CASE("a clone's parts stand in the original's order: translators") {
  TranslatorOptions options;
  options.encoder = {.vocabulary = 9, .embedding = 3, .hidden = 4};
  options.decoder = {.vocabulary = 8, .embedding = 4, .hidden = 5, .attention = 6, .readout = 4};
  options.decoder.tied = true;
  check(Translator(options));
  options.decoder.cell = CellKind::lstm;
  check(LuongTranslator(options));
  check(PlainTranslator(options));
  check(Seq2Seq<BahdanauDecoder, TransformerEncoder>({small(), options.decoder}));
}

TEST_CASE("a clone in another type before there are values has that type") {
  const Linear layer(3, 2);
  const auto twin = clone(layer, DType::f64);
  CHECK(twin->weight.dtype() == DType::f64);
  CHECK(twin->bias.dtype() == DType::f64);
  CHECK(clone(layer)->weight.dtype() == DType::f32);
  const auto of_twin = clone(*twin);
  CHECK(of_twin->weight.dtype() == DType::f64);
}
