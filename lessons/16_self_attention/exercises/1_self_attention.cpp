// 16.1 self_attention: Self-attention from plain ops
// implement, 10 minutes
//
// In self-attention, each token a_i of a sequence gets a query, a key and a value. Its output b_i is the
// weighted average of all tokens' values:
//
//     q_i = W_Q a_i,   k_j = W_K a_j,   v_j = W_V a_j
//     α_i = softmax over j of q_i · k_j / √d_k,         b_i = Σ_j α_ij v_j
//
// Write it for a batch, from plain ops. The shapes are a (B, n, d), w_q and w_k (d_k, d), w_v (d_v, d), and the
// result is (B, n, d_v). Tokens are rows here, so "W a" is matmul(a, transpose(w)).
#include "lessons/grader/answer.hpp"

Tensor words_in_context(const Tensor& a, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v) {
  //[ about six lines
  //: return not_written_yet();
  const Tensor q = matmul(a, transpose(w_q));                      // (B, n, d_k)
  const Tensor k = matmul(a, transpose(w_k));                      // (B, n, d_k)
  const Tensor v = matmul(a, transpose(w_v));                      // (B, n, d_v)
  const double root = std::sqrt(static_cast<double>(k.size(-1)));  // √d_k: a score is a sum of d_k products
  const Tensor scores = matmul(q, transpose(k)) / root;            // (B, n, n): row for q_i, column for k_j
  return matmul(softmax(scores, -1), v);                           // (B, n, d_v)
  //]
}

// hint: The queries, the keys and the values come from one sequence. Which three products compute all of them?
// hint: scores = matmul(q, ____) / √d_k has the shape (B, n, n). Its row i holds the scores of query i for all
//   keys.
// hint: The weights of a query add up to 1, and they are a row of the matrix: softmax(scores, -1). The result
//   is matmul(weights, v).
//
// wrong: Your softmax is over axis −2, the queries, so each column of weights adds up to 1. Then b_i is not a
//   weighted average. Print sum(weights, {-1}): it should be 1 for every token.
// - return matmul(softmax(scores, -1), v);
// + return matmul(softmax(scores, -2), v);
// wrong: You exchanged queries and keys: row i holds k_i · q_j. It should hold the scores of q_i with all keys.
// - const Tensor scores = matmul(q, transpose(k)) / root;
// + const Tensor scores = matmul(k, transpose(q)) / root;
// wrong: You average the tokens themselves. Average their values, W_V a.
// - return matmul(softmax(scores, -1), v);
// + return matmul(softmax(scores, -1), a);
// wrong: The projections lack a transpose. For tokens that are rows, matmul(a, w) computes Wᵀ a. It runs only
//   if W is square; for other d_k the shapes do not fit.
// - const Tensor q = matmul(a, transpose(w_q));
// - const Tensor k = matmul(a, transpose(w_k));
// - const Tensor v = matmul(a, transpose(w_v));
// + const Tensor q = matmul(a, w_q);
// + const Tensor k = matmul(a, w_k);
// + const Tensor v = matmul(a, w_v);
// wrong: You divide by √d, where d is the width of a token. A score is a sum of d_k products, so the scale must
//   be √d_k. The two are equal only if W_Q is square.
// - const double root = std::sqrt(static_cast<double>(k.size(-1)));
// + const double root = std::sqrt(static_cast<double>(a.size(-1)));
// wrong: You divide by d_k, not by √d_k.
// - const double root = std::sqrt(static_cast<double>(k.size(-1)));
// + const double root = static_cast<double>(k.size(-1));
// wrong: The scale is missing: your scores are q · k, not q · k / √d_k.
// - const Tensor scores = matmul(q, transpose(k)) / root;
// + const Tensor scores = matmul(q, transpose(k));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

double at(const std::vector<double>& x, Size i) { return x[static_cast<std::size_t>(i)]; }

/// Computes the four steps, one token after another.
Tensor by_steps(const Tensor& a, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v) {
  const Size batch = a.size(0), words = a.size(1), width = a.size(2);
  const std::vector<double> all = a.to_vector();
  const auto role = [&](const Tensor& w, Size b, Size i) {  // W a_i
    const std::vector<double> weights = w.to_vector();
    std::vector<double> out;
    for (Size row = 0; row < w.size(0); ++row) {
      double sum = 0;
      for (Size c = 0; c < width; ++c)
        sum += at(weights, row * width + c) * at(all, (b * words + i) * width + c);
      out.push_back(sum);
    }
    return out;
  };
  std::vector<double> result;
  for (Size b = 0; b < batch; ++b)
    for (Size i = 0; i < words; ++i) {
      const std::vector<double> q = role(w_q, b, i);
      std::vector<double> mixture(static_cast<std::size_t>(w_v.size(0)), 0.0);
      double whole = 0;
      for (Size j = 0; j < words; ++j) {
        const std::vector<double> k = role(w_k, b, j), v = role(w_v, b, j);
        const double score = std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
        const double share = std::exp(score / std::sqrt(static_cast<double>(q.size())));
        whole += share;
        for (std::size_t c = 0; c < v.size(); ++c) mixture[c] += share * v[c];
      }
      for (const double x : mixture) result.push_back(x / whole);
    }
  return tensor(result, {batch, words, w_v.size(0)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("computes self-attention for two tokens of width 2", [&] {
    const Tensor a = judge.normal({1, 2, 2});
    const Tensor w_q = judge.normal({2, 2}), w_k = judge.normal({2, 2}), w_v = judge.normal({2, 2});
    judge.example("one sequence of two tokens, all widths are 2");
    judge.same(words_in_context(a, w_q, w_k, w_v), by_steps(a, w_q, w_k, w_v), "b");
  });
  judge.claim("computes self-attention for other sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"words", 1, 4}, {"d", 1, 4}, {"d_k", 1, 5}, {"d_v", 1, 3}},
                    [&](const Sizes& n) {
                      const Tensor a = judge.normal({n[0], n[1], n[2]});
                      const Tensor w_q = judge.normal({n[3], n[2]}), w_k = judge.normal({n[3], n[2]}),
                                   w_v = judge.normal({n[4], n[2]});
                      judge.same(words_in_context(a, w_q, w_k, w_v), by_steps(a, w_q, w_k, w_v), "b");
                    });
  });
  judge.claim("passes gradients to the tokens and to all three matrices", [&] {
    judge.gradients(words_in_context, {judge.normal({2, 3, 3}), judge.normal({2, 3}), judge.normal({2, 3}),
                                       judge.normal({4, 3})});
  });
}
