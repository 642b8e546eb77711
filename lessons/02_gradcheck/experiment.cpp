#include "lessons/02_gradcheck/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lessons/02_gradcheck/error_parts.hpp"

namespace tapestry::lesson02 {

namespace {

template <class T>
Best error_curve(Difference<T> difference, ErrorParts& parts, kit::Chart& chart) {
  const double x = kPlace, truth = 1 - std::tanh(x) * std::tanh(x);
  const auto f = [](T at) { return std::tanh(at); };
  Best best;
  kit::Series series{parts.name};
  for (double power = -13; power <= -0.5; power += 0.25) {
    const double epsilon = std::pow(10.0, power);
    const double found = static_cast<double>(difference(f, static_cast<T>(x), static_cast<T>(epsilon)));
    const double error = std::abs(found - truth);
    parts.epsilon.push_back(epsilon);
    parts.error.push_back(found - truth);
    series.x.push_back(epsilon);
    series.y.push_back(std::max(error, 1e-17));
    if (error > 0 && error < best.error) best = {epsilon, error};
  }
  chart.series.push_back(std::move(series));
  fmt::print("  {:<22} best at ε = {:.0e}, error {:.0e}\n", parts.name, best.epsilon, best.error);
  return best;
}

}  // namespace

Curves error_curves(Difference<double> central64, Difference<double> forward64, Difference<float> central32,
                    const kit::Options& options) {
  kit::Chart chart{"Error of a difference versus its step ε", "ε", "error"};
  chart.x_scale = chart.y_scale = kit::Scale::log;
  Curves curves;
  std::vector<ErrorParts> parts{{"central, f64", true}, {"forward, f64", false}, {"central, f32", true}};
  curves.central64 = error_curve(central64, parts[0], chart);
  curves.forward64 = error_curve(forward64, parts[1], chart);
  curves.central32 = error_curve(central32, parts[2], chart);
  kit::show(chart, options.out / "v_curve.svg");
  save(parts, options);
  return curves;
}

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

Tensor right_mean(const Tensor& x) {
  return op<"right_mean">({}, mean(x.detach(), {-1}, Keep::yes),
                          wrt(x, [shape = x.shape()](const Tensor& dy) {
                            return expand(dy, shape) / static_cast<double>(shape.back());
                          }));
}

void check_bug_is_named(kit::Report& report, const std::string& what, const std::string& expected,
                        const GradcheckResult& right, const GradcheckResult& broken) {
  fmt::print("\n{}", broken.report());
  bool named = false;
  for (const GradcheckEntry& entry : broken.failures)
    named |= entry.look_at.find(expected) != std::string::npos;
  report.check(fmt::format("{}: the right op passes gradcheck at 1e-7", what), right.ok());
  report.check(fmt::format("{}: gradcheck finds the bug and names it \"{}\"", what, expected),
               !broken.ok() && named);
}

double times_too_large(const GradcheckResult& broken) {
  if (broken.failures.empty()) return 1;
  return std::round(1e6 * broken.failures.front().analytic / broken.failures.front().numeric) / 1e6;
}

}  // namespace tapestry::lesson02
