// 6.1 attend: Scaled dot-product attention
// implement, 10 minutes
//
// Write attention for one sequence:
//
//     weights = softmax(Q Kᵀ / √d) over the keys,        output = weights V
//
// Q is the parameter query (Tq, d), K is key (Tk, d), and V is value (Tk, d_v). Return the output (Tq, d_v), a weighted
// average of the values for each query. Use matmul, transpose and softmax(x, axis).
#include "lessons/grader/answer.hpp"

Tensor attend_by_hand(const Tensor& query, const Tensor& key, const Tensor& value) {
  //[ three lines
  //: return not_written_yet();
  const double root = std::sqrt(static_cast<double>(query.size(-1)));  // √d: q · k sums d products
  const Tensor scores = matmul(query, transpose(key)) / root;          // (Tq, Tk)
  return matmul(softmax(scores, -1), value);                           // (Tq, d_v)
  //]
}

// hint: Which shape has one number for each pair of a query and a key? Which product of query and key has this shape?
// hint: scores = matmul(query, ____(key)) / ____ has the shape (Tq, Tk).
// hint: std::sqrt needs static_cast<double>(query.size(____)). The output is the product of softmax(scores, ____) and
//   which tensor?
//
// wrong: The scale is missing. Your scores are q · k, not q · k / √d.
// - const Tensor scores = matmul(query, transpose(key)) / root;
// + const Tensor scores = matmul(query, transpose(key));
// wrong: You divide by √Tk, the root of the number of keys. The scale is √d, because a score sums d products.
// - const double root = std::sqrt(static_cast<double>(query.size(-1)));
// + const double root = std::sqrt(static_cast<double>(key.size(0)));
// wrong: You divide by d instead of √d. The variance of q · k is d, so its standard deviation is √d (lesson 08).
// - const double root = std::sqrt(static_cast<double>(query.size(-1)));
// + const double root = static_cast<double>(query.size(-1));
// wrong: Your softmax runs over the queries, so each column of weights adds up to 1. Each row must add up to 1: a query
//   distributes its weight over the keys, which are the last axis.
// - return matmul(softmax(scores, -1), value);
// + return matmul(softmax(scores, 0), value);
// wrong: You divide by √d after the softmax. The softmax receives q · k itself, so the weights are too one-sided,
//   and the output is too small by the factor √d.
// - const Tensor scores = matmul(query, transpose(key)) / root;
// - return matmul(softmax(scores, -1), value);
// + const Tensor scores = matmul(query, transpose(key));
// + return matmul(softmax(scores, -1), value) / root;
// wrong: Your exponential overflows: for a score of 710 or more it is ∞, and ∞/∞ is NaN. Softmax subtracts the largest
//   score of each row first, which changes no weight.
// - return matmul(softmax(scores, -1), value);
// + const Tensor e = exp(scores);
// + return matmul(e / sum(e, {-1}, Keep::yes), value);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the formula with loops, one query at a time.
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
  judge.claim("computes weighted averages of three values for two queries", [&] {
    const Tensor query = judge.normal({2, 5}), key = judge.normal({3, 5});
    const Tensor value = tensor({{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, DType::f64);
    judge.example(
        "two queries, three keys, d = 5, and the values (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0); so each output "
        "is the three weights, followed by 0");
    judge.same(attend_by_hand(query, key, value), by_loops(query, key, value), "the output");
  });
  judge.claim("computes attention for any number of queries, keys and features", [&] {
    judge.each_size({{"queries", 1, 5}, {"keys", 1, 6}, {"d", 1, 4}, {"d_v", 1, 3}}, [&](const Sizes& n) {
      const Tensor query = judge.normal({n[0], n[2]}), key = judge.normal({n[1], n[2]});
      const Tensor value = judge.normal({n[1], n[3]});
      judge.same(attend_by_hand(query, key, value), by_loops(query, key, value), "the output");
    });
  });
  judge.claim("computes attention for large scores", [&] {
    judge.example("one query with the scores 1000 and 999, and the values 3 and 7");
    const Tensor query = tensor({{1000, 0, 0, 0}}, DType::f64);
    const Tensor key = tensor({{2, 0, 0, 0}, {1.998, 0, 0, 0}}, DType::f64),
                 value = tensor({{3}, {7}}, DType::f64);
    judge.same(attend_by_hand(query, key, value), tensor({{3 + 4 / (1 + std::exp(1.0))}}, DType::f64),
               "the output");
  });
  judge.claim("has the right gradients for queries, keys and values", [&] {
    judge.gradients(attend_by_hand, {judge.normal({3, 4}), judge.normal({5, 4}), judge.normal({5, 2})});
  });
}
