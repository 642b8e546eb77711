// Llama against an independent NumPy program (lessons/38_chat/tiny/make_tiny.py), in parts and with several threads,
// and the files and texts that it refuses.
#include "nn/llama/llama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/core.hpp"
#include "core/io/safetensors.hpp"
#include "nn/text/lines.hpp"
#include "tests/catch.hpp"
#include "tests/largest_difference.hpp"
#include "tests/message_of.hpp"
#include "tests/threads.hpp"

using namespace tapestry;
using test::largest_difference;
using test::message_of;

namespace {

using Json = nlohmann::json;
using Tokens = std::vector<std::int64_t>;

const std::string kFolder = TAPESTRY_SOURCE_DIR "/lessons/38_chat/tiny/";

Gguf tiny() { return read_gguf(kFolder + "tiny.gguf"); }
const Json& facts() {
  static const Json file = Json::parse(read_text(kFolder + "reference.json"));
  return file;
}
Tensor reference_logits() { return read_safetensors(kFolder + "reference.safetensors").tensors.at("logits"); }

LlamaOptions exact(Size chunk = 256) {
  return {.capacity = 4, .arithmetic = QuantisedArithmetic::f32, .chunk = chunk};
}

Tensor logits_of(const Llama& model, const Tokens& ids, bool last_only = false) {
  LlamaCache cache = model.cache();
  return model(ids, cache, last_only);
}

/// Replaces a tensor's values by `values`, in f32.
void replace(Gguf& file, const std::string& name, const Tensor& values) {
  const auto memory = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(values.count()) * 4);
  const Tensor dense = contiguous(values);
  std::memcpy(memory->data(), dense.data<float>(), memory->size());
  file.tensors[name] = {values.shape(), BlockType::f32, *memory, memory};
}

Tensor values_of(const Gguf& file, const std::string& name) {
  const GgufTensor& x = file.at(name);
  const Size rows = x.shape.rank() == 2 ? x.shape[0] : 1;
  return reshape(dequantise({rows, x.shape.back(), x.type, x.bytes, x.owner}), x.shape);
}

}  // namespace

TEST_CASE("llama: a file of another program gives the logits of an independent one") {
  const Gguf file = tiny();
  std::set<BlockType> types;
  for (const auto& [name, tensor] : file.tensors) types.insert(tensor.type);
  CHECK(types.size() == 10);  // every format
  const Llama model(file, exact());
  const Llama::Sizes& sizes = model.sizes();
  CHECK(sizes.blocks == 2);
  CHECK(sizes.width == 64);
  CHECK(sizes.heads == 4);
  CHECK(sizes.kv_heads == 2);
  CHECK(sizes.head_width == 16);
  CHECK(sizes.hidden == 256);
  CHECK(sizes.vocabulary == 448);
  CHECK(sizes.context == 256);
  CHECK(sizes.rope_base == 5000);
  CHECK(sizes.norm_epsilon == Approx(0.01));
  Size bytes = 0;
  for (const auto& [name, tensor] : file.tensors) bytes += static_cast<Size>(tensor.bytes.size());
  CHECK(model.weight_bytes() == bytes);
  const Tensor logits = logits_of(model, facts().at("ids").get<Tokens>());
  CHECK(largest_difference(logits, reference_logits()) < 1e-4);
}

TEST_CASE("llama: a text in parts and in chunks has the logits of the whole") {
  const Tokens ids = facts().at("ids");
  const Tensor expected = reference_logits();
  const auto count = static_cast<Size>(ids.size());
  for (const Size chunk : {1, 7, 64}) {
    const Llama model(tiny(), exact(chunk));
    CHECK(largest_difference(logits_of(model, ids), expected) < 1e-4);
    CHECK(largest_difference(logits_of(model, ids, true), slice(expected, 0, count - 1, count)) < 1e-4);
  }
  const Llama model(tiny(), exact());
  for (const Size first : {Size{1}, Size{2}, Size{29}, count - 1}) {
    LlamaCache cache = model.cache();
    const Tensor a = model({ids.begin(), ids.begin() + first}, cache);
    CHECK(cache.length() == first);
    CHECK(cache.bytes() == first * 2 * 2 * 2 * 16 * 4);  // blocks, keys and values, heads, width, f32
    LlamaCache branch = cache;
    const Tensor b = model({ids.begin() + first, ids.end()}, cache);
    CHECK(largest_difference(concat({a, b}, 0), expected) < 1e-4);
    // A copy continues alone, and a truncated text continues from the place that is left.
    model({5, 6, 7}, branch);
    branch.truncate(first);
    CHECK(largest_difference(model({ids.begin() + first, ids.end()}, branch), b) == 0);
  }
  LlamaCache cache = model.cache();
  model(ids, cache);
  cache.truncate(0);
  CHECK(cache.bytes() == 0);
  CHECK(largest_difference(model(ids, cache), logits_of(model, ids)) == 0);
}

TEST_CASE("llama: answers equal the reference's, rounded activations too") {
  const Gguf file = tiny();
  const ByteLevelBpe tokenizer = tokenizer_of(file);
  const ChatTemplate format = chat_template_of(file);
  CHECK(format.end() == "<|im_end|>");
  for (const QuantisedArithmetic arithmetic : {QuantisedArithmetic::f32, QuantisedArithmetic::int8}) {
    const Llama model(file, {.arithmetic = arithmetic});
    for (const auto& one : facts().at("answers")) {
      INFO(one.at("question"));
      const Ids prompt = chat_ids(tokenizer, format.render({{"user", one.at("question")}}));
      Tokens ids(prompt.begin(), prompt.end()), answer;
      REQUIRE(ids == one.at("ids").get<Tokens>());
      LlamaCache cache = model.cache();
      while (answer.size() < 40 && (answer.empty() || answer.back() != 2)) {
        const std::vector<double> logits = model(ids, cache, true).to_vector();
        answer.push_back(std::max_element(logits.begin(), logits.end()) - logits.begin());
        ids = {answer.back()};
      }
      CHECK(answer == one.at("answer").get<Tokens>());
      CHECK(tokenizer.decode(answer, true) == one.at("text"));
    }
  }
}

TEST_CASE("llama: the same bits with 1 and 4 threads") {
  const Tokens ids = facts().at("ids");
  for (const QuantisedArithmetic arithmetic : {QuantisedArithmetic::f32, QuantisedArithmetic::int8}) {
    const Llama model(tiny(), {.arithmetic = arithmetic, .chunk = 50});
    std::vector<Tensor> results;
    for (const int threads : {1, 4}) {
      const test::Threads guard(threads);
      LlamaCache cache = model.cache();
      const Tensor many = model(ids, cache), one = model({9}, cache);
      results.push_back(concat({many, one}, 0));
    }
    CHECK(results[0].to_vector() == results[1].to_vector());
  }
}

TEST_CASE("llama: a trace has the state after each block and the weights of each head") {
  const Llama model(tiny(), exact(16));
  const Tokens ids = facts().at("ids");
  LlamaCache cache = model.cache();
  LlamaTrace trace;
  const Tensor logits = model(ids, cache, true, &trace);
  const auto count = static_cast<Size>(ids.size());
  REQUIRE(trace.states.size() == 2);
  REQUIRE(trace.weights.size() == 2);
  CHECK(largest_difference(model.logits_of(reshape(trace.states[1], {1, 64})), logits) < 1e-5);
  CHECK(largest_difference(model.logits_of(reshape(trace.states[0], {1, 64})), logits) > 0.1);
  for (const Tensor& weights : trace.weights) {
    CHECK(weights.shape() == Dims{4, count});
    CHECK(largest_difference(sum(weights, {-1}), ones({4})) < 1e-5);
  }
  CHECK(message_of([&] { model.logits_of(zeros({3})); }) ==
        "[llama] states must be (…, 64) in f32, got (3) in f32");
}

TEST_CASE("llama: an output matrix, linear scaling and factors of the frequencies") {
  const Tokens ids = facts().at("ids");
  const Tensor tied = logits_of(Llama(tiny(), exact()), ids);
  Gguf file = tiny();
  const Tensor table = values_of(file, "token_embd.weight");
  replace(file, "output.weight", table * 2.0);
  CHECK(largest_difference(logits_of(Llama(file, exact()), ids), tied * 2.0) < 1e-4);

  // Halved frequencies, written in three ways.
  const auto scaled = [&](const auto& change) {
    Gguf changed = tiny();
    change(changed);
    return logits_of(Llama(changed, exact()), ids);
  };
  const Tensor linear = scaled([](Gguf& x) {
    x.metadata["llama.rope.scaling.type"] = std::string("linear");
    x.metadata["llama.rope.scaling.factor"] = 2.0f;
  });
  const Tensor old = scaled([](Gguf& x) { x.metadata["llama.rope.scale_linear"] = 2.0f; });
  const Tensor factors = scaled([](Gguf& x) { replace(x, "rope_freqs.weight", full({8}, 2)); });
  CHECK(largest_difference(linear, tied) > 0.1);
  CHECK(largest_difference(linear, old) == 0);
  CHECK(largest_difference(linear, factors) == 0);
}

TEST_CASE("llama: refuses files that it cannot compute, in one sentence") {
  const auto refused = [](const auto& change) {
    Gguf file = tiny();
    file.where = "x.gguf";
    change(file);
    return message_of([&] { Llama model(file); });
  };
  CHECK(refused([](Gguf& x) { x.metadata["general.architecture"] = std::string("qwen2"); }) ==
        "[llama] 'x.gguf' must have the architecture llama, got 'qwen2'; use a model of the llama family");
  CHECK(refused([](Gguf& x) {
          x.tensors.erase("blk.1.ffn_up.weight");
        }).starts_with("'x.gguf' has no tensor named \"blk.1.ffn_up.weight\""));
  CHECK(
      refused([](Gguf& x) { x.tensors["blk.0.attn_k.weight"] = x.at("blk.0.attn_q.weight"); }) ==
      "[llama] 'x.gguf': tensor \"blk.0.attn_k.weight\" must have shape (32,64), got (64,64); the sizes in the "
      "metadata do not fit it");
  CHECK(
      refused([](Gguf& x) { x.tensors["blk.0.attn_q.bias"] = x.at("output_norm.weight"); }) ==
      "[llama] 'x.gguf' must have the tensors of the llama architecture alone, got \"blk.0.attn_q.bias\"; use "
      "another file");
  CHECK(
      refused([](Gguf& x) { x.metadata["llama.rope.scaling.type"] = std::string("yarn"); }) ==
      "[llama] 'x.gguf' must scale its rotary positions linearly or not at all, got 'yarn'; use another file");
  CHECK(refused([](Gguf& x) { x.metadata["llama.attention.head_count_kv"] = std::uint32_t{3}; }) ==
        "[llama] 'x.gguf': the heads of keys (3) must divide the heads of queries (4)");
  CHECK(refused([](Gguf& x) { x.metadata["llama.attention.head_count"] = std::uint32_t{6}; }) ==
        "[llama] 'x.gguf': the heads (6) must divide the width (64)");
  CHECK(refused([](Gguf& x) { x.metadata["llama.block_count"] = std::uint32_t{0}; }) ==
        "[llama] 'x.gguf': \"llama.block_count\" must be at least 1, got 0");
  CHECK(refused([](Gguf& x) { x.metadata["llama.expert_count"] = std::uint32_t{8}; }) ==
        "[llama] 'x.gguf' must have no experts, got 8; use a model without them");
  CHECK(refused([](Gguf& x) {
          x.metadata["llama.rope.dimension_count"] = std::uint32_t{18};
        }).starts_with("[llama] 'x.gguf': \"llama.rope.dimension_count\" must be even"));
  Gguf file = tiny();
  file.where = "x.gguf";
  file.metadata["tokenizer.ggml.model"] = std::string("llama");
  CHECK(message_of([&] { tokenizer_of(file); }) ==
        "[llama] 'x.gguf' must have a byte-level tokenizer (gpt2), got 'llama'; use another file");
  file.metadata.erase("tokenizer.chat_template");
  CHECK(message_of([&] { chat_template_of(file); }) ==
        "[llama] 'x.gguf' must have a chat template (tokenizer.chat_template), got none; use a chat model");
}

TEST_CASE("llama: refuses texts that do not fit, and the cache stays as it was") {
  const Llama model(tiny(), exact());
  LlamaCache cache = model.cache();
  model(Tokens(255, 7), cache, true);
  CHECK(message_of([&] {
          model({1, 2}, cache);
        }) == "[llama] a text must have at most 256 tokens, got 2 after 255; start a new text or shorten it");
  CHECK(message_of([&] { model({448}, cache); }) ==
        "[llama] ids must be from 0 to 447, got 448; use the tokenizer of this model");
  CHECK(message_of([&] { model({-1}, cache); }).starts_with("[llama] ids must be from 0 to 447, got -1"));
  CHECK(message_of([&] { model({}, cache); }) == "[llama] a call must have at least one token, got none");
  CHECK(message_of([&] {
          cache.truncate(256);
        }).starts_with("[cache] length must be from 0 to the number of positions, 255"));
  CHECK_THROWS_AS(cache.truncate(-1), Error);
  CHECK(cache.length() == 255);
  CHECK(model({1}, cache).shape() == Dims{1, 448});
  CHECK_THROWS_AS(model({1}, cache), Error);
}
