// 6.1 attend: scaled dot-product attention
// implement, 10 minutes
//
// Write attention for one sequence:
//
//     weights = softmax(Q Kᵀ / √d) over the keys,        output = weights V
//
// query (Tq, d), key (Tk, d), value (Tk, d_v); the output is (Tq, d_v), one weighted average of the values for each
// query. Use matmul, transpose and softmax(x, axis).
#include "lessons/grader/answer.hpp"

Tensor attend_by_hand(const Tensor& query, const Tensor& key, const Tensor& value) {
  //[ three lines
  //: return not_written_yet();
  const double root = std::sqrt(static_cast<double>(query.size(-1)));  // of d: q · k sums d products
  const Tensor scores = matmul(query, transpose(key)) / root;          // (Tq, Tk)
  return matmul(softmax(scores, -1), value);                           // (Tq, d_v)
  //]
}

// hint: Which shape has one number for each pair of a query and a key? Which product of query and key has it?
// hint: scores = matmul(query, ____(key)) / ____ is (Tq, Tk).
// hint: std::sqrt wants a static_cast<double>(query.size(____)). The output is the product of softmax(scores, ____) and
//   which tensor?
//
// wrong: The scale is missing: the scores are q · k, not q · k / √d.
// - const Tensor scores = matmul(query, transpose(key)) / root;
// + const Tensor scores = matmul(query, transpose(key));
// wrong: You divide by √Tk, the number of keys. The scale comes from d, the number of products that a score sums.
// - const double root = std::sqrt(static_cast<double>(query.size(-1)));
// + const double root = std::sqrt(static_cast<double>(key.size(0)));
// wrong: You divide by d and not by its root: the variance of q · k is d, so its deviation is √d (lesson 08).
// - const double root = std::sqrt(static_cast<double>(query.size(-1)));
// + const double root = static_cast<double>(query.size(-1));
// wrong: Softmax runs over the queries: each column of weights sums to 1 instead of each row. A query spreads its
//   weight over the keys, which are the last axis.
// - return matmul(softmax(scores, -1), value);
// + return matmul(softmax(scores, 0), value);
// wrong: You divide by √d after the softmax, which has seen q · k itself: the weights are too sharp, and the output is √d
//   times too small.
// - const Tensor scores = matmul(query, transpose(key)) / root;
// - return matmul(softmax(scores, -1), value);
// + const Tensor scores = matmul(query, transpose(key));
// + return matmul(softmax(scores, -1), value) / root;
// wrong: e to a large score is no number any more: from 710 on it is ∞, and ∞/∞ is NaN. Softmax subtracts the largest score
//   of the row first, which changes no weight.
// - return matmul(softmax(scores, -1), value);
// + const Tensor e = exp(scores);
// + return matmul(e / sum(e, {-1}, Keep::yes), value);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The formula, one query at a time.
Tensor by_loops(const Tensor& query, const Tensor& key, const Tensor& value) {
  const Size queries = query.size(0), keys = key.size(0), width = query.size(1), out = value.size(1);
  const auto q = query.to_vector(), k = key.to_vector(), v = value.to_vector();
  const auto at = [](const std::vector<double>& x, Size i) { return x[static_cast<std::size_t>(i)]; };
  std::vector<double> result;
  for (Size i = 0; i < queries; ++i) {
    std::vector<double> weights;
    double sum = 0;
    for (Size j = 0; j < keys; ++j) {
      double score = 0;
      for (Size c = 0; c < width; ++c) score += at(q, i * width + c) * at(k, j * width + c);
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(width))));
      sum += weights.back();
    }
    for (Size c = 0; c < out; ++c) {
      double average = 0;
      for (Size j = 0; j < keys; ++j) average += at(weights, j) / sum * at(v, j * out + c);
      result.push_back(average);
    }
  }
  return tensor(result, {queries, out}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("averages the values of three keys for each of two queries by their weights", [&] {
    const Tensor query = judge.normal({2, 5}), key = judge.normal({3, 5});
    const Tensor value = tensor({{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, DType::f64);
    judge.example(
        "two queries, three keys, d = 5, and the values (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), so that the output is the "
        "weights and a 0");
    judge.same(attend_by_hand(query, key, value), by_loops(query, key, value), "the output");
  });
  judge.claim("does so for any numbers of queries, keys and features", [&] {
    judge.each_size({{"queries", 1, 5}, {"keys", 1, 6}, {"d", 1, 4}, {"d_v", 1, 3}}, [&](const Sizes& n) {
      const Tensor query = judge.normal({n[0], n[2]}), key = judge.normal({n[1], n[2]});
      const Tensor value = judge.normal({n[1], n[3]});
      judge.same(attend_by_hand(query, key, value), by_loops(query, key, value), "the output");
    });
  });
  judge.claim("does so for large scores", [&] {
    judge.example("one query with the scores 1000 and 999, and the values 3 and 7");
    const Tensor query = tensor({{1000, 0, 0, 0}}, DType::f64);
    const Tensor key = tensor({{2, 0, 0, 0}, {1.998, 0, 0, 0}}, DType::f64),
                 value = tensor({{3}, {7}}, DType::f64);
    judge.same(attend_by_hand(query, key, value), tensor({{3 + 4 / (1 + std::exp(1.0))}}, DType::f64),
               "the output");
  });
  judge.claim("lets gradients through to queries, keys and values", [&] {
    judge.gradients(attend_by_hand, {judge.normal({3, 4}), judge.normal({5, 4}), judge.normal({5, 2})});
  });
}
