// 01 tape: record every operation on a tape, then compute all gradients in one backward pass
//
// 20 minutes to read, 1 second to run. Needs the chain rule from school: if y changes three times as fast as
// x, and z changes twice as fast as y, then z changes six times as fast as x. Afterwards you can write a program
// that differentiates formulas, derive the gradients of a matrix product, and read the loop in the library's
// backward pass.
//
// A neural network is a long formula with many adjustable numbers, its *weights*. The formula ends in a single
// number, the *loss*, which says how wrong the network's answers are. To train the network, we ask for each weight:
// if this weight changed a little, how fast would the loss change? The answer is the derivative of the loss with
// respect to this weight. A network may have millions of weights. How do we compute all of these derivatives at once?

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
// How did we compute the last column? A line's *gradient* says how fast the value of the last line changes when the
// value of this line changes. The gradient of the last line itself is 1.
//
// We compute the other gradients from the last line up to the first. Each line multiplies its gradient by the local
// derivative of an input, and adds the product to the gradient of that input. The multiplication is the chain rule:
//
// - Line 3 adds 1·1 to line 2 and 1·1 to line 0.
// - Line 2 adds 1·2 to line 0 and 1·4 to line 1.
//
// The formula uses x twice, so x changes the result in two ways. That is why line 0 adds up two parts.
//
// Why this order? Only later lines use a line. So when we reach a line, its gradient already has all of its parts.
//
// x and y are *leaves*: lines that were not computed from other lines. Their gradients are the derivatives that we
// wanted, and a single pass over the tape computed both. A single pass is also enough for a million leaves, because
// it visits each line once. This method is called *backpropagation*, or reverse-mode automatic differentiation.

using LineId = std::size_t;  // the number of a line

struct Line {
  const char* op;
  double value;
  std::vector<std::pair<LineId, double>> inputs;  // the line of each input, and ∂value/∂input
};

struct NumberTape {
  std::vector<Line> lines;

  double value(LineId id) const { return lines[id].value; }
  LineId write(const Line& line) {
    lines.push_back(line);
    return lines.size() - 1;
  }
  LineId leaf(const char* name, double x) { return write({name, x, {}}); }
  LineId add(LineId a, LineId b) { return write({"+", value(a) + value(b), {{a, 1}, {b, 1}}}); }
  LineId sub(LineId a, LineId b) { return write({"-", value(a) - value(b), {{a, 1}, {b, -1}}}); }
  LineId mul(LineId a, LineId b) { return write({"*", value(a) * value(b), {{a, value(b)}, {b, value(a)}}}); }

  std::vector<double> backward() const {
    std::vector<double> gradient(lines.size(), 0.0);
    gradient.back() = 1;
    for (LineId i = lines.size(); i-- > 0;)  // every use of line i comes later, so its gradient is complete
      for (const auto& [input, local] : lines[i].inputs) gradient[input] += gradient[i] * local;
    return gradient;
  }
};

void check_table(kit::Report& report) {
  NumberTape tape;
  const LineId x = tape.leaf("x", 4), y = tape.leaf("y", 2);
  tape.add(tape.mul(x, y), x);
  report.check("x·y + x: the same gradients as by hand", tape.backward() == std::vector<double>{3, 4, 1, 1});
}

/// Returns the gradients of the lines of (w·x + b − y)².
std::vector<double> gradients_by_hand(const kit::Options& options, kit::Report& report) {
  check_table(report);
  const kit::Question twice =
      report.ask("w's gradient",
                 "Let loss = (w·x + b − y)², with w = 2, x = 3, b = 1 and y = 5. What is the gradient of w?",
                 {"12", "6", "4"});
  NumberTape tape;
  const LineId w = tape.leaf("w", 2), x = tape.leaf("x", 3), b = tape.leaf("b", 1), y = tape.leaf("y", 5);
  const LineId error = tape.sub(tape.add(tape.mul(w, x), b), y);
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
// Our tape records single numbers. The library's tape records *tensors*. A tensor is an array with a shape. A list of
// 50 numbers has the shape (50), and a matrix of two rows and three columns has the shape (2, 3). Each size in the
// shape belongs to one *axis* of the tensor. A single number has no axis, so its shape is ().
//
// The function `variable` creates a leaf whose gradient we want, such as a weight. The data x and y need no gradient,
// so we create them with `scalar` alone. A `Tape` records operations for as long as the `Tape` object exists. Its
// method `backward` stores a gradient in each leaf, and .grad() returns that gradient.
//
// Suppose that an operation computes a tensor y from a tensor x, and that each of them has a thousand numbers. Each
// number of x may change each number of y, so there are a million local derivatives. That is too many to store. So
// for each input, a line stores a *rule* instead. A rule is a function. It receives dy, the gradient of y, and
// returns the gradient of x.
//
// For example, let y = a ⊙ b. The sign ⊙ multiplies two tensors element by element. The rule for a returns dy ⊙ b,
// and the rule for b returns dy ⊙ a. The rule for a needs b, so the tape must keep b until the backward pass. We say
// that b is *saved*.
//
// The library's tape differs from ours in two details: a leaf has no line, and a tensor that needs no gradient is not
// listed as an input.

void gradients_with_library(const std::vector<double>& by_hand, kit::Report& report) {
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

// The program prints the tape as a table. The column "inputs" says #2 for the result of line 2. The column "saved"
// says how many bytes the line saves:
//
// - Line 0, w·x, saves x, one double of 8 bytes. The rule for w needs it. There is no rule for x.
// - Lines 1 and 2 save nothing. The rules of a sum and of a difference need no value of an input.
// - Line 3, error·error, saves the error twice, once for each of its two inputs.

// ---- 3. Broadcasting and matrix products ------------------------------------------------------------------
// The two inputs of an operation may have different shapes. Then the library repeats elements until the shapes are
// equal. A tensor of shape () is repeated for each element of the other tensor. An axis of size 1 is repeated until
// it has the size of the other tensor's axis. This is called *broadcasting*. So a single number can be used many
// times.
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

// For a smaller example, let w = 2 and x = (1, 3), so w·x = (2, 6). If dy is (10, 1), what is the gradient of w? On
// our own tape, w·x would be two lines. The first line would add 10·1 to the gradient of w, and the second line 1·3.
// So the gradient of w is 13.
//
// A *matrix product* y = a b uses each number many times, too. The element y_ij is row i of a times column j of b:
// y_ij = Σ_l a_il b_lj. For example:
//
//     a = (1 2)   b = (5 6)   y = (1·5 + 2·7  1·6 + 2·8) = (19 22)   dy = (1 0)
//         (3 4)       (7 8)       (3·5 + 4·7  3·6 + 4·8)   (43 50)        (0 2)
//
// What is the gradient of a_12? Only y_11 = a_11 b_11 + a_12 b_21 and y_12 = a_11 b_12 + a_12 b_22 contain a_12.
// Their local derivatives with respect to a_12 are b_21 and b_22. So the gradient of a_12 is dy_11 b_21 + dy_12 b_22
// = 1·7 + 0·8 = 7.
//
// In general, all elements of row i of y contain a_il, and y_ij contains it with the factor b_lj. Let ∂a be the
// gradient of a, which has the shape of a. Then ∂a_il = Σ_j dy_ij b_lj, which is row i of dy times row l of b. Row l
// of b is column l of the *transpose* bᵀ, in which rows and columns are exchanged. So ∂a is the matrix product dy bᵀ.
//
// The gradient of b follows in the same way: y_ij contains b_lj with the factor a_il. So ∂b_lj = Σ_i a_il dy_ij, and
// ∂b is the matrix product aᵀ dy. In the example:
//
//     ∂a = dy bᵀ = ( 5  7)       ∂b = aᵀ dy = (1 6)
//                  (12 16)                    (2 8)

// ---- 4. Fitting a line by gradient descent ----------------------------------------------------------------
// Fifty points were measured near a straight line, each with a random error. Which line w·x + b has the smallest mean
// squared error?
//
// Statistics has a formula for this line. Few models have such a formula. *Gradient descent* works without one. Start
// with any weights, and look at the gradient of each weight. If it is positive, the loss grows with this weight, so
// make the weight smaller. If it is negative, make the weight larger. Then repeat:
//
//     w ← w − η ∂loss/∂w        b ← b − η ∂loss/∂b
//
// This is called a step *against the gradient*. The number η is the *learning rate*. If η is too small, descent needs
// very many steps. If η is too large, a step goes past the minimum and ends at a larger loss on the other side.

Fitted gradient_descent(const Points& points, std::int64_t steps) {
  constexpr double kLearningRate = 0.5;  // η
  Tensor w = variable(scalar(0, DType::f64), "w"), b = variable(scalar(0, DType::f64), "b");
  for (std::int64_t step = 0; step < steps; ++step) {
    Tape tape;
    tape.backward(squared_error(w, b, points.x, points.y));
    for (Tensor* weight : {&w, &b}) {
      assign(*weight, weight->detach() - kLearningRate * weight->grad());  // detach: this use is not recorded
      weight->clear_grad();  // otherwise the next backward would add to it
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
// A *node* is a line of the library's tape. slots[i] is what we called gradient[i]. It is empty if the result does
// not depend on node i. keep_ is true if the caller wants to run backward on this tape again. Five functions do the
// rest:
//
// - visit() goes through the node's *edges*, one for each input, and skips inputs that need no gradient.
// - apply() calls the edge's rule with dy. Our loop multiplied by the local derivative instead.
// - take() sums the gradient over the axes that broadcasting repeated.
// - add() adds the gradient to the input's slot, as our += does.
// - release() frees the tensors that the node saved.
//
// The program prints each node when the loop visits it.
//
// What to remember. A tape records the inputs and the rules of each operation. The backward pass visits the lines
// from the last to the first, and each line adds gradients to its inputs. The gradient of a number that is used many
// times is a sum with one part for each use. To train a model, repeatedly take a small step against the gradient.
//
// Exercises: lessons/practise 1 (derivatives of any line of a tape; division and square roots; the effect of the
// learning rate; a tape of arrays, broadcasting and matrix products for your own engine).

void lesson(const kit::Options& options, kit::Report& report) {
  const Points points = noisy_line(options.seed);
  report.section("A tape by hand");
  const std::vector<double> by_hand = gradients_by_hand(options, report);
  report.section("The library's tape for tensors");
  gradients_with_library(by_hand, report);
  report.section("Broadcasting and matrix products");
  fifty_uses(points, report);
  report.check("w·x and a b: the same gradients as by hand", worked_examples_hold());
  report.section("Fitting a line by gradient descent");
  compare_fits(points, gradient_descent(points, options.steps), options, report);
  report.section("The library's backward loop");
  report.check(
      "it visits each node once, from the last to the first, with the gradients that we computed by hand",
      gradients_of_visits() == std::vector<double>(by_hand.begin() + 4, by_hand.end()));
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("01_tape",
                      "record every operation on a tape, then compute all gradients in one backward pass");
  program.steps(200, 100);
  return program.run(argc, argv, lesson);
}
