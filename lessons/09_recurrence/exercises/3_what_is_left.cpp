// 9.3 what_is_left: gates, biases and forty steps
// predict, 15 minutes
//
// An LSTM's cell is c' = f ⊙ c + i ⊙ g with f = σ(W x + b_w + U h + b_u). Predict, as shares of 1 where it is
// a share: what forty steps with f = 0.95 leave of c if nothing is written; after how many steps less than
// 0.01 of c is left for the first time if f = 0.5; in an LSTM with H = 64, the first of the 4 · 64 places of
// b_w that belongs to the forget gate, counted from 0, as nn/ keeps them; and what forty steps leave if that
// part of b_w *and* of b_u is 3 and everything else is 0 (to three places). Write formulas, with std::pow and
// std::exp, or numbers.
#include "lessons/grader/answer.hpp"

double left_after_forty() {
  //[ f = 0.95
  //: return not_written_yet();
  return std::pow(0.95, 40);  // each step leaves 0.95 of what is there
  //]
}

double steps_to_a_hundredth() {
  //[ f = 0.5
  //: return not_written_yet();
  return 7;  // 1/64 is more than 0.01, 1/128 less
  //]
}

double first_place_of_forget_gate() {
  //[ in b_w (4 · 64)
  //: return not_written_yet();
  return 64;  // input, forget, cell, output: the second block
  //]
}

double left_with_two_biases() {
  //[ both biases 3, forty steps
  //: return not_written_yet();
  return std::pow(1 / (1 + std::exp(-6.0)), 40);  // they add up before the sigmoid: σ(6)
  //]
}

// hint: What is left after two steps, 0.95 of what? And after n?
// hint: 0.5ⁿ < 0.01. Which is the first power of 2 above 100?
// hint: The blocks stand in the order in which lesson 09 writes the gates: i, f, g, o, each H long.
// hint: σ(b_w + b_u) is one gate; forty of them are its ____ power.
//
// wrong: That subtracts 0.05 of the *first* value at each step, and would reach 0 after twenty. A gate takes
//   its share of what is still there.
// - return std::pow(0.95, 40);
// + return 0;
// wrong: That is one step's. Forty gates multiply.
// - return std::pow(0.95, 40);
// + return 0.95;
// wrong: That is what is gone, not what is left.
// - return std::pow(0.95, 40);
// + return 1 - std::pow(0.95, 40);
// wrong: That is 40 · (1 − 0.95) = 2 as a loss, or its exponential, e⁻²: a good estimate for f near 1, but
//   0.95⁴⁰ can be computed.
// - return std::pow(0.95, 40);
// + return std::exp(-2.0);
// wrong: After six steps 1/64 = 0.0156 is left, more than 0.01.
// - return 7;  // 1/64 is more than 0.01, 1/128 less
// + return 6;
// wrong: You subtracted a share of the first value each time. Half of what is there goes at each step, so it
//   halves and halves.
// - return 7;  // 1/64 is more than 0.01, 1/128 less
// + return 2;
// wrong: You counted to a hundredth with steps of a hundredth. It halves at each step: 1/2, 1/4, 1/8, …
// - return 7;  // 1/64 is more than 0.01, 1/128 less
// + return 100;
// wrong: Place 0 begins the input gate: you would open the door to noise, and the past would fade as before.
// - return 64;  // input, forget, cell, output: the second block
// + return 0;
// wrong: Place 128 begins the proposal g. A bias there writes the same into c at each step.
// - return 64;  // input, forget, cell, output: the second block
// + return 128;
// wrong: Place 192 begins the output gate: it shows more of c and keeps no more of it.
// - return 64;  // input, forget, cell, output: the second block
// + return 192;
// wrong: The gates do not take turns. Each has a block of H places, one gate after the other.
// - return 64;  // input, forget, cell, output: the second block
// + return 1;
// wrong: That is one bias of 3. There are two, b_w and b_u, and they add up: who sets both has opened the
//   gate further than intended.
// - return std::pow(1 / (1 + std::exp(-6.0)), 40);
// + return std::pow(1 / (1 + std::exp(-3.0)), 40);
// wrong: You multiplied two gates, σ(3) · σ(3), at each step. There is one gate, and the biases add up inside
//   its sigmoid.
// - return std::pow(1 / (1 + std::exp(-6.0)), 40);
// + return std::pow(1 / (1 + std::exp(-3.0)), 80);
// wrong: That is the gate itself, σ(6). Forty of them multiply.
// - return std::pow(1 / (1 + std::exp(-6.0)), 40);
// + return 1 / (1 + std::exp(-6.0));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// What is left of a cell of ones after steps of the library's LSTM with weights of 0. `width` numbers of each
/// bias, from `place` on, are b_w and b_u; the others are 0.
Tensor cell_after(Size steps, Size width, Size place, double b_w, double b_u) {
  LSTMCell cell(1, width);
  cell.initialise(1, DType::f64);
  for (Tensor weight : cell.parameters()) assign(weight, zeros(weight.shape(), DType::f64));
  const auto bias = [&](double value) {
    std::vector<double> values(static_cast<std::size_t>(4 * width), 0.0);
    std::fill_n(values.begin() + place, width, value);
    return tensor(values, {4 * width}, DType::f64);
  };
  assign(cell.bias_ih, bias(b_w));
  assign(cell.bias_hh, bias(b_u));
  RecurrentState state(zeros({1, width}, DType::f64), ones({1, width}, DType::f64));
  for (Size step = 0; step < steps; ++step) state = cell(zeros({1, 1}, DType::f64), state);
  return state.cell;
}

double mean_after(Size steps, Size width, Size place, double b_w, double b_u = 0) {
  return mean(cell_after(steps, width, place, b_w, b_u)).item();
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("foretells what forty steps leave", [&] {
    judge.predicted(left_after_forty(), mean_after(40, 1, 1, std::log(0.95 / 0.05)), "what is left of c");
  });
  judge.claim("foretells how fast a gate of one half forgets", [&] {
    Size steps = 0;
    while (mean_after(steps, 1, 1, 0) >= 0.01) ++steps;
    judge.predicted(steps_to_a_hundredth(), static_cast<double>(steps), "the steps");
  });
  judge.claim("knows where the forget gate's bias stands", [&] {
    Size place = 0;  // from which on a large bias leaves all 64 units whole
    while (std::abs(min(cell_after(1, 64, place, 40, 0)).item() - 1) > 1e-9 ||
           mean_after(1, 64, place, 40) > 1.1)
      ++place;
    judge.predicted(first_place_of_forget_gate(), static_cast<double>(place), "the first place");
  });
  judge.claim("foretells what two biases do", [&] {
    judge.predicted(left_with_two_biases(), mean_after(40, 1, 1, 3, 3), "what is left of c", 0.001);
  });
}
