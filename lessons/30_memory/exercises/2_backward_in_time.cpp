// 30.2 backward_in_time: the gradient is a memory, too
// derive, 20 minutes
//
// A memory without gates reads y_t = Σ_{j ≤ t} (q_t · k_j) v_j, q and k (T, d), v (T, e). Given G (T, e), the loss's
// gradient with respect to y, return those with respect to k and to v, without the tape and without T² pairs: let a
// matrix R (d, e), which is returned as it is at last, run from the last word to the first. Word j's key and value are
// read at j and at every later t:
//
//     ∂L/∂k_j = Σ_{t ≥ j} (G_t · v_j) q_t          ∂L/∂v_j = Σ_{t ≥ j} (q_t · k_j) G_t
#include "lessons/grader/answer.hpp"

struct Backward {
  Tensor k, v;  // (T, d), (T, e)
  Tensor r;     // (d, e), after the first word
};

Backward backward_in_time(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& g) {
  const Size words = q.size(0);
  std::vector<Tensor> of_k(static_cast<std::size_t>(words)),
      of_v(static_cast<std::size_t>(words));  // (1, d), (1, e)
  Tensor r = zeros({q.size(1), v.size(1)}, DType::f64);
  const auto row = [](const Tensor& x, Size t) { return slice(x, 0, t, t + 1); };  // (1, …)
  for (Size t = words; t-- > 0;) {
    const auto j = static_cast<std::size_t>(t);
    //[ write into r, then read both from it
    //: static_cast<void>(j), static_cast<void>(row), static_cast<void>(k), static_cast<void>(g);
    //: return not_written_yet();
    r = r + matmul(transpose(row(q, t)), row(g, t));  // R = Σ_{t ≥ j} q_t G_tᵀ
    of_k[j] = matmul(row(v, t), transpose(r));        // R v_j
    of_v[j] = matmul(row(k, t), r);                   // Rᵀ k_j
    //]
  }
  return {concat(of_k, 0), concat(of_v, 0), r};
}

// hint: In both sums q_t and G_t stand together, for all t ≥ j. Which outer product sums them, whatever j is?
// hint: R = Σ_{t ≥ j} q_t G_tᵀ is (d, e). ∂L/∂v_j = Rᵀ k_j; ∂L/∂k_j = R times ____.
// hint: r = r + matmul(transpose(row(q, t)), row(g, t)) comes first, since t = j counts. A row times r is Rᵀ times it.

// wrong: A word reads itself, too: t = j is in the sum. You read R before word j's own q and G were written.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// - of_k[j] = matmul(row(v, t), transpose(r));
// - of_v[j] = matmul(row(k, t), r);
// + of_k[j] = matmul(row(v, t), transpose(r));
// + of_v[j] = matmul(row(k, t), r);
// + r = r + matmul(transpose(row(q, t)), row(g, t));
// wrong: You wrote keys into R. What word j wrote is read by later queries: q_t stands beside G_t.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// + r = r + matmul(transpose(row(k, t)), row(g, t));
// wrong: You wrote values into R: that is the forward pass. What flows back is G.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// + r = r + matmul(transpose(row(q, t)), row(v, t));
// wrong: R holds the last word alone: later words read k_j and v_j as well, so each adds to R.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// + r = matmul(transpose(row(q, t)), row(g, t));
// wrong: The gradient of the keys is read at the gradient of y, and should be at the value that was written with it.
// - of_k[j] = matmul(row(v, t), transpose(r));
// + of_k[j] = matmul(row(g, t), transpose(r));
// wrong: The gradient of the values is read at q_j; word j was written at k_j.
// - of_v[j] = matmul(row(k, t), r);
// + of_v[j] = matmul(row(q, t), r);
// wrong: The sign of R: a read grows with its q and G, and nothing in the two sums is subtracted.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// + r = r - matmul(transpose(row(q, t)), row(g, t));
// wrong: Both gradients are right, but R is not the sum of all q_t G_tᵀ: do they come from the pairs? Word j can read
//   in R what all later words wrote there, at once.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// - of_k[j] = matmul(row(v, t), transpose(r));
// - of_v[j] = matmul(row(k, t), r);
// + of_k[j] = zeros({1, q.size(1)}, DType::f64), of_v[j] = zeros({1, v.size(1)}, DType::f64);
// + for (Size later = t; later < words; ++later) {
// +   of_k[j] = of_k[j] + sum(row(g, later) * row(v, t)) * row(q, later);
// +   of_v[j] = of_v[j] + sum(row(q, later) * row(k, t)) * row(g, later);
// + }
// wrong: This opens a tape. It is asked for without one: the tape's rules are what you are to derive.
// - r = r + matmul(transpose(row(q, t)), row(g, t));
// + const Tensor s = variable(k.detach());
// + Tape tape;
// + r = r + matmul(transpose(row(q, t)), row(g, t));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// By the tape, from all pairs; R from all words at once.
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
  judge.claim("gives both gradients of two words", [&] {
    judge.example("two words, d = 2, e = 1");
    compare(judge, 2, 2, 1);
  });
  judge.claim("gives those of the tape, for any sizes", [&] {
    judge.each_size({{"words", 1, 6}, {"d", 1, 3}, {"e", 1, 4}},
                    [&](const Sizes& n) { compare(judge, n[0], n[1], n[2]); }, {.f32 = false});
  });
}
