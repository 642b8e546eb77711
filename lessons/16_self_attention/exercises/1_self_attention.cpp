// 16.1 self_attention: words of a sentence that ask each other
// implement, 10 minutes
//
// Each word a_i makes a query, a key and a value, and reads what all words of its sentence have to give:
//
//     q_i = W_Q a_i,   k_j = W_K a_j,   v_j = W_V a_j
//     α_i = softmax over j of q_i · k_j / √d_k,         b_i = Σ_j α_ij v_j
//
// Write it for a batch from plain ops: a (B, n, d), w_q and w_k (d_k, d), w_v (d_v, d); the result is (B, n,
// d_v). Words are rows here, so "W a" is matmul(a, transpose(w)).
#include "lessons/grader/answer.hpp"

Tensor words_in_context(const Tensor& a, const Tensor& w_q, const Tensor& w_k, const Tensor& w_v) {
  //[ about six lines
  //: return not_written_yet();
  const Tensor q = matmul(a, transpose(w_q));                      // (B, n, d_k)
  const Tensor k = matmul(a, transpose(w_k));                      // (B, n, d_k)
  const Tensor v = matmul(a, transpose(w_v));                      // (B, n, d_v)
  const double root = std::sqrt(static_cast<double>(k.size(-1)));  // of d_k: a score sums d_k products
  const Tensor scores = matmul(q, transpose(k)) / root;            // (B, n, n): row i asks, column j answers
  return matmul(softmax(scores, -1), v);                           // (B, n, d_v)
  //]
}

// hint: One sentence plays all three roles. Which products give all queries, all keys and all values at once?
// hint: scores = matmul(q, ____) / √d_k is (B, n, n); its row i is word i's question to all words.
// hint: The weights of a word add up to 1 along its row: softmax(scores, -1). The result is matmul(weights,
//   v).
//
// wrong: Softmax runs over axis −2, the words that ask: each column of weights adds up to 1. So a word gives
//   itself away in parts, and what it reads is no average. Print sum(weights, {-1}): it should be 1 for every
//   word.
// - return matmul(softmax(scores, -1), v);
// + return matmul(softmax(scores, -2), v);
// wrong: Asker and answerer are exchanged: row i holds k_i · q_j, so word i chooses by what others ask of it.
//   Row i should hold q_i with all keys.
// - const Tensor scores = matmul(q, transpose(k)) / root;
// + const Tensor scores = matmul(k, transpose(q)) / root;
// wrong: The mixture is of the words themselves. What a word gives is its value, W_V a, and not the word.
// - return matmul(softmax(scores, -1), v);
// + return matmul(softmax(scores, -1), a);
// wrong: The projections lack a transpose: matmul(a, w) is Wᵀ a for a word that is a row. It even runs as
//   long as W is square; with d_k other than d the shapes would not fit.
// - const Tensor q = matmul(a, transpose(w_q));
// - const Tensor k = matmul(a, transpose(w_k));
// - const Tensor v = matmul(a, transpose(w_v));
// + const Tensor q = matmul(a, w_q);
// + const Tensor k = matmul(a, w_k);
// + const Tensor v = matmul(a, w_v);
// wrong: You divide by √d, the width of a word. A score sums the d_k products of a query with a key, so the
//   scale comes from their width. The two are equal only where W_Q is square.
// - const double root = std::sqrt(static_cast<double>(k.size(-1)));
// + const double root = std::sqrt(static_cast<double>(a.size(-1)));
// wrong: You divide by d_k, and not by its root.
// - const double root = std::sqrt(static_cast<double>(k.size(-1)));
// + const double root = static_cast<double>(k.size(-1));
// wrong: The scale is missing: the scores are q · k, not q · k / √d_k.
// - const Tensor scores = matmul(q, transpose(k)) / root;
// + const Tensor scores = matmul(q, transpose(k));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

double at(const std::vector<double>& x, Size i) { return x[static_cast<std::size_t>(i)]; }

/// The four steps, one word after another.
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
  judge.claim("lets two words of width 2 ask each other", [&] {
    const Tensor a = judge.normal({1, 2, 2});
    const Tensor w_q = judge.normal({2, 2}), w_k = judge.normal({2, 2}), w_v = judge.normal({2, 2});
    judge.example("one sentence of two words, all widths 2");
    judge.same(words_in_context(a, w_q, w_k, w_v), by_steps(a, w_q, w_k, w_v), "b");
  });
  judge.claim("does so for any batch, number of words and widths", [&] {
    judge.each_size({{"batch", 1, 3}, {"words", 1, 4}, {"d", 1, 4}, {"d_k", 1, 5}, {"d_v", 1, 3}},
                    [&](const Sizes& n) {
                      const Tensor a = judge.normal({n[0], n[1], n[2]});
                      const Tensor w_q = judge.normal({n[3], n[2]}), w_k = judge.normal({n[3], n[2]}),
                                   w_v = judge.normal({n[4], n[2]});
                      judge.same(words_in_context(a, w_q, w_k, w_v), by_steps(a, w_q, w_k, w_v), "b");
                    });
  });
  judge.claim("lets gradients through to the words and all three matrices", [&] {
    judge.gradients(words_in_context, {judge.normal({2, 3, 3}), judge.normal({2, 3}), judge.normal({2, 3}),
                                       judge.normal({4, 3})});
  });
}
