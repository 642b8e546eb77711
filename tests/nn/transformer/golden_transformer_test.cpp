// Multi-head attention, position schemes, blocks and whole transformers against PyTorch's numbers, with
// gradients.
#include "nn/transformer/transformer.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using testing::GoldenCase;

namespace {

/// All parameters but the biases of keys, whose gradient is 0.
void check_gradients(const GoldenCase& golden, const Module& model) {
  int checked = 0;
  for (const Tensor& leaf : model.parameters()) {
    if (!golden.has("grad." + leaf.name())) continue;
    golden.check("grad." + leaf.name(), leaf.grad());
    ++checked;
  }
  CHECK(checked > 0);
}

Size number(const GoldenCase& golden, const char* name) { return static_cast<Size>(golden.at(name).item()); }

bool has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

BlockOptions block_options() { return {.width = 8, .heads = 4, .hidden = 12}; }

TransformerOptions options() {
  TransformerOptions options;
  options.vocabulary = 9;
  options.block = block_options();
  return options;
}

}  // namespace

TEST_CASE("multi-head attention equals PyTorch's") {
  const std::string name = GENERATE("plain", "no_bias", "widths", "grouped", "multi_query", "causal",
                                    "lengths", "mask_per_head", "grouped_mask_per_head");
  INFO(name);
  const GoldenCase golden("multi_head", name);
  MultiHeadOptions made{
      .width = 8, .heads = number(golden, "heads"), .kv_heads = number(golden, "key_heads")};
  made.key_width = golden.at("keys").size(-1);
  made.value_width = golden.at("values").size(-1);
  made.head_width = number(golden, "head_width");
  made.value_head_width = number(golden, "value_head_width");
  made.bias = golden.has("query.bias") ? Bias::yes : Bias::no;
  MultiHeadAttention attention(made);
  golden.load_into(attention);
  const Tensor queries = golden.input("queries"), keys = golden.input("keys"),
               values = golden.input("values");
  const Mask mask = golden.has("mask") ? golden.mask("mask") : Mask{};
  Tape tape;
  const AttentionOutput looked = attention(queries, keys, values, mask);
  CHECK(looked.weights.shape() == Dims{2, made.heads, 4, 5});
  golden.check("output", looked.context);
  tape.backward(golden.weigh(looked.context));
  check_gradients(golden, attention);
  golden.check_gradients({queries, keys, values});
}

TEST_CASE("position schemes told to attention equal the reference") {
  const std::string name =
      GENERATE("shaw", "t5", "t5_causal", "alibi", "alibi_causal", "rotary", "rotary_later");
  INFO(name);
  const GoldenCase golden("positions", name);
  const PositionScheme scheme = has(name, "shaw")    ? shaw(2)
                                : has(name, "t5")    ? t5_buckets(8, 5)
                                : has(name, "alibi") ? alibi()
                                                     : rotary();
  Attention attention(
      scaled_dot(),
      {.positions = scheme,
       .pair_shape = {.heads = 4, .head_width = 6, .value_width = 5, .causal = has(name, "causal")}});
  golden.load_into(attention);
  const Tensor query = golden.input("query"), key = golden.input("key"), value = golden.input("value");
  Tape tape;
  ScoreState state;
  state.step = has(name, "later") ? 11 : 0;
  const AttentionOutput looked =
      attention(query, attention.prepare_masked(key, value, golden.mask("mask"), state.step), state);
  golden.check("weights", looked.weights);
  golden.check("output", looked.context);
  tape.backward(golden.weigh(looked.context));
  golden.check_gradients({query, key, value});
  if (!attention.parameters().empty()) check_gradients(golden, attention);
}

TEST_CASE("sinusoids equal the reference") {
  const GoldenCase golden("positions", "sinusoids");
  golden.check("even", sinusoids(0, 6, 8, DType::f64));
  golden.check("odd", sinusoids(0, 6, 5, DType::f64));
  golden.check("odd", concat({sinusoids(0, 2, 5, DType::f64), sinusoids(2, 4, 5, DType::f64)}, 0));
}

TEST_CASE("transformer blocks equal PyTorch's") {
  const std::string name =
      GENERATE("encoder_pre_relu", "encoder_post_gelu", "decoder_pre_gelu", "decoder_post_relu");
  INFO(name);
  const GoldenCase golden("blocks", name);
  const bool decoder = has(name, "decoder");
  BlockOptions made = block_options();
  made.norm_position = has(name, "pre") ? NormPosition::pre : NormPosition::post;
  made.activation = has(name, "relu") ? Activation::relu : Activation::gelu;
  TransformerBlock block(made, {.causal = decoder, .memory_width = decoder ? 8 : 0});
  golden.load_into(block);
  const Tensor x = golden.input("input");
  Tape tape;
  Tensor y;
  if (decoder) {
    const Tensor memory = golden.input("memory");
    const PreparedKV prepared = block.cross->prepare(memory, memory, golden.lengths("memory.lengths"));
    y = block(x, Mask{}, &prepared);
    golden.check("output", y);
    tape.backward(golden.weigh(y));
    golden.check_gradients({x, memory});
  } else {
    const Mask valid = golden.lengths().mask(4);
    y = where(valid.reshape({2, 4, 1}), block(x, valid), scalar(0, DType::f64));
    golden.check("output", y);
    tape.backward(golden.weigh(y));
    golden.check_gradients({x});
  }
  check_gradients(golden, block);
}

TEST_CASE("a language model equals PyTorch's") {
  const GoldenCase golden("transformers", "language_model");
  LanguageModel model(options());
  golden.load_into(model);
  const Indices ids = golden.ids("ids");
  Tape tape;
  const Tensor logits = model(ids.columns(0, 4));
  golden.check("logits", logits);
  const Tensor loss = cross_entropy(logits, ids.columns(1, 5));
  golden.check("loss", loss);
  tape.backward(golden.weigh(loss, "cotangent.loss"));
  check_gradients(golden, model);
}

TEST_CASE("a transformer translator equals PyTorch's") {
  const GoldenCase golden("transformers", "translator");
  TransformerTranslator model({options(), options(), false});
  golden.load_into(model);
  const Indices target = golden.ids("target");
  Tape tape;
  const Tensor logits = model(golden.ids("source"), golden.lengths("source.lengths"), target.columns(0, 4));
  golden.check("logits", logits);
  const Tensor loss = cross_entropy(logits, target.columns(1, 5));
  golden.check("loss", loss);
  tape.backward(golden.weigh(loss, "cotangent.loss"));
  check_gradients(golden, model);
}
