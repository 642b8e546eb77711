// 8.2 what_gets_through: The median Jacobian norm
// measure, 20 minutes
//
// The derivative of the softmax for one row of weights α is the Jacobian J, with ∂α_i/∂s_j = α_i (δ_ij − α_j). Here
// δ_ij is 1 if i = j, and 0 otherwise. The norm ‖J‖ is the root of the sum of the squares of all entries of J. The
// smaller ‖J‖ is, the less gradient gets through the softmax.
//
// Return the median of ‖J‖ over the n rows of scores (n, keys).
//
// n is odd, so the median is the middle one of the sorted norms. x.to_vector() returns the numbers of a tensor as a
// std::vector<double>, which std::sort can sort. The judge calls your function with q · k, with and without √d.
#include "lessons/grader/answer.hpp"

double median_jacobian_norm(const Tensor& scores) {
  //[ about eight lines; by the definition, or by the lesson's formula, which rounding can make negative
  //: return not_written_yet();
  const Tensor weights = softmax(scores, -1);                                      // (n, keys)
  const Tensor column = unsqueeze(weights, -1), row = unsqueeze(weights, -2);      // α_i and α_j
  const Tensor jacobians = column * (eye(scores.size(-1), scores.dtype()) - row);  // (n, keys, keys)
  std::vector<double> norms = sqrt(sum(jacobians * jacobians, {-1, -2})).to_vector();
  std::sort(norms.begin(), norms.end());
  return norms[norms.size() / 2];
  //]
}

// hint: Write α as a column (n, keys, 1) and as a row (n, 1, keys). Which of the two is α_i, and which is α_j?
// hint: J = column * (eye(keys, dtype) - ____) for all rows at once, (n, keys, keys). Sum its squares over the last
//   two axes.
// hint: The lesson's formula needs no J: ‖J‖² = Σ α² − 2 Σ α³ + (Σ α²)². Rounding can make it slightly negative. Then
//   sort the norms, and return the one at index n / 2.
//
// wrong: You returned the mean. A few rows with extreme norms change the mean, but not the median. Return the norm in
//   the middle.
// - return norms[norms.size() / 2];
// + return std::accumulate(norms.begin(), norms.end(), 0.0) / static_cast<double>(norms.size());
// wrong: You took the middle row without sorting the norms first.
// - std::sort(norms.begin(), norms.end());
// +
// wrong: You returned ‖J‖²: the root is missing.
// - std::vector<double> norms = sqrt(sum(jacobians * jacobians, {-1, -2})).to_vector();
// + std::vector<double> norms = sum(jacobians * jacobians, {-1, -2}).to_vector();
// wrong: You used only the diagonal, α_i (1 − α_i). Raising one score also lowers the weights of the other keys, and
//   these derivatives are entries of J too.
// - const Tensor jacobians = column * (eye(scores.size(-1), scores.dtype()) - row);
// + const Tensor jacobians = column * (1 - column);
// wrong: You used α_i (1 − α_j) for every entry. δ_ij is 1 only on the diagonal, and 0 elsewhere.
// - const Tensor jacobians = column * (eye(scores.size(-1), scores.dtype()) - row);
// + const Tensor jacobians = column * (1 - row);
// wrong: Your softmax runs over the rows, so the weights of each key add up to 1 over the queries.
// - const Tensor weights = softmax(scores, -1);
// + const Tensor weights = softmax(scores, 0);
// wrong: If one weight is nearly 1, the sums in the formula cancel. Rounding may leave a number slightly below 0, and
//   its root is NaN. The lesson uses maximum(…, 0) before the root.
// - const Tensor column = unsqueeze(weights, -1), row = unsqueeze(weights, -2);
// - const Tensor jacobians = column * (eye(scores.size(-1), scores.dtype()) - row);
// - std::vector<double> norms = sqrt(sum(jacobians * jacobians, {-1, -2})).to_vector();
// + const Tensor square = weights * weights, two = sum(square, {-1}), three = sum(square * weights, {-1});
// + std::vector<double> norms = sqrt(two - 2 * three + two * two).to_vector();

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

std::vector<double> weights_of(const std::vector<double>& scores) {
  std::vector<double> weights;
  double whole = 0;
  for (const double score : scores) whole += std::exp(score);
  for (const double score : scores) weights.push_back(std::exp(score) / whole);
  return weights;
}

/// Returns ‖J‖, with J from central differences of the softmax.
double by_differences(const std::vector<double>& scores) {
  double squares = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    std::vector<double> more = scores, less = scores;
    more[j] += 1e-5;
    less[j] -= 1e-5;
    const std::vector<double> up = weights_of(more), down = weights_of(less);
    for (std::size_t i = 0; i < scores.size(); ++i) squares += std::pow((up[i] - down[i]) / 2e-5, 2);
  }
  return std::sqrt(squares);
}

/// Returns the norm that has fewer than half of the norms below it and fewer than half above it.
double expected(const Tensor& scores) {
  const std::vector<double> all = scores.to_vector();
  const auto keys = static_cast<std::ptrdiff_t>(scores.size(1));
  std::vector<double> norms;
  for (auto row = all.begin(); row != all.end(); row += keys)
    norms.push_back(by_differences(std::vector<double>(row, row + keys)));
  for (const double norm : norms) {
    const auto below = std::count_if(norms.begin(), norms.end(), [&](double x) { return x < norm; });
    const auto above = std::count_if(norms.begin(), norms.end(), [&](double x) { return x > norm; });
    if (2 * below < static_cast<std::ptrdiff_t>(norms.size()) &&
        2 * above < static_cast<std::ptrdiff_t>(norms.size()))
      return norm;
  }
  return norms.front();  // never reached: one of the norms is in the middle
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kDifferences = 1e-7;
  judge.claim("computes the median of three rows of two keys", [&] {
    const Tensor scores = tensor({{0, 0}, {0, 5}, {0, 1}}, DType::f64);
    judge.example(
        "the scores 0 0, 0 5 and 0 1: ‖J‖ is largest for equal weights, and small if one weight is nearly 1");
    judge.same(median_jacobian_norm(scores), expected(scores), "the median of ‖J‖", kDifferences);
  });
  judge.claim("works for any scores", [&] {
    judge.each_size({{"half of the rows", 0, 4}, {"keys", 1, 6}}, [&](const Sizes& n) {
      const Tensor scores = 2 * judge.normal({2 * n[0] + 1, n[1]});
      judge.same(median_jacobian_norm(scores), expected(scores), "the median of ‖J‖", kDifferences);
    });
  });
  judge.claim("works where one key has nearly all the weight", [&] {
    for (int lead = 15; lead <= 40; ++lead) {
      judge.example("one row with the scores 0 and " + std::to_string(lead));
      const Tensor scores = tensor({{0, static_cast<double>(lead)}}, DType::f64);
      judge.same(median_jacobian_norm(scores), expected(scores), "the median of ‖J‖", kDifferences);
    }
  });
  judge.claim("shows the effect of √d", [&] {
    const Tensor q = judge.normal({301, 256}), k = judge.normal({10, 256});
    const Tensor scores = matmul(q, transpose(k));
    judge.example("301 queries and ten keys of width 256, standard normal");
    judge.between(median_jacobian_norm(scores), 0, 0.03, "the median of ‖J‖ without √d");
    judge.between(median_jacobian_norm(scores / 16), 0.3, 0.4, "the median of ‖J‖ with √d");
  });
}
