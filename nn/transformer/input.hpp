// What goes into a transformer: words as vectors, with their places.
#pragma once

#include <optional>

#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/positions/absolute.hpp"
#include "nn/transformer/stack.hpp"

namespace tapestry {

struct TransformerOptions {
  Size vocabulary = 0;                      // words that there are
  Size layers = 2;                          // blocks
  BlockOptions block = {};                  // of each of them
  PositionScheme positions = sinusoidal();  // added to words, or told to attention
  /// A word enters as √width times its vector, whose first values have the deviation 1/√width: small enough
  /// for an output that is tied to it, and as large as a sinusoid (Vaswani et al. 2017, section 3.4).
  bool scale_words = true;
  /// One matrix for the words that go in and those that come out (Press & Wolf 2017).
  bool tied = true;
  /// Of the words with their places, in training.
  double dropout = 0;
  /// As in Embedding.
  std::optional<std::int64_t> padding = {};
  /// Kinds of segments, each with a vector that is added to its words (Devlin et al. 2019); 0: none.
  Size segments = 0;
  /// A norm of the sum, before dropout.
  bool input_norm = false;
};

/// ids (B, T) → √width · words[id] + positions (+ segments) (B, T, width), normed if asked for.
class TransformerInput : public Module {
 public:
  TransformerInput(Parent parent, const TransformerOptions& options);

  /// Words at the places `first`, `first` + 1, …; `segment_ids` (B, T), without which all are of segment 0.
  Tensor operator()(const Indices& ids, Size first = 0, const Indices& segment_ids = {}) const;

  Embedding words;
  ModulePtr<InputPositions> positions;
  std::optional<Embedding> segments;
  std::optional<Norm> norm;
  Dropout dropout;

 private:
  double scale_;
};

}  // namespace tapestry
