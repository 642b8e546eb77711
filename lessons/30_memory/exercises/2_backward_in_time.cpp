// 30.2 backward_in_time: The backward pass as a memory
// derive, 20 minutes
//
// In a memory with the sum rule and no gates, the read at word t is y_t = Σ_{j ≤ t} (q_t · k_j) v_j. The queries q and
// keys k have shape (T, d), and the values v have shape (T, e). You receive G (T, e), the gradient of the loss L with
// respect to y. Return the gradients of L with respect to k and v.
//
// The pair from word j, its key and its value, is read at word j and at every later word t. So the gradients are
//
//     ∂L/∂k_j = Σ_{t ≥ j} (G_t · v_j) q_t          ∂L/∂v_j = Σ_{t ≥ j} (q_t · k_j) G_t
//
// Compute both gradients without a tape and without the T² pairs of words. Carry a matrix R (d, e) from the last word
// to the first. Return the final value of R too.
#include "lessons/grader/answer.hpp"

struct Backward {
  Tensor k, v;  // (T, d), (T, e)
  Tensor r;     // (d, e): R after the first word
};

Backward backward_in_time(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& g) {
  const Size words = q.size(0);
  std::vector<Tensor> of_k(static_cast<std::size_t>(words)),
      of_v(static_cast<std::size_t>(words));  // (1, d), (1, e)
  Tensor r = zeros({q.size(1), v.size(1)}, DType::f64);
  const auto row = [](const Tensor& x, Size t) { return slice(x, 0, t, t + 1); };  // (1, …)
  for (Size t = words; t-- > 0;) {
    const auto j = static_cast<std::size_t>(t);
    //[ write to r, then read both gradients from it
    //: static_cast<void>(j), static_cast<void>(row), static_cast<void>(k), static_cast<void>(g);
    //: return not_written_yet();
    r = r + matmul(transpose(row(q, t)), row(g, t));  // R = Σ_{t ≥ j} q_t G_tᵀ
    of_k[j] = matmul(row(v, t), transpose(r));        // R v_j
    of_v[j] = matmul(row(k, t), r);                   // Rᵀ k_j
    //]
  }
  return {concat(of_k, 0), concat(of_v, 0), r};
}

// hint: Both sums contain q_t and G_t for all t ≥ j. Which sum of outer products can you use for both gradients?
// hint: R = Σ_{t ≥ j} q_t G_tᵀ has shape (d, e). Then ∂L/∂v_j = Rᵀ k_j, and ∂L/∂k_j = R times ____.
// hint: Start with r = r + matmul(transpose(row(q, t)), row(g, t)), because the sums include t = j. For a vector x
//   stored as a row, matmul(x, r) is Rᵀ x, again as a row.

// wrong: You use R before you add q_j G_jᵀ. The sums include t = j, because the read at word j includes the pair from
//   word j.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// - of_k[j] = matmul(row(v, t), transpose(r));
// - of_v[j] = matmul(row(k, t), r);
// + of_k[j] = matmul(row(v, t), transpose(r));
// + of_v[j] = matmul(row(k, t), r);
// + r = r + matmul(transpose(row(q, t)), row(g, t));
// wrong: You add k_t G_tᵀ to R. The queries read the pair, so add q_t G_tᵀ.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// + r = r + matmul(transpose(row(k, t)), row(g, t));
// wrong: You add q_t v_tᵀ to R. In the backward pass, G takes the place of the values, so add q_t G_tᵀ.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// + r = r + matmul(transpose(row(q, t)), row(v, t));
// wrong: You overwrite R at each word. R must be the sum over word j and all later words, so add to R.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// + r = matmul(transpose(row(q, t)), row(g, t));
// wrong: ∂L/∂k_j is R v_j; your code computes R G_j.
// - of_k[j] = matmul(row(v, t), transpose(r));
// + of_k[j] = matmul(row(g, t), transpose(r));
// wrong: ∂L/∂v_j is Rᵀ k_j; your code computes Rᵀ q_j.
// - of_v[j] = matmul(row(k, t), r);
// + of_v[j] = matmul(row(q, t), r);
// wrong: The sign of R is wrong. All terms of both sums have a plus sign, so add q_t G_tᵀ to R.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// + r = r - matmul(transpose(row(q, t)), row(g, t));
// wrong: Both gradients are right, but R is not the sum of all q_t G_tᵀ. Do you loop over pairs of words? One product
//   with R returns the contributions of word j and all later words at once.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// - of_k[j] = matmul(row(v, t), transpose(r));
// - of_v[j] = matmul(row(k, t), r);
// + of_k[j] = zeros({1, q.size(1)}, DType::f64), of_v[j] = zeros({1, v.size(1)}, DType::f64);
// + for (Size later = t; later < words; ++later) {
// +   of_k[j] = of_k[j] + sum(row(g, later) * row(v, t)) * row(q, later);
// +   of_v[j] = of_v[j] + sum(row(q, later) * row(k, t)) * row(g, later);
// + }
// wrong: Your code opens a tape. Solve this exercise without a tape, by deriving the gradients that a tape would
//   compute.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// + const Tensor s = variable(k.detach());
// + Tape tape;
// + r = r + matmul(transpose(row(q, t)), row(g, t));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the gradients with a tape from all pairs, and R from all words at once.
Backward by_tape(const Tensor& q, const Tensor& k_in, const Tensor& v_in, const Tensor& g) {
  const Tensor k = variable(k_in.detach()), v = variable(v_in.detach());
  Tape tape;
  const Tensor scores =
      where(Mask::causal(q.size(0), q.size(0)), matmul(q, transpose(k)), scalar(0, DType::f64));
  const std::vector<Tensor> found = tape.gradients(sum(matmul(scores, v) * g), {k, v});
  return {found[0], found[1], matmul(transpose(q), g)};
}

void compare(Judge& judge, Size words, Size d, Size e) {
  const Tensor q = judge.normal({words, d}), k = judge.normal({words, d}), v = judge.normal({words, e}),
               g = judge.normal({words, e});
  const Backward expected = by_tape(q, k, v, g),
                 came = judge.without_tape([&] { return backward_in_time(q, k, v, g); });
  judge.same(came.v, expected.v, "the gradient of the values");
  judge.same(came.k, expected.k, "the gradient of the keys");
  judge.same(came.r, expected.r, "R after the first word");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("computes both gradients for two words", [&] {
    judge.example("two words, d = 2, e = 1");
    compare(judge, 2, 2, 1);
  });
  judge.claim("computes the same gradients as the tape, for all sizes", [&] {
    judge.each_size({{"words", 1, 6}, {"d", 1, 3}, {"e", 1, 4}},
                    [&](const Sizes& n) { compare(judge, n[0], n[1], n[2]); }, {.f32 = false});
  });
}
