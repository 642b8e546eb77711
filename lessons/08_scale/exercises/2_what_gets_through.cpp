// 8.2 what_gets_through: measure how much a softmax lets through
// measure, 20 minutes
//
// The softmax's derivative for one row of weights α is the matrix J, ∂α_i/∂s_j = α_i (δ_ij − α_j), with δ_ij
// = 1 if i = j and 0 else. Its size ‖J‖ is the root of the sum of the squares of all its entries. Measure for
// scores (n, keys) the median of ‖J‖ over the n rows.
//
// n is odd: the median is the number in the middle once all are sorted. x.to_vector() gives a tensor's
// numbers as a std::vector<double>, for std::sort. The judge feeds it q · k, with and without √d.
#include "lessons/grader/answer.hpp"

double median_size(const Tensor& scores) {
  //[ about eight lines; by the definition, or by the lesson's formula, whose sums rounding can bring below 0
  //: return not_written_yet();
  const Tensor weights = softmax(scores, -1);                                      // (n, keys)
  const Tensor column = unsqueeze(weights, -1), row = unsqueeze(weights, -2);      // α_i and α_j
  const Tensor jacobians = column * (eye(scores.size(-1), scores.dtype()) - row);  // (n, keys, keys)
  std::vector<double> sizes = sqrt(sum(jacobians * jacobians, {-1, -2})).to_vector();
  std::sort(sizes.begin(), sizes.end());
  return sizes[sizes.size() / 2];
  //]
}

// hint: α as a column (n, keys, 1) and as a row (n, 1, keys): which of the two is α_i, and which α_j?
// hint: J = column * (eye(keys, dtype) - ____) for all rows at once, (n, keys, keys). Sum its squares over
//   both last axes.
// hint: The lesson's way needs no J: ‖J‖² = Σ α² − 2 Σ α³ + (Σ α²)², and rounding can bring it below 0. Then
//   sort, and take the one at n / 2.
//
// wrong: That is the mean, which a few rows far from the others pull up or down. The median is ‖J‖ of the row
//   in the middle.
// - return sizes[sizes.size() / 2];
// + return std::accumulate(sizes.begin(), sizes.end(), 0.0) / static_cast<double>(sizes.size());
// wrong: You took the middle without sorting first: that is just some row.
// - std::sort(sizes.begin(), sizes.end());
// +
// wrong: That is ‖J‖²: the root is missing.
// - std::vector<double> sizes = sqrt(sum(jacobians * jacobians, {-1, -2})).to_vector();
// + std::vector<double> sizes = sum(jacobians * jacobians, {-1, -2}).to_vector();
// wrong: That is the diagonal alone, α_i (1 − α_i). Raising one score lowers the other keys' weights, and
//   this is in J, too.
// - const Tensor jacobians = column * (eye(scores.size(-1), scores.dtype()) - row);
// + const Tensor jacobians = column * (1 - column);
// wrong: That is sigmoid's derivative put into every place, α_i (1 − α_j): δ_ij is 1 on the diagonal only.
// - const Tensor jacobians = column * (eye(scores.size(-1), scores.dtype()) - row);
// + const Tensor jacobians = column * (1 - row);
// wrong: Softmax runs over the rows, so that each key's weights add up to 1 over the queries.
// - const Tensor weights = softmax(scores, -1);
// + const Tensor weights = softmax(scores, 0);
// wrong: The sums of the formula cancel where one weight is nearly 1. Rounding may leave a little less than 0,
//   and the root of that is NaN: the lesson takes maximum(…, 0) first.
// - const Tensor column = unsqueeze(weights, -1), row = unsqueeze(weights, -2);
// - const Tensor jacobians = column * (eye(scores.size(-1), scores.dtype()) - row);
// - std::vector<double> sizes = sqrt(sum(jacobians * jacobians, {-1, -2})).to_vector();
// + const Tensor square = weights * weights, two = sum(square, {-1}), three = sum(square * weights, {-1});
// + std::vector<double> sizes = sqrt(two - 2 * three + two * two).to_vector();

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

/// ‖J‖ with J by central differences of the softmax.
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

/// Counts for each row how many are smaller: the median has as many below it as above.
double expected(const Tensor& scores) {
  const std::vector<double> all = scores.to_vector();
  const auto keys = static_cast<std::ptrdiff_t>(scores.size(1));
  std::vector<double> sizes;
  for (auto row = all.begin(); row != all.end(); row += keys)
    sizes.push_back(by_differences(std::vector<double>(row, row + keys)));
  for (const double size : sizes) {
    const auto below = std::count_if(sizes.begin(), sizes.end(), [&](double x) { return x < size; });
    const auto above = std::count_if(sizes.begin(), sizes.end(), [&](double x) { return x > size; });
    if (2 * below < static_cast<std::ptrdiff_t>(sizes.size()) &&
        2 * above < static_cast<std::ptrdiff_t>(sizes.size()))
      return size;
  }
  return sizes.front();  // one of them is in the middle, so this is never reached
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kDifferences = 1e-7;
  judge.claim("measures three rows of two keys", [&] {
    const Tensor scores = tensor({{0, 0}, {0, 5}, {0, 1}}, DType::f64);
    judge.example(
        "the scores 0 0, 0 5 and 0 1: equal weights let most through, a clear choice hardly anything");
    judge.same(median_size(scores), expected(scores), "the median of ‖J‖", kDifferences);
  });
  judge.claim("does so for any scores", [&] {
    judge.each_size({{"half of the rows", 0, 4}, {"keys", 1, 6}}, [&](const Sizes& n) {
      const Tensor scores = 2 * judge.normal({2 * n[0] + 1, n[1]});
      judge.same(median_size(scores), expected(scores), "the median of ‖J‖", kDifferences);
    });
  });
  judge.claim("does so where one key has nearly all the weight", [&] {
    for (int lead = 15; lead <= 40; ++lead) {
      judge.example("one row with the scores 0 and " + std::to_string(lead));
      const Tensor scores = tensor({{0, static_cast<double>(lead)}}, DType::f64);
      judge.same(median_size(scores), expected(scores), "the median of ‖J‖", kDifferences);
    }
  });
  judge.claim("shows what √d is for", [&] {
    const Tensor q = judge.normal({301, 256}), k = judge.normal({10, 256});
    const Tensor scores = matmul(q, transpose(k));
    judge.example("301 queries and ten keys of width 256, standard normal");
    judge.between(median_size(scores), 0, 0.03, "the median of ‖J‖ without √d");
    judge.between(median_size(scores / 16), 0.3, 0.4, "the median of ‖J‖ with √d");
  });
}
