// 9.2 stand_still: Padding must not change the state
// debug, 15 minutes
//
// A vanilla RNN (Elman) cell reads a batch of strings of different lengths, x (B, T, in). Shorter strings are padded at
// the end.
//
//     h_t = tanh(W x_t + U h_{t−1} + b),    h_0 = 0
//
// The function should return the state of each string after its last symbol, (B, H). But the state of a short string
// depends on the batch: in a batch with a longer string, it differs from the state of the same string alone. Find the
// mistake.
//
// The padding may have any value, including ∞ and NaN. It must change neither the states nor the gradients. w has the
// shape (H, in), u (H, H) and b (H).
#include "lessons/grader/answer.hpp"

Tensor last_states(const Tensor& x, const ValidLengths& lengths, const Tensor& w, const Tensor& u,
                   const Tensor& b) {
  const Size batch = x.size(0), time = x.size(1);
  const Tensor zero = scalar(0, x.dtype());
  Tensor h = zeros({batch, b.size(0)}, x.dtype());
  for (Size t = 0; t < time; ++t) {
    const Mask inside = Mask::from(batch, 1, [&](Size row, Size) { return t < lengths[row]; });
    //[ one step
    //: const Tensor symbol = where(inside, select(x, 1, t), zero);
    //: h = tanh(matmul(symbol, transpose(w)) + matmul(h, transpose(u)) + b);
    const Tensor symbol = where(inside, select(x, 1, t), zero);  // 0 · ∞ would be NaN in W's gradient
    const Tensor next = tanh(matmul(symbol, transpose(w)) + matmul(h, transpose(u)) + b);
    h = where(inside, next, h);  // after its end, a string keeps its state
    //]
  }
  return h;
}

// hint: After its end, a string gets zeros as symbols. Is the state the same before and after such a step?
// hint: tanh(W 0 + U h + b) is not h. What should h be in a row where `inside` is false?
// hint: Compute the next state as before. Then choose for each row: h = where(inside, ____, ____).
//
// start: The symbols of the string have ended, but its state still changes. A step with a symbol of zeros computes
//   tanh(U h + b), which is not h. Compare the state after the last symbol with the state one step later.
//
// wrong: After its end, the state of a string becomes 0, so all padded strings get the same state. A string must keep
//   the state after its last symbol.
// - h = where(inside, next, h);
// + h = where(inside, next, zero);
// wrong: A padded string takes one step too many: at t = lengths[row], its state still changes. Its last symbol is at
//   lengths[row] − 1.
// - const Tensor next = tanh(matmul(symbol, transpose(w)) + matmul(h, transpose(u)) + b);
// - h = where(inside, next, h);
// + const Tensor next = tanh(matmul(symbol, transpose(w)) + matmul(h, transpose(u)) + b);
// + h = where(Mask::from(batch, 1, [&](Size row, Size) { return t <= lengths[row]; }), next, h);
// wrong: You exchanged the new state and the old one. Before its end, a string keeps the old state, 0. After its end,
//   its state changes.
// - h = where(inside, next, h);
// + h = where(inside, h, next);
// wrong: All strings stop when the first string of the batch ends. Each string has its own length, so use each row's
//   own condition.
// - h = where(inside, next, h);
// + h = where(Mask::from(batch, 1, [&](Size, Size) { return t < lengths[0]; }), next, h);
// wrong: The states are right, but W's gradient is not. It contains the product of the padding and a gradient of 0, and
//   0 · ∞ is NaN. Mask the symbols as well.
// - const Tensor symbol = where(inside, select(x, 1, t), zero);
// + const Tensor symbol = select(x, 1, t);
// wrong: You multiply the symbols by a mask of ones and zeros, and 0 · ∞ is NaN. `where` selects instead: the values
//   that it does not select have no effect.
// - const Tensor symbol = where(inside, select(x, 1, t), zero);
// + const Tensor one = scalar(1, x.dtype());
// + const Tensor symbol = select(x, 1, t) * where(inside, one, zero);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Runs each string alone, up to its end.
Tensor by_loops(const Tensor& x, const std::vector<Size>& lengths, const Tensor& w, const Tensor& u,
                const Tensor& b) {
  const Size width = b.size(0), in = x.size(2);
  std::vector<double> all;
  for (Size row = 0; row < x.size(0); ++row) {
    std::vector<double> h(static_cast<std::size_t>(width), 0.0);
    for (Size t = 0; t < lengths[static_cast<std::size_t>(row)]; ++t) {
      std::vector<double> next;
      for (Size k = 0; k < width; ++k) {
        double sum = b.at({k});
        for (Size i = 0; i < in; ++i) sum += w.at({k, i}) * x.at({row, t, i});
        for (Size i = 0; i < width; ++i) sum += u.at({k, i}) * h[static_cast<std::size_t>(i)];
        next.push_back(std::tanh(sum));
      }
      h = next;
    }
    all.insert(all.end(), h.begin(), h.end());
  }
  return tensor(all, {x.size(0), width}, DType::f64);
}

Tensor filled(const Tensor& x, const ValidLengths& lengths, double value) {
  const Mask letters = lengths.mask(x.size(1)).reshape({x.size(0), x.size(1), 1});
  return where(letters, x, scalar(value, DType::f64));
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("returns the last state of a single string", [&] {
    judge.each_size({{"symbols", 1, 4}, {"in", 1, 3}, {"H", 1, 3}}, [&](const Sizes& n) {
      const Tensor x = judge.normal({1, n[0], n[1]}), w = judge.normal({n[2], n[1]});
      const Tensor u = judge.normal({n[2], n[2]}), b = judge.normal({n[2]});
      judge.same(last_states(x, {n[0]}, w, u, b), by_loops(x, {n[0]}, w, u, b), "the state");
    });
  });
  judge.claim("returns the last state of each string of a batch", [&] {
    const auto compare = [&](const std::vector<Size>& lengths, Size time, Size in, Size width) {
      const auto batch = static_cast<Size>(lengths.size());
      const Tensor x = judge.normal({batch, time, in}), w = judge.normal({width, in});
      const Tensor u = judge.normal({width, width}), b = judge.normal({width});
      judge.same(last_states(x, ValidLengths(lengths), w, u, b), by_loops(x, lengths, w, u, b), "the states");
    };
    judge.example("two strings of 1 and 3 symbols, in 1, H = 1");
    compare({1, 3}, 3, 1, 1);
    judge.each_size({{"batch", 1, 4}, {"positions", 1, 5}, {"in", 1, 3}, {"H", 1, 3}}, [&](const Sizes& n) {
      std::vector<Size> lengths;
      for (Size row = 0; row < n[0]; ++row) lengths.push_back(judge.random().between(1, n[1]));
      compare(lengths, n[1], n[2], n[3]);
    });
  });
  judge.claim("keeps padding out of states and gradients, including ∞ and NaN", [&] {
    const ValidLengths lengths = {4, 2};
    const auto compare = [&](double filling, Size in, Size width) {
      const Tensor x = judge.uniform({2, 4, in}, 0.2, 0.9),
                   w = variable(judge.uniform({width, in}, 0.2, 0.9));
      const Tensor u = variable(judge.normal({width, width})), b = variable(judge.normal({width}));
      const auto results = [&](double value) {
        Tape tape;
        const Tensor states = last_states(filled(x, lengths, value), lengths, w, u, b);
        std::vector<Tensor> all =
            tape.gradients(states, ones(states.shape(), DType::f64), std::vector{b, u, w});
        all.push_back(states.detach());
        return all;
      };
      const std::vector<Tensor> clean = results(0), poisoned = results(filling);
      judge.same(poisoned[3], clean[3], "the states");
      judge.same(poisoned[0], clean[0], "the gradient of b");
      judge.same(poisoned[1], clean[1], "the gradient of U");
      judge.same(poisoned[2], clean[2], "the gradient of W");
    };
    judge.example("two strings of 4 and 2 symbols, in 1, H = 2, padded with ∞");
    compare(std::numeric_limits<double>::infinity(), 1, 2);
    judge.example("two strings of 4 and 2 symbols, in 2, H = 3, padded with NaN");
    compare(std::numeric_limits<double>::quiet_NaN(), 2, 3);
  });
}
