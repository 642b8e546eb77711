// A language model for speculative decoding: it reads a tree of drafted tokens in one pass and removes rejected ones.
#pragma once

#include <vector>

#include "nn/speculative.hpp"
#include "nn/transformer/language_model.hpp"

namespace tapestry {

/// One text of a LanguageModel, with a tree of continuations (Miao et al. 2024, tree-based parallel decoding). Each
/// token attends to itself and to its ancestors alone, and its position is its depth in the tree. So the logits of a
/// token are those of the text that leads to it.
///     VerifiableLanguageModel target(large);
///     PromptLookup draft(3, 8);
///     const Speculated written = speculate(target, draft, prompt, {.max_length = 200});
/// A chain of tokens works with every model. A tree works with the models whose Attention supports a list of positions
/// (ScoreState::positions).
class VerifiableLanguageModel final : public VerifiableModel {
 public:
  /// Begins an empty text with room for `capacity` tokens. The model must outlive this object. Throws unless the model
  /// is in eval mode.
  explicit VerifiableLanguageModel(const LanguageModel& model, Size capacity = 64);

  Size length() const override { return cache_.length(); }
  /// See VerifiableModel. Throws if a tape is active, if `tokens` is empty, if there is not one parent for each token,
  /// or if a parent is neither −1 nor before its child. If it throws, the text is unchanged.
  Tensor extend(const std::vector<std::int64_t>& tokens, const std::vector<Size>& parents) override;
  /// See VerifiableModel. Throws unless the kept tokens form one text, and for layers with a state, which cannot remove
  /// tokens.
  void keep(Size length, const std::vector<Size>& path) override;

 private:
  const LanguageModel& model_;
  StackCache cache_;
  std::vector<Size> parents_, depths_;  // of each position
};

}  // namespace tapestry
