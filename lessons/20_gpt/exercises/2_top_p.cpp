// 20.2 top_p: Top-p sampling
// implement, 15 minutes
//
// Top-p keeps the most likely tokens: as few as possible, such that their probabilities sum to p or more. All
// other tokens get the probability 0. The probabilities of the kept tokens are divided by their sum, so that
// they sum to 1 again.
//
// Write this for V tokens. probability[i] is the probability of token i. They sum to 1 and are not sorted. Return
// the new probabilities in the same order. p satisfies 0 < p ≤ 1. If tokens of equal probability compete for the
// last place, you may keep any of them.
//
// For example, (0.125, 0.5, 0.25, 0.125) with p = 0.6 becomes (0, 2/3, 1/3, 0).
#include "lessons/grader/answer.hpp"

std::vector<double> keep_top_p(const std::vector<double>& probability, double p) {
  //[ about ten lines
  //: return not_written_yet();
  std::vector<std::size_t> order(probability.size());  // token numbers, the most likely first
  std::iota(order.begin(), order.end(), 0);
  const auto likelier = [&](std::size_t a, std::size_t b) { return probability[a] > probability[b]; };
  std::sort(order.begin(), order.end(), likelier);
  std::vector<double> kept(probability.size(), 0.0);
  double reached = 0;
  for (const std::size_t token : order) {
    if (reached >= p) break;  // the tokens so far are enough
    kept[token] = probability[token];
    reached += probability[token];
  }
  for (double& value : kept) value /= reached;
  return kept;
  //]
}

// hint: In which order do you process the tokens? And how do you remember each token's place in the vocabulary?
// hint: Sort the token numbers by probability: std::sort(order.begin(), order.end(), likelier), where likelier
//   compares two token numbers. Keep a token if the tokens before it have not yet reached ____.
// hint: Before you keep the next token, stop if `reached >= p`. Divide by `reached` at the end.
//
// wrong: You stop before the token that reaches p. It must be kept, because without it the sum is less than p.
//   And if the most likely token alone has more than p, you keep nothing and compute 0 / 0.
// - if (reached >= p) break;
// + if (reached + probability[token] > p) break;
// wrong: Your new probabilities do not sum to 1. Divide them by their sum.
// - for (double& value : kept) value /= reached;
// + for (double& value : kept) value /= 1;
// wrong: You divide by p. The kept probabilities sum to p or more, so divide them by this sum.
// - for (double& value : kept) value /= reached;
// + for (double& value : kept) value /= p;
// wrong: You keep all tokens whose probability equals that of the last kept token. Top-p keeps as few tokens as
//   possible, so stop as soon as p is reached.
// - if (reached >= p) break;
// + if (reached >= p && std::find(kept.begin(), kept.end(), probability[token]) == kept.end()) break;
// wrong: You process the tokens in the order of the vocabulary. Top-p starts with the most likely token.
// - std::sort(order.begin(), order.end(), likelier);
// + static_cast<void>(likelier);
// wrong: Your result is sorted, so its first number belongs to the most likely token instead of token 0. Return
//   the probabilities in the order of the vocabulary.
// - std::vector<double> kept(probability.size(), 0.0);
// - double reached = 0;
// - for (const std::size_t token : order) {
// - if (reached >= p) break;
// - kept[token] = probability[token];
// + std::vector<double> kept(probability.size(), 0.0);
// + double reached = 0;
// + std::size_t next = 0;
// + for (const std::size_t token : order) {
// + if (reached >= p) break;
// + kept[next++] = probability[token];
// wrong: You start with the least likely tokens.
// - const auto likelier = [&](std::size_t a, std::size_t b) { return probability[a] > probability[b]; };
// + const auto likelier = [&](std::size_t a, std::size_t b) { return probability[a] < probability[b]; };
// wrong: When the probabilities sum to exactly p, you keep one token too many. A sum of p is enough.
// - if (reached >= p) break;
// + if (reached > p) break;
// wrong: You keep the tokens whose own probability is p or more. p applies to the sum. If all probabilities are
//   small, you keep nothing.
// - if (reached >= p) break;
// + if (probability[token] < p) break;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Keeps a token if the more likely tokens do not reach p.
std::vector<double> by_definition(const std::vector<double>& probability, double p) {
  std::vector<double> kept;
  double sum = 0;
  for (const double value : probability) {
    double likelier = 0;
    for (const double other : probability) likelier += other > value ? other : 0;
    kept.push_back(likelier < p ? value : 0);
    sum += kept.back();
  }
  for (double& value : kept) value /= sum;
  return kept;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("keeps the fewest tokens that reach p, in the order of the vocabulary", [&] {
    judge.example("the probabilities 0.125, 0.5, 0.25, 0.125 with p = 0.6");
    judge.same(keep_top_p({0.125, 0.5, 0.25, 0.125}, 0.6), {0, 2 / 3.0, 1 / 3.0, 0}, "the new probabilities");
  });
  judge.claim("stops as soon as p is reached", [&] {
    judge.example("the probabilities 0.125, 0.5, 0.25, 0.125 with p = 0.75");
    judge.same(keep_top_p({0.125, 0.5, 0.25, 0.125}, 0.75), {0, 2 / 3.0, 1 / 3.0, 0},
               "the new probabilities");
    judge.example("the probabilities 0.25, 0.75 with p = 0.1");
    judge.same(keep_top_p({0.25, 0.75}, 0.1), {0, 1}, "the new probabilities");
    judge.example("the probabilities 0.25, 0.75 with p = 1");
    judge.same(keep_top_p({0.25, 0.75}, 1), {0.25, 0.75}, "the new probabilities");
  });
  judge.claim("keeps no more equally likely tokens than needed", [&] {
    judge.example(
        "the probabilities 0.125, 0.5, 0.25, 0.125 with p = 0.8; token 0 may also be kept in place of token 3");
    const std::vector<double> came = keep_top_p({0.125, 0.5, 0.25, 0.125}, 0.8);
    const std::vector<double> first = {1 / 7.0, 4 / 7.0, 2 / 7.0, 0}, last = {0, 4 / 7.0, 2 / 7.0, 1 / 7.0};
    judge.same(came, came.size() == 4 && came[3] == 0 ? first : last, "the new probabilities");
    judge.example("64 tokens with equal probabilities and p = 0.5");
    std::vector<double> half = keep_top_p(std::vector<double>(64, 1 / 64.0), 0.5), wanted(64, 0.0);
    std::fill(wanted.begin() + 32, wanted.end(), 1 / 32.0);
    std::sort(half.begin(), half.end());
    judge.same(half, wanted, "the new probabilities, the smallest first");
  });
  judge.claim("keeps the right tokens for other probabilities and other p", [&] {
    judge.each_size({{"tokens", 1, 12}}, [&](const Sizes& n) {
      std::vector<double> probability;
      double sum = 0;
      for (Size i = 0; i < n[0]; ++i) {
        probability.push_back(judge.random().uniform(0.01, 1));
        sum += probability.back();
      }
      for (double& value : probability) value /= sum;
      for (const double p : {0.05, judge.random().uniform(0.1, 0.5), judge.random().uniform(0.5, 0.9), 0.97})
        judge.same(keep_top_p(probability, p), by_definition(probability, p), "the new probabilities");
    });
  });
}
