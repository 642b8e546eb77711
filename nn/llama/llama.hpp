// Language models of the llama architecture, read from a GGUF file, for inference (Touvron et al. 2023, arXiv
// 2302.13971; grouped heads: Ainslie et al. 2023, arXiv 2305.13245). A block computes
//
//     x ← x + Wₒ · attend(rotate(W_q n), rotate(W_k n), W_v n)      n = RMSNorm(x)
//     x ← x + W_down (silu(W_gate n) ⊙ W_up n)                      n = RMSNorm(x)
//
// and the logits are W_out · RMSNorm(x), where W_out is the embedding if the file has no output matrix. Rotary
// positions rotate adjacent pairs of components, as in llama.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "core/io/gguf.hpp"
#include "core/quantised/matrix.hpp"
#include "core/tensor/tensor.hpp"
#include "nn/text/byte_level.hpp"
#include "nn/text/chat.hpp"
#include "nn/transformer/cache.hpp"

namespace tapestry {

/// Options of Llama.
struct LlamaOptions {
  /// Initial capacity of a cache in tokens; it doubles when the cache is full.
  Size capacity = 256;
  /// Arithmetic of all products with weights. f32 multiplies the dequantised weights, for comparisons.
  QuantisedArithmetic arithmetic = QuantisedArithmetic::int8;
  /// Largest number of tokens that the model reads in one pass. Longer prompts take several passes, which bounds the
  /// memory for activations. The number of passes changes the results only by rounding.
  Size chunk = 256;
};

/// Keys and values of one text, from Llama::cache(). A copy has its own memory.
class LlamaCache {
 public:
  /// Number of tokens of the text so far.
  Size length() const { return length_; }
  /// Removes the tokens after the first `length`. Throws Error for a negative length and for one above length().
  void truncate(Size length);
  /// Bytes of keys and values of the tokens so far.
  Size bytes() const;

 private:
  friend class Llama;
  explicit LlamaCache(Size blocks, Size capacity);

  std::vector<KeyValueCache> blocks_;
  Size length_ = 0;
};

/// Intermediate results of the last token of a call, one for each block, for plots.
struct LlamaTrace {
  std::vector<Tensor>
      states;  ///< (width): state x after the block; Llama::logits_of() reads it (the logit lens).
  std::vector<Tensor> weights;  ///< (heads, keys): attention weights of the token.
};

/// A language model of the llama architecture. It has no parameters: the weights stay quantised in the mapped file.
/// Calls are independent, so one model can serve any number of texts and threads.
class Llama {
 public:
  /// Sizes of a model.
  struct Sizes {
    Size blocks = 0;          ///< Number of blocks.
    Size width = 0;           ///< Width of the state.
    Size heads = 0;           ///< Number of heads of queries.
    Size kv_heads = 0;        ///< Number of heads of keys and values, a divisor of `heads`.
    Size head_width = 0;      ///< Width of a head.
    Size hidden = 0;          ///< Width inside the feed-forward layers.
    Size vocabulary = 0;      ///< Number of tokens.
    Size context = 0;         ///< Largest length of a text in tokens.
    double rope_base = 0;     ///< Base of the rotary frequencies.
    double norm_epsilon = 0;  ///< ε of RMSNorm.
  };

  /// Reads sizes and weights. Throws Error, with the path, for another architecture, for experts, and for sizes that do
  /// not fit. Also throws if a tensor is missing, has another shape, or is not part of the architecture (such as a
  /// bias), and if rotary positions are scaled in another way than linearly or by Llama 3's factors
  /// (rope_freqs.weight).
  explicit Llama(const Gguf& file, const LlamaOptions& options = {});

  /// Returns the sizes.
  const Sizes& sizes() const { return sizes_; }
  /// Bytes of all weights, as stored.
  Size weight_bytes() const;

  /// Returns the cache of an empty text.
  LlamaCache cache() const;
  /// Appends ids (T) to the text of `cache`, and returns for each of them the logits of the next token, (T, vocabulary)
  /// in f32. If `last_only` is true, returns only those after the last token, (1, vocabulary). Fills `trace` if it is
  /// given. Throws Error for no ids, ids outside the vocabulary, a text beyond the context, and the cache of another
  /// model; the cache is then unchanged. The result does not depend on the number of threads.
  Tensor operator()(const std::vector<std::int64_t>& ids, LlamaCache& cache, bool last_only = false,
                    LlamaTrace* trace = nullptr) const;
  /// Applies the last norm and the output matrix: states (…, width) in f32 → logits (…, vocabulary). Throws Error for
  /// another width or type.
  Tensor logits_of(const Tensor& states) const;

 private:
  struct Block {
    Tensor attention_norm, feed_forward_norm;  // (width)
    QuantisedMatrix query, key, value, output, gate, up, down;
  };

  Tensor multiply(const Tensor& x, const QuantisedMatrix& matrix) const;
  /// Reads tokens as one chunk and returns the states (T, width) after the last block.
  Tensor read(const std::vector<std::int64_t>& ids, LlamaCache& cache, LlamaTrace* trace) const;
  Tensor attention(const Block& block, const Tensor& x, const Tensor& rotations, KeyValueCache& cache,
                   LlamaTrace* trace) const;

  LlamaOptions options_;
  Sizes sizes_;
  std::vector<double> frequencies_;  // radians per position of each rotated pair
  QuantisedMatrix embedding_, output_;
  Tensor output_norm_;  // (width)
  std::vector<Block> blocks_;
};

/// Returns the tokenizer of a file (tokenizer.ggml.*). Throws Error if it is not byte-level BPE ("gpt2"), and in the
/// cases of ByteLevelBpe's constructor.
ByteLevelBpe tokenizer_of(const Gguf& file);
/// Returns the chat template of a file (tokenizer.chat_template). Throws Error if there is none, and in the cases of
/// ChatTemplate::recognise().
ChatTemplate chat_template_of(const Gguf& file);

}  // namespace tapestry
