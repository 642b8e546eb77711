// The reports, pictures and comparisons of lesson 01. They are in a header so that the first lesson is a single
// object file and builds quickly.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/linear.hpp"
#include "optim/sgd.hpp"

namespace tapestry::lesson01 {

/// Prints a tape as a table and draws it as tape.svg, with a box for each line and an arrow for each input.
template <class Line>
void show_tape(const std::vector<Line>& lines, const std::vector<double>& gradient,
               const kit::Options& options) {
  kit::Graph picture{"The tape of (w·x + b − y)²: values and gradients"};
  fmt::print("  line  op     value   gradient   inputs\n");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    std::string inputs;
    for (const auto& [input, local] : line.inputs) {
      inputs += fmt::format(" {} (local {})", input, local);
      picture.edges.push_back({static_cast<Size>(input), static_cast<Size>(i)});
    }
    fmt::print("  {:>4}  {:<4} {:>7} {:>10}  {}\n", i, line.op, line.value, gradient[i], inputs);
    const bool last = i + 1 == lines.size(), weight = std::string("wb").find(line.op) != std::string::npos;
    picture.nodes.push_back({fmt::format("{}: {}", i, line.op),
                             fmt::format("= {}, gradient {}", line.value, gradient[i]),
                             last                   ? 3
                             : !line.inputs.empty() ? 0
                             : weight               ? 1
                                                    : 2});
  }
  kit::show(picture, options.out / "tape.svg");
}

struct Points {
  Tensor x, y;  ///< (n) in f64
};

/// Returns fifty points near the line 1.5 x − 0.5, with x between −1 and 1 and noise of standard deviation 0.2.
inline Points noisy_line(std::uint64_t seed) {
  constexpr Size kPoints = 50;
  const Tensor x = random_uniform({kPoints}, seed, -1, 1, DType::f64);
  const Tensor noise = random_normal({kPoints}, seed, DType::f64);
  return {x, 1.5 * x - 0.5 + 0.2 * noise};
}

struct Fitted {
  double slope, intercept;
};

/// Returns the larger of the differences in slope and intercept.
inline double largest_difference(const Fitted& one, const Fitted& other) {
  return std::max(std::abs(one.slope - other.slope), std::abs(one.intercept - other.intercept));
}

/// Fits the line with the formula from statistics: the slope is cov(x, y) / var(x).
inline Fitted least_squares(const Points& points) {
  const std::vector<double> x = points.x.to_vector(), y = points.y.to_vector();
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sx += x[i], sy += y[i], sxx += x[i] * x[i], sxy += x[i] * y[i];
  const double slope = (sxy - sx * sy / n) / (sxx - sx * sx / n);
  return {slope, (sy - slope * sx) / n};
}

/// Fits the line with nn/'s Linear, whose weight and bias also start at zero, and optim/'s SGD, the library's
/// name for steps against the gradient.
inline Fitted descend_with_library(const Points& points, std::int64_t steps) {
  Linear line(1, 1, Bias::yes, zeros);
  line.initialise(1, DType::f64);
  SGD sgd(line.parameters(), {.learning_rate = 0.5});
  const Tensor x = unsqueeze(points.x, 1), y = unsqueeze(points.y, 1);  // (n, 1): rows of one feature
  for (std::int64_t step = 0; step < steps; ++step) {
    Tape tape;
    const Tensor error = line(x) - y;
    tape.backward(mean(error * error));
    sgd.step();
  }
  return {line.weight.item(), line.bias.item()};
}

/// Compares our line with the formula's and with the library's after equally many steps, and draws it as line.svg.
inline void compare_fits(const Points& points, const Fitted& ours, const kit::Options& options,
                         kit::Report& report) {
  const Fitted formula = least_squares(points), library = descend_with_library(points, options.steps);
  fmt::print("  by the formula    y = {:.9f} x {:+.9f}\n", formula.slope, formula.intercept);
  fmt::print("  by descent        y = {:.9f} x {:+.9f}\n", ours.slope, ours.intercept);
  fmt::print("  with nn and optim y = {:.9f} x {:+.9f}\n", library.slope, library.intercept);
  report.at_most("largest difference from the formula", largest_difference(ours, formula), 1e-6);
  report.check("nn and optim give the same line to 1e-12", largest_difference(ours, library) < 1e-12);
  kit::Chart chart{"A line through noisy points", "x", "y"};
  chart.series.push_back({"points", points.x.to_vector(), points.y.to_vector(), kit::Mark::points});
  chart.series.push_back(
      {"fitted", {-1, 1}, {ours.intercept - ours.slope, ours.intercept + ours.slope}, kit::Mark::line});
  kit::show(chart, options.out / "line.svg");
}

/// Computes ∂/∂w of squared_error(w, b, x, y), the mean of (w·x_i + b − y_i)², with the tape and as a sum with one
/// term for each point. Prints both and returns their difference. Also runs gradcheck on squared_error.
template <class F>
double compare_slopes(const F& squared_error, const Points& points, kit::Report& report) {
  const Tensor w = variable(scalar(0.3, DType::f64), "w"), b = variable(scalar(0.1, DType::f64), "b");
  {
    Tape tape;
    tape.backward(squared_error(w, b, points.x, points.y));
  }
  const std::vector<double> x = points.x.to_vector(), y = points.y.to_vector();
  double dw = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    dw += 2 * (0.3 * x[i] + 0.1 - y[i]) * x[i] / static_cast<double>(x.size());
  fmt::print("  ∂loss/∂w: {:.12f} by the tape, {:.12f} as a sum of fifty terms\n", w.grad().item(), dw);
  const auto loss = [&](const Tensor& slope, const Tensor& shift) {
    return squared_error(slope, shift, points.x, points.y);
  };
  report.check("the derivative agrees with central differences (explained in lesson 02)",
               gradcheck(loss, {w.detach(), b.detach()}).ok());
  return std::abs(w.grad().item() - dw);
}

/// Checks the chapter's examples of broadcasting and of a matrix product with the library.
inline bool worked_examples_hold() {
  constexpr DType f64 = DType::f64;
  const Tensor w = variable(scalar(2, f64)), a = variable(tensor({{1, 2}, {3, 4}}, f64)),
               b = variable(tensor({{5, 6}, {7, 8}}, f64));
  Tape tape;
  const Tensor broadcast = w * tensor({1, 3}, f64), y = matmul(a, b);
  tape.backward(broadcast, tensor({10, 1}, f64), {.keep = true});
  tape.backward(y, tensor({{1, 0}, {0, 2}}, f64));
  const auto equal = [](const Tensor& x, const std::vector<double>& expected) {
    return x.to_vector() == expected;
  };
  return equal(w.grad(), {13}) && equal(y, {19, 22, 43, 50}) && equal(a.grad(), {5, 7, 12, 16}) &&
         equal(b.grad(), {1, 6, 2, 8});
}

/// Runs the library's loop on (w·x + b − y)² with x = 3, y = 5 and the leaves w = 2 and b = 1. Prints each node and
/// its gradient when the loop visits the node. Returns these gradients in the order of the tape, with NaN for a node
/// that is visited out of order.
inline std::vector<double> gradients_of_visits() {
  const Tensor w = variable(scalar(2, DType::f64), "w"), b = variable(scalar(1, DType::f64), "b");
  Tape tape;
  const Tensor product = w * 3.0, line = product + b, error = line - 5.0, loss = error * error;
  const std::vector<Tensor> results{product, line, error, loss};
  std::vector<const char*> ops;
  for (std::size_t node = 0; node < tape.size(); ++node) ops.push_back(tape.node(node).op);
  std::vector<double> gradients;  // from the last node to the first
  for (std::size_t node = 0; node < results.size(); ++node)
    tape.on_gradient(results[node], [&, node](const Tensor& dy) {  // runs when the loop comes to the node
      const bool in_turn = gradients.size() + node + 1 == results.size();
      gradients.push_back(in_turn ? dy.item() : NAN);
      fmt::print("  the loop comes to node {} ({}), whose gradient is {}\n", node, ops[node], dy.item());
      return dy;
    });
  tape.backward(loss);
  return {gradients.rbegin(), gradients.rend()};
}

}  // namespace tapestry::lesson01
