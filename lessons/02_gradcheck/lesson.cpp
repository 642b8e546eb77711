// 02 gradcheck: trust no derivative that was not checked
//
// 25 minutes to read, 1 second to run. Needs lesson 01 (the tape, rules, the product of matrices). Afterwards
// you can derive the rule of an op, check it, and say what a check is worth.
//
// A wrong derivative rarely crashes. The loss still falls, only slower, or to a worse place, and nobody knows
// why. In lesson 01 we derived a rule, tried it on one example, and believed it. How can a program find out
// whether a rule is right, without knowing the right one?

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "lessons/02_gradcheck/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson02;

namespace {

constexpr DType f64 = DType::f64;

// ---- 1. A difference with a pencil ------------------------------------------------------------------------
// A derivative says how far the output moves when the input moves a little. So move it by ε, and look: from
// here to there, *forward*, (f(x + ε) − f(x)) / ε, or *central*, (f(x + ε) − f(x − ε)) / 2ε. For x³ at x = 1:
//
//     ε = 0.1    forward   (1.331 − 1) / ε = 3.31            central   (1.331 − 0.729) / 2ε = 3.01
//     ε = 0.01   forward   3.0301                            central   3.0001
//
// The derivative is 3. With a tenth of the step, forward has a tenth of the error, central a hundredth: in
// f(x ± ε) = f(x) ± f′(x) ε + ½ f″(x) ε² ± …, the term with ε² is the same on both sides, and cancels.

template <class T>
T forward(T (*f)(T), T x, T epsilon) {
  return (f(x + epsilon) - f(x)) / epsilon;
}
template <class T>
T central(T (*f)(T), T x, T epsilon) {
  return (f(x + epsilon) - f(x - epsilon)) / (2 * epsilon);
}

void differences(const kit::Options& options, kit::Report& report) {
  const auto cube = [](double x) { return x * x * x; };
  const auto f = forward<double>, c = central<double>;
  kit::check_worked_example(report, "x³ at 1.1 and 0.9", {{cube(1.1), 1.331}, {cube(0.9), 0.729}});
  kit::check_worked_example(report, "its derivative, ε = 0.1",
                            {{f(cube, 1, 0.1), 3.31}, {c(cube, 1, 0.1), 3.01}});
  kit::check_worked_example(report, "ε = 0.01", {{f(cube, 1, 0.01), 3.0301}, {c(cube, 1, 0.01), 3.0001}});
  const kit::Question step = report.ask(
      "the best step", "A double has some 16 digits. At which ε is a central difference of tanh best?",
      {"1e-13: a derivative is the limit ε → 0", "near 1e-5", "near 0.1: rounding counts least there"});
  const auto [central64, forward64, central32] =
      error_curves(central<double>, forward<double>, central<float>, options);
  report.check("central beats forward, and f64 beats f32, by a factor of 100",
               central64.error * 100 < forward64.error && central64.error * 100 < central32.error);
  report.answer(
      step, 'b', central64.epsilon > 1e-7 && central64.epsilon < 1e-4,
      "Below that the rounding of f, divided by 2ε, outweighs what a shorter step gains: each curve is a "
      "V. That of floats ends so high that a slightly wrong rule looks right: so rules are checked in f64.");
}

// ---- 2. The rule of softmax -------------------------------------------------------------------------------
// Softmax turns a row of scores into positive weights that add up to 1: y_i = e^{x_i} / S, where S = Σ_k
// e^{x_k}. For the scores (log 3, 0) that is e^x = (3, 1), S = 4 and y = (0.75, 0.25).
//
// How does y_i move with x_j? Each x_j stands in S. ∂(1/S)/∂x_j = −e^{x_j} / S², so y_i moves by −y_i y_j.
// And x_i also stands above the line, which gives e^{x_i} / S = y_i more. For our two scores:
//
//     ∂y_1/∂x_1 = y_1 − y_1 y_1 = 0.1875        ∂y_1/∂x_2 = −y_1 y_2 = −0.1875
//     ∂y_2/∂x_1 = −y_2 y_1 = −0.1875            ∂y_2/∂x_2 = y_2 − y_2 y_2 = 0.1875
//
// Such a table is called a *Jacobian*. A rule returns the sums of its columns, weighted with dy:
//
//     ∂x_j = Σ_i dy_i ∂y_i/∂x_j = y_j dy_j − Σ_i dy_i y_i y_j        so  ∂x = y ⊙ (dy − Σ dy ⊙ y)
//
// That is a *vector–Jacobian product*, vjp, and nobody had to make the table. For dy = (8, 4) the sum is 8 ·
// 0.75 + 4 · 0.25 = 7, so ∂x = (0.75 · 1, 0.25 · −3) = (0.75, −0.75).
//
// The library writes its ops like this: the value, then for each argument wrt(argument, rule), "with respect
// to". A rule gets dy, and y if it asks for it. (Axis −1 is the last one; Keep::yes keeps it, with size 1. {}
// stands for the caller's place in the source. detach() keeps the softmax inside off the tape.)

Tensor our_softmax(const Tensor& x) {
  return op<"our_softmax">({}, softmax(x.detach(), -1), wrt(x, [](const Tensor& dy, const Tensor& y) {
                             return y * (dy - sum(dy * y, {-1}, Keep::yes));
                           }));
}

void rule_of_softmax(kit::Report& report) {
  const Tensor x = tensor({std::log(3.0), 0}, f64), y = our_softmax(x);
  const Tensor table = jacobian(our_softmax, x), dx = vjp(our_softmax, x, tensor({8, 4}, f64));
  kit::check_worked_example(report, "two scores", {{y.at({0}), 0.75}, {y.at({1}), 0.25}});
  kit::check_worked_example(report, "their Jacobian",
                            {{table.at({0, 0}), 0.1875}, {table.at({1, 0}), -0.1875}});
  kit::check_worked_example(report, "the rule for dy = (8, 4)", {{dx.at({0}), 0.75}, {dx.at({1}), -0.75}});
}

// ---- 3. Which numbers come in? ----------------------------------------------------------------------------
// A difference needs one number to look at, and softmax has many. So they are weighted with numbers c and
// added up, L = Σ c ⊙ f(x). Such a c is called a *cotangent*. Backward with dy = c gives ∂L/∂x, and the
// difference of L, where one number of x is moved at a time, must agree.

/// The largest difference between rule and central differences, as a share of the largest derivative.
double check(const TensorFunction& f, const Tensor& x, const Tensor& cotangent) {
  constexpr double kEpsilon = 6e-6;
  const std::vector<double> rule = vjp(f, x, cotangent).to_vector();
  const auto loss = [&](std::size_t moved, double by) {
    std::vector<double> values = x.to_vector();
    values[moved] += by;
    return sum(cotangent * f(tensor(values, x.shape(), f64))).item();
  };
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const double difference = (loss(i, kEpsilon) - loss(i, -kEpsilon)) / (2 * kEpsilon);
    worst = std::max(worst, std::abs(rule[i] - difference));
    largest = std::max(largest, std::abs(difference));
  }
  return worst / largest;
}

void cotangents(const Tensor& x, std::uint64_t seed, kit::Report& report) {
  const kit::Question ones_in = report.ask(
      "a cotangent of ones",
      "broken_softmax has the wrong sign. What does a check with c = 1 everywhere find?",
      {"a wrong sign at every number", "a wrong sign, but at some numbers only", "nothing: it passes"});
  const double largest = max(abs(vjp(broken_softmax, x, ones(x.shape(), f64)))).item();
  const Tensor random = random_normal(x.shape(), seed, f64);
  const double seen = check(broken_softmax, x, random), fine = check(our_softmax, x, random);
  fmt::print("  wrong sign: with ones the largest gradient is {:.0e}, with random numbers the error {:.2f}\n",
             largest, seen);
  report.answer(
      ones_in, 'c', largest < 1e-12 && seen > 1,
      "A row adds up to 1, so L is a constant, its derivative is 0, and minus 0 is 0. Hence c is drawn at "
      "random: a random cotangent.");
  report.at_most("right softmax, checked by hand", fine, 1e-7);
}

// ---- 4. Three ops, three bugs -----------------------------------------------------------------------------
// The library's gradcheck does the same for any number of arguments, and says what the difference looks like.
// Two more ops have a bug each. Which of their rules is wrong, and how?

Tensor broken_matmul(const Tensor& a, const Tensor& b) {
  return op<"broken_matmul">({}, matmul(a.detach(), b.detach()),
                             wrt(a, [b](const Tensor& dy) { return matmul(dy, transpose(b)); }),
                             wrt(b, [a](const Tensor& dy) { return matmul(transpose(dy), a); }));
}
Tensor broken_mean(const Tensor& x) {  // of each row; expand() repeats dy (3, 1) to the shape (3, 5)
  return op<"broken_mean">({}, mean(x.detach(), {-1}, Keep::yes),
                           wrt(x, [shape = x.shape()](const Tensor& dy) { return expand(dy, shape); }));
}

void three_bugs(const Tensor& x, std::uint64_t seed, kit::Report& report) {
  const GradcheckOptions strict{.tolerance = 1e-7, .seed = seed};
  const Tensor a = random_normal({4, 4}, seed + 2, f64), b = random_normal({4, 4}, seed + 3, f64);
  const kit::Question factor = report.ask(
      "the broken mean", "How does broken_mean's rule differ from the slopes, for rows of five numbers?",
      {"it is five times too large", "it is five times too small", "by another factor at each place"});
  hunt(report, "softmax", "sign", gradcheck(our_softmax, x, strict), gradcheck(broken_softmax, x, strict));
  hunt(report, "matmul", "transpose", gradcheck(right_matmul, {a, b}, strict),
       gradcheck(broken_matmul, {a, b}, strict));
  hunt(report, "mean", "factor", gradcheck(right_mean, x, strict), gradcheck(broken_mean, x, strict));
  report.answer(
      factor, 'a', times_too_large(gradcheck(broken_mean, x, strict)) == 5,
      "The mean counts each number a fifth, and the rule forgot it. In the product ∂b is transposed: "
      "with square matrices every shape fits, and nothing crashes.");
}

// What to remember. A rule is right if it agrees with central differences, in f64, for a random cotangent.
// Softmax has the rule ∂x = y ⊙ (dy − Σ dy ⊙ y). What was derived is checked, before it trains.
//
// Exercises: lessons/practise 2 (two rules; an echo with a bug; blind cotangents; your engine's softmax).

void lesson(const kit::Options& options, kit::Report& report) {
  const Tensor x = random_normal({3, 5}, options.seed, f64);
  report.section("A difference with a pencil");
  differences(options, report);
  report.section("The rule of softmax");
  rule_of_softmax(report);
  report.section("Which numbers come in?");
  cotangents(x, options.seed + 1, report);
  report.section("Three ops, three bugs");
  three_bugs(x, options.seed, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("02_gradcheck", "trust no derivative that was not checked");
  program.steps(1, 1);
  return program.run(argc, argv, lesson);
}
