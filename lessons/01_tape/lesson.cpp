// 01 tape: a tape remembers, backward reads it in reverse
//
// 20 minutes to read, 1 second to run. Needs the chain rule from school: if y moves three times as fast as x,
// and z twice as fast as y, then z moves six times as fast as x. Afterwards you can write a program that
// differentiates formulas, say what the derivative of a product of matrices is, and read the library's loop.
//
// A network is a long formula with many numbers that can be adjusted, its *weights*. It ends in one number,
// the *loss*, which says how wrong its answers are. Training asks: if this weight moved a little, how fast
// would the loss move? There may be millions of weights. How do we get all these derivatives at once?

#include <utility>
#include <vector>

#include "core/core.hpp"
#include "lessons/01_tape/experiment.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson01;

namespace {

// ---- 1. A tape with a pencil ------------------------------------------------------------------------------
// Each operation that runs is written down on a *tape*: its value, the lines on which its inputs stand, and
// for each input the *local* derivative: how fast the value moves when this input alone moves. For a product
// x·y that is y for the input x, and x for the input y. For a sum it is 1. Take x·y + x at x = 4, y = 2:
//
//     line  op   value   inputs (local derivatives)   gradient
//       0   x      4                                  1·1 + 1·2 = 3
//       1   y      2                                  1·4 = 4
//       2   *      8     0 (2), 1 (4)                 1·1 = 1
//       3   +     12     2 (1), 0 (1)                 1
//
// The last column is filled from the bottom. A line's *gradient* says how fast the last line moves when this
// one moves; the last line's own is 1. Each line hands its gradient, times the local derivative, on to each
// input: the chain rule. Line 3 hands 1·1 to lines 2 and 0. Line 2 hands 1·2 to line 0 and 1·4 to line 1. x
// is used twice and moves the result in two ways, so its two parts are added. x and y are *leaves*: lines
// that were not computed from others. It is their gradients that we want, and one walk gave both.

using At = std::size_t;  // the number of a line

struct Line {
  const char* op;
  double value;
  std::vector<std::pair<At, double>> inputs;  // where each stands, and ∂value/∂input
};

struct NumberTape {
  std::vector<Line> lines;

  double of(At line) const { return lines[line].value; }
  At write(const Line& line) { return lines.push_back(line), lines.size() - 1; }
  At leaf(const char* name, double value) { return write({name, value, {}}); }
  At add(At a, At b) { return write({"+", of(a) + of(b), {{a, 1}, {b, 1}}}); }
  At sub(At a, At b) { return write({"-", of(a) - of(b), {{a, 1}, {b, -1}}}); }
  At mul(At a, At b) { return write({"*", of(a) * of(b), {{a, of(b)}, {b, of(a)}}}); }

  std::vector<double> backward() const {
    std::vector<double> gradient(lines.size(), 0.0);
    gradient.back() = 1;
    for (At i = lines.size(); i-- > 0;)  // all that uses line i stands below it: its gradient is complete
      for (const auto& [input, local] : lines[i].inputs) gradient[input] += gradient[i] * local;
    return gradient;
  }
};

std::vector<double> walk_by_hand(const kit::Options& options, kit::Report& report) {
  NumberTape small;
  const At four = small.leaf("x", 4), two = small.leaf("y", 2);
  small.add(small.mul(four, two), four);
  report.check("x·y + x: as with a pencil", small.backward() == std::vector<double>{3, 4, 1, 1});
  const kit::Question twice = report.ask(
      "w's gradient", "loss = (w·x + b − y)² at w = 2, x = 3, b = 1, y = 5. What is the gradient of w?",
      {"12", "6", "4"});
  NumberTape tape;
  const At w = tape.leaf("w", 2), x = tape.leaf("x", 3), b = tape.leaf("b", 1), y = tape.leaf("y", 5);
  const At error = tape.sub(tape.add(tape.mul(w, x), b), y);
  tape.mul(error, error);
  const std::vector<double> gradient = tape.backward();
  show_tape(tape.lines, gradient, options);
  report.answer(twice, 'a', gradient[w] == 12,
                "The square uses the error, 2, twice, so 4 comes back. w gets that times the value of x.");
  return gradient;
}

// ---- 2. The library's tape, for tensors -------------------------------------------------------------------
// A *tensor* is an array with a shape; one number has the shape (). `variable` makes a leaf that asks for a
// gradient; data asks for none. A `Tape` records while it lives. backward leaves gradients in each .grad().
//
// Let y be a tensor that is computed from a tensor x. Its local derivatives are a table: how fast does each
// number of y move with each of x? Often it is huge. So a line keeps a *rule* in place of the table: a
// function that gets dy, the gradient of y, and returns that of x. For y = a ⊙ b, numbers multiplied in
// pairs, the rule of a returns dy ⊙ b. What a rule needs is *saved*. (Leaves have no line here, and data is
// no input of a line.)

void walk_with_library(const std::vector<double>& by_hand, kit::Report& report) {
  const Tensor w = variable(scalar(2, DType::f64), "w"), b = variable(scalar(1, DType::f64), "b");
  const Tensor x = scalar(3, DType::f64), y = scalar(5, DType::f64);  // f64: doubles; f32: floats
  Tape tape;
  const Tensor error = w * x + b - y;
  const Tensor loss = error * error;
  fmt::print("{}", tape.table());
  tape.backward(loss);
  report.check("the same loss and gradients as by hand",
               loss.item() == 4 && w.grad().item() == by_hand[0] && b.grad().item() == by_hand[2]);
}

// ---- 3. One number, used many times -----------------------------------------------------------------------
// A tensor of shape (), or with an axis of size 1, is repeated until it fits another: *broadcasting*. Let w =
// 2 and x = (1, 3), so w·x = (2, 6). If dy is (10, 1), what is the gradient of w? Two lines of tape say it:
// 10·1 comes back from the first use and 1·3 from the second. Now fifty uses, and a mean:

Tensor squared_error(const Tensor& w, const Tensor& b, const Tensor& x, const Tensor& y) {
  const Tensor error = w * x + b - y;  // w and b have the shape (), x and y (50)
  return mean(error * error);
}

void fifty_uses(const Points& points, kit::Report& report) {
  const kit::Question uses =
      report.ask("fifty uses of w", "Fifty derivatives of w come back. What becomes of them?",
                 {"w gets their mean: the loss is a mean", "w gets their sum", "w gets the last one"});
  report.answer(uses, 'b', compare_slopes(squared_error, points, report) < 1e-12,
                "The mean's 1/50 is in each of them already. What forward repeats, backward adds up.");
}

// A *product of matrices* y = a b uses numbers many times, too: y_ij is row i of a times column j of b.
//
//     y_ij = Σ_l a_il b_lj        a = (1 2)   b = (5 6)   y = (1·5 + 2·7  1·6 + 2·8) = (19 22)   dy = (1 0)
//                                     (3 4)       (7 8)       (3·5 + 4·7  3·6 + 4·8)   (43 50)        (0 2)
//
// Where does a_il stand? In row i of y, in each column j, with the factor b_lj. So a_12 gets dy_11 b_21 +
// dy_12 b_22 = 1·7 + 0·8 = 7. For all of them, with ∂a for a's gradient, ∂a_il = Σ_j dy_ij b_lj: row i of dy
// times row l of b. Row l of b is column l of its *transpose* bᵀ, rows and columns exchanged. And b_lj stands
// in y_ij, with factor a_il:
//
//     ∂a = dy bᵀ = ( 5  7)       ∂b_lj = Σ_i a_il dy_ij       ∂b = aᵀ dy = (1 6)
//                  (12 16)                                                 (2 8)

// ---- 4. A line through fifty noisy points -----------------------------------------------------------------
// Statistics has a formula for the line with the least squared error. Few models have one. *Gradient descent*
// needs none: begin anywhere, and step against the gradient, again and again. A step is the gradient times η,
// the *rate*: too small, and it takes for ever; too large, and it leaps over the valley and climbs beyond.

Fitted descend(const Points& points, std::int64_t steps) {
  Tensor w = variable(scalar(0, DType::f64), "w"), b = variable(scalar(0, DType::f64), "b");
  for (std::int64_t step = 0; step < steps; ++step) {
    Tape tape;
    tape.backward(squared_error(w, b, points.x, points.y));
    for (Tensor* weight : {&w, &b}) {
      assign(*weight, weight->detach() - 0.5 * weight->grad());  // detach: this use is not recorded
      weight->clear_grad();                                      // else backward would add to it
    }
  }
  return {w.item(), b.item()};
}

// ---- 5. The library's own loop ----------------------------------------------------------------------------
// The library's backward is our loop. It stands first in core/tape/backward.cpp:
//
//     for (std::size_t i = end; i-- > begin;) {
//       if (Tensor dy = std::move(records.slots[i]); dy.defined()) visit(i, dy);
//       if (!keep) release(i);
//     }
//
// A *node* is a line of its tape. slots[i] is our gradient[i], empty where nothing came back. visit() goes
// through the node's *edges*, one for each input that wants a gradient. run_rule() calls the edge's rule with
// dy, where we multiplied. take() adds up what was broadcast, and add() is our +=. Last, release() gives back
// what the rules saved. The program prints each node as the loop comes to it.
//
// What to remember. A tape has each operation's inputs and rules. Read from the back, each line hands
// its gradient on, and what was used many times adds up. To train is to step against the gradient.
//
// Exercises: lessons/practise 1 (backward from any line; two more operations; how long a step; your engine).

void lesson(const kit::Options& options, kit::Report& report) {
  const Points points = noisy_line(options.seed);
  report.section("A tape with a pencil");
  const std::vector<double> by_hand = walk_by_hand(options, report);
  report.section("The library's tape, for tensors");
  walk_with_library(by_hand, report);
  report.section("One number, used many times");
  fifty_uses(points, report);
  report.check("w·x and a b: as with a pencil", as_with_a_pencil());
  report.section("A line through fifty noisy points");
  compare_fits(points, descend(points, options.steps), options, report);
  report.section("The library's own loop");
  report.check("it comes to each node once, from the last, with the gradient that we had by hand",
               watch_the_loop() == std::vector<double>(by_hand.begin() + 4, by_hand.end()));
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("01_tape", "a tape remembers, backward reads it in reverse");
  program.steps(200, 100);
  return program.run(argc, argv, lesson);
}
