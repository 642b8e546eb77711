// Attend, compare, aggregate (Parikh, Täckström, Das and Uszkoreit 2016), and the same with a part left out.
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

enum class Way {
  whole,
  no_places,    ///< words do not say where they stand
  equal,        ///< every word is aligned with all of the other sentence, with equal weights
  bag_of_words  ///< sums of words go into H: nothing is aligned or compared
};

struct Sizes {
  Size width = 48, hidden = 64;
};

struct Entailer : Module {
  explicit Entailer(Way way, Sizes sizes = {});

  /// Words and their places (B, n, width); after the end of a sentence stands anything.
  Tensor read(const Indices& sentence) const;
  /// (B, 3): of entailed, neutral, contradicted.
  Tensor operator()(const Batch& batch) const;

  Embedding words, places;
  Layers f, g, h;  ///< the three feed-forward nets of the paper
  Linear out;
  Attention align;
  Way way;

 private:
  Entailer(Way way, Sizes sizes,
           Sizes compared);  // `compared`: of f and g, which a bag of words does not use
};

}  // namespace tapestry::lesson32
