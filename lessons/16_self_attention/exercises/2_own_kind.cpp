// 16.2 own_kind: The weight on a token's own symbol
// predict, 10 minutes
//
// The four tokens a, a, b, c are the input of self-attention without projections. So the query, the key and the
// value of a token are all equal to its vector. The vectors have d = 4 numbers: (2, 0, 0, 0) for the symbol a,
// (0, 2, 0, 0) for b and (0, 0, 2, 0) for c.
//
// Predict the sum of a token's weights on all tokens with its symbol, itself included. It is a number from 0 to
// 1. You may write it as a formula with std::exp. The grader computes it with the library's Attention and the
// score scaled_dot().
#include "lessons/grader/answer.hpp"

double share_of_first_a() {
  //[ the first token's weight on both a
  //: return not_written_yet();
  return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);  // 2 · 2 / √4 = 2 for each a, 0 for b and c
  //]
}

double share_of_b() {
  //[ the weight of b on itself, the only b
  //: return not_written_yet();
  return std::exp(2.0) / (std::exp(2.0) + 3);  // one token with its symbol, three others
  //]
}

double share_after_shuffle() {
  //[ the first token's weight on both a, if the order is a, c, b, a
  //: return not_written_yet();
  return 1 - 2 / (2 * std::exp(2.0) + 2);  // unchanged: the formula has no positions
  //]
}

// hint: What is the score q · k / √d of two tokens with the same symbol? And of two tokens with different
//   symbols?
// hint: In the softmax, a score s counts as e^s. For the first a, the weight is
//   (2 · e^__) / (2 · e^__ + __ · e^0).
// hint: Does the formula contain the position of a token?
//
// wrong: You used the score 2 · 2 = 4 for two equal tokens. Divide it by √d = 2 before the softmax.
// - return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);  // 2 · 2 / √4 = 2 for each a, 0 for b and c
// + return 2 * std::exp(4.0) / (2 * std::exp(4.0) + 2);
// wrong: You divided by d = 4. The scale is √d, so the score of two equal tokens is 4 / 2.
// - return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);  // 2 · 2 / √4 = 2 for each a, 0 for b and c
// + return 2 * std::exp(1.0) / (2 * std::exp(1.0) + 2);
// wrong: This is the weight on one a. There are two tokens a, and each has this weight.
// - return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);  // 2 · 2 / √4 = 2 for each a, 0 for b and c
// + return std::exp(2.0) / (2 * std::exp(2.0) + 2);
// wrong: You gave b and c the weight 0, because their scores are 0. But in a softmax, a score of 0 counts as
//   e⁰ = 1. Only a mask sets a weight to 0.
// - return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);  // 2 · 2 / √4 = 2 for each a, 0 for b and c
// + return 1;
// wrong: You gave all four tokens the same weight. b has the score 2 with itself and 0 with the others.
// - return std::exp(2.0) / (std::exp(2.0) + 3);
// + return 0.25;
// wrong: You gave b the same weight on its symbol as an a. But b occurs only once. The weight on a symbol is
//   smaller if the symbol occurs less often: this is how a softmax can count.
// - return std::exp(2.0) / (std::exp(2.0) + 3);
// + return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);
// wrong: You treated the last a like a token with another symbol, because it is farther away now.
//   Self-attention knows no order. A score is the product of two tokens' vectors, at any distance.
// - return 1 - 2 / (2 * std::exp(2.0) + 2);
// + return std::exp(2.0) / (std::exp(2.0) + 3);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the weight of token `asks` on all tokens with its symbol, computed by the library's layer.
double share(const Indices& kinds, Size asks) {
  const Tensor a = unsqueeze(one_hot(kinds, 4, DType::f64) * 2, 0);  // (1, n, 4)
  const Attention attention{{}, scaled_dot()};
  const Tensor weights = select(select(attention(a, a, a).weights, 0, 0), 0, asks);
  const std::vector<std::int64_t> ids = kinds.to_vector();
  double own = 0;
  for (std::size_t j = 0; j < ids.size(); ++j)
    if (ids[j] == ids[static_cast<std::size_t>(asks)]) own += weights.at({static_cast<Size>(j)});
  return own;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("predicts the weight on a symbol that occurs twice", [&] {
    judge.predicted(share_of_first_a(), share({0, 0, 1, 2}, 0), "the weight of the first a");
  });
  judge.claim("predicts the weight on a symbol that occurs once", [&] {
    judge.predicted(share_of_b(), share({0, 0, 1, 2}, 2), "the weight of b");
  });
  judge.claim("predicts the weight after a change of order", [&] {
    judge.predicted(share_after_shuffle(), share({0, 2, 1, 0}, 0), "the weight of the first a in a, c, b, a");
  });
}
