// 37.1 one_guess: The rule for one guess
// implement, 15 minutes
//
// A draft drew the token x from its probabilities q. The target has the probabilities p. Return the probabilities
// of the result of the rule, given that x was guessed:
//
//     with probability min(1, p(x) / q(x)), the result is x
//     otherwise it is drawn from the residual max(0, p − q), divided by its sum
//
// Element i of the returned vector is the probability that the result is token i, so its elements sum to 1. p and q
// have the same size, and q(x) > 0. If the rule always accepts x, the vector is 1 at x and 0 elsewhere. This also
// happens if p and q are equal, where the residual is 0 everywhere.
#include "lessons/grader/answer.hpp"

std::vector<double> after_guess(const std::vector<double>& p, const std::vector<double>& q, std::size_t x) {
  //[ about nine lines
  //: return not_written_yet();
  const double accepted = std::min(1.0, p[x] / q[x]);
  std::vector<double> result(p.size(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::max(0.0, p[i] - q[i]);
  for (std::size_t i = 0; i < p.size() && accepted < 1; ++i)
    result[i] = (1 - accepted) * std::max(0.0, p[i] - q[i]) / sum;  // a rejection has p(x) < q(x), so sum > 0
  result[x] += accepted;
  return result;
  //]
}

// hint: With which probability is the result x? And how is the rest of the probability divided among the other
//   tokens?
// hint: With a = min(1, p(x) / q(x)), token i gets (1 − a) · max(0, ____) / Σ max(0, ____), and x gets ____ in
//   addition.
// hint: If a is 1, skip the residual: its sum may be 0.
//
// wrong: You redraw from p. Then the tokens that the draft overrates become too frequent.
// - result[i] = (1 - accepted) * std::max(0.0, p[i] - q[i]) / sum;
// + result[i] = (1 - accepted) * p[i];
// wrong: The residual is not divided by its sum, so your probabilities do not sum to 1.
// - result[i] = (1 - accepted) * std::max(0.0, p[i] - q[i]) / sum;
// + result[i] = (1 - accepted) * std::max(0.0, p[i] - q[i]);
// wrong: You exchanged p and q. A guess is accepted with probability p(x) / q(x).
// - const double accepted = std::min(1.0, p[x] / q[x]);
// + const double accepted = std::min(1.0, q[x] / p[x]);
// wrong: If the guess is always accepted, nothing is left for the residual. Its sum may be 0, and 0 / 0 is NaN.
// - for (std::size_t i = 0; i < p.size() && accepted < 1; ++i)
// + for (std::size_t i = 0; i < p.size(); ++i)

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Draws probabilities; some are 0 if `zeros`.
std::vector<double> draw_shares(Judge& judge, Size size, bool zeros) {
  std::vector<double> shares;
  double sum = 0;
  for (Size i = 0; i < size; ++i) {
    const bool zero = zeros && i > 0 && judge.random().chance(0.3);
    sum += shares.emplace_back(zero ? 0 : judge.random().uniform(0.05, 1));
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("keeps a guess that the target likes better, and splits a rejected one", [&] {
    const std::vector<double> p{0.5, 0.3, 0.2}, q{0.2, 0.7, 0.1};
    judge.example("p = 0.5, 0.3, 0.2; q = 0.2, 0.7, 0.1; the guess is token 1");
    judge.same(after_guess(p, q, 1), {0.75 * 4 / 7, 3.0 / 7, 0.25 * 4 / 7}, "the probabilities");
    judge.example("the same p and q; the guess is token 0");
    judge.same(after_guess(p, q, 0), {1, 0, 0}, "the probabilities");
  });
  judge.claim("always accepts if p equals q", [&] {
    judge.example("p = q = 0.5, 0.5; the guess is token 1");
    judge.same(after_guess({0.5, 0.5}, {0.5, 0.5}, 1), {0, 1}, "the probabilities");
  });
  judge.claim("gives p, in the mean over the guesses", [&] {
    judge.each_size({{"tokens", 2, 12}},
                    [&](const Sizes& n) {
                      const auto p = draw_shares(judge, n[0], true), q = draw_shares(judge, n[0], false);
                      std::vector<double> mean(p.size(), 0.0);
                      for (std::size_t x = 0; x < q.size(); ++x) {
                        const auto result = after_guess(p, q, x);
                        for (std::size_t i = 0; i < p.size(); ++i) mean[i] += q[x] * result[i];
                      }
                      judge.same(mean, p, "the probabilities of the result");
                    },
                    {.f32 = false});
  });
}
