// 19.3 how_it_grows: how large x is after eight parts
// predict, 10 minutes
//
// x enters with mean 0 and variance 1 over the numbers of a token. Eight parts follow, each a random matrix
// that keeps the variance of what it reads and makes something unrelated to it, so that in x + part(…) the
// variances add up. Predict the variance of x after the eight, for
//
//     pre     x ← x + part(norm(x))          none     x ← x + part(x)          post     x ← norm(x + part(x))
//
// The judge runs all three, 256 numbers wide and for 256 tokens, and allows 5 % for chance, without a norm 20 %: there
// chance is multiplied eight times.
#include "lessons/grader/answer.hpp"

double variance_with_pre() {
  //[ after x ← x + part(norm(x)), eight times
  //: return not_written_yet();
  return 1 + 8;  // each part reads variance 1, so each adds 1
  //]
}

double variance_without_norm() {
  //[ after x ← x + part(x), eight times
  //: return not_written_yet();
  return std::pow(2, 8);  // each part adds as much as there is
  //]
}

double variance_with_post() {
  //[ after x ← norm(x + part(x)), eight times
  //: return not_written_yet();
  return 1;  // whatever the sum was, a norm came last
  //]
}

// hint: What is the variance of norm(x), whatever x is? So how much does a part of `pre` add?
// hint: With `none`, a part reads x itself: after one part the variance is 1 + 1, after two 2 + __.
//
// wrong: That is the deviation, the root. The question is for the variance: variances of unrelated numbers
//   add up, deviations do not.
// - return 1 + 8;
// + return 3;
// wrong: You forgot the x that came in: the residual keeps it in the sum, beside the eight parts.
// - return 1 + 8;
// + return 8;
// wrong: You let each part double the sum. With `pre` a part reads the normed x, of variance 1 however large
//   x has become.
// - return 1 + 8;
// + return std::pow(2.0, 8);
// wrong: You took the norm for the last step. It stands in front of the part, only in what the part reads;
//   the sum grows, and that is why one more norm follows the last block.
// - return 1 + 8;
// + return 1;
// wrong: That holds for `pre`. Without a norm the second part reads variance 2, and adds 2.
// - return std::pow(2, 8);
// + return 9;
// wrong: You counted one part too few: x starts at 1, and each of the eight doubles it.
// - return std::pow(2, 8);
// + return std::pow(2, 7);
// wrong: You took a part for something that keeps x as it is, 1. In x + part(x) two unrelated things of one
//   size are added.
// - return std::pow(2, 8);
// + return 1;
// wrong: You let the sum grow as without norms. With `post` each sum is normed before the next part reads it,
//   and the last one as well.
// - return 1;
// + return 9;
// wrong: You took the last sum before its norm. `post` norms after the sum, so what it hands on has variance
//   1.
// - return 1;
// + return 2;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

constexpr Size kTokens = 256, kWide = 256;

Tensor normed(const Tensor& x) {
  return layer_norm(x, ones({kWide}, DType::f64), zeros({kWide}, DType::f64));
}

/// The mean variance of a token after eight steps of x ← step(x, the step's matrix).
double after_eight(Judge& judge, const std::function<Tensor(const Tensor&, const Tensor&)>& step) {
  const std::uint64_t seed = judge.random().next();
  Tensor x = normed(random_normal({kTokens, kWide}, seed, DType::f64));
  for (std::uint64_t i = 1; i <= 8; ++i)
    x = step(x, random_normal({kWide, kWide}, seed + i, DType::f64) / std::sqrt(static_cast<double>(kWide)));
  return mean(var(x, {-1})).item();
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kChance = 0.05;
  judge.claim("foretells the sum with norms in front of the parts", [&] {
    const double measured =
        after_eight(judge, [](const Tensor& x, const Tensor& w) { return x + matmul(normed(x), w); });
    judge.predicted(variance_with_pre(), measured, "the variance with pre", kChance);
  });
  judge.claim("foretells the sum without norms", [&] {
    const double measured =
        after_eight(judge, [](const Tensor& x, const Tensor& w) { return x + matmul(x, w); });
    judge.predicted(variance_without_norm(), measured, "the variance without a norm", 4 * kChance);
  });
  judge.claim("foretells what norms after the sums leave", [&] {
    const double measured =
        after_eight(judge, [](const Tensor& x, const Tensor& w) { return normed(x + matmul(x, w)); });
    judge.predicted(variance_with_post(), measured, "the variance with post", kChance);
  });
}
