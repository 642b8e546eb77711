// 11.1 bahdanau_score: The additive attention score
// implement, 10 minutes
//
// The additive score compares the decoder's state, the query q, with each encoder state, the keys k_j. A small network
// with one hidden layer computes it:
//
//     e_j = v · tanh(W q + U k_j)
//
// The matrices W and U map the query and the keys to the h hidden units of the network. Write the score for a whole
// batch, from primitive ops. The shapes are query (B, d), keys (B, T, d), w (d, h), u (d, h) and v (h). Return one
// score per key, (B, T). Vectors are rows here, so "W q" is matmul(query, w).
#include "lessons/grader/answer.hpp"

Tensor bahdanau_score(const Tensor& query, const Tensor& keys, const Tensor& w, const Tensor& u,
                      const Tensor& v) {
  //[ two or three lines
  //: return not_written_yet();
  const Tensor asked = unsqueeze(matmul(query, w), 1);  // (B, 1, h): one query for all keys
  const Tensor hidden = tanh(asked + matmul(keys, u));  // (B, T, h): broadcasting repeats the query
  return squeeze(matmul(hidden, unsqueeze(v, 1)), -1);  // (B, T): the product with the column v sums over h
  //]
}

// hint: matmul(query, w) has the shape (B, h), and matmul(keys, u) has (B, T, h). Which axis does the first one lack?
// hint: tanh(unsqueeze(matmul(query, w), __) + matmul(keys, u)) has the shape (B, T, h). Which op turns each row of h
//   numbers into one number?
// hint: As a column, unsqueeze(v, 1), v has the shape (h, 1). matmul with this column gives (B, T, 1), and
//   squeeze(…, -1) removes the last axis.
//
// wrong: The tanh is missing. Without it the score is v·Wq + v·Uk_j. Its first part is the same for all keys, so
//   softmax cancels it, and the query has no effect on the weights.
// - const Tensor hidden = tanh(asked + matmul(keys, u));
// + const Tensor hidden = asked + matmul(keys, u);
// wrong: You multiply W q and U k_j. That makes a multiplicative score, like Luong's. The additive score adds them
//   before the tanh.
// - const Tensor hidden = tanh(asked + matmul(keys, u));
// + const Tensor hidden = tanh(asked * matmul(keys, u));
// wrong: You exchanged W and U. W belongs to the query and U to the keys.
// - const Tensor asked = unsqueeze(matmul(query, w), 1);
// - const Tensor hidden = tanh(asked + matmul(keys, u));
// + const Tensor asked = unsqueeze(matmul(query, u), 1);
// + const Tensor hidden = tanh(asked + matmul(keys, w));
// wrong: The new axis of the query must be between B and h. You put it in front, (1, B, h), so broadcasting matches the
//   batch with the keys. With one sentence the result is right. With more, each key is added to the query of another
//   sentence.
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
