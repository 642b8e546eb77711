// 12.1 attention_vector: the general score, and what Luong makes of it
// implement, 15 minutes
//
// In Luong's decoder the new state h asks. The general score lets h and the encoder's states k_j differ in
// width; what was read and what was known make the attention vector h̃:
//
//     e_j = h · W k_j,    c = Σ_j softmax(e)_j k_j,    h̃ = tanh(W_c [c; h])
//
// Write it for a batch: h (B, d), states k (B, T, m), w (d, m), w_c (r, m + d), without padding. The result
// is (B, r). [c; h] is c with h after it; w_c stands as (out, in), as nn/ keeps it.
#include "lessons/grader/answer.hpp"

Tensor attention_vector(const Tensor& h, const Tensor& states, const Tensor& w, const Tensor& w_c) {
  //[ four lines
  //: return not_written_yet();
  const Tensor query = unsqueeze(matmul(h, w), 1);                       // (B, 1, m): as wide as a key
  const Tensor weights = softmax(matmul(query, transpose(states)), -1);  // (B, 1, T)
  const Tensor context = squeeze(matmul(weights, states), 1);            // (B, m)
  return tanh(matmul(concat({context, h}, -1), transpose(w_c)));         // (B, r)
  //]
}

// hint: h has d numbers, a key m. What shape has matmul(h, w), and with what can it be multiplied now?
// hint: unsqueeze(matmul(h, w), 1) is (B, 1, m), one query a string. The scores are its matmul with
//   ____(states).
// hint: concat({a, b}, -1) puts b after a; matmul(x, transpose(w_c)) applies a matrix that stands as
//   (out, in).
//
// wrong: The state stands before the context: [h; c]. The first m columns of W_c belong to the context. No
//   shape complains, and a model trained so works too; but with weights of others it reads nonsense.
// - return tanh(matmul(concat({context, h}, -1), transpose(w_c)));
// + return tanh(matmul(concat({h, context}, -1), transpose(w_c)));
// wrong: The tanh around W_c [c; h] is missing.
// - return tanh(matmul(concat({context, h}, -1), transpose(w_c)));
// + return matmul(concat({context, h}, -1), transpose(w_c));
// wrong: The scores are divided by a root. That is lesson 8's scaled dot product; Luong's scores have no
//   scale.
// - const Tensor weights = softmax(matmul(query, transpose(states)), -1);
// + const Tensor weights = softmax(matmul(query, transpose(states)) / std::sqrt(1.0 * states.size(2)), -1);
// wrong: A tanh around W h makes another score of it. The general score has no squash: it is a product of
//   query, matrix and key.
// - const Tensor query = unsqueeze(matmul(h, w), 1);
// + const Tensor query = unsqueeze(tanh(matmul(h, w)), 1);
// wrong: W stands transposed: you compute k · W h and need h · W k. Where d and m are equal both run; with
//   widths 4 and 6 only one does.
// - const Tensor query = unsqueeze(matmul(h, w), 1);
// + const Tensor query = unsqueeze(matmul(h, transpose(w)), 1);
// wrong: The softmax is missing: scores are no weights, they can be negative and sum to anything.
// - const Tensor weights = softmax(matmul(query, transpose(states)), -1);
// + const Tensor weights = matmul(query, transpose(states));
// wrong: The softmax runs over the one query of a string and not over its keys: each weight is then 1, and
//   the context is the sum of all states.
// - const Tensor weights = softmax(matmul(query, transpose(states)), -1);
// + const Tensor weights = softmax(matmul(query, transpose(states)), 1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The three formulas, one number at a time.
Tensor by_loops(const Tensor& h, const Tensor& states, const Tensor& w, const Tensor& w_c) {
  const Size batch = h.size(0), d = h.size(1), time = states.size(1), m = states.size(2), r = w_c.size(0);
  std::vector<double> vectors;
  for (Size b = 0; b < batch; ++b) {
    std::vector<double> read(static_cast<std::size_t>(m + d), 0.0);  // [c; h]
    double sum = 0;
    for (Size j = 0; j < time; ++j) {
      double score = 0;
      for (Size i = 0; i < d; ++i)
        for (Size k = 0; k < m; ++k) score += h.at({b, i}) * w.at({i, k}) * states.at({b, j, k});
      sum += std::exp(score);
      for (Size k = 0; k < m; ++k)
        read[static_cast<std::size_t>(k)] += std::exp(score) * states.at({b, j, k});
    }
    for (Size k = 0; k < m; ++k) read[static_cast<std::size_t>(k)] /= sum;
    for (Size i = 0; i < d; ++i) read[static_cast<std::size_t>(m + i)] = h.at({b, i});
    for (Size o = 0; o < r; ++o) {
      double total = 0;
      for (Size k = 0; k < m + d; ++k) total += w_c.at({o, k}) * read[static_cast<std::size_t>(k)];
      vectors.push_back(std::tanh(total));
    }
  }
  return tensor(vectors, {batch, r}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](const Tensor& h, const Tensor& states, const Tensor& w, const Tensor& w_c) {
    judge.same(attention_vector(h, states, w, w_c), by_loops(h, states, w, w_c), "the attention vector");
  };
  judge.claim("scores, reads and combines where query and key are equally wide", [&] {
    judge.example("one string of two states, d = m = 2, r = 4");
    compare(judge.normal({1, 2}), judge.normal({1, 2, 2}), tensor({{1, 2}, {-1, 0.5}}, DType::f64),
            judge.normal({4, 4}) * 0.5);
  });
  judge.claim("brings a query of width 4 and keys of width 6 together", [&] {
    judge.example("d = 4, m = 6");
    compare(judge.normal({2, 4}), judge.normal({2, 3, 6}), judge.normal({4, 6}) * 0.5,
            judge.normal({5, 10}) * 0.3);
  });
  judge.claim("does so for any sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"states", 1, 5}, {"d", 1, 4}, {"m", 1, 4}, {"r", 1, 3}},
                    [&](const Sizes& n) {
                      compare(judge.normal({n[0], n[2]}), judge.normal({n[0], n[1], n[3]}),
                              judge.normal({n[2], n[3]}) * 0.5, judge.normal({n[4], n[3] + n[2]}) * 0.5);
                    });
  });
  judge.claim("lets gradients through to everything", [&] {
    judge.gradients(attention_vector, {judge.normal({2, 3}), judge.normal({2, 4, 2}),
                                       judge.normal({3, 2}) * 0.5, judge.normal({3, 5}) * 0.5});
  });
}
