// 02 gradcheck: trust no derivative that was not checked
//
// A wrong derivative rarely crashes. The loss still falls, only slower, or to a worse place, and nobody knows
// why. So every derivative rule is compared with the definition of a derivative: move the input a little, and
// see how much the output moves. Three things make that check worth something: central differences, f64, and
// a random cotangent.
//
// You will: 1 see how exact a difference can be; 2 build the check, and see why a cotangent of ones proves
// nothing for softmax; 3 let it find the bug in three ops.

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;

namespace {

// ---- 1. The error of a difference against its step: a V ---------------------------------------------------
//
// The definition, f′(x) = lim (f(x + ε) − f(x)) / ε, has an error that shrinks like ε. The *central*
// difference
//
//     f′(x) ≈ (f(x + ε) − f(x − ε)) / 2ε
//
// has one that shrinks like ε², since the next term of the Taylor series cancels. But ε must not be too small
// either: f is only known to some 16 digits (f64) or 7 (f32), and what rounding adds to the difference is
// divided by ε. So the error against ε is a V. Its lowest point in f64 is near ε = 6e-6, and lies a
// million times lower than the best that f32 can do. In f32 a rule that is wrong in the fifth digit cannot be
// told from one that is right; in f64 it can. This is why gradients are checked in f64.

template <class T>
T central(T x, T epsilon) {
  return (std::tanh(x + epsilon) - std::tanh(x - epsilon)) / (2 * epsilon);
}
template <class T>
T forward(T x, T epsilon) {
  return (std::tanh(x + epsilon) - std::tanh(x)) / epsilon;
}

struct Valley {
  double epsilon = 0, error = HUGE_VAL;  // the lowest point of the V
};

/// The error of a difference against ε, for f = tanh at x = 0.7, where f′ = 1 − tanh².
template <class T>
Valley v_curve(T (*difference)(T, T), const char* name, kit::Chart& chart) {
  const double x = 0.7, truth = 1 - std::tanh(x) * std::tanh(x);
  Valley best;
  kit::Series series{name};
  for (double power = -13; power <= -0.5; power += 0.25) {
    const double epsilon = std::pow(10.0, power);
    const double error =
        std::abs(static_cast<double>(difference(static_cast<T>(x), static_cast<T>(epsilon))) - truth);
    series.x.push_back(epsilon);
    series.y.push_back(std::max(error, 1e-17));
    if (error > 0 && error < best.error) best = {epsilon, error};
  }
  chart.series.push_back(std::move(series));
  fmt::print("  {:<22} best at ε = {:.0e}, error {:.0e}\n", name, best.epsilon, best.error);
  return best;
}

// ---- 2. A cotangent of ones proves nothing for softmax ----------------------------------------------------
//
// An op has many outputs; a difference needs one number. So the outputs are weighted with numbers c, the
// *cotangent*, and added up: L = Σ c ⊙ f(x), where ⊙ multiplies element by element. Backward with dy = c
// gives ∂L/∂x; the difference of L for one element of x must agree.
//
// Which c? Ones are tempting, and blind. The softmax turns scores into weights that add up to 1, whatever x
// is: with c = 1, L is a constant, its derivative is 0 everywhere, and a rule with the wrong sign gives 0 as
// well. Random numbers have no such luck with any op.

using Op = std::function<Tensor(const Tensor&)>;

/// The largest difference between the rule and central differences, relative to the largest derivative.
double check(const Op& f, const Tensor& x, const Tensor& cotangent) {
  const Tensor leaf = variable(x);
  Tape tape;
  tape.backward(f(leaf), cotangent);
  const std::vector<double> rule = leaf.grad().to_vector();

  constexpr double kEpsilon = 6e-6;
  std::vector<double> values = x.to_vector();
  const auto loss = [&] { return sum(cotangent * f(tensor(values, x.shape(), DType::f64))).item(); };
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double before = values[i];
    values[i] = before + kEpsilon;
    const double up = loss();
    values[i] = before - kEpsilon;
    const double down = loss();
    values[i] = before;
    const double difference = (up - down) / (2 * kEpsilon);
    worst = std::max(worst, std::abs(rule[i] - difference));
    largest = std::max(largest, std::abs(difference));
  }
  return worst / std::max(largest, 1e-6);
}

// ---- 3. Three ops, three bugs -----------------------------------------------------------------------------
//
// Three ops, written as the library writes its own. op<"name">(…) takes the value and then, for each
// argument, wrt(argument, rule): with respect to that argument, from dy (and y, if the rule wants it) to its
// gradient. The rule of the softmax is ∂x = y ⊙ (dy − Σ dy ⊙ y), with the sum over a row; Keep::yes lets the
// row stand as a row of one. ({} leaves out the caller's line; detach() keeps the op inside off the tape, so
// that only our rule counts.) In each of the "broken" ones, one thing is wrong.

Tensor right_softmax(const Tensor& x) {
  return op<"right_softmax">({}, softmax(x.detach(), -1), wrt(x, [](const Tensor& dy, const Tensor& y) {
                               return y * (dy - sum(dy * y, {-1}, Keep::yes));
                             }));
}
// The sign.
Tensor broken_softmax(const Tensor& x) {
  return op<"broken_softmax">({}, softmax(x.detach(), -1), wrt(x, [](const Tensor& dy, const Tensor& y) {
                                return y * (sum(dy * y, {-1}, Keep::yes) - dy);
                              }));
}

Tensor right_matmul(const Tensor& a, const Tensor& b) {
  return op<"right_matmul">({}, matmul(a.detach(), b.detach()),
                            wrt(a, [b](const Tensor& dy) { return matmul(dy, transpose(b)); }),
                            wrt(b, [a](const Tensor& dy) { return matmul(transpose(a), dy); }));
}
// ∂b is transposed; with square matrices nobody complains.
Tensor broken_matmul(const Tensor& a, const Tensor& b) {
  return op<"broken_matmul">({}, matmul(a.detach(), b.detach()),
                             wrt(a, [b](const Tensor& dy) { return matmul(dy, transpose(b)); }),
                             wrt(b, [a](const Tensor& dy) { return matmul(transpose(dy), a); }));
}

Tensor right_mean(const Tensor& x) {
  return op<"right_mean">({}, mean(x.detach(), {-1}, Keep::yes),
                          wrt(x, [shape = x.shape()](const Tensor& dy) {
                            return expand(dy, shape) / static_cast<double>(shape.back());
                          }));
}
// 1/n is missing.
Tensor broken_mean(const Tensor& x) {
  return op<"broken_mean">({}, mean(x.detach(), {-1}, Keep::yes),
                           wrt(x, [shape = x.shape()](const Tensor& dy) { return expand(dy, shape); }));
}

/// The library's gradcheck does what check() does, for any number of arguments, and says what the difference
/// looks like.
void hunt(kit::Report& report, const char* what, const char* expected, const GradcheckResult& right,
          const GradcheckResult& broken) {
  fmt::print("\n{}", broken.report());
  bool named = false;
  for (const GradcheckPlace& place : broken.failures)
    named |= place.look_at.find(expected) != std::string::npos;
  report.check(fmt::format("{}: the right op passes at 1e-7", what), right.ok());
  report.check(fmt::format("{}: the broken one is caught, and the bug is called \"{}\"", what, expected),
               !broken.ok() && named);
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("The error of a difference against its step: a V");
  kit::Chart chart{"Error of a difference against its step ε", "ε", "error"};
  chart.x_scale = chart.y_scale = kit::Scale::log;
  const Valley central64 = v_curve<double>(central<double>, "central, f64", chart);
  const Valley forward64 = v_curve<double>(forward<double>, "forward, f64", chart);
  const Valley central32 = v_curve<float>(central<float>, "central, f32", chart);
  report.check("central beats forward, and f64 beats f32, by a factor of 100",
               central64.error * 100 < forward64.error && central64.error * 100 < central32.error);
  kit::show(chart, options.out / "v_curve.svg");

  report.section("A cotangent of ones proves nothing for softmax");
  const DType f64 = DType::f64;
  const Tensor x = random_normal({3, 5}, options.seed, f64);
  const Tensor all_ones = ones({3, 5}, f64), random = random_normal({3, 5}, options.seed + 1, f64);
  const Tensor flipped = variable(x);
  {
    Tape tape;
    tape.backward(broken_softmax(flipped), all_ones);
  }
  const double largest = max(abs(flipped.grad())).item();
  const double seen = check(broken_softmax, x, random);
  const double fine = check(right_softmax, x, random);
  fmt::print("  wrong sign, cotangent of ones     largest gradient {:.0e}: nothing to compare\n", largest);
  fmt::print("  wrong sign, random cotangent      relative error   {:.2f}: seen at once\n", seen);
  fmt::print("  right rule, random cotangent      relative error   {:.0e}\n", fine);
  report.check("ones see nothing, a random cotangent sees it", largest < 1e-12 && seen > 1);
  report.at_most("right softmax, checked by hand", fine, 1e-7);

  report.section("Three ops, three bugs");
  const GradcheckOptions strict{.tolerance = 1e-7, .seed = options.seed};
  const Tensor a = random_normal({4, 4}, options.seed + 2, f64),
               b = random_normal({4, 4}, options.seed + 3, f64);
  hunt(report, "softmax", "sign", gradcheck(right_softmax, x, strict), gradcheck(broken_softmax, x, strict));
  hunt(report, "matmul", "transpose", gradcheck(right_matmul, {a, b}, strict),
       gradcheck(broken_matmul, {a, b}, strict));
  hunt(report, "mean", "factor", gradcheck(right_mean, x, strict), gradcheck(broken_mean, x, strict));
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("02_gradcheck", "trust no derivative that was not checked");
  program.steps(1, 1);
  return program.run(argc, argv, lesson);
}
