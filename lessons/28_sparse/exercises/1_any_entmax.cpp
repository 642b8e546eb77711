// 28.1 any_entmax: Entmax for any α
// implement, 20 minutes
//
// The chapter computes the threshold τ of α-entmax for α = 1.5 and 2, where there is a formula for τ. For any other
// α > 1, we can find τ by bisection. Let z = (α − 1) s. The weights are
//
//     w_j = max(z_j − τ, 0)^(1 / (α − 1)),        Σ_j w_j = 1
//
// Their sum falls as τ rises. It is at least 1 at τ = (largest z) − 1, and 0 at τ = (largest z). So the right τ is
// between these two numbers. Halve this interval 60 times, with a separate τ for each row.
//
// The scores are (B, n) in f64. Return the weights (B, n), also in f64. You can use max(z, {-1}, Keep::yes),
// less(a, b), which returns a mask, and where(mask, a, b).
#include "lessons/grader/answer.hpp"

Tensor entmax_weights(const Tensor& scores, double alpha) {
  //[ τ lies between low and high, (B, 1)
  //: static_cast<void>(scores.size(0)), static_cast<void>(alpha);
  //: return not_written_yet();
  const Tensor z = (alpha - 1) * scores;
  const auto above = [&](const Tensor& tau) { return pow(relu(z - tau), 1 / (alpha - 1)); };
  Tensor high = max(z, {-1}, Keep::yes), low = high - 1.0;  // (B, 1): a threshold for each row
  for (int step = 0; step < 60; ++step) {
    const Tensor middle = (low + high) / 2;
    const Mask much = less(scalar(1, z.dtype()), sum(above(middle), {-1}, Keep::yes));
    low = where(much, middle, low);  // too much weight: the threshold must rise
    high = where(much, high, middle);
  }
  return above(low);
  //]
}

// hint: If the weights for some τ sum to more than 1, must τ rise or fall?
// hint: middle = (low + high) / 2, and much = 1 < Σ of the weights at middle. In rows with too much weight, ____
//   becomes middle; in the other rows, ____ does.
// hint: The weights for a threshold tau are pow(relu(z - tau), 1 / (alpha - 1)), with z = (alpha - 1) * scores and
//   tau (B, 1).

// wrong: The scores are not multiplied by α − 1. With α = 2 that makes no difference. With α = 1.5 all gaps are twice
//   as large, and too many keys get the weight 0.
// - const Tensor z = (alpha - 1) * scores;
// + const Tensor z = scores;
// wrong: The exponent is inverted. It must be 1 / (α − 1), so with α = 1.5, z − τ is squared. With α = 2 both
//   exponents are 1, and the mistake does not show.
// - const auto above = [&](const Tensor& tau) { return pow(relu(z - tau), 1 / (alpha - 1)); };
// + const auto above = [&](const Tensor& tau) { return pow(relu(z - tau), alpha - 1); };
// wrong: For scores below the threshold, z − τ is negative, and you squared it. So a key with a low score would get a
//   large weight.
// - const auto above = [&](const Tensor& tau) { return pow(relu(z - tau), 1 / (alpha - 1)); };
// + const auto above = [&](const Tensor& tau) { return pow(abs(z - tau), 1 / (alpha - 1)); };
// wrong: The threshold moves in the wrong direction. In rows with too much weight, it must rise. Your threshold ends
//   at one end of the interval, and the weights do not sum to 1.
// - low = where(much, middle, low);  // too much weight: the threshold must rise
// - high = where(much, high, middle);
// + low = where(much, low, middle);
// + high = where(much, middle, high);
// wrong: You used one threshold for all rows, from the largest score of the whole batch. Each row needs a separate
//   threshold.
// - Tensor high = max(z, {-1}, Keep::yes), low = high - 1.0;  // (B, 1): a threshold for each row
// + Tensor high = reshape(max(z), {1, 1}) + zeros({z.size(0), 1}, z.dtype()), low = high - 1.0;
// wrong: You took a fixed threshold and divided by the sum. But the threshold decides which keys are in the support,
//   so you must find the one at which the weights sum to 1.
// - return above(low);
// + const Tensor first = max(z, {-1}, Keep::yes) - 1.0;
// + return above(first) / sum(above(first), {-1}, Keep::yes);
// wrong: The last power is missing. A weight is z − τ to the power of 1 / (α − 1).
// - return above(low);
// + return relu(z - low);
// wrong: You compare the sum of the whole batch with 1. The weights of each row sum to 1: use {-1}, Keep::yes.
// - const Mask much = less(scalar(1, z.dtype()), sum(above(middle), {-1}, Keep::yes));
// + const Mask much = less(scalar(1, z.dtype()), sum(above(middle)));
// wrong: You search for τ below the largest score s. But τ is a threshold for z = (α − 1) s: it is between max z − 1
//   and max z.
// - Tensor high = max(z, {-1}, Keep::yes), low = high - 1.0;  // (B, 1): a threshold for each row
// + Tensor high = max(scores, {-1}, Keep::yes), low = high - 1.0;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes one row from the formula. Newton's method finds τ from below, in long double.
std::vector<double> row_of(const std::vector<double>& scores, double alpha) {
  const long double a = alpha - 1, p = 1 / a;
  long double tau = a * *std::max_element(scores.begin(), scores.end()) - 1;
  for (int step = 0; step < 500; ++step) {
    long double sum = 0, slope = 0;
    for (const double s : scores)
      if (const long double over = a * s - tau; over > 0)
        sum += std::pow(over, p), slope += p * std::pow(over, p - 1);
    tau += (sum - 1) / slope;  // the sum is convex in τ, so this never goes past the threshold
  }
  std::vector<double> weights;
  for (const double s : scores)
    weights.push_back(static_cast<double>(std::pow(std::max<long double>(a * s - tau, 0), p)));
  return weights;
}

Tensor by_loops(const Tensor& scores, double alpha) {
  std::vector<double> all;
  for (Size i = 0; i < scores.size(0); ++i)
    for (const double w : row_of(select(scores, 0, i).to_vector(), alpha)) all.push_back(w);
  return tensor(all, scores.shape(), DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("finds the threshold of four keys", [&] {
    judge.example("the scores 1, 0.8, 0.1, −0.5 with α = 1.5");
    const Tensor scores = tensor({{1, 0.8, 0.1, -0.5}}, DType::f64);
    judge.same(entmax_weights(scores, 1.5), by_loops(scores, 1.5), "the weights", 1e-7);
  });
  judge.claim("finds a separate threshold for each row", [&] {
    judge.each_size({{"rows", 1, 4}, {"keys", 1, 9}}, [&](const Sizes& n) {
      const Tensor scores = 2 * judge.normal({n[0], n[1]});
      judge.same(entmax_weights(scores, 1.5), entmax15(scores), "the weights with α = 1.5", 1e-7);
      judge.same(entmax_weights(scores, 2), sparsemax(scores), "the weights with α = 2", 1e-7);
    });
  });
  judge.claim("works for any α", [&] {
    for (const double alpha : {1.1, 1.25, 1.7, 1.9}) {
      const Tensor scores = 2 * judge.normal({3, 7});
      judge.same(entmax_weights(scores, alpha), by_loops(scores, alpha), "the weights", 1e-7);
    }
  });
}
