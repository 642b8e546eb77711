// 9.1 gru_by_hand: One GRU step
// implement, 15 minutes
//
// Write one step of a gated recurrent unit. It has a reset gate r, an update gate z and a proposal n:
//
//     r, z = σ(W x + b_w + U h + b_u),    n = tanh(W x + b_w + r ⊙ (U h + b_u)),    h' = z ⊙ h + (1 − z) ⊙ n
//
// Each of the three has its own block of H rows in w (3H, in), u (3H, H), b_w (3H) and b_u (3H). The order of the
// blocks is reset, update, proposal, as in nn/.
//
// x has the shape (B, in), h (B, H), and the result (B, H). Vectors are rows here, so "W x" is matmul(x, transpose(w)).
#include "lessons/grader/answer.hpp"

/// Returns the columns index · width … (index + 1) · width − 1: the block of one gate or of the proposal.
Tensor gate_part(const Tensor& gates, Size index, Size width) {
  return slice(gates, -1, index * width, (index + 1) * width);
}

Tensor gru_by_hand(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& u, const Tensor& b_w,
                   const Tensor& b_u) {
  const Size width = h.size(1);
  const Tensor from_x = matmul(x, transpose(w)) + b_w;  // (B, 3H)
  const Tensor from_h = matmul(h, transpose(u)) + b_u;  // (B, 3H)
  //[ four lines
  //: static_cast<void>(width), static_cast<void>(from_x), static_cast<void>(from_h);
  //: return not_written_yet();
  const Tensor r = sigmoid(gate_part(from_x, 0, width) + gate_part(from_h, 0, width));
  const Tensor z = sigmoid(gate_part(from_x, 1, width) + gate_part(from_h, 1, width));
  const Tensor n = tanh(gate_part(from_x, 2, width) + r * gate_part(from_h, 2, width));  // r scales b_u too
  return z * h + (1 - z) * n;                                                            // z keeps h
  //]
}

// hint: Which of r, z and n depends on one of the other two? Compute that one last.
// hint: r = sigmoid(gate_part(from_x, __, width) + gate_part(from_h, __, width)). z is the same with the next block.
// hint: n = tanh(gate_part(from_x, 2, width) + r * ____). The new state is z * h + (1 - z) * n.
//
// wrong: You exchanged z and 1 − z. Your z is the proportion of the proposal that is added, but here z is the
//   proportion of h that is kept. gradcheck cannot find this mistake, because your derivative is right for your
//   formula, which some books use. But a bias that should keep the past would now discard it.
// - return z * h + (1 - z) * n;
// + return (1 - z) * h + z * n;
// wrong: You exchanged the blocks of the reset and update gates. The order here is reset, update, proposal.
// - const Tensor r = sigmoid(gate_part(from_x, 0, width) + gate_part(from_h, 0, width));
// - const Tensor z = sigmoid(gate_part(from_x, 1, width) + gate_part(from_h, 1, width));
// + const Tensor r = sigmoid(gate_part(from_x, 1, width) + gate_part(from_h, 1, width));
// + const Tensor z = sigmoid(gate_part(from_x, 0, width) + gate_part(from_h, 0, width));
// wrong: You reset the state before U, U (r ⊙ h), as in the first paper. Here, r comes after U and also scales the bias
//   b_u. That way, one product computes all of U h.
// - const Tensor n = tanh(gate_part(from_x, 2, width) + r * gate_part(from_h, 2, width));
// + const Tensor reset = matmul(r * h, transpose(u)) + b_u;
// + const Tensor n = tanh(gate_part(from_x, 2, width) + gate_part(reset, 2, width));
// wrong: r is not used, so the proposal always depends on the whole state.
// - const Tensor n = tanh(gate_part(from_x, 2, width) + r * gate_part(from_h, 2, width));
// + static_cast<void>(r);
// + const Tensor n = tanh(gate_part(from_x, 2, width) + gate_part(from_h, 2, width));
// wrong: r also scales the part of x. The reset gate must scale only the part of the proposal that depends on the
//   state.
// - const Tensor n = tanh(gate_part(from_x, 2, width) + r * gate_part(from_h, 2, width));
// + const Tensor n = tanh(r * (gate_part(from_x, 2, width) + gate_part(from_h, 2, width)));
// wrong: You used a sigmoid for the proposal, so it is never negative. A gate is a proportion between 0 and 1, but the
//   proposal is a value between −1 and 1.
// - const Tensor n = tanh(gate_part(from_x, 2, width) + r * gate_part(from_h, 2, width));
// + const Tensor n = sigmoid(gate_part(from_x, 2, width) + r * gate_part(from_h, 2, width));
// wrong: You added the whole proposal. Without the factor 1 − z, the state grows with each step while z is open.
// - return z * h + (1 - z) * n;
// + return z * h + n;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the formula, one unit at a time.
Tensor by_loops(const Tensor& x, const Tensor& h, const Tensor& w, const Tensor& u, const Tensor& b_w,
                const Tensor& b_u) {
  const Size batch = x.size(0), in = x.size(1), width = h.size(1);
  std::vector<double> next;
  for (Size b = 0; b < batch; ++b)
    for (Size k = 0; k < width; ++k) {
      std::array<double, 3> of_x{}, of_h{};
      for (Size gate = 0; gate < 3; ++gate) {
        const Size row = gate * width + k;
        const auto at = static_cast<std::size_t>(gate);
        of_x[at] = b_w.at({row});
        of_h[at] = b_u.at({row});
        for (Size i = 0; i < in; ++i) of_x[at] += w.at({row, i}) * x.at({b, i});
        for (Size i = 0; i < width; ++i) of_h[at] += u.at({row, i}) * h.at({b, i});
      }
      const double r = 1 / (1 + std::exp(-of_x[0] - of_h[0])), z = 1 / (1 + std::exp(-of_x[1] - of_h[1]));
      const double n = std::tanh(of_x[2] + r * of_h[2]);
      next.push_back(z * h.at({b, k}) + (1 - z) * n);
    }
  return tensor(next, {batch, width}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  using Draw = std::function<Tensor(const Dims&)>;
  const auto compare = [&](Size batch, Size in, Size width, const Draw& draw) {
    const Tensor x = draw({batch, in}), h = draw({batch, width});
    const Tensor w = draw({3 * width, in}), u = draw({3 * width, width});
    const Tensor b_w = draw({3 * width}), b_u = draw({3 * width});
    judge.same(gru_by_hand(x, h, w, u, b_w, b_u), by_loops(x, h, w, u, b_w, b_u), "the new state");
  };
  judge.claim("computes the new state of one unit and one number", [&] {
    judge.example("batch 1, in 1, H = 1, all numbers between 0.3 and 0.8");  // no gate fully open or shut
    compare(1, 1, 1, [&](const Dims& shape) { return judge.uniform(shape, 0.3, 0.8); });
  });
  judge.claim("works for any sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"in", 1, 4}, {"H", 1, 4}}, [&](const Sizes& n) {
      compare(n[0], n[1], n[2], [&](const Dims& shape) { return judge.normal(shape); });
    });
  });
  judge.claim("passes gradcheck for all arguments", [&] {
    judge.gradients(gru_by_hand, {judge.normal({2, 2}), judge.normal({2, 3}), judge.normal({9, 2}),
                                  judge.normal({9, 3}), judge.normal({9}), judge.normal({9})});
  });
}
