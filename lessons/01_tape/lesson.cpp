// 01 tape: record every operation on a tape, then compute all gradients in one backward pass
//
// 20 minutes to read, 1 second to run. Needs the chain rule from school: if y changes three times as fast as
// x, and z changes twice as fast as y, then z changes six times as fast as x. Afterwards you can write a program
// that differentiates formulas, derive the gradients of a matrix product, and read the loop in the library's
// backward pass.
//
// A neural network is a long formula with many adjustable numbers, its *weights*. The formula ends in a single
// number, the *loss*, which says how wrong the network's answers are. To train the network, we ask for each
// weight: if this weight changed a little, how fast would the loss change? A network may have millions of
// weights. How do we compute all of these derivatives at once?

#include <utility>
#include <vector>

#include "core/core.hpp"
#include "lessons/01_tape/experiment.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson01;

namespace {

// ---- 1. A tape by hand ------------------------------------------------------------------------------------
// Take the formula x·y + x at x = 4 and y = 2. We compute it one operation at a time, and we record each
// operation as one line of a *tape*. A line contains three things:
//
// - the value of the result;
// - the numbers of the lines that contain the inputs;
// - a *local derivative* for each input: how fast the value changes when this input alone changes.
//
// A product x·y has the local derivative y for its input x, and x for its input y. A sum has the local
// derivative 1 for each input. So this is the tape of our formula:
//
//     line  op   value   inputs (local derivatives)   gradient
//       0   x      4                                  1·1 + 1·2 = 3
//       1   y      2                                  1·4 = 4
//       2   *      8     0 (2), 1 (4)                 1·1 = 1
//       3   +     12     2 (1), 0 (1)                 1
//
// We fill the last column from the bottom up. A line's *gradient* says how fast the value of the last line
// changes when the value of this line changes. The gradient of the last line itself is 1.
//
// Each line multiplies its gradient by the local derivative of an input, and adds the result to the gradient of
// that input. The multiplication is the chain rule:
//
// - Line 3 adds 1·1 to line 2 and 1·1 to line 0.
// - Line 2 adds 1·2 to line 0 and 1·4 to line 1.
//
// The formula uses x twice, so x changes the result in two ways. That is why line 0 adds up two parts.
//
// x and y are *leaves*: lines that were not computed from other lines. Their gradients are the derivatives that
// we wanted, and a single pass over the tape computed both.

using At = std::size_t;  // a line number

struct Line {
  const char* op;
  double value;
  std::vector<std::pair<At, double>> inputs;  // the line of each input, and ∂value/∂input
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
    for (At i = lines.size(); i-- > 0;)  // every use of line i comes later, so its gradient is complete
      for (const auto& [input, local] : lines[i].inputs) gradient[input] += gradient[i] * local;
    return gradient;
  }
};

std::vector<double> walk_by_hand(const kit::Options& options, kit::Report& report) {
  NumberTape small;
  const At four = small.leaf("x", 4), two = small.leaf("y", 2);
  small.add(small.mul(four, two), four);
  report.check("x·y + x: the same gradients as by hand", small.backward() == std::vector<double>{3, 4, 1, 1});
  const kit::Question twice =
      report.ask("w's gradient",
                 "Let loss = (w·x + b − y)², with w = 2, x = 3, b = 1 and y = 5. What is the gradient of w?",
                 {"12", "6", "4"});
  NumberTape tape;
  const At w = tape.leaf("w", 2), x = tape.leaf("x", 3), b = tape.leaf("b", 1), y = tape.leaf("y", 5);
  const At error = tape.sub(tape.add(tape.mul(w, x), b), y);
  tape.mul(error, error);
  const std::vector<double> gradient = tape.backward();
  show_tape(tape.lines, gradient, options);
  report.answer(
      twice, 'a', gradient[w] == 12,
      "The error w·x + b − y is 2. The square uses the error twice, so the gradient of the error is "
      "2 + 2 = 4. The gradient of w is 4 times the value of x, so it is 12.");
  return gradient;
}

// ---- 2. The library's tape for tensors --------------------------------------------------------------------
// Our tape records single numbers. The library's tape records *tensors*. A tensor is an array with a shape, and
// a single number has the shape ().
//
// The function `variable` creates a leaf whose gradient we want. Data needs no gradient. A `Tape` records
// operations for as long as the `Tape` object exists. Its method `backward` stores a gradient in each leaf, and
// .grad() returns that gradient.
//
// Suppose that an operation computes a tensor y from a tensor x. How fast does each number of y change with
// each number of x? These local derivatives form a table, which is often huge. So a line of the tape stores a
// *rule* instead of the table. The rule is a function. It receives dy, the gradient of y, and returns the
// gradient of x.
//
// For example, let y = a ⊙ b. The sign ⊙ multiplies two tensors element by element. The rule for a returns
// dy ⊙ b, so the tape must keep b until the backward pass. We say that b is *saved*.
//
// The library's tape differs from ours in two details: a leaf has no line, and data is not an input of a line.

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

// ---- 3. Broadcasting and matrix products ------------------------------------------------------------------
// A tensor of shape (), or with an axis of size 1, is repeated until it fits the shape of another tensor.
// This repetition is called *broadcasting*. So the result uses a repeated number many times.
//
// For example, let w = 2 and x = (1, 3), so w·x = (2, 6). If dy is (10, 1), what is the gradient of w? Think
// of two lines on our own tape: the first use of w contributes 10·1, and the second use contributes 1·3.
//
// In the next function w is used fifty times, and the loss is a mean:

Tensor squared_error(const Tensor& w, const Tensor& b, const Tensor& x, const Tensor& y) {
  const Tensor error = w * x + b - y;  // w and b have the shape (), x and y (50)
  return mean(error * error);
}

void fifty_uses(const Points& points, kit::Report& report) {
  const kit::Question uses = report.ask(
      "fifty uses of w",
      "The fifty uses of w contribute fifty derivatives. How does backward combine them into the "
      "gradient of w?",
      {"it takes their mean, because the loss is a mean", "it takes their sum", "it takes the last one"});
  report.answer(
      uses, 'b', compare_slopes(squared_error, points, report) < 1e-12,
      "Each of the fifty derivatives already contains the factor 1/50 of the mean. If the forward pass "
      "repeats a number, the backward pass adds up the gradients of its copies.");
}

// A *matrix product* y = a b uses each number many times, too. The element y_ij is row i of a times column j
// of b:
//
//     y_ij = Σ_l a_il b_lj        a = (1 2)   b = (5 6)   y = (1·5 + 2·7  1·6 + 2·8) = (19 22)   dy = (1 0)
//                                     (3 4)       (7 8)       (3·5 + 4·7  3·6 + 4·8)   (43 50)        (0 2)
//
// Which elements of y contain a_il? All elements of row i: y_ij contains a_il with the factor b_lj. For
// example, y_11 and y_12 contain a_12, so the gradient of a_12 is dy_11 b_21 + dy_12 b_22 = 1·7 + 0·8 = 7.
//
// Let ∂a be the gradient of a. Then ∂a_il = Σ_j dy_ij b_lj, which is row i of dy times row l of b. Row l of b is
// column l of the *transpose* bᵀ, in which rows and columns are exchanged. So ∂a is the matrix product dy bᵀ.
//
// The gradient of b follows in the same way: y_ij contains b_lj with the factor a_il.
//
//     ∂a = dy bᵀ = ( 5  7)       ∂b_lj = Σ_i a_il dy_ij       ∂b = aᵀ dy = (1 6)
//                  (12 16)                                                 (2 8)

// ---- 4. Fitting a line by gradient descent ----------------------------------------------------------------
// Statistics has a formula for the line with the least squared error. Few models have such a formula.
// *Gradient descent* works without one: start with any weights, and repeatedly take a step against the
// gradient, which is the direction in which the loss falls.
//
// A step subtracts η times the gradient from the weights. The number η is the *learning rate*. If η is too
// small, descent needs very many steps. If η is too large, a step goes past the minimum and ends at a larger
// loss on the other side.

Fitted descend(const Points& points, std::int64_t steps) {
  Tensor w = variable(scalar(0, DType::f64), "w"), b = variable(scalar(0, DType::f64), "b");
  for (std::int64_t step = 0; step < steps; ++step) {
    Tape tape;
    tape.backward(squared_error(w, b, points.x, points.y));
    for (Tensor* weight : {&w, &b}) {
      assign(*weight, weight->detach() - 0.5 * weight->grad());  // detach: this use is not recorded
      weight->clear_grad();                                      // otherwise backward would add to it
    }
  }
  return {w.item(), b.item()};
}

// ---- 5. The library's backward loop -----------------------------------------------------------------------
// The loop of our backward() is also the loop of the library's backward pass. You find it in
// core/tape/backward.cpp, in the function sweep():
//
//     for (std::size_t i = end; i-- > first;) {
//       if (Tensor dy = std::move(graph_.slots[i]); dy.defined()) visit(i, dy);
//       if (!keep_) release(graph_.nodes[i]);
//     }
//
// A *node* is a line of the library's tape. slots[i] is what we called gradient[i]. It is empty if no gradient
// reached node i. Five functions do the rest:
//
// - visit() goes through the node's *edges*, one for each input, and skips inputs that need no gradient.
// - apply() calls the edge's rule with dy, where our loop multiplied by the local derivative.
// - take() sums the gradient over the axes that broadcasting repeated.
// - add() adds the gradient to the input's slot, as our += does.
// - release() frees the tensors that the node saved.
//
// The program prints each node when the loop visits it.
//
// What to remember. A tape records the inputs and the rules of each operation. The backward pass visits the lines
// from the last to the first, and each line passes gradients to its inputs. A number that is used many times
// gets the sum of its gradients. To train a model, repeatedly take a small step against the gradient.
//
// Exercises: lessons/practise 1 (derivatives of any line of a tape; division and square roots; the effect of the
// learning rate; a tape of arrays, broadcasting and matrix products for your own engine).

void lesson(const kit::Options& options, kit::Report& report) {
  const Points points = noisy_line(options.seed);
  report.section("A tape by hand");
  const std::vector<double> by_hand = walk_by_hand(options, report);
  report.section("The library's tape for tensors");
  walk_with_library(by_hand, report);
  report.section("Broadcasting and matrix products");
  fifty_uses(points, report);
  report.check("w·x and a b: the same gradients as by hand", as_with_a_pencil());
  report.section("Fitting a line by gradient descent");
  compare_fits(points, descend(points, options.steps), options, report);
  report.section("The library's backward loop");
  report.check(
      "it visits each node once, from the last to the first, with the gradients that we computed by hand",
      watch_the_loop() == std::vector<double>(by_hand.begin() + 4, by_hand.end()));
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("01_tape",
                      "record every operation on a tape, then compute all gradients in one backward pass");
  program.steps(200, 100);
  return program.run(argc, argv, lesson);
}
