// 09 recurrence: a state carries the past, and forgets
//
// 20 minutes to read, 20 seconds to run. Needs lessons 01 to 03 (gradients, training) and 07 (masks). Afterwards
// you can write three recurrent cells, mask padding in them, and measure how much an early symbol still affects the
// state.
//
// The oldest way to process a sentence of any length is to take one symbol at a time and to keep a *state*. The state
// is a vector. Each step computes a new state from the next symbol and the previous state. So the last state depends
// on every symbol. How much does it still depend on the first one?

#include <cmath>
#include <functional>

#include "core/core.hpp"
#include "lessons/09_recurrence/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson09;

namespace {

// ---- 1. One unit by hand ----------------------------------------------------------------------------------
// Let the symbol x and the state h be one number each. The next state is h' = tanh(x + 0.5 h), and the first state
// is h₀ = 0. For the symbols 1, 0, 0 we get:
//
//     h₁ = tanh(1) = 0.762      h₂ = tanh(0.5 h₁) = 0.363      h₃ = tanh(0.5 h₂) = 0.180
//
// If we change x₁ a little, how much does h₃ change? By the chain rule, the derivative is a product with one factor
// per step. The derivative of tanh is 1 − tanh². So the factor of the first step is 1 − h₁², and each later step has
// the factor 0.5 (1 − h'²):
//
//     ∂h₃/∂x₁ = 0.5 (1 − h₃²) · 0.5 (1 − h₂²) · (1 − h₁²) = 0.484 · 0.434 · 0.420 = 0.088
//
// The factor of each later step is at most a half. If symbols and states are vectors, the factor of a step is a
// matrix: the *Jacobian*, which contains the derivatives of the new state with respect to the old state. If each
// Jacobian shrinks vectors, a product of forty Jacobians is nearly zero. If each one stretches vectors, the product
// explodes (Bengio, Simard & Frasconi 1994).

void one_unit(kit::Report& report) {
  const Tensor x = variable(tensor({1, 0, 0}, DType::f64));
  Tape tape;
  std::vector<Tensor> h = {tanh(select(x, 0, 0))};
  for (Size t = 1; t < 3; ++t) h.push_back(tanh(select(x, 0, t) + 0.5 * h.back()));
  const Tensor nudge = tape.gradients(h[2], ones({}, DType::f64), std::vector{x})[0];
  const auto factor = [&](std::size_t t) { return 1 - h[t].item() * h[t].item(); };
  kit::check_worked_example(report, "three states",
                            {{h[0].item(), 0.762}, {h[1].item(), 0.363}, {h[2].item(), 0.180}});
  kit::check_worked_example(
      report, "the nudge",
      {{0.5 * factor(2), 0.484}, {0.5 * factor(1), 0.434}, {factor(0), 0.420}, {nudge.at({0}), 0.088}});
}

// ---- 2. Three cells, and padding --------------------------------------------------------------------------
// A cell has two matrices, each with a bias: W for the symbol's vector x (B, in), and U for the state h (B, H). B is
// the batch size, and H the number of units. Some cells compute G vectors per step. Then W, U and the biases have G
// blocks of H rows, stacked as in nn/.

struct Weights {
  Tensor w, u, b_w, b_u;  // (G·H, in), (G·H, H), (G·H) and (G·H), where G is 1, 3 or 4
  Tensor from_x(const Tensor& x) const { return matmul(x, transpose(w)) + b_w; }
  Tensor from_h(const Tensor& h) const { return matmul(h, transpose(u)) + b_u; }
};

Tensor part(const Tensor& gates, Size index, Size width) {
  return slice(gates, -1, index * width, (index + 1) * width);
}

// The *plain* cell (Elman 1990) is the cell of section 1, with vectors instead of numbers. Our functions return nn/'s
// type RecurrentState. Its member .hidden is h. Some cells have a second vector, .cell.

RecurrentState plain_step(const Tensor& x, const RecurrentState& state, const Weights& m) {
  return tanh(m.from_x(x) + m.from_h(state.hidden));
}

// The *long short-term memory*, LSTM (Hochreiter & Schmidhuber 1997; Gers et al. 2000), has a second vector c. From
// step to step, c passes through no matrix and no tanh. Instead, the cell has *gates*. A gate is a sigmoid,
// σ(a) = 1 / (1 + e^−a), so it has one number between 0 and 1 for each unit:
//
// - the forget gate f is the proportion of c that is kept;
// - the input gate i is the proportion of the proposal g that is added to c;
// - the output gate o is the proportion of tanh(c') that becomes the new h.
//
// The symbol ⊙ multiplies element by element:
//
//     c' = f ⊙ c + i ⊙ g        h' = o ⊙ tanh(c')
//     i, f, o = σ(…), g = tanh(…), where … is a separate block of W x + b_w + U h + b_u for each

RecurrentState lstm_step(const Tensor& x, const RecurrentState& state, const Weights& m) {
  const Size width = state.hidden.size(1);
  const Tensor all = m.from_x(x) + m.from_h(state.hidden);  // (B, 4H): i, f, g, o
  const Tensor i = sigmoid(part(all, 0, width)), f = sigmoid(part(all, 1, width));
  const Tensor g = tanh(part(all, 2, width)), o = sigmoid(part(all, 3, width));
  const Tensor cell = f * state.cell + i * g;
  return {o * tanh(cell), cell};
}

// The *gated recurrent unit*, GRU (Cho et al. 2014), has only the vector h. The update gate z is the proportion of h
// that is kept, and 1 − z is the proportion of the proposal n that is added. The reset gate r scales the part of the
// proposal that depends on h:
//
//     h' = z ⊙ h + (1 − z) ⊙ n        z, r = σ(…) as above, n = tanh(W x + b_w + r ⊙ (U h + b_u))

RecurrentState gru_step(const Tensor& x, const RecurrentState& state, const Weights& m) {
  const Size width = state.hidden.size(1);
  const Tensor from_x = m.from_x(x), from_h = m.from_h(state.hidden);  // (B, 3H): r, z, n
  const Tensor r = sigmoid(part(from_x, 0, width) + part(from_h, 0, width));
  const Tensor z = sigmoid(part(from_x, 1, width) + part(from_h, 1, width));
  const Tensor n = tanh(part(from_x, 2, width) + r * part(from_h, 2, width));
  return z * state.hidden + (1 - z) * n;
}

// If strings of different lengths are stored in one tensor, the short ones are padded at their end. After its last
// symbol, a string keeps its state. The padding must be masked, too. The gradient of W multiplies the padding by 0,
// but if the padding is NaN, the product is NaN.

using Step = RecurrentState (*)(const Tensor& x, const RecurrentState& state, const Weights& m);

/// Takes x (B, T, in). Returns the state h of each string after its last symbol, (B, H).
Tensor run_by_hand(Step step, const Tensor& x, const ValidLengths& lengths, const std::vector<Tensor>& p) {
  const Weights m{p[0], p[1], p[2], p[3]};
  const Tensor none = zeros({x.size(0), m.u.size(1)}, x.dtype()), zero = scalar(0, x.dtype());
  RecurrentState state(none, none);
  for (Size t = 0; t < x.size(1); ++t) {
    const Mask inside = Mask::from(x.size(0), 1, [&](Size row, Size) { return t < lengths[row]; });
    const RecurrentState next = step(where(inside, select(x, 1, t), zero), state, m);
    state.hidden = where(inside, next.hidden, state.hidden);
    if (next.cell.defined()) state.cell = where(inside, next.cell, state.cell);
  }
  return state.hidden;
}

// nn/'s layer Recurrent runs a cell over whole strings. The program compares each of our three cells with it.

// ---- 3. The influence of a symbol before training ---------------------------------------------------------
// The task: the model gets forty-one random symbols of ten kinds. After the last symbol, it must name the *first*.
//
// We compare two initialisations of each cell. The *usual* one consists of small random numbers. The other one lets
// the cell keep its state. For the LSTM and the GRU, we set the bias of the gate that keeps the past, f or z, to 3.
// σ(3) = 0.95, so forty steps leave 0.14 of the past. The plain cell has no gate, but its matrix U can start as a
// rotation (*orthogonal*). A rotation keeps the length of a vector.

void before_training(const kit::Options& options, kit::Report& report) {
  const kit::Question usual = report.ask(
      "cells at the usual start",
      "All cells have the usual initialisation. A small change of the last symbol changes the last state by 1 unit. By "
      "how much does the same change of the first symbol change it?",
      {"by more than a tenth in LSTM and GRU, by almost nothing in the plain cell",
       "by about a tenth, in all three cells", "by less than a millionth, in all three cells"});
  const double open = 1 / (1 + std::exp(-3));
  kit::check_worked_example(report, "a gate with bias 3, and its 40th power",
                            {{open, 0.95}, {std::pow(open, 40), 0.14}});
  const std::vector<kit::Series> curves = influence_before(options);
  const auto tiny = [&](Which plan) { return curves[plan].y.back() < 1e-6; };
  report.answer(usual, 'c', tiny(kPlain) && tiny(kLstm) && tiny(kGru),
                "Gates near σ(0) = 0.5 forget too. An LSTM and a GRU can remember, but with the usual "
                "initialisation they do not start that way.");
}

// ---- 4. Naming the first symbol after forty more ----------------------------------------------------------
// A falling line in the last picture means that the past fades: the last symbols affect the state most, whatever they
// are. This effect is called *recency*.
//
// Now we train each model. In the training strings, 40 symbols of noise follow the first symbol. With *mixed
// lengths*, a training string has 0 to 40 symbols of noise instead. All test strings have 40. A training run ends
// early if the loss becomes very small, so the table also shows the number of steps.

std::vector<Outcome> training(const kit::Options& options, kit::Report& report) {
  const kit::Question mixed = report.ask(
      "mixed lengths",
      "With its usual initialisation, the plain cell gets almost no gradient over forty steps. Does training with "
      "mixed lengths help it in the test?",
      {"yes, clearly", "no, because over forty steps it still gets almost no gradient",
       "no, it only learns to answer for short strings"});
  std::vector<Outcome> outcomes = train_all(options, report);
  report.answer(
      mixed, 'a', outcomes[kPlainMixed].right >= 40 && outcomes[kPlain].right <= 30,
      "Short strings give a gradient from the first step on. A model that can hold a symbol for three steps "
      "can learn to hold it for four.");
  return outcomes;
}

// At seed 1, the table reads:
//
//                                                 steps      loss       right
//     chance                                              2.303      10.0 %
//     plain RNN                                   700     2.311       9.0 %
//     plain RNN, orthogonal                       700     2.316      11.1 %
//     LSTM                                        700     2.303       9.2 %
//     LSTM, forget bias 3                         322     0.005     100.0 %
//     GRU                                         700     2.306      10.0 %
//     GRU, update bias 3                          273     0.005     100.0 %
//     plain RNN, mixed lengths                    700     0.211      89.8 %
//     plain RNN, orthogonal, mixed lengths        700     0.146      91.5 %
//     LSTM, mixed lengths                         640     0.005     100.0 %
//     GRU, mixed lengths                          481     0.005     100.0 %
//
// With 40 symbols of noise in each training string, the cells with the usual initialisation stay near chance, because
// almost no gradient reaches the first symbol. The orthogonal plain cell does not learn at this seed either: its
// rotation keeps the length of a vector, but the tanh after it does not.
//
// Two changes help. An open gate passes the gradient over all forty steps. With mixed lengths, short strings give a
// gradient that passes over few steps only. At other seeds, the numbers differ, but the LSTM and the GRU always learn
// the task with one of these changes.

// ---- 5. The influence of a symbol after training ----------------------------------------------------------

void after_training(const std::vector<Outcome>& outcomes, const kit::Options& options, kit::Report& report) {
  const kit::Question line = report.ask(
      "the plain cell that learned",
      "The plain cell with orthogonal initialisation and mixed lengths has learned the task. In the picture, what does "
      "its line look like after training?",
      {"it no longer falls, because a symbol that is remembered has a gradient",
       "it still falls to less than a hundredth"});
  draw_after(outcomes, options);
  const Outcome& learned = outcomes[kPlainOrthogonalMixed];
  report.figure("plain cell that learned: gradient of the first symbol ÷ the last's", learned.after.y.back());
  report.figure("plain cell that learned: units beyond ±0.9, where tanh is flat", learned.at_ends, "%");
  report.answer(
      line, 'b', learned.after.y.back() < 0.01 && learned.at_ends > 50,
      "Most of its units are near −1 or 1, the flat ends of tanh, and work like switches. So a state can "
      "remember a symbol although its gradient is small.");
}

// At seed 1, for the plain cell that learned, the gradient of the first symbol divided by that of the last is
// 6.18e-07. But 86.82 % of its units are beyond ±0.9.
//
// How can the cell remember a symbol without a gradient? Think of one unit with a large positive weight from itself.
// If it is near 1, the next step gives tanh of a large number, which is near 1 again. If it is near −1, it stays near
// −1. So the unit stores one bit, like a switch. But tanh is flat there, so a small change of the input hardly
// changes the state.

// What to remember. A gradient over n steps is a product of n factors. A gate that is initialised to be open lets the
// past through. After a string has ended, mask both its state and its symbols.
//
// Exercises: lessons/practise 9 (one GRU step; states after the last symbol; gates, biases and forty steps).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("One unit by hand");
  one_unit(report);
  report.section("Three cells, and padding");
  compare(report, "plain RNN", CellKind::rnn, std::bind_front(run_by_hand, plain_step), options.seed);
  compare(report, "LSTM", CellKind::lstm, std::bind_front(run_by_hand, lstm_step), options.seed);
  compare(report, "GRU", CellKind::gru, std::bind_front(run_by_hand, gru_step), options.seed);
  report.section("The influence of a symbol before training");
  before_training(options, report);
  report.section("Naming the first symbol after forty more");
  const std::vector<Outcome> outcomes = training(options, report);
  report.section("The influence of a symbol after training");
  after_training(outcomes, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("09_recurrence", "a state carries the past, and forgets");
  program.steps(700, 3);
  return program.run(argc, argv, lesson);
}
