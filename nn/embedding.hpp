// A table of vectors, one for each word.
#pragma once

#include <optional>

#include "core/tensor/values.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// ids of any shape S → S + (width). With a padding id, that word's vector is 0, stays 0, and gets no
/// gradient.
class Embedding : public Module {
 public:
  Embedding(Parent parent, Size words, Size width, std::optional<std::int64_t> padding = {},
            Initialiser initialiser = normal(1));
  Embedding(Size words, Size width, std::optional<std::int64_t> padding = {},
            Initialiser initialiser = normal(1))
      : Embedding(Parent{}, words, width, padding, std::move(initialiser)) {}

  Tensor operator()(const Indices& ids, CallSite at = {}) const;

  /// (words, width)
  Parameter weight;

 private:
  std::optional<std::int64_t> padding_;
};

}  // namespace tapestry
