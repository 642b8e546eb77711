// 05 pooling: attention is a weighted average
//
// 18 minutes to read, 5 seconds to run. Needs lesson 01 (broadcasting), lesson 02 (softmax) and lesson 03
// (Adam). Afterwards you can define queries, keys, values, scores and weights, compute attention by hand, and
// learn how strongly near keys are preferred to far ones.
//
// A red cup among grey papers draws your eye, even though you were not looking for it. Then you decide to read, and
// you look for your book. Psychologists call the first kind of attention *involuntary* and the second kind
// *voluntary*. A single formula can describe both. What is that formula, and which of its terms represents the
// decision to look for a book?

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "lessons/05_pooling/experiment.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/rows.hpp"
#include "nn/attention/attention.hpp"

using namespace tapestry;
using namespace tapestry::lesson05;
using kit::largest;  // the largest absolute value of a tensor

namespace {

constexpr DType f64 = DType::f64;

// ---- 1. A weighted average by hand ------------------------------------------------------------------------
// Suppose that somebody measured a quantity y at three places x, with an error each time. What is y at x = 2? The
// value measured at 2 has an error. If we average it with the other two values, some of the errors cancel. But the
// other two places are not at 2, so their values count less, and the farther place counts least. We compute such an
// average in three steps:
//
// - Compute a *score* for each place. Here, the score is minus half the squared distance from 2.
// - Turn the scores into *weights* with the softmax from lesson 02: divide each e^score by the sum of all
//   e^score. A score may be any number, but the weights are positive and add up to 1.
// - Compute the average of the measured values with these weights.
//
//     place x   measured y   distance   score    e^score   weight
//        1           1           1       −½       0.607     0.348
//        2           5           0        0       1         0.574
//        4           3           2       −2       0.135     0.078
//                                          sum    1.742
//
//     answer   0.348 · 1 + 0.574 · 5 + 0.078 · 3 = 3.452
//
// This weighted average is called *attention*. The place that we ask about is the *query* q. The places x are
// the *keys* k_j, and the measured y are the *values* v_j. For several queries q_i, the formulas are:
//
//     s_ij = score(q_i, k_j)              how much does key j matter to query i?
//     α_ij = e^{s_ij} / Σ_l e^{s_il}      softmax over the keys: positive weights that add up to 1
//     c_i  = Σ_j α_ij v_j                 the answer: the average of the values, within their range
//
// Combining many values into one is also called *pooling*. In the code, Tq is the number of queries and Tk the number
// of keys. Number i, j of the scores and of the weights belongs to query i and key j, so they have the shape (Tq,
// Tk).

/// Returns the answers (Tq) and the weights (Tq, Tk) for scores (Tq, Tk) and values (Tk).
Pooled pool(const Tensor& scores, const Tensor& values) {
  const Tensor weights = softmax(scores, -1);                    // over the last axis, the keys
  const Tensor answers = matmul(weights, unsqueeze(values, 1));  // unsqueeze: (Tk) as a column (Tk, 1)
  return {squeeze(answers, 1), weights};                         // squeeze removes that axis again
}

/// Returns the scores from the example, with a width σ: s_ij = −(q_i − k_j)² / 2σ². For a larger σ, far keys count
/// more. The parameter is log σ, because we will learn it: σ must stay positive, but log σ may be any number.
Tensor gaussian_scores(const Tensor& queries, const Tensor& keys, const Tensor& log_sigma) {
  const Tensor distance = unsqueeze(queries, 1) - unsqueeze(keys, 0);  // (Tq, 1) − (1, Tk) is (Tq, Tk)
  return -0.5 * distance * distance * exp(-2 * log_sigma);
}

void three_measurements(kit::Report& report) {
  const Tensor keys = tensor({1, 2, 4}, f64), values = tensor({1, 5, 3}, f64);
  const Tensor scores = gaussian_scores(tensor({2}, f64), keys, scalar(0, f64));  // log 1 = 0
  const Pooled pooled = pool(scores, values);
  kit::print_rows("weights", pooled.weights, 3);
  const std::vector<double> e = exp(scores).to_vector(), w = pooled.weights.to_vector();
  const double total = e[0] + e[1] + e[2], answer = pooled.answers.item();
  kit::check_worked_example(report, "e^score, their sum and the answer",
                            {{e[0], 0.607}, {e[2], 0.135}, {total, 1.742}, {answer, 3.452}});
  kit::check_worked_example(report, "the weights", {{w[0], 0.348}, {w[1], 0.574}, {w[2], 0.078}});
}

// ---- 2. Scores that depend on the keys alone --------------------------------------------------------------
// Now take fifty measurements of the curve y = 2 sin x + x, at places from x = 0 to 5. Each measurement has a
// random error of about half a unit. We know the curve, and we use it to judge the answers. The method receives
// only the fifty points.
//
// We begin with involuntary attention, as with the red cup: the score depends on the key alone, and not on what you
// look for. Our score is s_ij = β k_j. For a positive β, a larger key has a larger score. The larger β is, the more
// the scores differ.

double keys_alone(const Points& points, kit::Report& report) {
  const kit::Question shape = report.ask(
      "keys alone",
      "The scores are β k_j, and the 51 queries go from 0 to 5. What do the 51 answers look like as a function "
      "of the query?",
      {"a line that rises, because β k_j rises with k_j", "the curve, smoothed", "51 times the same number"});
  const kit::Question loudest = report.ask(
      "β = 10⁶", "Now let β be a million. Which number is the answer?",
      {"the largest of the fifty values", "the value at the largest x", "the mean of the fifty values"});
  const KeysAlone found = try_keys_alone(pool, points);
  report.answer(
      shape, 'c', found.spread < 1e-12,
      "The scores do not depend on the query, so all queries have the same weights. If β is 0, every weight is "
      "1/50, and the answer is the plain mean. A plain mean is also called average pooling.");
  report.answer(
      loudest, 'b', found.picks_the_last_key,
      "All of the weight goes to the key with the largest score, and the answer is the value of this key. The keys "
      "decide which value is chosen. Max pooling is different: it returns the largest value, whatever the keys are.");
  return found.mean_error;
}

// At seed 1, the program prints these results for three values of β:
//
//            β   largest weight   first answer   last answer   squared error
//            0            0.020          2.748         2.748           0.840
//            1            0.095          2.879         2.879           0.853
//      1000000            1.000          3.499         3.499           1.384
//
// In each row, the answer to the first query, at 0, equals the answer to the last query, at 5. At other
// seeds, the numbers differ, but each row still has a single answer.

// ---- 3. Scores that depend on query and key ---------------------------------------------------------------
// Next comes voluntary attention, the decision to look for something. In section 1, the score depended on the query
// as well: −(q − k)² / 2σ². (The statisticians Nadaraya and Watson published this average in 1964, independently of
// each other.) If we expand the square, the score has three terms:
//
//     −(q − k)² / 2σ²  =  −q² / 2σ²  +  q k / σ²  −  k² / 2σ²
//
// The voluntary part is the product q k / σ², because it is the only term that contains both query and key.

void query_and_key(const Points& points, kit::Report& report) {
  const kit::Question dropped = report.ask(
      "three terms",
      "We drop −q² / 2σ² from the score, and then −k² / 2σ² as well. Which of these two steps changes "
      "the weights?",
      {"both steps", "only the first step", "only the second step",
       "neither step, because query and key meet in q k"});
  const double sigma = 0.3;
  const Tensor q = unsqueeze(queries(), 1), k = points.x;
  const Tensor weights = pool(gaussian_scores(queries(), k, scalar(std::log(sigma), f64)), points.y).weights;
  const double without_q2 = largest(softmax((q * k - 0.5 * k * k) / (sigma * sigma), -1) - weights);
  const double without_both = largest(softmax(q * k / (sigma * sigma), -1) - weights);
  fmt::print("  largest change of a weight: without q² {:.0e}, without q² and k² {:.2f}\n", without_q2,
             without_both);
  report.answer(
      dropped, 'c', without_q2 < 1e-12 && without_both > 0.1,
      "For one query, −q² / 2σ² is the same number at all keys, and softmax depends only on the differences of the "
      "scores. But −k² / 2σ² depends on the key. Without this term, keys far from 0 get too much weight. If all "
      "keys have the same norm, the term is equal for all of them and can be dropped, too. Then only the product "
      "is left. Later lessons use products as scores.");
}

// At seed 1, no weight changes by more than 6e-15 without the term q², which is a rounding error. If k² is left out
// as well, a weight changes by up to 0.99.
//
// The library's class Attention, in nn/, computes scores, softmax and average with the formulas of section 1. You
// construct an Attention from a score function. You call it with queries, keys and values. It returns the weights and
// the answers, which it calls the *context*. Its queries, keys and values are vectors. Our numbers are vectors with
// one element.

// ---- 4. Learning the width σ ------------------------------------------------------------------------------
// If σ is small, the answer is nearly the value of the nearest point, with the error of this point. If σ is large,
// the answer averages over hills and valleys of the curve. Some σ between the two is best, and we let Adam find it.
// We predict the value at each measured point with attention to the measured points, and minimise the mean squared
// error of these predictions.
//
// May a point be predicted from itself? A *mask* decides this. For each pair of query and key, the mask contains
// true or false. True means "may attend". A pair that is false is left out of the softmax: its weight is 0, and
// the other weights still add up to 1. (Lesson 07 is about masks.)
//
// We train σ twice. In the first training run, each point may attend to itself. In the second, it may not. This is
// called *leave one out*.

void learning_sigma(const Points& points, double mean_error, const kit::Options& options,
                    kit::Report& report) {
  const Mask all = Mask::from(50, 50, [](Size, Size) { return true; });
  const Mask others = Mask::from(50, 50, [](Size i, Size j) { return i != j; });  // leave one out
  const kit::Question itself = report.ask(
      "seeing itself", "Training starts at σ = 1. Where does σ go if each point may also attend to itself?",
      {"nearly to the σ without itself, because one point of fifty hardly counts", "nearly to 0",
       "to a value greater than 1"});
  const LearnedSigma with_itself = learn_sigma("attends to itself", points, all, options.steps);
  const LearnedSigma left_out = learn_sigma("leaves itself out", points, others, options.steps);
  const auto pool_with = [&](double sigma) {
    return pool(gaussian_scores(queries(), points.x, scalar(std::log(sigma), f64)), points.y);
  };
  const auto error = [&](double sigma) { return squared_error(pool_with(sigma).answers, queries()); };
  print_learned(with_itself, error(with_itself.sigma), left_out, error(left_out.sigma));
  report.answer(
      itself, 'b',
      with_itself.sigma < 0.2 * left_out.sigma && error(with_itself.sigma) > error(left_out.sigma),
      "Each point is its own nearest neighbour, at distance 0. If σ is near 0, each point predicts its own value, "
      "and the loss becomes small. But a new query then gets the value of its nearest point, with the whole error "
      "of this point.");
  report.at_most("squared error ÷ squared error of the plain mean", error(left_out.sigma) / mean_error,
                 1.0 / 3);

  const Pooled pooled = pool_with(left_out.sigma);  // the map of the weights shows a band as wide as σ
  draw(points, pooled.answers, pooled.weights, options);
}

// At seed 1, the two training runs end like this:
//
//                                σ   loss on the points   error on the curve
//     attends to itself      0.017                0.002                0.285
//     leaves itself out      0.281                0.410                0.035
//
// The first run has the smaller loss, but the larger error on the curve. So a small loss does not prove that a model
// is good. The loss of the second run cannot be near 0: no prediction from the other points can know the random error
// of a point.

// What to remember. Attention computes a score for each key, turns the scores into weights with a softmax, and
// returns the average of the values with these weights. If the score depends on the key alone, all queries get the
// same answer. A mask removes pairs of query and key before the softmax.
//
// Exercises: lessons/practise 5 (the Nadaraya–Watson average; leave-one-out predictions; wide and narrow σ).

void lesson(const kit::Options& options, kit::Report& report) {
  const Points points = measure(options.seed);
  report.section("A weighted average by hand");
  three_measurements(report);
  report.section("Scores that depend on the keys alone");
  const double mean_error = keys_alone(points, report);
  report.section("Scores that depend on query and key");
  query_and_key(points, report);
  compare_with_nn([](const Tensor& q, const Tensor& k, const Tensor& v,
                     const Tensor& log_sigma) { return pool(gaussian_scores(q, k, log_sigma), v).answers; },
                  options.seed, report);
  report.section("Learning the width σ");
  learning_sigma(points, mean_error, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("05_pooling", "attention is a weighted average");
  program.steps(300, 100);
  return program.run(argc, argv, lesson);
}
