// 09 recurrence: a state carries the past, and forgets
//
// 20 minutes to read, 20 seconds to run. Needs lessons 01 to 03 (gradients, training) and 07 (masks). Afterwards
// you can write three recurrent cells, keep padding out of them, and say what a symbol far back still counts.
//
// The oldest way to read a sentence of any length: read one symbol at a time and keep a *state*, a vector
// that each step makes anew from the symbol and the state before. The last state has seen everything. How
// much does it still know of the first symbol?

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
// Let symbol and state be one number each, and h' = tanh(x + 0.5 h) the next state. It reads 1, 0, 0:
//
//     h₁ = tanh(1) = 0.762      h₂ = tanh(0.5 h₁) = 0.363      h₃ = tanh(0.5 h₂) = 0.180
//
// Nudge x₁ a little: how far does h₃ move? By the chain rule by a product of one factor a step, 0.5 (1 −
// h'²), since tanh has the derivative 1 − tanh²:
//
//     ∂h₃/∂x₁ = 0.5 (1 − h₃²) · 0.5 (1 − h₂²) · (1 − h₁²) = 0.484 · 0.434 · 0.420 = 0.088
//
// Each step takes half of the nudge at least. With vectors a step's factor is a matrix, the *Jacobian*: all
// derivatives of the new state by the old one. If each shrinks a vector, a product of forty is next to
// nothing; if each stretches it, the product explodes (Bengio, Simard & Frasconi 1994).

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
// A cell has two matrices, W for the symbol's vector x (B, in) and U for the state h (B, H), each with a
// bias; its G parts stand one below the other, as in nn/.

struct Weights {
  Tensor w, u, b_w, b_u;  // (G·H, in), (G·H, H), (G·H), (G·H) with G = 1, 3 or 4
  Tensor from_x(const Tensor& x) const { return matmul(x, transpose(w)) + b_w; }
  Tensor from_h(const Tensor& h) const { return matmul(h, transpose(u)) + b_u; }
};

Tensor part(const Tensor& gates, Size index, Size width) {
  return slice(gates, -1, index * width, (index + 1) * width);
}

// The *plain* cell (Elman 1990) is the one above, with vectors. (nn/'s RecurrentState is what a step hands
// on: .hidden is h, .cell a second vector, if there is one.)

RecurrentState plain_step(const Tensor& x, const RecurrentState& state, const Weights& m) {
  return tanh(m.from_x(x) + m.from_h(state.hidden));
}

// The *long short-term memory* (Hochreiter & Schmidhuber 1997; Gers et al. 2000) has a second vector, c,
// which no matrix and no tanh touch on its way. A *gate* is a sigmoid, σ(a) = 1 / (1 + e^−a), a number
// between 0 and 1 for each unit: f says how much of c stays, i how much of the proposal g is written, o how
// much of c is shown (⊙ multiplies number by number):
//
//     c' = f ⊙ c + i ⊙ g        h' = o ⊙ tanh(c')
//     i, f, o = σ(…), g = tanh(…), each of its own part of W x + b_w + U h + b_u

RecurrentState lstm_step(const Tensor& x, const RecurrentState& state, const Weights& m) {
  const Size width = state.hidden.size(1);
  const Tensor all = m.from_x(x) + m.from_h(state.hidden);  // (B, 4H): i, f, g, o
  const Tensor i = sigmoid(part(all, 0, width)), f = sigmoid(part(all, 1, width));
  const Tensor g = tanh(part(all, 2, width)), o = sigmoid(part(all, 3, width));
  const Tensor cell = f * state.cell + i * g;
  return {o * tanh(cell), cell};
}

// The *gated recurrent unit* (Cho et al. 2014) has one vector. The update gate z says how much of h stays,
// and what goes makes room for the proposal n; the reset gate r says how much of h the proposal sees:
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

// Of strings in one tensor the short ones are filled up. Past its end a string keeps its state. The filling
// is masked as well: W's gradient multiplies it by 0, and 0 · NaN would be NaN.

using Step = RecurrentState (*)(const Tensor& x, const RecurrentState& state, const Weights& m);

/// x (B, T, in) → the state h of each string after its last symbol (B, H).
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

// nn/'s layer Recurrent runs a cell over whole strings. Here each one of ours is compared with it.

// ---- 3. What is left of a symbol before training ----------------------------------------------------------
// The task: forty-one random symbols of ten kinds come in, and at the end the model must name the *first*.
// Each cell has its *usual* start, small random numbers, and another one. The gate that keeps the past, f in
// the LSTM and z in the GRU, gets the bias 3: σ(3) = 0.95, and forty steps leave 0.14. The plain cell has no
// gate, but its U can start as a rotation (*orthogonal*).

void before_training(const kit::Options& options, kit::Report& report) {
  const kit::Question usual = report.ask(
      "cells at the usual start",
      "At the usual start a nudge to the last symbol moves the state by 1. How far does one to the first?",
      {"clearly in LSTM and GRU, hardly in the plain cell", "by about a tenth, in all three",
       "by less than a millionth, in all three"});
  const double open = 1 / (1 + std::exp(-3));
  kit::check_worked_example(report, "a gate with bias 3, forty of them",
                            {{open, 0.95}, {std::pow(open, 40), 0.14}});
  const std::vector<kit::Series> curves = influence_before(options);
  const auto tiny = [&](Which plan) { return curves[plan].y.back() < 1e-6; };
  report.answer(usual, 'c', tiny(kPlain) && tiny(kLstm) && tiny(kGru),
                "Gates near σ(0) = 0.5 forget too. LSTM and GRU can remember, but do not start that way.");
}

// ---- 4. Naming the first symbol after forty more ----------------------------------------------------------
// Each falling line is a past that fades: the last symbols count, whatever they say (*recency*). With *mixed
// lengths* a training string has none to forty symbols of noise. The test always has forty.

std::vector<Outcome> training(const kit::Options& options, kit::Report& report) {
  const kit::Question mixed = report.ask(
      "mixed lengths",
      "The plain cell from its usual start has no gradient over forty steps. Do mixed lengths help it?",
      {"yes, clearly", "no: over forty steps it still has none", "on short strings only, not in the test"});
  std::vector<Outcome> outcomes = train_all(options, report);
  report.answer(mixed, 'a', outcomes[kPlainMixed].right >= 40 && outcomes[kPlain].right <= 30,
                "Short strings have a gradient at once. Who holds a symbol for three steps can learn four.");
  return outcomes;
}

// ---- 5. What is left of a symbol after training -----------------------------------------------------------

void after_training(const std::vector<Outcome>& outcomes, const kit::Options& options, kit::Report& report) {
  const kit::Question line = report.ask(
      "the plain cell that learned",
      "With orthogonal start and mixed lengths the plain cell has learned it. How does its line look now?",
      {"it no longer falls: what is remembered has a gradient", "it still falls to less than a hundredth"});
  draw_after(outcomes, options);
  const Outcome& learned = outcomes[kPlainOrthogonalMixed];
  report.figure("first symbol's share, the plain cell that learned", learned.after.y.back());
  report.figure("its units beyond ±0.9, where tanh is flat", learned.at_ends, "%");
  report.answer(line, 'b', learned.after.y.back() < 0.01 && learned.at_ends > 50,
                "Most units stand at an end of tanh, like switches. Memory and gradient are two things.");
}

// What to remember. A gradient over n steps is a product of n factors. A gate with an open start lets the
// past through. Past a string's end mask the state, and the symbols too.
//
// Exercises: lessons/practise 9 (a GRU step; a state that must stand still; what gates and biases leave).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("One unit by hand");
  one_unit(report);
  report.section("Three cells, and padding");
  compare(report, "plain RNN", CellKind::rnn, std::bind_front(run_by_hand, plain_step), options.seed);
  compare(report, "LSTM", CellKind::lstm, std::bind_front(run_by_hand, lstm_step), options.seed);
  compare(report, "GRU", CellKind::gru, std::bind_front(run_by_hand, gru_step), options.seed);
  report.section("What is left of a symbol before training");
  before_training(options, report);
  report.section("Naming the first symbol after forty more");
  const std::vector<Outcome> outcomes = training(options, report);
  report.section("What is left of a symbol after training");
  after_training(outcomes, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("09_recurrence", "a state carries the past, and forgets");
  program.steps(700, 3);
  return program.run(argc, argv, lesson);
}
