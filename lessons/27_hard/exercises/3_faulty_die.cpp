// 27.3 faulty_die: a sampler whose shares are wrong
// debug, 10 minutes
//
// This is to draw one of n cells for each row, cell k with the chance softmax(s)_k: scores (B, n), and u (B,
// n) of random numbers, each uniform between 0 and 1. Noise −ln(−ln u) is added, and the largest is taken.
// But of many draws from the scores (1, ½, −1) cell 1 comes up in 42 %, where 57 % are right. Find the
// mistake.
#include "lessons/grader/answer.hpp"

Indices draw(const Tensor& scores, const Tensor& u) {
  //[ one line of these is wrong
  //: const Tensor noise = 0.0 - log(0.0 - log(u));
  //: const Tensor chances = softmax(scores, -1);
  //: return argmax(chances + noise);
  const Tensor noise = 0.0 - log(0.0 - log(u));
  return argmax(scores + noise);  // the noise belongs on the scores: they are logarithms of chances
  //]
}

// hint: What would come out if the noise were far larger than what it is added to?
// hint: Chances lie between 0 and 1 and differ by less than 1, whatever the scores are. What is the noise's
//   law made for?
// hint: argmax(____ + noise), with the logarithms of the chances, up to a constant.

// start: The likeliest cell comes up too seldom, the unlikeliest too often: the shares are flatter than softmax's.

// wrong: You take the largest score without noise: that is the same cell every time, and no draw.
// - return argmax(scores + noise);  // the noise belongs on the scores: they are logarithms of chances
// + static_cast<void>(noise);
// + return argmax(scores);
// wrong: There is one logarithm too few: −ln u has another law, and the shares come out wrong.
// - const Tensor noise = 0.0 - log(0.0 - log(u));
// + const Tensor noise = 0.0 - log(u);
// wrong: The noise's sign is turned round: ln(−ln u) has its long tail on the other side.
// - const Tensor noise = 0.0 - log(0.0 - log(u));
// + const Tensor noise = log(0.0 - log(u));
// wrong: The uniform numbers are added as they are: their spread is less than that of the scores.
// - const Tensor noise = 0.0 - log(0.0 - log(u));
// + const Tensor noise = u;
// wrong: The noise is multiplied with the scores. Then a score of 0 stays 0, and below 0 all is turned
//   round.
// - return argmax(scores + noise);  // the noise belongs on the scores: they are logarithms of chances
// + return argmax(scores * noise);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Shares of the cells among many draws, in %.
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
  judge.claim("draws three cells with their chances", [&] {
    judge.example("20,000 draws from the scores (1, ½, −1)");
    judge.same(shares(judge, {1, 0.5, -1}), softmax_of({1, 0.5, -1}), "the shares in %", 0.02);
  });
  judge.claim("draws any cells with their chances", [&] {
    for (const Size cells : {2, 5, 9}) {
      std::vector<double> scores;
      for (Size k = 0; k < cells; ++k) scores.push_back(std::round(judge.random().normal() * 100) / 100);
      judge.example(std::to_string(cells) + " cells, 20,000 draws");
      judge.same(shares(judge, scores), softmax_of(scores), "the shares in %", 0.05);
    }
  });
}
