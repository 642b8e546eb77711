// 08 scale: why √d
//
// 25 minutes to read, 20 seconds to run. Needs lessons 02 (the derivative of a softmax), 03 (Adam) and 06
// (scores are products). Afterwards you can say how large scores are, what that does to training, and what
// has to be chosen with care where nobody divides by √d.
//
// Lesson 06 divided q·k by √d. But training could shrink W_Q, and q·k with it. So what is √d worth?

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
// Let each number of q and k be +1 or −1, by chance. Then so is each product q_i k_i. With a pencil: for d =
// 2 the sum q·k is −2, 0, 0 or 2, with mean 0 and variance (4 + 0 + 0 + 4) / 4 = 2. For d = 4 it is −4 once,
// −2 four times, 0 six times, 2 four times, 4 once: variance (16 + 4·4 + 0 + 4·4 + 16) / 16 = 4. In general
// let all numbers be independent, with mean 0 and variance 1. Each product has variance E q_i² · E k_i² = 1,
// and variances of independent numbers add up:
//
//     q·k has mean 0 and variance d, so its deviation is √d. Divided by √d, it has variance 1 at any width.
//
// The additive score is small in another way: it sums U hidden units, and tanh keeps unit u within ±|v_u|.
//
//     dot       q · k                           Luong, Pham and Manning 2015
//     scaled    q · k / √d                      Vaswani et al. 2017
//     additive  v · tanh(W_q q + W_k k)         Bahdanau, Cho and Bengio 2015; v, W_q, W_k are learned

Tensor dot_scores(const Tensor& q, const Tensor& k) { return matmul(q, transpose(k)); }

Tensor scaled_scores(const Tensor& q, const Tensor& k) {
  return matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
}

/// Every query meets every key, unit for unit: (…, Tq, 1, U) + (…, 1, Tk, U).
Tensor additive_scores(const Tensor& q, const Tensor& k, const Tensor& w_q, const Tensor& w_k,
                       const Tensor& v) {
  const Tensor query = matmul(q, transpose(w_q)), key = matmul(k, transpose(w_k));
  return sum(tanh(unsqueeze(query, -2) + unsqueeze(key, -3)) * v, {-1});
}

Scores additive_with(const Attention& attention) {  // an Attention{additive(…)}, for its weights
  const std::vector<Tensor> w = additive_weights(attention);
  return [w](const Tensor& q, const Tensor& k) { return additive_scores(q, k, w[0], w[1], w[2]); };
}

void how_large(std::uint64_t seed, kit::Report& report) {
  const Tensor signs = tensor({{1, 1}, {1, -1}, {-1, 1}, {-1, -1}}, f64);  // all of width 2
  const Tensor two = sum(signs, {-1}), four = unsqueeze(two, 0) + unsqueeze(two, 1);
  kit::check_worked_example(report, "variances", {{var(two).item(), 2}, {var(four).item(), 4}});
  const Spread worst = measure_spread(dot_scores, scaled_scores, seed);
  report.at_most("furthest mean of q·k from 0, in deviations", worst.mean, 0.02);
  report.at_most("furthest variance of q·k from d, as a share", worst.variance, 0.05);
  compare_additive(additive_with, seed, report);  // with nn/'s additive score, in an attention
}

// ---- 2. What a softmax lets through -----------------------------------------------------------------------
// Two keys with scores 4 and 0 get the weights 0.982 and 0.018. With 2 and 0 they get 0.881 and 0.119. Lesson
// 02 derived ∂α_i/∂s_j = α_i (1{i = j} − α_j). For two keys with weights a and 1 − a the four entries of this
// matrix J have the size a (1 − a): 0.018 and 0.105. Whatever the loss has to say, the scores hear only J
// times it. The size of J is ‖J‖, the root of the sum of all squares: 0.035 and 0.210. In general the
// diagonal of J has α_i − α_i², and the rest −α_i α_j, so
//
//     ‖J‖² = Σ_i (α_i − α_i²)² + Σ_{i≠j} α_i² α_j² = Σ α_i² − 2 Σ α_i³ + (Σ α_i²)²

Tensor jacobian_norm(const Tensor& weights) {  // (n, keys) → (n)
  const Tensor squares = weights * weights, sum2 = sum(squares, {-1}), sum3 = sum(squares * weights, {-1});
  return sqrt(maximum(sum2 - 2 * sum3 + sum2 * sum2, zeros(sum2.shape(), f64)));  // rounding may leave −1e-17
}

void what_it_lets_through(const kit::Options& options, kit::Report& report) {
  const Tensor two = softmax(tensor({{4, 0}, {2, 0}}, f64), -1), norms = jacobian_norm(two);
  const double a = two.at({0, 0}), b = two.at({1, 0}), n = norms.at({0}), m = norms.at({1});
  kit::check_worked_example(report, "weights", {{a, 0.982}, {1 - a, 0.018}, {b, 0.881}, {1 - b, 0.119}});
  kit::check_worked_example(report, "J", {{a * (1 - a), 0.018}, {b * (1 - b), 0.105}, {n, 0.035}, {m, 0.21}});

  const kit::Question size = report.ask(
      "without √d", "Normal numbers, d = 1024. Without √d scores are 32 times as large. And the median ‖J‖?",
      {"32 times as large", "about the same", "1/32 of it", "less than 1/10,000 of it"});
  const Norms at = measure_norms(jacobian_norm, dot_scores, scaled_scores, additive_with, options);
  report.answer(size, 'd', at.dot[3].median < 1e-4 * at.scaled[3].median,
                "One often reads that √d keeps gradients small. But without it they vanish.");
  constexpr double kText[] = {0.302, 0.080, 0.0028, 3.6e-6};
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    report.check_quoted(fmt::format("median ‖J‖ of dot at d = {}", kWidths[i]), at.dot[i].median, kText[i],
                        0.1);
    report.check_quoted(fmt::format("median ‖J‖ of scaled at d = {}", kWidths[i]), at.scaled[i].median, 0.347,
                        0.1);
  }
}

// The median of dot falls from 0.302 to 0.080, 0.0028 and 3.6e-6. Scaled stays at 0.347.

// ---- 3. Training at every width ---------------------------------------------------------------------------
// Is that so bad? Adam divides gradients by their usual size. The task is a lookup: ten of 32 symbols are the
// keys of a question, behind each stands one of ten answers, and the query is one of the ten. Each symbol has
// a learned vector as a query and another as a key; their first numbers are standard normal. The table shows
// the median ‖∂loss/∂scores‖ at first, and a score's move in step 1. It grows with d: dot's 256 may pass its 64.

ScoreFactory by_dot(Size) { return dot(); }

std::pair<Runs, Runs> at_every_width(const kit::Options& options, kit::Report& report) {  // dot, scaled
  const kit::Question stuck = report.ask(
      "dot at d = 1024", "Dot at d = 1024, 2,000 steps that may shrink q and k. How many answers are right?",
      {"99 % or more", "more than chance and less than 99 %", "about one in ten, which is chance"});
  print_heading();
  const Runs plain = train({"dot", by_dot}, options);
  const Runs scaled = train({"scaled", [](Size) { return scaled_dot(); }}, options);
  const Runs third = train({"additive", [](Size d) { return additive(d, d, kHidden); }}, options);
  report.at_least("scaled: right at the worst of all widths", scaled.worst(), 99, "%");
  report.at_least("additive: right at the worst of all widths", third.worst(), 99, "%");
  report.at_most("dot: right at d = 1024", plain.at[3].accuracy, 95, "%");
  report.answer(stuck, 'b', plain.at[3].accuracy > 20 && plain.at[3].accuracy < 99,
                "At first one weight is nearly 1, mostly of a wrong key, and no gradient gets through.");
  draw_steps({plain, scaled, third}, "steps.svg", options);
  return {plain, scaled};
}

// ---- 4. What √d is worth ----------------------------------------------------------------------------------
// Can one do without √d?
//
//     a learned factor    the score is e^w q·k. The number w is learned, and begins at 0, so e^w at 1
//     small first         dot; first queries and keys times d^−¼, so that q·k begins with variance 1
//     and rate            the same, and their learning rate times d^−¼ as well

void what_it_is_worth(const Runs& plain, const Runs& scaled, const kit::Options& options,
                      kit::Report& report) {
  const kit::Question factor = report.ask(
      "a learned factor", "At d = 1024 the gradient of e^w q·k is at first as small as dot's. Is it learned?",
      {"no: w gets no gradient either", "yes, after more steps than scaled", "yes, as fast as scaled"});
  const kit::Question both = report.ask(
      "small first and rate", "First vectors and rate times d^−¼. Steps to 99 %, compared with scaled?",
      {"more: each step is shorter", "the same number, at every width", "fewer: small vectors move easily"});
  print_heading();
  const Runs learned = train({"a learned factor", [](Size) { return learned_factor(); }}, options);
  const Runs first = train({"small first", by_dot, -0.25}, options);  // d^−¼
  const Runs rate = train({"small first and rate", by_dot, -0.25, -0.25}, options);
  draw_steps({plain, scaled, learned, first, rate}, "worth.svg", options);
  report.answer(
      factor, 'b', learned.worst() >= 99 && learned.slower_than(scaled) && learned.at[3].factor < 0.1,
      "Adam moves w by its rate, however small its gradient. In dot every number would have to shrink.");
  report.answer(
      both, 'b', rate.steps() == scaled.steps(),
      "It is the same training in other units: q'·k' is q·k / √d, and Adam's steps shrink with the rate.");
  const double power = power_of_moves(first, scaled, 0.25);
  report.check_quoted("small first ÷ scaled: the power of d in their moves", power, 0.25, 0.02);
}

// So √d is a choice of units. Small first vectors alone mend the start, but beside them a step of Adam is
// d^0.25 times as large: no harm up to d = 256, many steps more at 1024. The rate takes that back. With √d one
// size of first vectors and one rate serve every width: its worth.

// ---- 5. What additive attention costs ---------------------------------------------------------------------
// The additive score needs no factor. Why is dot used nearly everywhere? Dot is one matrix product, 2 Tq Tk d
// operations of the kind that lesson 04 made fast. Additive with d hidden units computes Tq · Tk · d times a
// tanh, which plain ops keep for backward. nn/'s score computes it again, and saves memory, not time.

void what_it_costs(const kit::Options& options, kit::Report& report) {
  const Costs cost = measure_costs(dot_scores, additive_with, options);
  report.figure("time at the last width: nn/'s additive ÷ dot", cost.nn.microseconds / cost.dot.microseconds);
  report.at_most("nn/'s additive keeps, as a share of plain ops'",
                 100 * cost.nn.kilobytes / cost.additive.kilobytes, 25, "%");
}

// What to remember. q·k of d independent numbers has the deviation √d. Large scores make nearly one-hot
// weights, and these let no gradient through. With 1/√d, first vectors and a learning rate serve every width.
//
// Exercises: lessons/practise 8 (the divisor for other variances; what gets through; how large scores are).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("How large is q·k?");
  how_large(options.seed, report);
  report.section("What a softmax lets through");
  what_it_lets_through(options, report);
  report.section("Training at every width");
  const auto [plain, scaled] = at_every_width(options, report);
  report.section("What √d is worth");
  what_it_is_worth(plain, scaled, options, report);
  report.section("What additive attention costs");
  what_it_costs(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("08_scale", "why √d");
  program.steps(2000, 10);
  return program.run(argc, argv, lesson);
}
