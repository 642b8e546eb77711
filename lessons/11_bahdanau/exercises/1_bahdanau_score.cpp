// 11.1 bahdanau_score: The additive attention score
// implement, 10 minutes
//
// The additive score compares the decoder's state s, the query, with each encoder state h_j, a key. A small network
// with one hidden layer of U units computes the score:
//
//     score_j = v · tanh(W_q s + W_k h_j)
//
// The matrices W_q and W_k map the query and the keys to the hidden units. Write the score for a whole batch, from
// primitive ops. The argument query (B, d) holds s, and keys (B, T, d) holds the states h_j; here both have the
// width d. The vectors are rows, so w (d, U) and u (d, U) are the transposes of W_q and W_k, and W_q s is
// matmul(query, w). The vector v has the shape (U). Return one score per key, (B, T).
#include "lessons/grader/answer.hpp"

Tensor bahdanau_score(const Tensor& query, const Tensor& keys, const Tensor& w, const Tensor& u,
                      const Tensor& v) {
  //[ two or three lines
  //: return not_written_yet();
  const Tensor asked = unsqueeze(matmul(query, w), 1);  // (B, 1, U): one query for all keys
  const Tensor hidden = tanh(asked + matmul(keys, u));  // (B, T, U): broadcasting repeats the query
  return squeeze(matmul(hidden, unsqueeze(v, 1)), -1);  // (B, T): the product with v sums over the units
  //]
}

// hint: matmul(query, w) has the shape (B, U), and matmul(keys, u) has the shape (B, T, U). Which axis is missing in
//   the shape of matmul(query, w)?
// hint: tanh(unsqueeze(matmul(query, w), __) + matmul(keys, u)) has the shape (B, T, U). Which op turns each row of U
//   numbers into one number?
// hint: unsqueeze(v, 1) is v as a column, of shape (U, 1). matmul with this column returns (B, T, 1), and squeeze(…,
//   -1) removes the last axis.
//
// wrong: The tanh is missing. Without it, the score is v · W_q s + v · W_k h_j. The first term is the same for all
//   keys, so the softmax cancels this term, and the query has no effect on the weights.
// - const Tensor hidden = tanh(asked + matmul(keys, u));
// + const Tensor hidden = asked + matmul(keys, u);
// wrong: You multiply W_q s and W_k h_j. The additive score adds them before the tanh.
// - const Tensor hidden = tanh(asked + matmul(keys, u));
// + const Tensor hidden = tanh(asked * matmul(keys, u));
// wrong: You exchanged w and u. The query is multiplied by w, and the keys are multiplied by u.
// - const Tensor asked = unsqueeze(matmul(query, w), 1);
// - const Tensor hidden = tanh(asked + matmul(keys, u));
// + const Tensor asked = unsqueeze(matmul(query, u), 1);
// + const Tensor hidden = tanh(asked + matmul(keys, w));
// wrong: The new axis of the query must be between B and U. You put it first, (1, B, U), so broadcasting matches the
//   strings of the batch with the positions of the keys. With one string, the result is still right. If B = T, the
//   query of string t is added to the keys at position t of every string, and the result is wrong. For most other
//   sizes, the shapes do not fit.
// - const Tensor asked = unsqueeze(matmul(query, w), 1);
// + const Tensor asked = unsqueeze(matmul(query, w), 0);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the formula in loops, one number at a time.
Tensor by_loops(const Tensor& query, const Tensor& keys, const Tensor& w, const Tensor& u, const Tensor& v) {
  const Size batch = keys.size(0), length = keys.size(1), width = keys.size(2), hidden = v.size(0);
  const auto q = query.to_vector(), k = keys.to_vector(), wv = w.to_vector(), uv = u.to_vector(),
             vv = v.to_vector();
  const auto at = [](const std::vector<double>& x, Size i) { return x[static_cast<std::size_t>(i)]; };
  std::vector<double> scores;
  for (Size b = 0; b < batch; ++b)
    for (Size j = 0; j < length; ++j) {
      double score = 0;
      for (Size h = 0; h < hidden; ++h) {
        double sum = 0;
        for (Size i = 0; i < width; ++i)
          sum += at(q, b * width + i) * at(wv, i * hidden + h) +
                 at(k, (b * length + j) * width + i) * at(uv, i * hidden + h);
        score += at(vv, h) * std::tanh(sum);
      }
      scores.push_back(score);
    }
  return tensor(scores, {batch, length}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("computes the score of each key", [&] {
    judge.each_size({{"batch", 1, 3}, {"keys", 1, 5}, {"width", 1, 4}, {"hidden", 1, 3}}, [&](const Sizes&
                                                                                                  n) {
      const Tensor query = judge.normal({n[0], n[2]}), keys = judge.normal({n[0], n[1], n[2]});
      const Tensor w = judge.normal({n[2], n[3]}), u = judge.normal({n[2], n[3]}), v = judge.normal({n[3]});
      judge.same(bahdanau_score(query, keys, w, u, v), by_loops(query, keys, w, u, v), "the scores");
    });
  });
  judge.claim("passes gradcheck for query, keys, w, u and v", [&] {
    const Tensor query = judge.normal({2, 3}), keys = judge.normal({2, 4, 3});
    judge.gradients(bahdanau_score,
                    {query, keys, judge.normal({3, 5}), judge.normal({3, 5}), judge.normal({5})});
  });
}
