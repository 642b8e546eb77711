// 9.3 what_is_left: Gates, biases and forty steps
// predict, 15 minutes
//
// The cell vector of an LSTM is c' = f ⊙ c + i ⊙ g, with the forget gate f = σ(W x + b_w + U h + b_u). Predict four
// numbers, as formulas with std::pow and std::exp or as plain numbers:
//
//   1. the proportion of c that is left after forty steps with f = 0.95, if nothing is added;
//   2. the number of steps with f = 0.5 after which less than 0.01 of c is left for the first time;
//   3. the index, from 0, of the first of the 4 · 64 numbers of b_w that belongs to the forget gate, in an LSTM of nn/
//      with H = 64;
//   4. the proportion of c that is left after forty steps if this part of b_w *and* of b_u is 3, and every other weight
//      is 0 (to three decimals).
#include "lessons/grader/answer.hpp"

double left_after_forty() {
  //[ the proportion left after forty steps, f = 0.95
  //: return not_written_yet();
  return std::pow(0.95, 40);  // each step keeps 0.95 of c
  //]
}

double steps_to_a_hundredth() {
  //[ the number of steps until less than 0.01 is left, f = 0.5
  //: return not_written_yet();
  return 7;  // 1/64 is more than 0.01, 1/128 less
  //]
}

double first_place_of_forget_gate() {
  //[ an index of b_w (4 · 64)
  //: return not_written_yet();
  return 64;  // input, forget, cell, output: the second block
  //]
}

double left_with_two_biases() {
  //[ the proportion left after forty steps, both biases 3
  //: return not_written_yet();
  return std::pow(1 / (1 + std::exp(-6.0)), 40);  // the biases add up inside the sigmoid: σ(6)
  //]
}

// hint: After one step, 0.95 of c is left. How much is left after two steps, and after n?
// hint: 0.5ⁿ < 0.01. Which is the first power of 2 above 100?
// hint: The blocks are in the order in which lesson 09 computes them: i, f, g, o. Each has H numbers.
// hint: The gate is σ(b_w + b_u). Forty steps leave its ____ power.
//
// wrong: You subtracted 0.05 of the *first* value at each step, which would reach 0 after twenty steps. A gate
//   multiplies the current value of c.
// - return std::pow(0.95, 40);
// + return 0;
// wrong: You returned the proportion after one step. The gates of forty steps are multiplied.
// - return std::pow(0.95, 40);
// + return 0.95;
// wrong: You returned the proportion that is lost, not the proportion that is left.
// - return std::pow(0.95, 40);
// + return 1 - std::pow(0.95, 40);
// wrong: You returned an estimate: 40 · (1 − 0.95) = 2, so about e⁻² is left. It is good for f near 1, but you can
//   compute 0.95⁴⁰ exactly.
// - return std::pow(0.95, 40);
// + return std::exp(-2.0);
// wrong: After six steps, 1/64 = 0.0156 is left, which is more than 0.01.
// - return 7;  // 1/64 is more than 0.01, 1/128 less
// + return 6;
// wrong: You subtracted half of the first value at each step. A step halves the current value.
// - return 7;  // 1/64 is more than 0.01, 1/128 less
// + return 2;
// wrong: You subtracted a hundredth at each step. But each step halves c: 1/2, 1/4, 1/8, …
// - return 7;  // 1/64 is more than 0.01, 1/128 less
// + return 100;
// wrong: Index 0 is in the input gate's block. A bias there would add noise to c, and the past would fade as before.
// - return 64;  // input, forget, cell, output: the second block
// + return 0;
// wrong: Index 128 is in the block of the proposal g. A bias there adds the same value to c at each step.
// - return 64;  // input, forget, cell, output: the second block
// + return 128;
// wrong: Index 192 is in the output gate's block. It changes how much of c becomes h, not how much of c is kept.
// - return 64;  // input, forget, cell, output: the second block
// + return 192;
// wrong: The gates are not interleaved. Each has a block of H numbers, one block after the other.
// - return 64;  // input, forget, cell, output: the second block
// + return 1;
// wrong: You used one bias of 3. There are two, b_w and b_u, and they add up. If both are set, the gate is more open
//   than intended.
// - return std::pow(1 / (1 + std::exp(-6.0)), 40);
// + return std::pow(1 / (1 + std::exp(-3.0)), 40);
// wrong: You multiplied two gates, σ(3) · σ(3), at each step. There is only one gate. The biases add up inside its
//   sigmoid.
// - return std::pow(1 / (1 + std::exp(-6.0)), 40);
// + return std::pow(1 / (1 + std::exp(-3.0)), 80);
// wrong: You returned the gate itself, σ(6). The gates of forty steps are multiplied.
// - return std::pow(1 / (1 + std::exp(-6.0)), 40);
// + return 1 / (1 + std::exp(-6.0));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Runs the library's LSTM, with weights of 0, on a cell of ones, and returns the cell after these steps. In each bias,
/// `width` numbers from index `place` on are b_w or b_u; the other numbers are 0.
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
  judge.claim("predicts the proportion that forty steps leave", [&] {
    judge.predicted(left_after_forty(), mean_after(40, 1, 1, std::log(0.95 / 0.05)), "what is left of c");
  });
  judge.claim("predicts how fast a gate of one half forgets", [&] {
    Size steps = 0;
    while (mean_after(steps, 1, 1, 0) >= 0.01) ++steps;
    judge.predicted(steps_to_a_hundredth(), static_cast<double>(steps), "the steps");
  });
  judge.claim("knows the index of the forget gate's bias", [&] {
    Size place = 0;  // the first index where a large bias keeps all 64 units at 1
    while (std::abs(min(cell_after(1, 64, place, 40, 0)).item() - 1) > 1e-9 ||
           mean_after(1, 64, place, 40) > 1.1)
      ++place;
    judge.predicted(first_place_of_forget_gate(), static_cast<double>(place), "the first place");
  });
  judge.claim("predicts the effect of two biases", [&] {
    judge.predicted(left_with_two_biases(), mean_after(40, 1, 1, 3, 3), "what is left of c", 0.001);
  });
}
