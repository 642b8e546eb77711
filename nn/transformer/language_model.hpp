// Decoder-only transformer (GPT and similar models) that predicts the next token from the previous ones.
#pragma once

#include <memory>

#include "nn/decode.hpp"
#include "nn/transformer/input.hpp"

namespace tapestry {

/// Causal blocks over token embeddings with positions, then logits (Radford et al. 2018).
class LanguageModel : public Module {
 public:
  LanguageModel(Parent parent, const TransformerOptions& options);
  explicit LanguageModel(const TransformerOptions& options) : LanguageModel(Parent{}, options) {}

  /// ids (B, T) → logits (B, T, vocabulary); those at t predict token t + 1. `mask` hides pairs in addition to the
  /// causal mask, such as same_document() for packed documents; it broadcasts to (B, T, T).
  Tensor operator()(const Indices& ids, const Mask& mask = {}, CallSite at = {}) const;
  /// Same, for tokens that follow those in the cache, which cache() creates. The logits equal those of the whole text,
  /// no matter how it is split into calls. `mask` is for these tokens and all tokens so far, (B, T, length).
  /// `positions`, if given, has the position of each token so far; by default it is the token's place in the cache.
  /// With both, one pass reads a tree of continuations: see VerifiableLanguageModel.
  Tensor operator()(const Indices& ids, StackCache& cache, const Mask& mask = {},
                    const std::vector<Size>& positions = {}, CallSite at = {}) const;
  StackCache cache(Size capacity) const { return stack.cache(capacity); }

  /// Reads all tokens of the prompts (B, T) except the last ones, and returns a model for a search. Pass the last
  /// tokens as SearchOptions::first. The cache starts with memory for `capacity` tokens. The result refers to this
  /// model, which must be in eval mode.
  std::unique_ptr<AutoregressiveModel> begin(const Indices& prompt, Size capacity = 64) const;

  TransformerInput input;
  TransformerStack stack;
  /// (vocabulary, width), with a bias unless it is tied to the input embedding
  Linear output;
};

}  // namespace tapestry
