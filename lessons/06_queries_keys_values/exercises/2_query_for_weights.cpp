// 6.2 query_for_weights: The query for given weights
// derive, 15 minutes
//
// Attention computes the weights softmax(q · k_j / √d) from a query q. Here you compute the inverse: given the
// weights α, find a query that produces them. The keys are *orthonormal*, that is, orthogonal unit vectors: k_i · k_j
// is 1 if i = j, and 0 otherwise. (One-hot keys are an example; so are rotated one-hot keys.)
//
// Write the function for many queries at once. The weights, (Tq, n), are positive, and each row adds up to 1. The
// keys have the shape (n, d), with n ≤ d. Return the queries, (Tq, d). Useful functions: log(x), matmul and
// transpose.
#include "lessons/grader/answer.hpp"

Tensor query_for_weights(const Tensor& weights, const Tensor& keys) {
  //[ two or three lines
  //: return not_written_yet();
  const double root = std::sqrt(static_cast<double>(keys.size(-1)));  // attention divides by it
  const Tensor scores = log(weights) * root;                          // (Tq, n): the products q · k_j
  return matmul(scores, keys);  // Σ_j score_j k_j; its dot product with k_i is score_i
  //]
}

// hint: In lesson 06, we found queries for the weights of "je t' aime", with one-hot keys and without the scale √d.
//   What were these queries? What must they be if attention divides each score by √d?
// hint: q = Σ_j ____ k_j has q · k_i = score_i for all i, because k_j · k_i is 0 unless i = j.
// hint: Σ_j score_j k_j, for all rows of scores (Tq, n) and the keys (n, d), is a single matmul.
//
// wrong: The scale is missing. Attention divides your scores by √d, so the weights become too similar. (A factor
//   inside the logarithm would only add a constant to all scores, which changes no weight.)
// - const Tensor scores = log(weights) * root;
// + const Tensor scores = log(weights);
// wrong: You use the weights themselves as scores. A score is the logarithm of a weight, because softmax computes
//   e^score.
// - const Tensor scores = log(weights) * root;
// + const Tensor scores = weights * root;
// wrong: exp turns scores into weights. You need the inverse, log.
// - const Tensor scores = log(weights) * root;
// + const Tensor scores = exp(weights) * root;
// wrong: You multiply by √n, where n is the number of keys. Attention divides by √d, where d is the width of a key.
//   The two are equal only if n = d.
// - const double root = std::sqrt(static_cast<double>(keys.size(-1)));
// + const double root = std::sqrt(static_cast<double>(keys.size(0)));
// wrong: You divide by √d. Attention divides by √d once more, so multiply by it to undo the division.
// - const Tensor scores = log(weights) * root;
// + const Tensor scores = log(weights) / root;
// wrong: You transpose the keys. matmul then fails, or, if n = d, adds up their columns. Your query must be a weighted
//   sum of the keys, which are the rows.
// - return matmul(scores, keys);
// + return matmul(scores, transpose(keys));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the weights that the library's attention computes.
Tensor weights_of(const Tensor& queries, const Tensor& keys) {
  return Attention{scaled_dot()}(queries, keys, keys).weights;
}

/// Returns n orthonormal vectors in d dimensions, by the Gram–Schmidt process.
Tensor orthonormal(Judge& judge, Size n, Size d) {
  std::vector<std::vector<double>> rows;
  while (rows.size() < static_cast<std::size_t>(n)) {
    std::vector<double> row(static_cast<std::size_t>(d));
    for (double& x : row) x = judge.random().normal();
    for (int again = 0; again < 2; ++again)  // the second time removes rounding errors of the first
      for (const std::vector<double>& other : rows) {
        const double along = std::inner_product(row.begin(), row.end(), other.begin(), 0.0);
        for (std::size_t c = 0; c < row.size(); ++c) row[c] -= along * other[c];
      }
    const double length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    if (length < 0.1) continue;  // nearly a linear combination of the other rows
    for (double& x : row) x /= length;
    rows.push_back(row);
  }
  std::vector<double> all;
  for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
  return tensor(all, {n, d}, DType::f64);
}

/// Returns positive rows that add up to 1.
Tensor mixtures(Judge& judge, Size rows, Size n) {
  const Tensor parts = judge.uniform({rows, n}, 0.1, 1);
  return parts / sum(parts, {-1}, Keep::yes);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("finds a query for the weights 1/2, 1/4, 1/4 and three rotated keys", [&] {
    const Tensor wished = tensor({{0.5, 0.25, 0.25}}, DType::f64);
    const Tensor keys = tensor({{0, 0, 0, 1}, {0.6, 0.8, 0, 0}, {-0.8, 0.6, 0, 0}}, DType::f64);
    judge.example(
        "the weights (0.5, 0.25, 0.25), and the keys (0, 0, 0, 1), (0.6, 0.8, 0, 0), (−0.8, 0.6, 0, 0)");
    const Tensor query = query_for_weights(wished, keys);
    judge.same(query.shape(), Dims{1, 4}, "the query");
    judge.same(weights_of(query, keys), wished, "the weights of your query");
  });
  judge.claim("finds queries for random weights and orthonormal keys", [&] {
    judge.each_size({{"queries", 1, 4}, {"keys", 1, 5}, {"features beyond the keys", 0, 3}},
                    [&](const Sizes& n) {
                      const Tensor wished = mixtures(judge, n[0], n[1]),
                                   keys = orthonormal(judge, n[1], n[1] + n[2]).to(wished.dtype());
                      const Tensor queries = query_for_weights(wished, keys);
                      judge.same(queries.shape(), Dims{n[0], n[1] + n[2]}, "the queries");
                      judge.same(weights_of(queries, keys), wished, "the weights of your queries");
                    });
  });
}
