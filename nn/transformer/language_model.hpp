// A transformer that predicts the next word from those before: a decoder alone (GPT and its kin).
#pragma once

#include <memory>

#include "nn/decode.hpp"
#include "nn/transformer/input.hpp"

namespace tapestry {

/// Causal blocks over words and places, then logits (Radford et al. 2018).
class LanguageModel : public Module {
 public:
  LanguageModel(Parent parent, const TransformerOptions& options);
  explicit LanguageModel(const TransformerOptions& options) : LanguageModel(Parent{}, options) {}

  /// ids (B, T) → logits (B, T, vocabulary), those at t for the word at t + 1.
  Tensor operator()(const Indices& ids) const;
  /// The same for words that come after those in the cache: equal to the logits of the whole text, however it
  /// is cut.
  Tensor operator()(const Indices& ids, StackCache& cache) const;
  StackCache cache(Size capacity) const { return stack.cache(capacity); }

  /// Reads all words of the prompt (B, T) but the last, and is ready to go on from that one: give it as
  /// SearchOptions::first. Room for `capacity` words is made at once. Refers to this model, in eval mode.
  std::unique_ptr<AutoregressiveModel> begin(const Indices& prompt, Size capacity = 64) const;

  TransformerInput input;
  TransformerStack stack;
  /// (vocabulary, width), with a bias unless it is tied to the words that go in
  Linear output;
};

}  // namespace tapestry
