// The embedding layer: a table with one learned vector for each word.
#pragma once

#include <optional>

#include "core/tensor/indices.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// Maps ids of any shape S to vectors of shape S + (width). The vector of the `padding` id, if one is given,
/// starts at 0 and gets no gradient. Throws if `padding` is not in [0, words).
class Embedding : public Module {
 public:
  Embedding(Parent parent, Size words, Size width, std::optional<std::int64_t> padding = {},
            Initialiser initialiser = normal(1));
  Embedding(Size words, Size width, std::optional<std::int64_t> padding = {},
            Initialiser initialiser = normal(1))
      : Embedding(Parent{}, words, width, padding, std::move(initialiser)) {}

  Tensor operator()(const Indices& ids, CallSite at = {}) const;

  /// Table of vectors, (words, width).
  Parameter weight;

 private:
  std::optional<std::int64_t> padding_;
};

}  // namespace tapestry
