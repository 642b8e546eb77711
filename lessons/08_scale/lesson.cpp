// 08 scale: why √d
//
// 25 minutes to read, 20 seconds to run. Needs lessons 02 (the derivative of a softmax), 03 (Adam) and 06
// (scores as dot products). Afterwards you can say how large scores are, how their size affects training, and which
// other settings you must choose with care if you do not divide by √d.
//
// In lesson 06, we divided q·k by √d. Without √d, the scores would be larger, but training could make W_Q smaller,
// and q·k with it. So why do we need √d?

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/core.hpp"
#include "lessons/08_scale/measurements.hpp"
#include "lessons/08_scale/training.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"

using namespace tapestry;
using namespace tapestry::lesson08;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. How large is q·k? ---------------------------------------------------------------------------------
// How far are random numbers from their mean? The *variance* is the mean squared distance from the mean, and the
// *standard deviation* is the root of the variance.
//
// Suppose that each number of q and k is +1 or −1, with equal probability. Then each product q_i k_i is +1 or −1 too,
// with equal probability.
//
// For d = 2, the sum q·k is −2, 0, 0 or 2. Its mean is 0, and its variance is (4 + 0 + 0 + 4) / 4 = 2.
//
// For d = 4, there are 16 cases: the sum is −4 once, −2 four times, 0 six times, 2 four times and 4 once. Its
// variance is (16 + 4·4 + 0 + 4·4 + 16) / 16 = 4.
//
// In general, let all numbers be independent, with mean 0 and variance 1. Then each product q_i k_i has the mean 0
// and the variance E (q_i k_i)² = E q_i² · E k_i² = 1, where E means the expected value. Variances of independent
// numbers add up:
//
//     q·k has mean 0 and variance d. Its standard deviation is √d.
//     q·k / √d has variance 1 at any width d.
//
// We compare three scores:
//
//     dot       q · k                           Luong, Pham and Manning 2015
//     scaled    q · k / √d                      Vaswani et al. 2017
//     additive  v · tanh(W_q q + W_k k)         Bahdanau, Cho and Bengio 2015; v, W_q, W_k are learned
//
// The additive score is a small network with U *hidden units*, the U numbers of tanh(…). Lesson 11 explains it. Here
// we need only one fact: tanh lies between −1 and 1, so unit u contributes at most |v_u| to the score, however wide q
// and k are.

Tensor dot_scores(const Tensor& q, const Tensor& k) { return matmul(q, transpose(k)); }

Tensor scaled_scores(const Tensor& q, const Tensor& k) {
  return matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
}

/// Returns a score for each query and key. Adds every query to every key, unit by unit: (…, Tq, 1, U) + (…, 1, Tk,
/// U).
Tensor additive_scores(const Tensor& q, const Tensor& k, const Tensor& w_q, const Tensor& w_k,
                       const Tensor& v) {
  const Tensor query = matmul(q, transpose(w_q)), key = matmul(k, transpose(w_k));
  return sum(tanh(unsqueeze(query, -2) + unsqueeze(key, -3)) * v, {-1});
}

Scores additive_with(const Attention& attention) {  // uses the weights of an Attention{additive(…)}
  const std::vector<Tensor> w = additive_weights(attention);
  return [w](const Tensor& q, const Tensor& k) { return additive_scores(q, k, w[0], w[1], w[2]); };
}

void how_large(std::uint64_t seed, kit::Report& report) {
  const Tensor signs = tensor({{1, 1}, {1, -1}, {-1, 1}, {-1, -1}}, f64);  // all sign vectors of width 2
  const Tensor two = sum(signs, {-1}), four = unsqueeze(two, 0) + unsqueeze(two, 1);
  kit::check_worked_example(report, "variances", {{var(two).item(), 2}, {var(four).item(), 4}});
  const Spread worst = measure_spread(dot_scores, scaled_scores, seed);
  report.at_most("largest |mean of q·k|, in standard deviations", worst.mean, 0.02);
  report.at_most("largest relative error of the variance of q·k from d", worst.variance, 0.05);
  compare_additive(additive_with, seed, report);  // with nn/'s additive score, in an attention
}

// ---- 2. The gradient through a softmax --------------------------------------------------------------------
// In the backward pass, the gradient of the loss passes through the softmax before it reaches the scores. Does the
// softmax pass less of it if the scores are large?
//
// Two keys with the scores 4 and 0 get the weights 0.982 and 0.018. With the scores 2 and 0, they get 0.881 and
// 0.119.
//
// In lesson 02 we derived the Jacobian J of the softmax: ∂α_i/∂s_j = α_i (1{i = j} − α_j), where 1{i = j} is 1 if i =
// j and 0 otherwise. For two keys with the weights a and 1 − a, all four entries of J have the magnitude a (1 − a):
// 0.018 for the first pair of scores and 0.105 for the second.
//
// The gradient of the scores is J times the gradient of the weights. So if J is small, the scores get a small
// gradient, whatever the loss is. We measure J by its norm ‖J‖, the root of the sum of the squares of its entries:
// 0.035 and 0.210 in the example. So the larger scores have the smaller gradient.
//
// In general, the diagonal of J has the entries α_i − α_i², and the rest of J has −α_i α_j. So
//
//     ‖J‖² = Σ_i (α_i − α_i²)² + Σ_{i≠j} α_i² α_j² = Σ α_i² − 2 Σ α_i³ + (Σ α_i²)²

Tensor jacobian_norm(const Tensor& weights) {  // (n, keys) → (n)
  const Tensor squares = weights * weights, sum2 = sum(squares, {-1}), sum3 = sum(squares * weights, {-1});
  return sqrt(maximum(sum2 - 2 * sum3 + sum2 * sum2, zeros(sum2.shape(), f64)));  // rounding may give −1e-17
}

void gradient_through_softmax(const kit::Options& options, kit::Report& report) {
  const Tensor two = softmax(tensor({{4, 0}, {2, 0}}, f64), -1), norms = jacobian_norm(two);
  const double a = two.at({0, 0}), b = two.at({1, 0}), n = norms.at({0}), m = norms.at({1});
  kit::check_worked_example(report, "weights", {{a, 0.982}, {1 - a, 0.018}, {b, 0.881}, {1 - b, 0.119}});
  kit::check_worked_example(report, "J", {{a * (1 - a), 0.018}, {b * (1 - b), 0.105}, {n, 0.035}, {m, 0.21}});

  const kit::Question size = report.ask(
      "without √d",
      "q and k are standard normal, and d = 1024. Without √d, the scores are 32 times as large as with √d. How large "
      "is the median ‖J‖, compared with the median with √d?",
      {"32 times as large", "about equal", "1/32 of it", "less than 1/10,000 of it"});
  const Norms at = measure_norms(jacobian_norm, dot_scores, scaled_scores, additive_with, options);
  report.answer(size, 'd', at.dot[3].median < 1e-4 * at.scaled[3].median,
                "You may have read that √d keeps gradients small. But without √d, they vanish.");
  constexpr double kText[] = {0.302, 0.080, 0.0028, 3.6e-6};
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    report.check_quoted(fmt::format("median ‖J‖ of dot at d = {}", kWidths[i]), at.dot[i].median, kText[i],
                        0.1);
    report.check_quoted(fmt::format("median ‖J‖ of scaled at d = {}", kWidths[i]), at.scaled[i].median, 0.347,
                        0.1);
  }
}

// The median for the dot score falls from 0.302 at d = 16 to 0.080 at 64, 0.0028 at 256 and 3.6e-6 at 1024. The
// median for the scaled score is 0.347 at every width.

// ---- 3. Training at every width ---------------------------------------------------------------------------
// Does a small gradient matter? Adam divides each gradient by its usual size (lesson 03), so its steps are not small.
// To find out, we train a model.
//
// The task is to look up an answer. A question has ten keys, drawn from 32 symbols. Each key has one of ten possible
// answers. The query is one of the ten keys, and the model must return the answer of this key. Guessing is right in
// 10 % of the questions.
//
// Each symbol has two learned vectors: one for its use as a query and one for its use as a key. Their initial values
// are standard normal: random numbers with mean 0 and variance 1.
//
// The program prints a table with a row for each score and width. The column "gradient" shows the median
// ‖∂loss/∂scores‖ before training. The column "move" shows how far the first step moves a score.
//
// Why do the moves grow with d? A score is a sum over d numbers, and a step of Adam moves each of them by about the
// learning rate. So a step moves a score further if d is larger. That is why the dot score may learn about as well at
// d = 256 as at d = 64, despite its smaller gradient.

ScoreFactory by_dot(Size) { return dot(); }

std::pair<Runs, Runs> training_at_every_width(const kit::Options& options,
                                              kit::Report& report) {  // unscaled, scaled
  const kit::Question stuck = report.ask(
      "dot at d = 1024",
      "We train the dot score at d = 1024 for 2,000 steps. Training may shrink q and k. What percentage of the answers "
      "is right?",
      {"99 % or more", "more than chance, but less than 99 %", "about 10 %, which is chance"});
  print_heading();
  const Runs unscaled = train({"dot", by_dot}, options);
  const Runs scaled = train({"scaled", [](Size) { return scaled_dot(); }}, options);
  const Runs with_additive = train({"additive", [](Size d) { return additive(d, d, kHidden); }}, options);
  report.at_least("scaled: right answers at the worst width", scaled.worst(), 99, "%");
  report.at_least("additive: right answers at the worst width", with_additive.worst(), 99, "%");
  report.at_most("dot: right answers at d = 1024", unscaled.at[3].accuracy, 95, "%");
  report.answer(
      stuck, 'b', unscaled.at[3].accuracy > 20 && unscaled.at[3].accuracy < 99,
      "Before training, one weight is nearly 1, and mostly that of a wrong key. Almost no gradient gets "
      "through the softmax.");
  draw_steps({unscaled, scaled, with_additive}, "steps.svg", options);
  return {unscaled, scaled};
}

// At seed 1, these rows of the table compare the dot score with the scaled score:
//
//                                d  gradient    move  steps to 99 %    right
//     dot                     1024   4.2e-07   0.840          never   82.7 %
//     scaled                  1024   2.6e-01   0.054            180  100.0 %
//
// At other seeds, the numbers differ, but the dot score at d = 1024 stays below 95 %, and the scaled score is always
// above 99 %.

// ---- 4. Training without √d -------------------------------------------------------------------------------
// Could we train without √d? Here are three attempts. The names are those of the program's table:
//
// - *A learned factor*: the score is e^w q·k. The number w is learned and starts at 0, so e^w starts at 1.
// - *Small first*: the dot score, but the first queries and keys are small. Both are multiplied by d^−¼. So q·k is
//   multiplied by d^−½ and starts with variance 1.
// - *Small first and rate*: the same, and the learning rate of queries and keys is also multiplied by d^−¼.

void training_without_root(const Runs& unscaled, const Runs& scaled, const kit::Options& options,
                           kit::Report& report) {
  const kit::Question factor = report.ask(
      "a learned factor",
      "Before training at d = 1024, the gradient of e^w q·k is as small as the gradient of the dot score. Does the "
      "model reach 99 %?",
      {"no, because w gets no gradient either", "yes, but it needs more steps than the scaled score",
       "yes, and it needs no more steps than the scaled score"});
  const kit::Question both = report.ask(
      "small first and rate",
      "We multiply the initial vectors and their learning rate by d^−¼. How many steps does the model need to reach "
      "99 %, compared with the scaled score?",
      {"more steps, because each step is shorter", "the same number of steps at every width",
       "fewer steps, because small vectors move easily"});
  print_heading();
  const Runs learned = train({"a learned factor", [](Size) { return learned_factor(); }}, options);
  const Runs first = train({"small first", by_dot, -0.25}, options);  // d^−¼
  const Runs rate = train({"small first and rate", by_dot, -0.25, -0.25}, options);
  draw_steps({unscaled, scaled, learned, first, rate}, "worth.svg", options);
  report.answer(
      factor, 'b', learned.worst() >= 99 && learned.slower_than(scaled) && learned.at[3].factor < 0.1,
      "Adam changes w by about its learning rate, however small the gradient of w is. With the dot score, every number "
      "of q and k would have to shrink.");
  report.answer(
      both, 'b', rate.steps() == scaled.steps(),
      "It is the same training run in other units: q'·k' equals q·k / √d, and Adam's steps shrink with the learning "
      "rate.");
  const double power = power_of_moves(first, scaled, 0.25);
  report.check_quoted("moves of small first ÷ moves of scaled: the power of d", power, 0.25, 0.02);
}

// So dividing by √d is a choice of units: we measure q and k in other units, and the training run stays the same.
//
// What if we change only the initial vectors, and keep the learning rate? Then the scores start at the right size.
// But each step of Adam moves them d^0.25 times as far as with the scaled score. That does no harm up to d = 256, but
// at d = 1024 the model needs many more steps than the scaled score. The smaller learning rate compensates for it.
//
// With √d, we need not think about any of this: one size of initial vectors and one learning rate work at every
// width.

// ---- 5. The cost of additive attention --------------------------------------------------------------------
// The additive score needs no factor. So why do most models use the dot score?
//
// The dot score of Tq queries and Tk keys is one matrix product with 2 Tq Tk d operations, which lesson 04 made fast.
// The additive score with d hidden units must compute Tq Tk d times a tanh, which takes longer than a multiply-add.
//
// It also takes more memory. If it is written with plain ops, the tape saves Tq Tk d results of tanh for backward.
// nn/'s additive score does not save them. Its rule computes them again in backward. This saves memory, but not time.

void cost_of_additive(const kit::Options& options, kit::Report& report) {
  const Costs cost = measure_costs(dot_scores, additive_with, options);
  report.figure("time at the last width: nn/'s additive ÷ dot", cost.nn.microseconds / cost.dot.microseconds);
  report.at_most("memory for backward: nn/'s additive, in % of plain ops",
                 100 * cost.nn.kilobytes / cost.additive.kilobytes, 25, "%");
}

// What to remember. If q and k have d independent numbers of variance 1, q·k has the standard deviation √d. Large
// scores give nearly one-hot weights, and the softmax then passes almost no gradient. With 1/√d, the same initial
// vectors and the same learning rate work at every width.
//
// Exercises: lessons/practise 8 (the divisor for other means and variances; the median Jacobian norm; the size of
// scores and Jacobians).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("How large is q·k?");
  how_large(options.seed, report);
  report.section("The gradient through a softmax");
  gradient_through_softmax(options, report);
  report.section("Training at every width");
  const auto [unscaled, scaled] = training_at_every_width(options, report);
  report.section("Training without √d");
  training_without_root(unscaled, scaled, options, report);
  report.section("The cost of additive attention");
  cost_of_additive(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("08_scale", "why √d");
  program.steps(2000, 10);
  return program.run(argc, argv, lesson);
}
