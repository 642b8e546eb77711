// Reads a Llama, its tokenizer and its chat template from a GGUF file.
#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "core/io/text.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/error.hpp"
#include "nn/llama/llama.hpp"
#include "nn/positions/rotary.hpp"

namespace tapestry {
namespace {

/// Reads tensors of a file and remembers which ones it has read.
class Tensors {
 public:
  explicit Tensors(const Gguf& file) : file_(file) {}

  bool has(const std::string& name) const {
    return file_.tensors.contains(name) || file_.unsupported.contains(name);
  }
  QuantisedMatrix matrix(const std::string& name, Size rows, Size columns) {
    const GgufTensor& tensor = take(name, {rows, columns});
    return {rows, columns, tensor.type, tensor.bytes, tensor.owner};
  }
  /// Returns a vector in f32.
  Tensor vector(const std::string& name, Size size) {
    const GgufTensor& tensor = take(name, {size});
    return reshape(dequantise({1, size, tensor.type, tensor.bytes, tensor.owner}), {size});
  }
  /// Throws Error if the file has a tensor that was not read.
  void refuse_others() const {
    const auto check = [this](const auto& all) {
      for (const auto& one : all)
        if (!taken_.contains(one.first))
          fail(
              "[llama] '{}' must have the tensors of the llama architecture alone, got \"{}\"; use another file",
              file_.where, printable(one.first, 80));
    };
    check(file_.tensors);
    check(file_.unsupported);
  }

 private:
  const GgufTensor& take(const std::string& name, const Dims& shape) {
    const GgufTensor& tensor = file_.at(name);
    if (tensor.shape != shape)
      fail("[llama] '{}': tensor \"{}\" must have shape {}, got {}; the sizes in the metadata do not fit it",
           file_.where, name, to_string(shape), to_string(tensor.shape));
    taken_.insert(name);
    return tensor;
  }

  const Gguf& file_;
  std::set<std::string, std::less<>> taken_;
};

Size positive(const Gguf& file, const std::string& key) {
  const Size size = file.get<std::int64_t>(key);
  if (size < 1) fail("[llama] '{}': \"{}\" must be at least 1, got {}", file.where, key, size);
  return size;
}

double positive(const Gguf& file, const std::string& key, double otherwise) {
  const double number = file.get<double>(key, otherwise);
  if (!(number > 0) || !std::isfinite(number))
    fail("[llama] '{}': \"{}\" must be positive and finite, got {}", file.where, key, number);
  return number;
}

Llama::Sizes sizes_of(const Gguf& file) {
  if (const auto name = file.get<std::string>("general.architecture"); name != "llama")
    fail("[llama] '{}' must have the architecture llama, got '{}'; use a model of the llama family",
         file.where, printable(name, 40));
  if (file.get<std::int64_t>("llama.expert_count", 0) > 0)
    fail("[llama] '{}' must have no experts, got {}; use a model without them", file.where,
         file.get<std::int64_t>("llama.expert_count"));
  Llama::Sizes sizes;
  sizes.blocks = positive(file, "llama.block_count");
  sizes.width = positive(file, "llama.embedding_length");
  sizes.heads = positive(file, "llama.attention.head_count");
  sizes.kv_heads = file.has("llama.attention.head_count_kv") ? positive(file, "llama.attention.head_count_kv")
                                                             : sizes.heads;
  if (sizes.heads % sizes.kv_heads != 0)
    fail("[llama] '{}': the heads of keys ({}) must divide the heads of queries ({})", file.where,
         sizes.kv_heads, sizes.heads);
  if (file.has("llama.attention.key_length")) {
    sizes.head_width = positive(file, "llama.attention.key_length");
  } else {
    if (sizes.width % sizes.heads != 0)
      fail("[llama] '{}': the heads ({}) must divide the width ({})", file.where, sizes.heads, sizes.width);
    sizes.head_width = sizes.width / sizes.heads;
  }
  if (const Size value = file.get<std::int64_t>("llama.attention.value_length", sizes.head_width);
      value != sizes.head_width)
    fail("[llama] '{}': values must have the width of keys ({}), got {}", file.where, sizes.head_width,
         value);
  sizes.hidden = positive(file, "llama.feed_forward_length");
  sizes.context = positive(file, "llama.context_length");
  const Dims& table = file.at("token_embd.weight").shape;
  sizes.vocabulary = table.rank() > 0 ? table[0] : 0;
  sizes.rope_base = positive(file, "llama.rope.freq_base", 10000);
  sizes.norm_epsilon = positive(file, "llama.attention.layer_norm_rms_epsilon", 1e-5);
  return sizes;
}

/// Returns the rotary frequencies with the file's scaling.
std::vector<double> frequencies_of(const Gguf& file, const Llama::Sizes& sizes, Tensors& tensors) {
  RotaryOptions options{.base = sizes.rope_base, .pairs = RotaryPairs::adjacent};
  options.width = file.get<std::int64_t>("llama.rope.dimension_count", sizes.head_width);
  if (options.width < 2 || options.width % 2 != 0 || options.width > sizes.head_width)
    fail(
        "[llama] '{}': \"llama.rope.dimension_count\" must be even and from 2 to the head's width {}, got {}",
        file.where, sizes.head_width, options.width);
  // Old files have only a factor (llama.rope.scale_linear), which means linear scaling.
  const bool old = file.has("llama.rope.scale_linear");
  const auto kind = file.get<std::string>("llama.rope.scaling.type", old ? "linear" : "none");
  if (kind == "linear") {
    options.scaling = RotaryScaling::linear;
    options.factor = positive(file, old ? "llama.rope.scale_linear" : "llama.rope.scaling.factor", 1);
  } else if (kind != "none") {
    fail("[llama] '{}' must scale its rotary positions linearly or not at all, got '{}'; use another file",
         file.where, printable(kind, 40));
  }
  std::vector<double> frequencies =
      RotaryPositions(Parent{}, {.head_width = sizes.head_width}, options).frequencies(sizes.head_width);
  if (tensors.has("rope_freqs.weight")) {
    const std::vector<double> factors =
        tensors.vector("rope_freqs.weight", static_cast<Size>(frequencies.size())).to_vector();
    for (std::size_t i = 0; i < factors.size(); ++i) frequencies[i] /= factors[i];
  }
  return frequencies;
}

/// Returns the text of the token that a key names, or nothing if the file has no such key.
std::string token_of(const Gguf& file, const std::vector<std::string>& tokens, const std::string& key) {
  if (!file.has(key)) return "";
  const auto id = file.get<std::int64_t>(key);
  if (id < 0 || id >= static_cast<std::int64_t>(tokens.size()))
    fail("[llama] '{}': \"{}\" must be from 0 to {}, got {}", file.where, key, tokens.size() - 1, id);
  return tokens[static_cast<std::size_t>(id)];
}

}  // namespace

Llama::Llama(const Gguf& file, const LlamaOptions& options) : options_(options), sizes_(sizes_of(file)) {
  if (options.capacity < 1 || options.chunk < 1)
    fail("[llama] capacity and chunk must be at least 1, got {} and {}", options.capacity, options.chunk);
  Tensors tensors(file);
  frequencies_ = frequencies_of(file, sizes_, tensors);
  const Size width = sizes_.width, hidden = sizes_.hidden, queries = sizes_.heads * sizes_.head_width,
             keys = sizes_.kv_heads * sizes_.head_width;
  embedding_ = tensors.matrix("token_embd.weight", sizes_.vocabulary, width);
  output_norm_ = tensors.vector("output_norm.weight", width);
  output_ =
      tensors.has("output.weight") ? tensors.matrix("output.weight", sizes_.vocabulary, width) : embedding_;
  for (Size i = 0; i < sizes_.blocks; ++i) {
    const auto name = [i](const char* part) { return fmt::format("blk.{}.{}.weight", i, part); };
    Block block;
    block.attention_norm = tensors.vector(name("attn_norm"), width);
    block.query = tensors.matrix(name("attn_q"), queries, width);
    block.key = tensors.matrix(name("attn_k"), keys, width);
    block.value = tensors.matrix(name("attn_v"), keys, width);
    block.output = tensors.matrix(name("attn_output"), width, queries);
    block.feed_forward_norm = tensors.vector(name("ffn_norm"), width);
    block.gate = tensors.matrix(name("ffn_gate"), hidden, width);
    block.up = tensors.matrix(name("ffn_up"), hidden, width);
    block.down = tensors.matrix(name("ffn_down"), width, hidden);
    blocks_.push_back(std::move(block));
  }
  tensors.refuse_others();
}

ByteLevelBpe tokenizer_of(const Gguf& file) {
  if (const auto model = file.get<std::string>("tokenizer.ggml.model"); model != "gpt2")
    fail("[llama] '{}' must have a byte-level tokenizer (gpt2), got '{}'; use another file", file.where,
         printable(model, 40));
  ByteLevelVocabulary vocabulary{
      .tokens = file.get<std::vector<std::string>>("tokenizer.ggml.tokens"),
      .merges = file.get<std::vector<std::string>>("tokenizer.ggml.merges"),
      .pre_tokenizer = file.get<std::string>("tokenizer.ggml.pre", std::string("default"))};
  for (const std::int64_t type : file.get<std::vector<std::int64_t>>("tokenizer.ggml.token_type", {}))
    vocabulary.types.push_back(static_cast<std::int32_t>(type));
  return ByteLevelBpe(vocabulary);
}

ChatTemplate chat_template_of(const Gguf& file) {
  if (!file.has("tokenizer.chat_template"))
    fail("[llama] '{}' must have a chat template (tokenizer.chat_template), got none; use a chat model",
         file.where);
  const auto tokens = file.get<std::vector<std::string>>("tokenizer.ggml.tokens");
  return ChatTemplate::recognise(file.get<std::string>("tokenizer.chat_template"),
                                 token_of(file, tokens, "tokenizer.ggml.bos_token_id"),
                                 token_of(file, tokens, "tokenizer.ggml.eos_token_id"));
}

}  // namespace tapestry
