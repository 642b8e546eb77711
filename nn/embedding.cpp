#include "nn/embedding.hpp"

#include "core/ops/join.hpp"
#include "core/ops/pointwise.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

Embedding::Embedding(Parent parent, Size words, Size width, std::optional<std::int64_t> padding,
                     Initialiser initialiser)
    : Module(std::move(parent)),
      weight{*this,
             "weight",
             {words, width},
             padding ? with_zero_row(std::move(initialiser), *padding) : std::move(initialiser)},
      padding_(padding) {
  if (padding && (*padding < 0 || *padding >= words))
    fail("[embedding{2}] padding must be in [0, {1}), got {0}", *padding, words, in_quotes());
}

Tensor Embedding::operator()(const Indices& ids, CallSite at) const {
  Tensor vectors = embedding(weight, ids, at);
  if (!padding_) return vectors;
  const Mask is_padding = equal(ids, *padding_);
  bool any = false;
  for (const bool *p = is_padding.data(), *end = p + is_padding.count(); p != end; ++p) any |= *p;
  // Replace the vectors of the padding word by a constant 0, so that no gradient reaches its row.
  return any ? where(is_padding.unsqueeze(-1), scalar(0, vectors.dtype()), vectors, at) : vectors;
}

}  // namespace tapestry
