// 12.1 attention_vector: The attention vector
// implement, 15 minutes
//
// In Luong's decoder, the new state h is the query. With the general score, h and the encoder's states k_j may have
// different widths. The attention vector h̃ combines the context c and the state h:
//
//     e_j = h · W k_j,    c = Σ_j softmax(e)_j k_j,    h̃ = tanh(W_c [c; h])
//
// Compute h̃ for a batch without padding. The shapes are h (B, d), states k (B, T, m), w (d, m) and w_c (r, m + d). The
// result is (B, r). [c; h] is the concatenation of c and h, in this order. As in nn/, w_c has the shape (out, in).
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

// hint: h has d numbers, and a key has m. What is the shape of matmul(h, w), and with what can you multiply it?
// hint: unsqueeze(matmul(h, w), 1) has the shape (B, 1, m), one query per string. For the scores, multiply it with
//   ____(states).
// hint: concat({a, b}, -1) appends b to a. For a matrix of the shape (out, in), write matmul(x, transpose(w_c)).
//
// wrong: You concatenated in the order [h; c]. The first m columns of W_c belong to the context. All shapes fit, and a
//   model trained this way works too. But with weights from another program, the results are wrong.
// - return tanh(matmul(concat({context, h}, -1), transpose(w_c)));
// + return tanh(matmul(concat({h, context}, -1), transpose(w_c)));
// wrong: The tanh of W_c [c; h] is missing.
// - return tanh(matmul(concat({context, h}, -1), transpose(w_c)));
// + return matmul(concat({context, h}, -1), transpose(w_c));
// wrong: You divided the scores by a root. That is the scaled dot product from lesson 08. Luong's scores are not
//   scaled.
// - const Tensor weights = softmax(matmul(query, transpose(states)), -1);
// + const Tensor weights = softmax(matmul(query, transpose(states)) / std::sqrt(1.0 * states.size(2)), -1);
// wrong: A tanh of W h gives another score. The general score has no tanh. It is the product of query, matrix and key.
// - const Tensor query = unsqueeze(matmul(h, w), 1);
// + const Tensor query = unsqueeze(tanh(matmul(h, w)), 1);
// wrong: You transposed W, so you compute k · W h instead of h · W k. If d and m are equal, both run. With widths 4 and
//   6, only one does.
// - const Tensor query = unsqueeze(matmul(h, w), 1);
// + const Tensor query = unsqueeze(matmul(h, transpose(w)), 1);
// wrong: The softmax is missing. Scores are not weights: they can be negative, and need not add up to 1.
// - const Tensor weights = softmax(matmul(query, transpose(states)), -1);
// + const Tensor weights = matmul(query, transpose(states));
// wrong: Your softmax runs over the only query of a string, not over its keys. Each weight is then 1, and the context
//   is the sum of all states.
// - const Tensor weights = softmax(matmul(query, transpose(states)), -1);
// + const Tensor weights = softmax(matmul(query, transpose(states)), 1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the three formulas, one number at a time.
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
  judge.claim("computes the attention vector if query and key have the same width", [&] {
    judge.example("one string of two states, d = m = 2, r = 4");
    compare(judge.normal({1, 2}), judge.normal({1, 2, 2}), tensor({{1, 2}, {-1, 0.5}}, DType::f64),
            judge.normal({4, 4}) * 0.5);
  });
  judge.claim("works with queries of width 4 and keys of width 6", [&] {
    judge.example("d = 4, m = 6");
    compare(judge.normal({2, 4}), judge.normal({2, 3, 6}), judge.normal({4, 6}) * 0.5,
            judge.normal({5, 10}) * 0.3);
  });
  judge.claim("works for any sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"states", 1, 5}, {"d", 1, 4}, {"m", 1, 4}, {"r", 1, 3}},
                    [&](const Sizes& n) {
                      compare(judge.normal({n[0], n[2]}), judge.normal({n[0], n[1], n[3]}),
                              judge.normal({n[2], n[3]}) * 0.5, judge.normal({n[4], n[3] + n[2]}) * 0.5);
                    });
  });
  judge.claim("passes gradcheck for all arguments", [&] {
    judge.gradients(attention_vector, {judge.normal({2, 3}), judge.normal({2, 4, 2}),
                                       judge.normal({3, 2}) * 0.5, judge.normal({3, 5}) * 0.5});
  });
}
