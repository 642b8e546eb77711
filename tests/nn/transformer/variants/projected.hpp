// Parts that the tests of custom self-attention share: the layer's four products, and its scores in plain loops.
#pragma once

#include "core/ops/ops.hpp"
#include "tests/nn/transformer/variants/variant.hpp"

namespace tapestry::testing {

constexpr Size kWidth = 8, kHeads = 2;

/// (B, T, 8) → (B, 2, T, 4), and back.
inline Tensor split(const Tensor& x) {
  return transpose(reshape(x, {x.size(0), x.size(1), kHeads, x.size(2) / kHeads}), 1, 2);
}
inline Tensor merged(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), kHeads * x.size(3)});
}

/// Queries, keys, values and output without biases; the classes below add the rest.
struct Projected : SelfAttention {
  explicit Projected(Parent parent) : SelfAttention(std::move(parent)) {}
  Tensor scores(const Tensor& x) const { return matmul(split(query(x)), transpose(split(key(x)))) * 0.5; }

  Linear query{{*this, "query"}, kWidth, kWidth, Bias::no}, key{{*this, "key"}, kWidth, kWidth, Bias::no},
      value{{*this, "value"}, kWidth, kWidth, Bias::no}, output{{*this, "output"}, kWidth, kWidth, Bias::no};
};

/// Returns scores (T, T) of each head in plain loops.
inline std::vector<Rows> scores_by_loops(const Weights& w, const Rows& x, const char* query = "query.weight",
                                         const char* key = "key.weight") {
  const Rows q = affine(x, w(query)), k = affine(x, w(key));
  std::vector<Rows> scores(2, Rows(x.size(), Row(x.size())));
  for (std::size_t h = 0; h < 2; ++h)
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < x.size(); ++j)
        scores[h][i][j] = dot_of(head_of(q[i], h, 4), head_of(k[j], h, 4)) / 2;
  return scores;
}

template <class A>
void use(TransformerOptions& options) {
  options.block.attention = self_attention<A>();
}

}  // namespace tapestry::testing
