// 25.1 one_more_score: One step of the online softmax
// implement, 10 minutes
//
// A query has processed some scores and kept three results:
//
//     top = the largest score so far,   sum = Σ exp(s − top),   weighted = Σ exp(s − top) v
//
// weighted is a vector with the size of the values v. Now one more score s comes with its value v. Update all
// three, so that weighted / sum is the softmax average of all values so far.
//
// Before the first score, top is −∞ and both sums are 0. The scores may be far above or below 0, and they may
// come in any order.
#include "lessons/grader/answer.hpp"

struct OnlineSoftmax {
  double top = -std::numeric_limits<double>::infinity();
  double sum = 0;
  std::vector<double> weighted;  // the size of a value; zeros at the start
};

void add_score(OnlineSoftmax& state, double s, const std::vector<double>& v) {
  //[ four to six lines
  //: static_cast<void>(state), static_cast<void>(s), static_cast<void>(v);
  //: static_cast<void>(static_cast<double>(not_written_yet()));
  const double new_top = std::max(state.top, s);
  const double rescale = std::exp(state.top - new_top), weight = std::exp(s - new_top);
  state.sum = state.sum * rescale + weight;
  for (std::size_t i = 0; i < v.size(); ++i) state.weighted[i] = state.weighted[i] * rescale + weight * v[i];
  state.top = new_top;
  //]
}

// hint: The old terms are exp(s − top) with the old top. By which factor do they differ from exp(s − new
//   top)?
// hint: sum = sum · exp(____ − ____) + exp(s − new top), and the same for weighted. The factor is 1 if s is
//   not above the old top.
// hint: Compute rescale = exp(state.top − new_top) before you overwrite state.top.
//
// wrong: The factor rescale is missing, or it is 1 because you changed the top first. The old terms are
//   relative to the old top and the new term to the new top, so old scores get too much weight.
// - const double rescale = std::exp(state.top - new_top), weight = std::exp(s - new_top);
// + const double rescale = 1, weight = std::exp(s - new_top);
// wrong: You multiply the sum by rescale, but not the weighted values. Both are sums over the same terms.
// - for (std::size_t i = 0; i < v.size(); ++i) state.weighted[i] = state.weighted[i] * rescale + weight * v[i];
// + for (std::size_t i = 0; i < v.size(); ++i) state.weighted[i] = state.weighted[i] + weight * v[i];
// wrong: You multiply the weighted values by rescale, but not the sum. Both are sums over the same terms.
// - state.sum = state.sum * rescale + weight;
// + state.sum = state.sum + weight;
// wrong: The factor is inverted. exp(new − old) makes the old terms larger, and they must become smaller.
// - const double rescale = std::exp(state.top - new_top), weight = std::exp(s - new_top);
// + const double weight = std::exp(s - new_top);
// + const double rescale = std::isinf(state.top) ? 0 : std::exp(new_top - state.top);
// wrong: You do not subtract the top. For a score near 1000, exp(s) is infinite, and ∞ / ∞ is NaN.
// - const double new_top = std::max(state.top, s);
// + const double new_top = 0;
// wrong: You store the newest score as the top, and not the largest one. After a small score, the old terms
//   overflow.
// - const double new_top = std::max(state.top, s);
// + const double new_top = s;
// wrong: The top starts at 0 and never becomes smaller. For scores far below 0, every weight is 0, and 0 / 0
//   is NaN.
// - const double new_top = std::max(state.top, s);
// + const double new_top = std::max({state.top, s, 0.0});

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the average when all scores are known.
std::vector<double> at_once(const std::vector<double>& scores,
                            const std::vector<std::vector<double>>& values) {
  const double top = *std::max_element(scores.begin(), scores.end());
  std::vector<double> mean(values.front().size(), 0.0);
  double sum = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    sum += std::exp(scores[j] - top);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += std::exp(scores[j] - top) * values[j][i];
  }
  for (double& x : mean) x /= sum;
  return mean;
}

std::vector<double> one_by_one(const std::vector<double>& scores,
                               const std::vector<std::vector<double>>& values) {
  OnlineSoftmax state;
  state.weighted.assign(values.front().size(), 0.0);
  for (std::size_t j = 0; j < scores.size(); ++j) add_score(state, scores[j], values[j]);
  for (double& x : state.weighted) x /= state.sum;
  return state.weighted;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("averages two values", [&] {
    judge.example("scores 2 and 5, values (10, 0) and (20, 1)");
    const std::vector<std::vector<double>> values = {{10, 0}, {20, 1}};
    judge.same(one_by_one({2, 5}, values), at_once({2, 5}, values), "the average");
    OnlineSoftmax state;
    state.weighted = {0};
    add_score(state, 2, {10}), add_score(state, 5, {20});
    judge.same(state.top, 5, "the top after 2 and 5");
    judge.same(state.sum, 1 + std::exp(-3.0), "the sum after 2 and 5");
  });
  const auto far_off = [&](double from) {
    judge.each_size({{"scores", 1, 12}, {"numbers in a value", 1, 3}}, [&](const Sizes& n) {
      std::vector<double> scores;
      std::vector<std::vector<double>> values;
      for (Size j = 0; j < n[0]; ++j) {
        scores.push_back(from + 3 * judge.random().normal());
        values.emplace_back();
        for (Size i = 0; i < n[1]; ++i) values.back().push_back(judge.random().normal());
      }
      judge.same(one_by_one(scores, values), at_once(scores, values), "the average");
    });
  };
  judge.claim("averages any number of values", [&] { far_off(0); });
  judge.claim("works for scores near 1000", [&] { far_off(1000); });
  judge.claim("works for scores near −1000", [&] { far_off(-1000); });
  judge.claim("works for scores that fall from 500 to −500", [&] {
    judge.example("scores 500, 0 and −500");
    const std::vector<std::vector<double>> values = {{1}, {2}, {3}};
    judge.same(one_by_one({500, 0, -500}, values), at_once({500, 0, -500}, values), "the average");
  });
}
