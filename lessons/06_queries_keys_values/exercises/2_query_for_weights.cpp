// 6.2 query_for_weights: which question gets these weights?
// derive, 15 minutes
//
// Attention computes the weights softmax(q · k_j / √d) from a query. Go the other way: find a query that gets
// given weights α, for keys that are perpendicular and of length 1, k_i · k_j = 1 if i = j and 0 else.
// (One-hot keys are an example, and so is any rotation of them.)
//
// Write it for many queries at once: weights (Tq, n), each positive, each row with the sum 1; keys (n, d),
// with n ≤ d; the result is (Tq, d), a query for each row. log(x), matmul and transpose are useful.
#include "lessons/grader/answer.hpp"

Tensor query_for_weights(const Tensor& weights, const Tensor& keys) {
  //[ two or three lines
  //: return not_written_yet();
  const double root = std::sqrt(static_cast<double>(keys.size(-1)));  // attention will divide by it
  const Tensor scores = log(weights) * root;                          // (Tq, n): what each q · k_j must be
  return matmul(scores, keys);  // Σ_j score_j k_j: its product with k_i is score_i
  //]
}

// hint: Lesson 06 got the weights of "je t' aime" from one-hot keys, without the scale. What was the query?
//   What must it be if each score is then divided by √d?
// hint: q · k_i = score_i for all i holds for q = Σ_j ____ k_j, since k_j · k_i is 0 unless i = j.
// hint: Σ_j score_j k_j for all rows of scores (Tq, n) and keys (n, d) is one matmul.
//
// wrong: The scale is missing: attention divides your scores by √d, so the weights come out too even. (Inside
//   the logarithm it would only be a constant in all scores, which changes no weight.)
// - const Tensor scores = log(weights) * root;
// + const Tensor scores = log(weights);
// wrong: The scores are the weights themselves here. A score is the logarithm of a weight: softmax takes e to
//   the score.
// - const Tensor scores = log(weights) * root;
// + const Tensor scores = weights * root;
// wrong: exp leads from scores to weights, and you need the way back: log.
// - const Tensor scores = log(weights) * root;
// + const Tensor scores = exp(weights) * root;
// wrong: You multiply by √n, the number of keys. Attention divides by √d, the number of features; where all
//   one-hot keys are there, n = d, and nobody notices.
// - const double root = std::sqrt(static_cast<double>(keys.size(-1)));
// + const double root = std::sqrt(static_cast<double>(keys.size(0)));
// wrong: You divide by √d as attention does. It will be divided once more: multiply, to undo it.
// - const Tensor scores = log(weights) * root;
// + const Tensor scores = log(weights) / root;
// wrong: The keys are transposed: your query sums their columns, and should sum the keys, which are rows.
//   With one-hot keys in order both are the same.
// - return matmul(scores, keys);
// + return matmul(scores, transpose(keys));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The weights that the library's attention gives.
Tensor weights_of(const Tensor& queries, const Tensor& keys) {
  return Attention{scaled_dot()}(queries, keys, keys).weights;
}

/// n perpendicular directions of length 1 in d dimensions, by Gram and Schmidt.
Tensor perpendicular(Judge& judge, Size n, Size d) {
  std::vector<std::vector<double>> rows;
  while (rows.size() < static_cast<std::size_t>(n)) {
    std::vector<double> row(static_cast<std::size_t>(d));
    for (double& x : row) x = judge.random().normal();
    for (int again = 0; again < 2; ++again)  // once more for the digits that the first time lost
      for (const std::vector<double>& other : rows) {
        const double along = std::inner_product(row.begin(), row.end(), other.begin(), 0.0);
        for (std::size_t c = 0; c < row.size(); ++c) row[c] -= along * other[c];
      }
    const double length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    if (length < 0.1) continue;  // hardly anything was left
    for (double& x : row) x /= length;
    rows.push_back(row);
  }
  std::vector<double> all;
  for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
  return tensor(all, {n, d}, DType::f64);
}

/// Positive rows that add up to 1.
Tensor mixtures(Judge& judge, Size rows, Size n) {
  const Tensor parts = judge.uniform({rows, n}, 0.1, 1);
  return parts / sum(parts, {-1}, Keep::yes);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("finds a query for the weights 1/2, 1/4, 1/4 among keys that are turned", [&] {
    const Tensor wished = tensor({{0.5, 0.25, 0.25}}, DType::f64);
    const Tensor keys = tensor({{0, 0, 0, 1}, {0.6, 0.8, 0, 0}, {-0.8, 0.6, 0, 0}}, DType::f64);
    judge.example(
        "the weights (0.5, 0.25, 0.25), and the keys (0, 0, 0, 1), (0.6, 0.8, 0, 0), (−0.8, 0.6, 0, 0)");
    const Tensor query = query_for_weights(wished, keys);
    judge.same(query.shape(), Dims{1, 4}, "the query");
    judge.same(weights_of(query, keys), wished, "the weights that your query gets");
  });
  judge.claim("does so for any weights and any perpendicular keys of length 1", [&] {
    judge.each_size({{"queries", 1, 4}, {"keys", 1, 5}, {"features beyond the keys", 0, 3}},
                    [&](const Sizes& n) {
                      const Tensor wished = mixtures(judge, n[0], n[1]),
                                   keys = perpendicular(judge, n[1], n[1] + n[2]).to(wished.dtype());
                      const Tensor queries = query_for_weights(wished, keys);
                      judge.same(queries.shape(), Dims{n[0], n[1] + n[2]}, "the queries");
                      judge.same(weights_of(queries, keys), wished, "the weights that your queries get");
                    });
  });
}
