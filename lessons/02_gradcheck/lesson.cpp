// 02 gradcheck: check every derivative before you trust it
//
// 25 minutes to read, 1 second to run. Needs lesson 01 (the tape, rules, the product of matrices). Afterwards
// you can derive the rule of an op, check it numerically, and say what such a check is worth.
//
// A wrong derivative rarely crashes a program. The loss still falls, but more slowly, or it ends at a worse
// value, and nothing tells you why. In lesson 01 we derived a rule, tried it on one example, and trusted it.
// How can a program find out whether a rule is right without knowing the right rule?

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

// ---- 1. Forward and central differences -------------------------------------------------------------------
// A derivative says how fast the output of a function changes when its input changes a little. So we can
// estimate it: change the input by a small step ε, and divide the change of the output by the step.
//
// There are two common ways. A *forward difference* takes one step, from x to x + ε. A *central difference*
// takes a step to each side of x:
//
//     forward   (f(x + ε) − f(x)) / ε
//     central   (f(x + ε) − f(x − ε)) / 2ε
//
// Try both for f(x) = x³ at x = 1, where the derivative is 3:
//
//     ε = 0.1    forward   (1.331 − 1) / ε = 3.31            central   (1.331 − 0.729) / 2ε = 3.01
//     ε = 0.01   forward   3.0301                            central   3.0001
//
// When the step is ten times smaller, the forward difference has about a tenth of its error, and the central
// difference a hundredth. The Taylor series shows why:
//
//     f(x ± ε) = f(x) ± f′(x) ε + ½ f″(x) ε² ± …
//
// The term with ε² is the same on both sides of x. It cancels in the central difference, but not in the
// forward difference.

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
  kit::check_worked_example(report, "differences with ε = 0.1",
                            {{f(cube, 1, 0.1), 3.31}, {c(cube, 1, 0.1), 3.01}});
  kit::check_worked_example(report, "differences with ε = 0.01",
                            {{f(cube, 1, 0.01), 3.0301}, {c(cube, 1, 0.01), 3.0001}});
  const kit::Question step =
      report.ask("the best step",
                 "A double has about 16 digits. For which ε is a central difference of tanh most accurate?",
                 {"1e-13, because a derivative is the limit for ε → 0", "near 1e-5",
                  "near 0.1, where rounding matters least"});
  const auto [central64, forward64, central32] =
      error_curves(central<double>, forward<double>, central<float>, options);
  report.check("central beats forward, and f64 beats f32, by a factor of 100",
               central64.error * 100 < forward64.error && central64.error * 100 < central32.error);
  report.answer(
      step, 'b', central64.epsilon > 1e-7 && central64.epsilon < 1e-4,
      "For a smaller ε, the rounding error of f, divided by 2ε, costs more than the shorter step gains. So "
      "each curve is a V. In f32, the lowest point of the V is so high that a slightly wrong rule would look "
      "right. That is why we check rules in f64.");
}

// ---- 2. The derivative rule of softmax --------------------------------------------------------------------
// Softmax turns a row of scores x into positive weights y that add up to 1:
//
//     y_i = e^{x_i} / S        S = Σ_k e^{x_k}
//
// For the scores (log 3, 0) we get e^x = (3, 1), S = 4 and y = (0.75, 0.25).
//
// How does y_i change with x_j? There are two parts:
//
// - Every x_j is in the sum S. Since ∂(1/S)/∂x_j = −e^{x_j} / S², this part is e^{x_i} times that, or −y_i y_j.
// - x_i is also in the numerator of y_i. So for j = i we add e^{x_i} / S = y_i.
//
// For our two scores:
//
//     ∂y_1/∂x_1 = y_1 − y_1 y_1 = 0.1875        ∂y_1/∂x_2 = −y_1 y_2 = −0.1875
//     ∂y_2/∂x_1 = −y_2 y_1 = −0.1875            ∂y_2/∂x_2 = y_2 − y_2 y_2 = 0.1875
//
// A table of all the derivatives of an op is called a *Jacobian*. The rule of an op receives dy, the gradient
// of the loss with respect to y. It returns ∂x, the gradient with respect to x: the sums of the Jacobian's
// columns, weighted with dy. (⊙ multiplies element by element.)
//
//     ∂x_j = Σ_i dy_i ∂y_i/∂x_j = y_j dy_j − Σ_i dy_i y_i y_j        so  ∂x = y ⊙ (dy − Σ dy ⊙ y)
//
// This is a *vector–Jacobian product*, or vjp. The last formula computes it without building the table.
//
// For dy = (8, 4), the sum Σ dy ⊙ y is 8 · 0.75 + 4 · 0.25 = 7. So ∂x = (0.75 · 1, 0.25 · −3), which is
// (0.75, −0.75).
//
// This is how the library defines an op: first the value, then wrt(argument, rule) for each argument. "wrt"
// means "with respect to". The rule is a lambda that receives dy, and also y if it takes a second parameter.
//
// Four details of the code: axis −1 is the last axis. Keep::yes keeps the axis that is summed, with size 1.
// The braces {} are the call site, the line of the source that error messages name. detach() keeps the
// softmax inside the op off the tape, because our own rule replaces its derivative.

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
  kit::check_worked_example(report, "the gradient for dy = (8, 4)",
                            {{dx.at({0}), 0.75}, {dx.at({1}), -0.75}});
}

// ---- 3. Checking an op with many outputs ------------------------------------------------------------------
// A central difference needs a function with a single output, and softmax has many. So we weight the outputs
// with fixed numbers c and add them up: L = Σ c ⊙ f(x). These weights c are called a *cotangent*.
//
// Now we can compute ∂L/∂x in two ways, and they must agree:
//
// - by the rule: run backward with dy = c;
// - by central differences of L, changing one element of x at a time.
//
// We check two ops: our_softmax, and broken_softmax from experiment.cpp, whose rule has the wrong sign.

/// Returns the largest error of the rule against central differences, divided by the largest derivative.
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
      "The rule of broken_softmax has the wrong sign. What does a check find if every element of c is 1?",
      {"the wrong sign, for every element of x", "the wrong sign, but only for some elements of x",
       "nothing: the check passes"});
  const double largest = max(abs(vjp(broken_softmax, x, ones(x.shape(), f64)))).item();
  const Tensor random = random_normal(x.shape(), seed, f64);
  const double seen = check(broken_softmax, x, random), fine = check(our_softmax, x, random);
  fmt::print("  wrong sign: with c = 1 the largest gradient is {:.0e}; with a random c the error is {:.2f}\n",
             largest, seen);
  report.answer(
      ones_in, 'c', largest < 1e-12 && seen > 1,
      "Each row of the softmax adds up to 1, so L is a constant and its derivative is 0. The wrong rule "
      "returns −0, which is 0 too. That is why we draw c at random: a random cotangent.");
  report.at_most("our_softmax: relative error of its rule", fine, 1e-7);
}

// ---- 4. Finding three bugs with gradcheck -----------------------------------------------------------------
// The library's gradcheck() does the same check for an op with any number of arguments. It also describes how
// a wrong gradient differs from the right one.
//
// Here are two more ops, each with one bug. Which of their rules is wrong, and how?

Tensor broken_matmul(const Tensor& a, const Tensor& b) {
  return op<"broken_matmul">({}, matmul(a.detach(), b.detach()),
                             wrt(a, [b](const Tensor& dy) { return matmul(dy, transpose(b)); }),
                             wrt(b, [a](const Tensor& dy) { return matmul(transpose(dy), a); }));
}
Tensor broken_mean(const Tensor& x) {  // the mean of each row; expand() repeats dy (3, 1) to (3, 5)
  return op<"broken_mean">({}, mean(x.detach(), {-1}, Keep::yes),
                           wrt(x, [shape = x.shape()](const Tensor& dy) { return expand(dy, shape); }));
}

void three_bugs(const Tensor& x, std::uint64_t seed, kit::Report& report) {
  const GradcheckOptions strict{.tolerance = 1e-7, .seed = seed};
  const Tensor a = random_normal({4, 4}, seed + 2, f64), b = random_normal({4, 4}, seed + 3, f64);
  const kit::Question factor = report.ask(
      "the broken mean",
      "With rows of five numbers, how does the gradient of broken_mean differ from the right one?",
      {"it is five times too large", "it is five times too small", "by a different factor for each element"});
  hunt(report, "softmax", "sign", gradcheck(our_softmax, x, strict), gradcheck(broken_softmax, x, strict));
  hunt(report, "matmul", "transpose", gradcheck(right_matmul, {a, b}, strict),
       gradcheck(broken_matmul, {a, b}, strict));
  hunt(report, "mean", "factor", gradcheck(right_mean, x, strict), gradcheck(broken_mean, x, strict));
  report.answer(
      factor, 'a', times_too_large(gradcheck(broken_mean, x, strict)) == 5,
      "In a mean of five numbers each counts for a fifth, and the rule leaves out the division by 5. In "
      "broken_matmul, ∂b is transposed. With square matrices all shapes still fit, so nothing crashes.");
}

// What to remember. A rule is right if it agrees with central differences, in f64, for a random cotangent.
// The rule of softmax is ∂x = y ⊙ (dy − Σ dy ⊙ y). Check every rule that you derive before you train with it.
//
// Exercises: lessons/practise 2 (derive two rules; debug a third; cotangents that hide mistakes; softmax,
// gradcheck and shapes for your own engine).

void lesson(const kit::Options& options, kit::Report& report) {
  const Tensor x = random_normal({3, 5}, options.seed, f64);
  report.section("Forward and central differences");
  differences(options, report);
  report.section("The derivative rule of softmax");
  rule_of_softmax(report);
  report.section("Checking an op with many outputs");
  cotangents(x, options.seed + 1, report);
  report.section("Finding three bugs with gradcheck");
  three_bugs(x, options.seed, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("02_gradcheck", "check every derivative before you trust it");
  program.steps(1, 1);
  return program.run(argc, argv, lesson);
}
