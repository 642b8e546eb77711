// 9.2 stand_still: a state that goes on after its string has ended
// debug, 15 minutes
//
// A plain cell runs over strings of different lengths, x (B, T, in), the short ones filled up behind:
//
//     h_t = tanh(W x_t + U h_{t−1} + b),    h_0 = 0
//
// The result should be each string's state after its own last symbol, (B, H), but a short string gets another
// one when it stands in a batch with a longer one than when it stands alone. Find what is wrong. What fills
// the strings up is not known, and may be ∞ or NaN: it must change neither states nor gradients. w is (H,
// in), u (H, H), b (H).
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
    h = where(inside, next, h);  // past its end a string keeps its state
    //]
  }
  return h;
}

// hint: Past its end a string gets zeros as symbols. Is its state the same after such a step?
// hint: tanh(W 0 + U h + b) is not h. What should h be in a row where `inside` is false?
// hint: Compute the next state as before, and choose row by row: h = where(inside, ____, ____).
//
// start: The string's symbols end, its state goes on: a symbol of zeros is still a step, tanh(U h + b), and
//   the state changes with each. Compare the state after the last symbol with that one place later.
//
// wrong: Past its end a string's state is 0, so all short strings have the same. What was read must stay.
// - h = where(inside, next, h);
// + h = where(inside, next, zero);
// wrong: Each string takes one step too many, with a place of padding: the last symbol stands at lengths[row]
//   − 1.
// - const Tensor next = tanh(matmul(symbol, transpose(w)) + matmul(h, transpose(u)) + b);
// - h = where(inside, next, h);
// + const Tensor next = tanh(matmul(symbol, transpose(w)) + matmul(h, transpose(u)) + b);
// + h = where(Mask::from(batch, 1, [&](Size row, Size) { return t <= lengths[row]; }), next, h);
// wrong: New and old state are exchanged: inside the string the old one is kept, which is 0, and past its end
//   it goes on.
// - h = where(inside, next, h);
// + h = where(inside, h, next);
// wrong: All strings stop with the first one. Each has its own length, so the choice is made row by row.
// - h = where(inside, next, h);
// + h = where(Mask::from(batch, 1, [&](Size, Size) { return t < lengths[0]; }), next, h);
// wrong: The states are right, but the padding still goes into the product with W, whose gradient then has a
//   part 0 · x with x from the padding; 0 · ∞ is NaN. Mask what goes in as well.
// - const Tensor symbol = where(inside, select(x, 1, t), zero);
// + const Tensor symbol = select(x, 1, t);
// wrong: A mask of ones and zeros multiplies what goes in: 0 · ∞ is NaN. `where` chooses, and what it does
//   not choose has no part in it.
// - const Tensor symbol = where(inside, select(x, 1, t), zero);
// + const Tensor one = scalar(1, x.dtype());
// + const Tensor symbol = select(x, 1, t) * where(inside, one, zero);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Each string alone, to its end.
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
  judge.claim("gives a string alone its last state", [&] {
    judge.each_size({{"symbols", 1, 4}, {"in", 1, 3}, {"H", 1, 3}}, [&](const Sizes& n) {
      const Tensor x = judge.normal({1, n[0], n[1]}), w = judge.normal({n[2], n[1]});
      const Tensor u = judge.normal({n[2], n[2]}), b = judge.normal({n[2]});
      judge.same(last_states(x, {n[0]}, w, u, b), by_loops(x, {n[0]}, w, u, b), "the state");
    });
  });
  judge.claim("gives each string of a batch its own last state", [&] {
    const auto compare = [&](const std::vector<Size>& lengths, Size time, Size in, Size width) {
      const auto batch = static_cast<Size>(lengths.size());
      const Tensor x = judge.normal({batch, time, in}), w = judge.normal({width, in});
      const Tensor u = judge.normal({width, width}), b = judge.normal({width});
      judge.same(last_states(x, ValidLengths(lengths), w, u, b), by_loops(x, lengths, w, u, b), "the states");
    };
    judge.example("two strings of 1 and 3 symbols, in 1, H = 1");
    compare({1, 3}, 3, 1, 1);
    judge.each_size({{"batch", 1, 4}, {"places", 1, 5}, {"in", 1, 3}, {"H", 1, 3}}, [&](const Sizes& n) {
      std::vector<Size> lengths;
      for (Size row = 0; row < n[0]; ++row) lengths.push_back(judge.random().between(1, n[1]));
      compare(lengths, n[1], n[2], n[3]);
    });
  });
  judge.claim("lets nothing of the padding into states and gradients, ∞ and NaN neither", [&] {
    const ValidLengths lengths = {4, 2};
    const auto compare = [&](double filling, Size in, Size width) {
      const Tensor x = judge.uniform({2, 4, in}, 0.2, 0.9),
                   w = variable(judge.uniform({width, in}, 0.2, 0.9));
      const Tensor u = variable(judge.normal({width, width})), b = variable(judge.normal({width}));
      const auto gradients = [&](double value) {
        Tape tape;
        const Tensor states = last_states(filled(x, lengths, value), lengths, w, u, b);
        return tape.gradients(states, ones(states.shape(), DType::f64), std::vector{b, u, w});
      };
      const std::vector<Tensor> clean = gradients(0), poisoned = gradients(filling);
      judge.same(poisoned[0], clean[0], "the gradient of b");
      judge.same(poisoned[1], clean[1], "the gradient of U");
      judge.same(poisoned[2], clean[2], "the gradient of W");
    };
    judge.example("two strings of 4 and 2 symbols, in 1, H = 2, filled with ∞");
    compare(std::numeric_limits<double>::infinity(), 1, 2);
    judge.example("two strings of 4 and 2 symbols, in 2, H = 3, filled with NaN");
    compare(std::numeric_limits<double>::quiet_NaN(), 2, 3);
  });
}
