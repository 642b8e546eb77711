// 02 gradcheck: check every derivative before you trust it
//
// 25 minutes to read, 1 second to run. Needs lesson 01 (the tape, derivative rules, matrix products). Afterwards you
// can derive the rule of an op, check it numerically, and explain what such a check can miss.
//
// A wrong derivative rarely crashes a program. Often the loss still falls, but more slowly or to a higher value, and
// no error message tells you why. In lesson 01, we derived a rule, tried it on one example, and trusted it. How can a
// program check a rule if it does not know the right one?

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
// The derivative is the rate at which a function's output changes with its input. So we can estimate a derivative
// with a small step ε: change the input by ε, and divide the change of the output by the change of the input.
//
// There are two common estimates. A *forward difference* takes one step, from x to x + ε. A *central difference*
// takes one step to each side of x:
//
//     forward   (f(x + ε) − f(x)) / ε
//     central   (f(x + ε) − f(x − ε)) / 2ε
//
// Here are both differences for f(x) = x³ at x = 1, where the derivative is 3:
//
//     ε = 0.1    forward   (1.331 − 1) / ε = 3.31            central   (1.331 − 0.729) / 2ε = 3.01
//     ε = 0.01   forward   3.0301                            central   3.0001
//
// A step that is ten times smaller makes the error of the forward difference about ten times smaller. It makes the
// error of the central difference about a hundred times smaller. For x³ at x = 1, we can see why, because (1 ± ε)³ =
// 1 ± 3ε + 3ε² ± ε³. So the forward difference is 3 + 3ε + ε², and the central difference is 3 + ε².
//
// For other smooth functions, the Taylor series gives the errors. It writes f near x as a sum of powers of ε, with
// the first, second and third derivatives f′, f″ and f‴ at x:
//
//     f(x ± ε) = f(x) ± f′(x) ε + ½ f″(x) ε² ± f‴(x) ε³ / 6 + …
//
// - f(x + ε) − f(x) is f′(x) ε + ½ f″(x) ε² + …. Division by ε leaves f′(x) and an error of about ½ f″(x) ε.
// - In f(x + ε) − f(x − ε), the terms with ε² cancel, and 2 f′(x) ε + f‴(x) ε³ / 3 + … remains. Division by 2ε leaves
//   f′(x) and an error of about f‴(x) ε² / 6.
//
// Both errors are *truncation errors*: they exist because the formulas cut off the later terms of the series.
//
// On a computer, a difference has a second error, the *rounding error*. It exists because the computer stores each
// number with a limited number of digits. So the values of f are rounded before we subtract them.

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
  const double y = std::tanh(0.7);  // tanh‴ = (1 − tanh²) (6 tanh² − 2)
  kit::check_worked_example(report, "f‴(x) / 6 for tanh at x = 0.7",
                            {{(1 - y * y) * (6 * y * y - 2) / 6, 0.02}});
  const kit::Question step =
      report.ask("the best step",
                 "A double has about 16 digits. For which ε is a central difference of tanh most accurate?",
                 {"1e-13, because a derivative is the limit for ε → 0", "near 1e-5",
                  "near 0.1, because the rounding error is smallest there"});
  const auto [central64, forward64, central32] =
      error_curves(central<double>, forward<double>, central<float>, options);
  report.check("central beats forward, and f64 beats f32, by a factor of 100",
               central64.error * 100 < forward64.error && central64.error * 100 < central32.error);
  report.answer(
      step, 'b', central64.epsilon > 1e-7 && central64.epsilon < 1e-4,
      "Below the best ε, the rounding error grows faster than the truncation error shrinks. So in the plot of the "
      "error versus ε (both axes logarithmic), the curves look like a V. In f32, even the lowest point of the V is "
      "an error of about 2e-6, so a check would miss every mistake that is smaller. That is why we check rules in "
      "f64.");
}

// In f64, the best step of a central difference is near 6e-6. Why? The error has two parts, and ε moves them in
// opposite directions:
//
// - The truncation error is proportional to ε², so a smaller ε makes it smaller.
// - The rounding error comes mainly from the two values of f. Each value is rounded, so its error is at most about
//   u times its magnitude. Here u = 2e-16 is the *machine epsilon* of a double: the next double after 1 is 1 + u.
//   For tanh, the magnitude is below 1, so the error of the difference is at most about 2u. The formula divides by
//   2ε, which leaves at most about u / ε. A smaller ε makes this error larger. (The inputs x + ε and x − ε are
//   rounded, too, which adds an error of the same order.)
//
// Where is the sum ε² + u / ε smallest? At its minimum, the derivative 2ε − u / ε² is 0, so ε³ = u / 2. This is an
// estimate, in which constant factors do not matter. So we leave out the 2 and take the cube root of u, about 6e-6.
// There ε² and u / ε are equal. For a smaller ε, the rounding error dominates; for a larger ε, the truncation error
// does.
//
// The truncation error of a forward difference is proportional to ε. The minimum of ε + u / ε is at ε² = u. So the
// best step of a forward difference is near the square root of u, about 1e-8. In f32, u is about 1e-7, so the best
// step of a central difference is near the cube root of 1e-7, about 5e-3.
//
// At seed 1, the program prints these results for tanh at x = 0.7. Every other seed gives the same results, because
// this part uses no random numbers:
//
//     central, f64           best at ε = 6e-06, error 7e-13
//     forward, f64           best at ε = 2e-08, error 1e-08
//     central, f32           best at ε = 1e-02, error 2e-06
//
// The measured best steps differ from the estimates by at most a factor of about two. There are two reasons. The
// estimates leave out constant factors, such as f‴(x) / 6. And the rounding error varies irregularly from one ε to
// the next, so the difference at a single ε can be unusually accurate.
//
// In f64, the smallest error of the central difference, 7e-13, is far below u / ε, which is about 4e-11. But u / ε is
// only an upper bound of the rounding error. The program tries many ε and reports the best, and there the rounding
// error happens to be small. The truncation error remains. At x = 0.7, f‴(x) / 6 is about 0.02, so this error is
// about 0.02 ε², or 7e-13.
//
// In the picture v_curve.svg, the curve for f32 is flat at its left end. There ε is so small that x + ε and x − ε are
// both rounded to x. So the difference is 0, and its error is the derivative itself, for all of these ε.

// ---- 2. The derivative rule of softmax --------------------------------------------------------------------
// Softmax turns a row of numbers x, the *scores*, into a row of positive numbers y that add up to 1:
//
//     y_i = e^{x_i} / S        S = Σ_k e^{x_k}
//
// For the scores (log 3, 0) we get e^x = (3, 1), S = 4 and y = (0.75, 0.25).
//
// The derivative ∂y_i/∂x_j has up to two terms:
//
// - The denominator S depends on every x_j, and ∂(1/S)/∂x_j = −e^{x_j} / S². Multiplied by the numerator e^{x_i},
//   this gives the first term: −e^{x_i} e^{x_j} / S² = −y_i y_j.
// - The numerator e^{x_i} depends only on x_i. So if j = i, there is a second term: e^{x_i} / S = y_i.
//
// Together, the terms are ∂y_i/∂x_j = y_i (δ_ij − y_j), where δ_ij is 1 if i = j, and 0 otherwise. For our two
// scores, the derivatives are:
//
//     ∂y_1/∂x_1 = y_1 − y_1 y_1 = 0.1875        ∂y_1/∂x_2 = −y_1 y_2 = −0.1875
//     ∂y_2/∂x_1 = −y_2 y_1 = −0.1875            ∂y_2/∂x_2 = y_2 − y_2 y_2 = 0.1875
//
// The matrix of all derivatives ∂y_i/∂x_j is called the *Jacobian*; row i belongs to y_i and column j to x_j.
//
// The rule of an op receives dy, the gradient of the loss with respect to y. It returns dx, the gradient of the loss
// with respect to x. A change of x_j changes the loss through every y_i. So the chain rule gives a sum over i, which
// is the product of dy and column j of the Jacobian:
//
//     dx_j = Σ_i dy_i ∂y_i/∂x_j = Σ_i dy_i y_i (δ_ij − y_j)
//
// In the part with δ_ij, only the term with i = j is not 0, which is dy_j y_j:
//
//     dx_j = y_j dy_j − y_j Σ_i dy_i y_i
//
// For the whole row, this is one formula, where ⊙ multiplies two vectors element by element. The sum Σ(dy ⊙ y) over
// all elements of the row is a single number:
//
//     dx = y ⊙ (dy − Σ(dy ⊙ y))
//
// The product of dy and the whole Jacobian is called a *vector–Jacobian product*, or vjp. The last formula computes
// it without constructing the Jacobian.
//
// For dy = (8, 4), the sum Σ(dy ⊙ y) is 8 · 0.75 + 4 · 0.25 = 7. So dy − 7 is (1, −3), and dx is
// (0.75 · 1, 0.25 · −3), which is (0.75, −0.75). The columns of the Jacobian give the same result:
//
//     dx_1 = 8 · 0.1875 + 4 · (−0.1875) = 0.75        dx_2 = 8 · (−0.1875) + 4 · 0.1875 = −0.75
//
// In the library, op<"name">(…) defines an op. It takes a CallSite (see below), the value of the op, and one
// wrt(argument, rule) for each argument. The name wrt means "with respect to". The rule is a lambda that receives
// dy. If the lambda has a second parameter, it also receives y.
//
// The code uses four more things:
//
// - The axis −1 is the last axis.
// - Keep::yes keeps the axis that is summed, with size 1. So the sum of each row broadcasts to the whole row.
// - The empty braces construct a CallSite, the file and line that error messages report.
// - detach() returns x without its connection to the tape. So the library's rule for softmax does not run, and only
//   our rule does.
//
// vjp(f, x, dy) and jacobian(f, x) record f(x) on a new tape and then run the backward pass. vjp() needs one
// backward pass, and jacobian() needs one for each element of y.

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
// A central difference estimates the derivative of a function with one output, but softmax has many. So we multiply
// each output by a fixed number and add up the products: L = Σ c ⊙ f(x). The tensor c of these numbers is called a
// *cotangent*. The derivative of L with respect to output i is c_i. So c is the dy that the rule receives.
//
// Now there are two ways to compute ∂L/∂x, and the two results must agree:
//
// - with the rule, for dy = c;
// - with central differences of L: we change one element of x at a time and compute L again.
//
// If differences give the gradient without any rule, why do we not train with them? They need two evaluations of L
// for each element of x. With the rules, one backward pass gives the derivatives with respect to all elements.
//
// We check two ops: our_softmax, and broken_softmax from experiment.cpp. The rule of broken_softmax has the wrong
// sign. The input x has three rows of five scores, and the softmax of each row is computed separately. We use ε =
// 6e-6, the best step from part 1.

/// Returns the relative error of the rule: the largest absolute deviation from the central differences, divided by
/// the largest absolute central difference.
double check(const TensorFunction& f, const Tensor& x, const Tensor& cotangent) {
  constexpr double kEpsilon = 6e-6;
  const std::vector<double> rule = vjp(f, x, cotangent).to_vector();
  const auto loss_after = [&](std::size_t element, double change) {
    std::vector<double> values = x.to_vector();
    values[element] += change;
    return sum(cotangent * f(tensor(values, x.shape(), f64))).item();
  };
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const double difference = (loss_after(i, kEpsilon) - loss_after(i, -kEpsilon)) / (2 * kEpsilon);
    worst = std::max(worst, std::abs(rule[i] - difference));
    largest = std::max(largest, std::abs(difference));
  }
  return worst / largest;
}

void cotangents(const Tensor& x, std::uint64_t seed, kit::Report& report) {
  const kit::Question ones_in = report.ask(
      "a cotangent of ones",
      "The rule of our_softmax is right, and the rule of broken_softmax has the wrong sign. Which relative "
      "errors does check() return if every element of c is 1?",
      {"near 0 for our_softmax, and 2 for broken_softmax", "near 0 for both",
       "the same result for both, but not near 0"});
  const Tensor one = ones(x.shape(), f64), random = random_normal(x.shape(), seed, f64);
  const double ours = check(our_softmax, x, random), broken = check(broken_softmax, x, random),
               ours_with_ones = check(our_softmax, x, one), broken_with_ones = check(broken_softmax, x, one),
               largest = std::max(max(abs(vjp(our_softmax, x, one))).item(),
                                  max(abs(vjp(broken_softmax, x, one))).item());
  fmt::print("  relative errors with c = 1: {:.2f} for our_softmax, {:.2f} for broken_softmax\n",
             ours_with_ones, broken_with_ones);
  fmt::print("  relative errors with a random c: {:.0e} for our_softmax, {:.2f} for broken_softmax\n", ours,
             broken);
  report.check("with c = 1, both rules return 0, up to rounding", largest < 1e-15);
  const bool both_near_one = std::abs(ours_with_ones - 1) < 0.01 && std::abs(broken_with_ones - 1) < 0.01,
             both_by_zero = !std::isfinite(ours_with_ones) && !std::isfinite(broken_with_ones);  // largest: 0
  report.answer(
      ones_in, 'c', (both_near_one || both_by_zero) && broken > 1,
      "Each row of the softmax adds up to 1, so L is a constant and the right gradient is 0. Both rules return 0, up "
      "to rounding, because the negative of 0 is also 0. The differences are rounding errors. So check() divides one "
      "rounding error by another, and cannot tell the two rules apart. That is why we use a random cotangent.");
  report.at_most("our_softmax: relative error of the rule", ours, 1e-7);

  const auto row_sums = [](const Tensor& t) { return sum(broken_softmax(t), {-1}); };  // 1 for each row of t
  const GradcheckResult of_zeros = gradcheck(row_sums, x);
  fmt::print("\n{}", of_zeros.report());
  report.check("gradcheck() rejects a gradient that is zero everywhere", !of_zeros.ok());

  const auto not_a_cube = [](const Tensor& t) {  // computes the square, and has the rule of the square
    const Tensor v = t.detach();
    return op<"cube">({}, v * v, wrt(t, [v](const Tensor& dy) { return 2 * v * dy; }));
  };
  report.at_most("an op with a wrong value: relative error of the rule", check(not_a_cube, x, random), 1e-7);
}

// Why does a cotangent of ones not show the wrong sign? Each row of y = softmax(x) sums to 1. With c = 1, L is the sum
// of all rows of y. So L is 3 for three rows, for every x, and the right gradient is 0. The broken rule returns
//
//     dx = y ⊙ (Σ(dy ⊙ y) − dy)
//
// With dy = 1, the term in parentheses is 1 − 1 = 0, so the broken rule returns 0, too (up to rounding).
//
// Why does check() return about 1 for both? The computed L is not exactly 3. Near 3, two neighbouring doubles differ by
// 4e-16. A difference divides such a rounding error by 2ε, so it is about 4e-11 instead of 0. The rules return less
// than 1e-15. So each deviation is nearly the difference itself, and the largest deviation divided by the largest
// difference is about 1. (At some seeds, all differences are exactly 0. Then check() divides by 0, and returns infinity
// or NaN for both rules.)
//
// Such a result says nothing about the rule. That is why, by default, gradcheck() in part 4 rejects a gradient that is
// zero everywhere. The program shows this with the sums of the rows of broken_softmax.
//
// A random cotangent weights the outputs differently, so L depends on x. Then the right gradient is not 0, and
// neither is the wrong one. A gradient with the wrong sign is off by twice the right gradient, so the program prints
// an error of 2.
//
// Why is one random cotangent enough? The right gradient is linear in c, and so are the rules that we check. If two
// linear rules differ, they agree only for special c. Like the points of a plane in space, these c form a *subspace*
// of smaller dimension. A random c lies in it with probability 0.
//
// The check has two limits. It tests the rule at one input only. And it does not test whether the op computes the
// right value, because the differences use the same op. In the code, the op "cube" returns the square of x, with the
// rule of the square. It passes the check.

// ---- 4. Finding three bugs with gradcheck -----------------------------------------------------------------
// The library's gradcheck() makes the same comparison, for ops with one or more arguments. If a gradient is wrong,
// its report names the worst element and suggests a likely cause.
//
// The first of our three broken ops is broken_softmax from the previous section. Here are the other two,
// broken_matmul and broken_mean. In each of them, one rule is wrong. Can you find the mistake? (right_matmul and
// right_mean in experiment.cpp are the same ops with right rules. We check them, too.)

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
  const GradcheckOptions strict{.tolerance = 1e-7, .seed = seed};  // the largest relative error that passes
  const Tensor a = random_normal({4, 4}, seed + 2, f64), b = random_normal({4, 4}, seed + 3, f64);
  const kit::Question factor = report.ask(
      "the broken mean",
      "For rows of five numbers, how large is the gradient of broken_mean, compared with the right gradient?",
      {"five times the right gradient", "one fifth of the right gradient",
       "a different multiple of the right gradient for each element"});
  check_bug_is_named(report, "softmax", "sign", gradcheck(our_softmax, x, strict),
                     gradcheck(broken_softmax, x, strict));
  check_bug_is_named(report, "matmul", "transpose", gradcheck(right_matmul, {a, b}, strict),
                     gradcheck(broken_matmul, {a, b}, strict));
  check_bug_is_named(report, "mean", "factor", gradcheck(right_mean, x, strict),
                     gradcheck(broken_mean, x, strict));
  report.answer(
      factor, 'a', times_too_large(gradcheck(broken_mean, x, strict)) == 5,
      "Each of the five numbers contributes one fifth to the mean, but the rule does not divide by 5.");
}

// In broken_matmul, the rule of b returns dyᵀ a. The right gradient is the transpose of this product, aᵀ dy. Here b
// is square, so both have the same shape, and the program doesn't crash. If b were not square, the backward pass
// would report an error, because the result would not have the shape of b.
//
// At seed 1, the report on broken_mean contains these two lines (the second is broken in two here):
//
//     argument 0 (3,5) at [2, 4]: the rule gives -0.9014695253, differences give -0.1802939051 (ε = 6e-06)
//       look at a factor: the rule gives 5 times the slope everywhere;
//         a sum where a mean was meant, or something counted twice?
//
// The indices start at 0. The first line names the worst element: [2, 4] is row 2, column 4 of x. The second line is
// a hint: gradcheck() compared all elements and found the same factor everywhere. The "slope" is the derivative as
// estimated by the central difference. At other seeds, the element and the numbers differ, but the hint is the same.
//
// At seed 1, the report on broken_matmul says ε = 7.4e-06. gradcheck() multiplies its step, 6e-6, by |x| if |x| is
// larger than 1, because then the rounding error of x is larger, too.

// What to remember. If a rule agrees with central differences in f64 for a random cotangent, it is almost certainly
// right at that input. With a badly chosen cotangent, a check cannot tell a wrong rule from the right one. The best
// step balances the truncation error and the rounding error. The rule of softmax is dx = y ⊙ (dy − Σ(dy ⊙ y)). Check
// every rule that you derive before you train with it.
//
// Exercises: lessons/practise 2 (two rules: x · tanh x, and a row divided by its sum; debugging a rule that fails
// gradcheck; cotangents that hide a wrong rule; softmax and its rule, gradient checking, permute and stack for your
// engine).

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
