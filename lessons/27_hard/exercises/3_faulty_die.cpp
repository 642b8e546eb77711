// 27.3 faulty_die: Debugging a sampler
// debug, 10 minutes
//
// This function should draw one of n cells for each row: cell k with the probability softmax(s)_k. It receives
// scores (B, n) and u (B, n), random numbers that are uniform between 0 and 1. It computes the noise
// −ln(−ln u), adds it, and returns the index of the largest sum.
//
// But for the scores (1, ½, −1), it draws the first cell in 42 % of the cases. The right frequency is 57 %.
// Find the mistake.
#include "lessons/grader/answer.hpp"

Indices draw(const Tensor& scores, const Tensor& u) {
  //[ one of these lines is wrong
  //: const Tensor noise = 0.0 - log(0.0 - log(u));
  //: const Tensor chances = softmax(scores, -1);
  //: return argmax(chances + noise);
  const Tensor noise = 0.0 - log(0.0 - log(u));
  // Not on the probabilities: the scores are their logarithms, up to a constant.
  return argmax(scores + noise);
  //]
}

// hint: What would the result be if the noise were much larger than the numbers to which it is added?
// hint: Probabilities are between 0 and 1, so they differ by less than 1 for all scores. To which numbers
//   must this noise be added?
// hint: Use argmax(____ + noise), with the logarithms of the probabilities, up to a constant.

// start: The most likely cell is drawn too rarely, and the least likely cell too often. So your distribution
//   is flatter than the softmax.

// wrong: You choose the largest score without noise. The result is the same cell every time.
// - return argmax(scores + noise);  // not on the probabilities
// + static_cast<void>(noise);
// + return argmax(scores);
// wrong: One logarithm is missing. −ln u has another distribution, so the frequencies are wrong.
// - const Tensor noise = 0.0 - log(0.0 - log(u));
// + const Tensor noise = 0.0 - log(u);
// wrong: The sign of the noise is wrong. ln(−ln u) has its long tail on the other side.
// - const Tensor noise = 0.0 - log(0.0 - log(u));
// + const Tensor noise = log(0.0 - log(u));
// wrong: You add the uniform numbers themselves. Their distribution is not the Gumbel distribution, and their
//   spread is too small.
// - const Tensor noise = 0.0 - log(0.0 - log(u));
// + const Tensor noise = u;
// wrong: You multiply the noise with the scores. Then a score of 0 stays 0, and for negative scores the noise
//   has the opposite effect.
// - return argmax(scores + noise);  // not on the probabilities
// + return argmax(scores * noise);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the frequencies of the cells among many draws, in %.
std::vector<double> shares(Judge& judge, const std::vector<double>& scores) {
  constexpr Size kDraws = 20'000;
  const auto n = static_cast<Size>(scores.size());
  std::vector<double> u, counted(scores.size(), 0.0);
  for (Size i = 0; i < kDraws * n; ++i) u.push_back(judge.random().uniform(1e-12, 1));
  const Indices drawn =
      draw(expand(tensor(scores, {n}, DType::f64), {kDraws, n}), tensor(u, {kDraws, n}, DType::f64));
  for (const std::int64_t a : drawn.to_vector()) counted[static_cast<std::size_t>(a)] += 100.0 / kDraws;
  return counted;
}

std::vector<double> softmax_of(const std::vector<double>& scores) {
  std::vector<double> p;
  double total = 0;
  for (const double s : scores) total += std::exp(s);
  for (const double s : scores) p.push_back(100 * std::exp(s) / total);
  return p;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("draws three cells with their probabilities", [&] {
    judge.example("20,000 draws from the scores (1, ½, −1)");
    judge.same(shares(judge, {1, 0.5, -1}), softmax_of({1, 0.5, -1}), "the frequencies in %", 0.02);
  });
  judge.claim("draws any number of cells with their probabilities", [&] {
    for (const Size cells : {2, 5, 9}) {
      std::vector<double> scores;
      for (Size k = 0; k < cells; ++k) scores.push_back(std::round(judge.random().normal() * 100) / 100);
      judge.example(std::to_string(cells) + " cells, 20,000 draws");
      judge.same(shares(judge, scores), softmax_of(scores), "the frequencies in %", 0.05);
    }
  });
}
