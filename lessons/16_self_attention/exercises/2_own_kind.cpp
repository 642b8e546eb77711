// 16.2 own_kind: how much weight goes to one's own kind
// predict, 10 minutes
//
// Four tokens of the kinds a, a, b, c enter a self-attention without projections: query, key and value are
// the token's vector. The vectors have d = 4 numbers: kind a is (2, 0, 0, 0), b is (0, 2, 0, 0) and
// c is (0, 0, 2, 0).
//
// Predict how much of its weight, from 0 to 1, a token gives to all tokens of its kind, itself included. A
// formula with std::exp is as good as a number. The judge runs the library's Attention with the score
// scaled_dot().
#include "lessons/grader/answer.hpp"

double share_of_first_a() {
  //[ what the first token gives to both a
  //: return not_written_yet();
  return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);  // 2 · 2 / √4 = 2 for each a, 0 for b and c
  //]
}

double share_of_b() {
  //[ what b gives to the only b
  //: return not_written_yet();
  return std::exp(2.0) / (std::exp(2.0) + 3);  // one of its kind, three others
  //]
}

double share_after_shuffle() {
  //[ what the first token gives to both a, if the order is a, c, b, a
  //: return not_written_yet();
  return 1 - 2 / (2 * std::exp(2.0) + 2);  // the same: where a token stands is not in the formula
  //]
}

// hint: What is the score of two tokens of one kind, q · k / √d? And of two of different kinds?
// hint: A score s counts as e^s in the softmax. For the first a: (2 · e^__) / (2 · e^__ + __ · e^0).
// hint: Does the formula know where a token stands?
//
// wrong: You took 2 · 2 = 4 for the score of two equal tokens. It is divided by √d = 2 before the softmax.
// - return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);  // 2 · 2 / √4 = 2 for each a, 0 for b and c
// + return 2 * std::exp(4.0) / (2 * std::exp(4.0) + 2);
// wrong: You divided by d = 4. The scale is √d, so the score of two equal tokens is 4 / 2.
// - return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);  // 2 · 2 / √4 = 2 for each a, 0 for b and c
// + return 2 * std::exp(1.0) / (2 * std::exp(1.0) + 2);
// wrong: That is the weight of one a. Two tokens are of this kind, and each gets as much.
// - return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);  // 2 · 2 / √4 = 2 for each a, 0 for b and c
// + return std::exp(2.0) / (2 * std::exp(2.0) + 2);
// wrong: You gave b and c nothing because their scores are 0. In a softmax a score of 0 counts as e⁰ = 1:
//   only a mask takes a key out.
// - return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);  // 2 · 2 / √4 = 2 for each a, 0 for b and c
// + return 1;
// wrong: You gave all four tokens the same weight. b has the score 2 with itself and 0 with the others.
// - return std::exp(2.0) / (std::exp(2.0) + 3);
// + return 0.25;
// wrong: You gave b the same share as an a. b stands there once: with fewer of its kind the share is smaller,
//   and that is how a softmax can count.
// - return std::exp(2.0) / (std::exp(2.0) + 3);
// + return 2 * std::exp(2.0) / (2 * std::exp(2.0) + 2);
// wrong: You let the other a count less because it stands farther away. Self-attention knows no order: the
//   scores are products of two tokens' vectors, wherever these stand.
// - return 1 - 2 / (2 * std::exp(2.0) + 2);
// + return std::exp(2.0) / (std::exp(2.0) + 3);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// What token `asks` gives to the tokens of its kind, as the library's layer does it.
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
  judge.claim("foretells what a kind that stands there twice gets", [&] {
    judge.predicted(share_of_first_a(), share({0, 0, 1, 2}, 0), "the share of the first a");
  });
  judge.claim("foretells what a kind that stands there once gets", [&] {
    judge.predicted(share_of_b(), share({0, 0, 1, 2}, 2), "the share of b");
  });
  judge.claim("foretells what another order changes", [&] {
    judge.predicted(share_after_shuffle(), share({0, 2, 1, 0}, 0), "the share of the first a in a, c, b, a");
  });
}
