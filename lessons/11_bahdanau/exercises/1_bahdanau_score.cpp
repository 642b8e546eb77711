// 11.1 bahdanau_score: score a query against each key
// implement, 10 minutes
//
// Bahdanau compares the decoder's state, the query q, with each of the encoder's states, the keys k_j, by a small
// network of one hidden layer:
//
//     e_j = v · tanh(W q + U k_j)
//
// W and U are matrices that bring both to the network's h hidden units. Write it for a whole batch, from primitive
// ops: query (B, d), keys (B, T, d), w (d, h), u (d, h), v (h). The result is (B, T), one score a key. Vectors are
// rows here, so "W q" is matmul(query, w).
#include "lessons/grader/answer.hpp"

Tensor bahdanau_score(const Tensor& query, const Tensor& keys, const Tensor& w, const Tensor& u,
                      const Tensor& v) {
  //[ two or three lines
  //: return not_written_yet();
  const Tensor asked = unsqueeze(matmul(query, w), 1);  // (B, 1, h): the same for every key
  const Tensor hidden = tanh(asked + matmul(keys, u));  // (B, T, h): broadcasting repeats the query
  return squeeze(matmul(hidden, unsqueeze(v, 1)), -1);  // (B, T): v as a column sums over h
  //]
}

// hint: matmul(query, w) is (B, h), matmul(keys, u) is (B, T, h). Which axis does the first one lack?
// hint: tanh(unsqueeze(matmul(query, w), __) + matmul(keys, u)) is (B, T, h). What makes one number of each row of h?
// hint: v as a column, unsqueeze(v, 1), is (h, 1); matmul with it gives (B, T, 1), and squeeze(…, -1) takes the
//   last axis away.
//
// wrong: The tanh is missing. Without it the score is v·Wq + v·Uk_j: the query's part is the same for all keys, and
//   softmax takes it away again, so the query would have no say at all.
// - const Tensor hidden = tanh(asked + matmul(keys, u));
// + const Tensor hidden = asked + matmul(keys, u);
// wrong: You multiply the query's part with the key's. That is a score, but Luong's family: the additive one adds
//   them before the tanh.
// - const Tensor hidden = tanh(asked + matmul(keys, u));
// + const Tensor hidden = tanh(asked * matmul(keys, u));
// wrong: W and U are exchanged: W belongs to the query, U to the keys.
// - const Tensor asked = unsqueeze(matmul(query, w), 1);
// - const Tensor hidden = tanh(asked + matmul(keys, u));
// + const Tensor asked = unsqueeze(matmul(query, u), 1);
// + const Tensor hidden = tanh(asked + matmul(keys, w));
// wrong: The query has no axis between B and h, so broadcasting puts one in front: (1, B, h). The batch then lies
//   along the keys: with one sentence it is right, with more each key meets the query of another sentence.
// - const Tensor asked = unsqueeze(matmul(query, w), 1);
// + const Tensor asked = unsqueeze(matmul(query, w), 0);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The formula, one number at a time.
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
  judge.claim("gives each key the score of the formula", [&] {
    judge.each_size({{"batch", 1, 3}, {"keys", 1, 5}, {"width", 1, 4}, {"hidden", 1, 3}}, [&](const Sizes&
                                                                                                  n) {
      const Tensor query = judge.normal({n[0], n[2]}), keys = judge.normal({n[0], n[1], n[2]});
      const Tensor w = judge.normal({n[2], n[3]}), u = judge.normal({n[2], n[3]}), v = judge.normal({n[3]});
      judge.same(bahdanau_score(query, keys, w, u, v), by_loops(query, keys, w, u, v), "the scores");
    });
  });
  judge.claim("lets gradients through to everything that is learned", [&] {
    const Tensor query = judge.normal({2, 3}), keys = judge.normal({2, 4, 3});
    judge.gradients(bahdanau_score,
                    {query, keys, judge.normal({3, 5}), judge.normal({3, 5}), judge.normal({5})});
  });
}
