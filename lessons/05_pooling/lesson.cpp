// 05 pooling: attention is a weighted average
//
// 18 minutes to read, 5 seconds to run. Needs lesson 01 (broadcasting), lesson 02 (softmax) and lesson 03
// (Adam learns a parameter). Afterwards you can say what queries, keys, values, scores and weights are,
// compute an attention with a pencil, and learn how far it looks.
//
// Your eye is drawn to the one red cup among grey papers. Nobody asked it to: the cup stands out. Then you
// want to read, and you look for your book. Psychologists call the first *involuntary* attention, the second
// *voluntary*. Both are one formula. What is it, and where in it does the wish to read stand?

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

// ---- 1. Three measurements by hand ------------------------------------------------------------------------
// Somebody measured a quantity y at three places x, with an error each time. What is y at x = 2? The value
// measured there may be wrong, so we ask its neighbours, too, and trust a near one more than a far one. Each
// place gets a *score*, here minus half its squared distance from 2. Each score s makes a *weight*: e^s
// divided by the sum of all e^s, so a score may be any number, and weights are positive and add up to 1. The
// answer is the average of the values with these weights.
//
//     place x   measured y   distance   score    e^score   weight
//        1           1           1       −½       0.607     0.348
//        2           5           0        0       1         0.574
//        4           3           2       −2       0.135     0.078
//                                          sum    1.742
//
//     answer   0.348 · 1 + 0.574 · 5 + 0.078 · 3 = 3.452
//
// That is an attention. The place that we ask about is the *query* q, the places x are the *keys* k_j, and
// the measured y are the *values* v_j. For many queries i at once:
//
//     s_ij = score(q_i, k_j)              how much does key j matter to query i?
//     α_ij = e^{s_ij} / Σ_j e^{s_ij}      softmax over the keys: positive weights that add up to 1
//     c_i  = Σ_j α_ij v_j                 the answer: the average of the values, within their range
//
// Averaging many values into one is also called *pooling*. In code there are Tq queries and Tk keys.

/// From scores (Tq, Tk) and values (Tk) to answers (Tq) and weights (Tq, Tk).
Pooled pool(const Tensor& scores, const Tensor& values) {
  const Tensor weights = softmax(scores, -1);                    // over the last axis, the keys
  const Tensor answers = matmul(weights, unsqueeze(values, 1));  // unsqueeze: (Tk) as a column (Tk, 1)
  return {squeeze(answers, 1), weights};                         // squeeze takes that axis away again
}

/// The score of the example with a width σ: s_ij = −(q_i − k_j)² / 2σ². What we shall learn is log σ, since σ
/// must stay positive and log σ may be any number.
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
  kit::check_worked_example(report, "the table",
                            {{e[0], 0.607}, {e[2], 0.135}, {total, 1.742}, {answer, 3.452}});
  kit::check_worked_example(report, "its weights", {{w[0], 0.348}, {w[1], 0.574}, {w[2], 0.078}});
}

// ---- 2. Keys alone ----------------------------------------------------------------------------------------
// Now fifty measurements of the curve y = 2 sin x + x, from x = 0 to 5, each with an error of about half a
// unit. We know the curve and use it to judge. The method sees only the fifty points.
//
// First the red cup. In an involuntary attention the score depends on the key alone: s_ij = β k_j, say. The
// larger x is, the louder the measurement shouts, and β says how much that counts.

double keys_alone(const Points& points, kit::Report& report) {
  const kit::Question shape = report.ask(
      "keys alone", "Scores β k_j and 51 queries from 0 to 5: what do the 51 answers look like?",
      {"a line that rises with x, since β k does", "the curve, smoothed", "51 times the same number"});
  const kit::Question loudest =
      report.ask("β = 10⁶", "And which number is the answer if β is a million?",
                 {"the largest of the fifty values", "the value at the largest x", "the mean of all values"});
  const KeysAlone found = try_keys_alone(pool, points);
  report.answer(
      shape, 'c', found.spread < 1e-12,
      "No query stands in the score, so all rows of weights are alike. With β = 0 every weight is 1/50: the "
      "plain mean, which is called average pooling.");
  report.answer(
      loudest, 'b', found.picks_the_last_key,
      "All weight goes to the key with the largest score, and its value is the answer: a choice by key. Max "
      "pooling is another thing. It takes the largest value, whatever the keys are.");
  return found.mean_error;
}

// ---- 3. A query asks --------------------------------------------------------------------------------------
// Now the wish to read. The score of our example asks: −(q − k)² / 2σ². (Two statisticians, Nadaraya and
// Watson, averaged so in 1964.) Multiply the square out, and it has three terms:
//
//     −(q − k)² / 2σ²  =  −q² / 2σ²  +  q k / σ²  −  k² / 2σ²
//
// The voluntary part is the product q k: only there do query and key meet.

void a_query_asks(const Points& points, kit::Report& report) {
  const kit::Question dropped =
      report.ask("three terms",
                 "First we leave out −q² / 2σ², then −k² / 2σ² as well. At which step do the weights change?",
                 {"at both", "at the first only", "at the second only", "never: query and key meet in q k"});
  const double sigma = 0.3;
  const Tensor q = unsqueeze(queries(), 1), k = points.x;
  const Tensor weights = pool(gaussian_scores(queries(), k, scalar(std::log(sigma), f64)), points.y).weights;
  const double first = largest(softmax((q * k - 0.5 * k * k) / (sigma * sigma), -1) - weights);
  const double second = largest(softmax(q * k / (sigma * sigma), -1) - weights);
  fmt::print("  largest change of a weight: without q² {:.0e}, without q² and k² {:.2f}\n", first, second);
  report.answer(
      dropped, 'c', first < 1e-12 && second > 0.1,
      "For one query −q² / 2σ² is the same number at all keys, and a softmax only sees how scores differ. "
      "−k² / 2σ² depends on the key alone: without it, keys far from 0 get more than they should. Where all keys have "
      "the same length it may go, too, and the product is left. Later lessons score with products.");
}

// nn/'s Attention is scores, softmax and average, the formulas of part 1. It is built from a score, and maps
// queries, keys and values to the answers, called the *context*, and the weights. (There all are vectors; our
// numbers are vectors of one.)

// ---- 4. How near is near? ---------------------------------------------------------------------------------
// A small σ trusts the nearest point and its error. A large σ averages hills with valleys. So σ is learned,
// by Adam: predict each measured point from the measured points, and make the mean squared error small.
//
// May a point look at itself? A *mask* says for each pair of query and key whether it counts. True means "may
// attend"; a pair that is false is left out of the softmax: its weight is 0, and the others still add up to 1.
// (Lesson 07 is about masks.) We train once with each.

void how_near(const Points& points, double mean_error, const kit::Options& options, kit::Report& report) {
  const Mask all = Mask::from(50, 50, [](Size, Size) { return true; });
  const Mask others = Mask::from(50, 50, [](Size i, Size j) { return i != j; });  // leave one out
  const kit::Question itself = report.ask(
      "seeing itself", "Training starts at σ = 1. Where does σ go if each point may see itself, too?",
      {"nearly where it goes without: one point of fifty hardly counts", "to nearly 0", "it grows"});
  const LearnedSigma cheating = learn_sigma("it may see itself", points, all, options.steps);
  const LearnedSigma honest = learn_sigma("itself left out", points, others, options.steps);
  const auto ask = [&](double s) {
    return pool(gaussian_scores(queries(), points.x, scalar(std::log(s), f64)), points.y);
  };
  const auto error = [&](double sigma) { return squared_error(ask(sigma).answers, queries()); };
  print_learned(cheating, error(cheating.sigma), honest, error(honest.sigma));
  report.answer(
      itself, 'b', cheating.sigma < 0.2 * honest.sigma && error(cheating.sigma) > error(honest.sigma),
      "A point is its own nearest neighbour, at distance 0. With σ near 0 each repeats its own value. "
      "That looks like learning, and a new query gets the error of its nearest point.");
  report.at_most("error when a query asks ÷ plain mean's", error(honest.sigma) / mean_error, 1.0 / 3);

  const Pooled pooled = ask(honest.sigma);  // in the map of weights: a band that is as wide as σ
  draw(points, pooled.answers, pooled.weights, options);
}

// What to remember. An attention scores each key, a softmax turns scores into weights, and the answer is the
// average of the values with these weights. If the score sees the key alone, all queries get one answer. What
// may not be seen is taken out by a mask, before the softmax.
//
// Exercises: lessons/practise 5 (the Gaussian average; leave one out; what wide and narrow σ do).

void lesson(const kit::Options& options, kit::Report& report) {
  const Points points = measure(options.seed);
  report.section("Three measurements by hand");
  three_measurements(report);
  report.section("Keys alone");
  const double mean_error = keys_alone(points, report);
  report.section("A query asks");
  a_query_asks(points, report);
  compare_with_nn([](const Tensor& q, const Tensor& k, const Tensor& v,
                     const Tensor& log_sigma) { return pool(gaussian_scores(q, k, log_sigma), v).answers; },
                  options.seed, report);
  report.section("How near is near?");
  how_near(points, mean_error, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("05_pooling", "attention is a weighted average");
  program.steps(300, 100);
  return program.run(argc, argv, lesson);
}
