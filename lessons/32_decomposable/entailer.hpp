// The model that attends, compares and aggregates (Parikh, Täckström, Das and Uszkoreit 2016), and three
// models that lack a part.
#pragma once

#include "lessons/32_decomposable/sentences.hpp"
#include "nn/attention/attention.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson32 {

/// Two layers: relu(W₂ relu(W₁ x + b₁) + b₂).
struct Layers : Module {
  Layers(Parent parent, Size in, Size hidden, Size out);
  Tensor operator()(const Tensor& x) const;

  Linear first, second;
};

enum class Model {
  full,
  no_positions,  ///< words without position vectors
  equal,         ///< each word is aligned with all words of the other sentence, with equal weights
  bag_of_words   ///< H receives the sums of the words: no alignment and no comparison
};

struct Sizes {
  Size width = 48, hidden = 64;
};

struct Entailer : Module {
  explicit Entailer(Model model, Sizes sizes = {});

  /// Returns the word vectors with their positions (B, n, width). Rows after the end of a sentence are
  /// unspecified.
  Tensor read(const Indices& sentence) const;
  /// Returns the logits (B, 3) for entailed, neutral and contradicted.
  Tensor operator()(const Batch& batch) const;

  Embedding words, places;
  Layers f, g, h;  ///< F, G and H, the three feed-forward networks of the paper
  Linear out;
  Attention align;
  Model model;

 private:
  // `compared`: sizes of f and g, which the bag of words does not use.
  Entailer(Model model, Sizes sizes, Sizes compared);
};

}  // namespace tapestry::lesson32
