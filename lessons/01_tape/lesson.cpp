// 01 tape: a tape remembers, backward reads it in reverse
//
// A network is a long formula, and training asks one question of it: if this weight moved a little, how much
// would the loss move? This lesson answers it with nothing but a list. Every operation that runs is written
// down on a tape, with its inputs and its result. The chain rule then needs no cleverness: read the tape from
// the back, and hand each result's derivative on to its inputs.
//
// You will: 1 write such a tape for plain numbers, in forty lines, and walk it by hand; 2 meet the library's
// tape, which does the same for tensors; 3 see what broadcasting does to a derivative; 4 fit a line through
// noisy points with it, and get the line that a formula from statistics gives; 5 find your own loop again in
// the library, and watch it come to each node.

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/linear.hpp"
#include "optim/sgd.hpp"

using namespace tapestry;

namespace {

// ---- 1. A tape for numbers, walked by hand ----------------------------------------------------------------
//
// A line of the tape: the operation, its value, and, for each of its inputs, where that stands on the tape
// and the *local* derivative: how much this value moves when that input moves. For z = x·y the local
// derivatives are y and x: both are known as soon as the value is.

struct Line {
  const char* op;
  double value;
  struct Input {
    std::size_t line;
    double local;  // ∂value/∂input
  };
  std::vector<Input> inputs;
};

struct NumberTape {
  std::vector<Line> lines;

  std::size_t write(const char* op, double value, std::vector<Line::Input> inputs = {}) {
    lines.push_back({op, value, std::move(inputs)});
    return lines.size() - 1;
  }
  std::size_t number(const char* name, double value) { return write(name, value); }
  std::size_t add(std::size_t a, std::size_t b) {
    return write("+", lines[a].value + lines[b].value, {{a, 1.0}, {b, 1.0}});
  }
  std::size_t sub(std::size_t a, std::size_t b) {
    return write("-", lines[a].value - lines[b].value, {{a, 1.0}, {b, -1.0}});
  }
  std::size_t mul(std::size_t a, std::size_t b) {
    return write("*", lines[a].value * lines[b].value, {{a, lines[b].value}, {b, lines[a].value}});
  }

  // The chain rule. `gradient[i]` is ∂last/∂line i. The last line's own is 1; a line that is read twice gets
  // both parts, which is why they are added. When we come to a line, everything after it has been read: its
  // gradient is complete.
  std::vector<double> backward() const {
    std::vector<double> gradient(lines.size(), 0.0);
    gradient.back() = 1.0;
    for (std::size_t i = lines.size(); i-- > 0;)
      for (const Line::Input& input : lines[i].inputs) gradient[input.line] += gradient[i] * input.local;
    return gradient;
  }
};

// Take loss = (w·x + b − y)² at w = 2, x = 3, b = 1, y = 5. Forward: w·x = 6, + b = 7, − y = 2, squared 4.
// Backward: the square's input gets 2·2 = 4 (it is read twice, 2 each time); − hands 4 to both its inputs,
// the second with a minus; + hands 4 on to w·x and to b; and * gives w the value of x: 4·3 = 12.

struct Walk {
  double loss, dw, db;
  std::vector<double> results = {};  // the gradients of the four results
};

Walk walk_by_hand(const kit::Options& options) {
  NumberTape tape;
  const std::size_t w = tape.number("w", 2), x = tape.number("x", 3), b = tape.number("b", 1),
                    y = tape.number("y", 5);
  const std::size_t error = tape.sub(tape.add(tape.mul(w, x), b), y);
  tape.mul(error, error);
  const std::vector<double> gradient = tape.backward();

  // The table, and the same as a picture: a box for each line, an arrow for each input, in their order.
  kit::Graph picture{"The tape of (w·x + b − y)²: values and gradients"};
  fmt::print("  line  op     value   gradient   inputs\n");
  for (std::size_t i = 0; i < tape.lines.size(); ++i) {
    const Line& line = tape.lines[i];
    std::string inputs;
    for (const Line::Input& input : line.inputs) {
      inputs += fmt::format(" {} (local {})", input.line, input.local);
      picture.edges.push_back({static_cast<Size>(input.line), static_cast<Size>(i)});
    }
    fmt::print("  {:>4}  {:<4} {:>7} {:>10}  {}\n", i, line.op, line.value, gradient[i], inputs);
    const bool last = i + 1 == tape.lines.size();
    const int colour = last ? 3 : !line.inputs.empty() ? 0 : i == w || i == b ? 1 : 2;
    picture.nodes.push_back({fmt::format("{}: {}", i, line.op),
                             fmt::format("= {}, gradient {}", line.value, gradient[i]), colour});
  }
  kit::show(picture, options.out / "tape.svg");
  return {tape.lines.back().value, gradient[w], gradient[b], {gradient.begin() + 4, gradient.end()}};
}

// ---- 2. The library's tape, for tensors -------------------------------------------------------------------
//
// The same, with tensors: arrays with a shape, of floats (f32) or doubles (f64); one number has the shape ().
// A `variable` asks for a gradient; a Tape records while it lives; backward leaves the gradients in .grad().
//
// What was written down can be printed as a table. It is shorter than ours: x and y ask for no gradient, so
// no line stands for them, and no input of a line. And in place of local derivatives a line keeps what it
// will need to hand a gradient on. That is the column "saved": 8 bytes for the double x, 16 for the two
// factors of the square, and nothing for a sum.

Walk walk_with_library() {
  const Tensor w = variable(scalar(2, DType::f64), "w"), b = variable(scalar(1, DType::f64), "b");
  const Tensor x = scalar(3, DType::f64), y = scalar(5, DType::f64);
  Tape tape;
  const Tensor error = w * x + b - y;
  const Tensor loss = error * error;
  fmt::print("{}", tape.table());
  tape.backward(loss);
  return {loss.item(), w.grad().item(), b.grad().item()};
}

// ---- 3. Broadcasting: repeated forward, summed backward ---------------------------------------------------
//
// With fifty points, w·x + b uses the one number w fifty times. Each use hands back a derivative, and all of
// them belong to w: where the forward pass repeats a value, the backward pass adds up. Here
//
//     loss = mean of (w·x_i + b − y_i)²        ∂loss/∂w = Σ_i 2 (w·x_i + b − y_i) x_i / n

Tensor squared_error(const Tensor& w, const Tensor& b, const Tensor& x, const Tensor& y) {
  const Tensor error = w * x + b - y;  // (n): w and b, of shape (), are repeated n times
  return mean(error * error);
}

// ---- 4. A line through fifty noisy points -----------------------------------------------------------------
//
// Statistics has a formula for the line with the least squared error: its slope is cov(x, y) / var(x). Few
// models have a formula. *Gradient descent* needs none: begin anywhere, and step against the gradient, again
// and again. How long a step? Too short, and it takes for ever; too long, and it leaps over the valley and
// climbs the other side. Here anything below 1 will do: half of that.

struct Points {
  Tensor x, y;  // (n)
};

Points noisy_line(std::uint64_t seed) {
  constexpr Size kPoints = 50;
  const Tensor x = random_uniform({kPoints}, seed, -1, 1, DType::f64);
  const Tensor noise = random_normal({kPoints}, seed, DType::f64);
  return {x, 1.5 * x - 0.5 + 0.2 * noise};
}

struct Fitted {
  double slope, intercept;
};

Fitted least_squares(const Points& points) {
  const std::vector<double> x = points.x.to_vector(), y = points.y.to_vector();
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sx += x[i], sy += y[i], sxx += x[i] * x[i], sxy += x[i] * y[i];
  const double slope = (sxy - sx * sy / n) / (sxx - sx * sx / n);
  return {slope, (sy - slope * sx) / n};
}

/// The whole of training is in these lines.
Fitted descend(const Points& points, std::int64_t steps) {
  Tensor w = variable(scalar(0, DType::f64), "w"), b = variable(scalar(0, DType::f64), "b");
  constexpr double kRate = 0.5;
  kit::Progress progress(steps);
  for (std::int64_t step = 0; step < steps; ++step) {
    Tape tape;
    const Tensor loss = squared_error(w, b, points.x, points.y);
    tape.backward(loss);
    // assign() is the one way to change a leaf; detach() keeps this use off the tape.
    for (Tensor* weight : {&w, &b}) {
      assign(*weight, weight->detach() - kRate * weight->grad());
      weight->clear_grad();
    }
    progress.step(loss.item());
  }
  progress.finish();
  return {w.item(), b.item()};
}

/// The same with nn/'s layer, one weight and one bias that start at zero too, and optim/'s optimiser. SGD is
/// its name for a step against the gradient.
Fitted descend_with_library(const Points& points, std::int64_t steps) {
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

// ---- 5. The library's own loop ----------------------------------------------------------------------------
//
// The library's backward is the loop of section 1. It stands first in core/tape/backward.cpp:
//
//     section 1                             core/tape/backward.cpp
//     gradient.back() = 1.0                 y's slot gets dy, which is 1 for a loss
//     for (i = lines.size(); i-- > 0;)      Sweep::run: from the last node to the first
//     for (input : lines[i].inputs)         Sweep::visit: each edge of the node
//     gradient[i] * input.local             Sweep::run_rule: calls the edge's rule with dy
//     gradient[input.line] += …             Sweep::add: into the slot of the argument
//
// A local derivative was a number. Of a tensor it would be a matrix, most often a huge one, so a node keeps a
// *rule* in its place: a function that is given dy and returns the product. That is what core/tape/op.hpp is
// for. Three things are new: a gradient is summed over what was broadcast (section 3), a node is released as
// soon as the loop has passed it, so that memory is free for the next, and a graph of any depth is no danger,
// since a loop does not call itself.
//
// A hook on a result runs when the loop comes to its node, with the gradient as it is then. So we can watch.

struct Visit {
  std::size_t node;
  double gradient;
};

std::vector<Visit> watch_the_loop() {
  const Tensor w = variable(scalar(2, DType::f64), "w"), b = variable(scalar(1, DType::f64), "b");
  Tape tape;
  const Tensor product = w * 3.0, line = product + b, error = line - 5.0, loss = error * error;
  const std::vector<Tensor> results{product, line, error, loss};
  std::vector<Visit> visits;
  for (std::size_t node = 0; node < results.size(); ++node)
    tape.on_gradient(results[node], [&visits, node](const Tensor& dy) {
      visits.push_back({node, dy.item()});
      return dy;
    });
  std::vector<const char*> ops;
  for (std::size_t node = 0; node < tape.size(); ++node) ops.push_back(tape.node(node).op);
  tape.backward(loss);
  for (const Visit& visit : visits)
    fmt::print("  the loop comes to node {} ({}), whose gradient is {}\n", visit.node, ops[visit.node],
               visit.gradient);
  return visits;
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A tape for numbers, walked by hand");
  const Walk by_hand = walk_by_hand(options);

  report.section("The library's tape, for tensors");
  const Walk with_library = walk_with_library();
  report.check("the same loss and gradients as by hand",
               by_hand.loss == with_library.loss && by_hand.dw == with_library.dw &&
                   by_hand.db == with_library.db && with_library.dw == 12);

  report.section("Broadcasting: repeated forward, summed backward");
  const Points points = noisy_line(options.seed);
  const Tensor w = variable(scalar(0.3, DType::f64), "w"), b = variable(scalar(0.1, DType::f64), "b");
  {
    Tape tape;
    tape.backward(squared_error(w, b, points.x, points.y));
  }
  double dw = 0;
  const std::vector<double> x = points.x.to_vector(), y = points.y.to_vector();
  for (std::size_t i = 0; i < x.size(); ++i)
    dw += 2 * (0.3 * x[i] + 0.1 - y[i]) * x[i] / static_cast<double>(x.size());
  fmt::print("  ∂loss/∂w: the tape says {:.12f}, fifty terms added up say {:.12f}\n", w.grad().item(), dw);
  report.check("w's gradient is the sum of the fifty", std::abs(w.grad().item() - dw) < 1e-12);
  const GradcheckResult check =
      gradcheck([&](const Tensor& slope,
                    const Tensor& shift) { return squared_error(slope, shift, points.x, points.y); },
                {w.detach(), b.detach()});
  report.check("the derivative agrees with differences (lesson 02 says how)", check.ok());

  report.section("A line through fifty noisy points");
  const Fitted formula = least_squares(points);
  const Fitted ours = descend(points, options.steps);
  const Fitted library = descend_with_library(points, options.steps);
  fmt::print("  by the formula    y = {:.9f} x {:+.9f}\n", formula.slope, formula.intercept);
  fmt::print("  by descent        y = {:.9f} x {:+.9f}\n", ours.slope, ours.intercept);
  fmt::print("  with nn and optim y = {:.9f} x {:+.9f}\n", library.slope, library.intercept);
  report.at_most("largest difference from the formula",
                 std::max(std::abs(ours.slope - formula.slope), std::abs(ours.intercept - formula.intercept)),
                 1e-6);
  report.check(
      "nn and optim give the same line to 1e-12",
      std::max(std::abs(ours.slope - library.slope), std::abs(ours.intercept - library.intercept)) < 1e-12);

  kit::Chart chart{"A line through noisy points", "x", "y"};
  chart.series.push_back({"points", x, y, kit::Mark::points});
  chart.series.push_back(
      {"fitted", {-1, 1}, {ours.intercept - ours.slope, ours.intercept + ours.slope}, kit::Mark::line});
  kit::show(chart, options.out / "line.svg");

  report.section("The library's own loop");
  const std::vector<Visit> visits = watch_the_loop();
  bool from_the_back = visits.size() == by_hand.results.size();
  for (std::size_t i = 0; from_the_back && i < visits.size(); ++i) {
    const std::size_t node = visits.size() - 1 - i;
    from_the_back = visits[i].node == node && visits[i].gradient == by_hand.results[node];
  }
  report.check("it comes to each node once, from the last, with the gradient that we had by hand",
               from_the_back);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("01_tape", "a tape remembers, backward reads it in reverse");
  program.steps(200, 100);
  return program.run(argc, argv, lesson);
}
