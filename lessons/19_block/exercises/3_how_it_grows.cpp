// 19.3 how_it_grows: Predict the variance after eight sublayers
// predict, 10 minutes
//
// The input x has mean 0 and variance 1 over the features of each token. Eight sublayers follow. Each sublayer
// multiplies its input by a random matrix that preserves the variance. The result is not correlated with the
// input, so in x + sublayer(…) the two variances add. Predict the variance of x after eight sublayers, in three
// cases:
//
//     pre      x ← x + sublayer(norm(x))
//     none     x ← x + sublayer(x)
//     post     x ← norm(x + sublayer(x))
//
// The judge computes all three for 256 tokens with 256 features. Because the matrices are random, it allows a
// relative error of 5 %. Without norms it allows 20 %, because the errors of the eight sublayers accumulate.
#include "lessons/grader/answer.hpp"

double variance_with_pre() {
  //[ after x ← x + sublayer(norm(x)), eight times
  //: return not_written_yet();
  return 1 + 8;  // the input of each sublayer has variance 1, so each sublayer adds 1
  //]
}

double variance_without_norm() {
  //[ after x ← x + sublayer(x), eight times
  //: return not_written_yet();
  return std::pow(2, 8);  // each sublayer doubles the variance
  //]
}

double variance_with_post() {
  //[ after x ← norm(x + sublayer(x)), eight times
  //: return not_written_yet();
  return 1;  // the norm comes last, whatever the sum was
  //]
}

// hint: What is the variance of norm(x), whatever x is? So how much variance does each sublayer add with `pre`?
// hint: With `none`, the input of a sublayer is x itself. After one sublayer the variance is 1 + 1, and after two
//   it is 2 + __.
//
// wrong: You gave the standard deviation, the root of the variance. The variances of uncorrelated numbers add,
//   but their standard deviations do not.
// - return 1 + 8;
// + return 3;
// wrong: You forgot the input x. The residual keeps it in the sum, so its variance adds to those of the eight
//   sublayers.
// - return 1 + 8;
// + return 8;
// wrong: You let each sublayer double the variance. With `pre`, the input of each sublayer is the normed x, which has
//   variance 1 however large x has become.
// - return 1 + 8;
// + return std::pow(2.0, 8);
// wrong: You applied the norm to the sum. With `pre` the norm is applied only to the input of each sublayer, and
//   the sum grows. That is why a pre-norm transformer has one more norm after its last block.
// - return 1 + 8;
// + return 1;
// wrong: You computed the answer for `pre`. Without a norm, the input of the second sublayer has variance 2, so
//   this sublayer adds 2.
// - return std::pow(2, 8);
// + return 9;
// wrong: You counted one sublayer too few. The variance of x starts at 1, and each of the eight sublayers doubles it.
// - return std::pow(2, 8);
// + return std::pow(2, 7);
// wrong: You assumed that the variance stays 1. But x + sublayer(x) is a sum of two uncorrelated terms of equal
//   variance.
// - return std::pow(2, 8);
// + return 1;
// wrong: You let the sum grow as with `pre`. With `post` each sum is normed, the last one as well.
// - return 1;
// + return 9;
// wrong: You gave the variance of the last sum before its norm. With `post` the norm follows the sum, so the
//   result has variance 1.
// - return 1;
// + return 2;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

constexpr Size kTokens = 256, kWidth = 256;

Tensor normed(const Tensor& x) {
  return layer_norm(x, ones({kWidth}, DType::f64), zeros({kWidth}, DType::f64));
}

/// Returns the mean variance of a token after eight steps of x ← step(x, the step's matrix).
double after_eight(Judge& judge, const std::function<Tensor(const Tensor&, const Tensor&)>& step) {
  const std::uint64_t seed = judge.random().next();
  Tensor x = normed(random_normal({kTokens, kWidth}, seed, DType::f64));
  for (std::uint64_t i = 1; i <= 8; ++i)
    x = step(x,
             random_normal({kWidth, kWidth}, seed + i, DType::f64) / std::sqrt(static_cast<double>(kWidth)));
  return mean(var(x, {-1})).item();
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kTolerance = 0.05;
  judge.claim("predicts the variance with norms before the sublayers", [&] {
    const double measured =
        after_eight(judge, [](const Tensor& x, const Tensor& w) { return x + matmul(normed(x), w); });
    judge.predicted(variance_with_pre(), measured, "the variance with pre", kTolerance);
  });
  judge.claim("predicts the variance without norms", [&] {
    const double measured =
        after_eight(judge, [](const Tensor& x, const Tensor& w) { return x + matmul(x, w); });
    judge.predicted(variance_without_norm(), measured, "the variance without a norm", 4 * kTolerance);
  });
  judge.claim("predicts the variance with norms after the sums", [&] {
    const double measured =
        after_eight(judge, [](const Tensor& x, const Tensor& w) { return normed(x + matmul(x, w)); });
    judge.predicted(variance_with_post(), measured, "the variance with post", kTolerance);
  });
}
