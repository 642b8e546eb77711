// Transformer input: token embeddings with positions.
#pragma once

#include <optional>

#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/positions/absolute.hpp"
#include "nn/positions/token_positions.hpp"
#include "nn/transformer/stack.hpp"

namespace tapestry {

/// Options of TransformerEncoder and LanguageModel, and of each stack of a TransformerTranslator.
struct TransformerOptions {
  Size vocabulary = 0;                      // number of tokens
  Size layers = 2;                          // number of blocks
  BlockOptions block = {};                  // options of each block
  PositionScheme positions = sinusoidal();  // added to the input, or used by attention
  /// Multiplies embeddings by √width. Their initial standard deviation is 1/√width: small enough for a tied
  /// output layer, and after scaling as large as a sinusoid (Vaswani et al. 2017, section 3.4).
  bool scale_words = true;
  /// Uses one matrix for the input embedding and the output layer (Press & Wolf 2017).
  bool tied = true;
  /// Dropout rate of the embeddings with their positions, in training.
  double dropout = 0;
  /// Id of the padding token, as in Embedding.
  std::optional<std::int64_t> padding = {};
  /// Number of segment types, each with a vector that is added to its tokens (Devlin et al. 2019); 0: none.
  Size segments = 0;
  /// Applies a norm to the sum, before dropout.
  bool input_norm = false;
};

/// ids (B, T) → √width · words[id] + positions (+ segments) (B, T, width), with an optional norm.
class TransformerInput : public Module {
 public:
  TransformerInput(Parent parent, const TransformerOptions& options);

  /// ids at the given positions; `segment_ids` (B, T), by default all 0. Throws for segment ids
  /// of another shape, or in a model without segments.
  Tensor operator()(const Indices& ids, const TokenPositions& at = {}, const Indices& segment_ids = {},
                    CallSite caller = {}) const;

  Embedding words;
  ModulePtr<InputPositions> positions;
  std::optional<Embedding> segments;
  std::optional<Norm> norm;
  Dropout dropout;

 private:
  double scale_;
};

}  // namespace tapestry
