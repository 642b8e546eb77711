// 25.2 put_together: Merging many parts of one attention
// implement, 10 minutes
//
// The keys of a cache are stored in P parts of different sizes. Each part p has computed attention to its own
// keys. For each of the Tq queries it returns the context c_p, with d numbers, and the log-sum-exp L_p = ln Σ
// exp(s_j). Merge the parts into the result of attention to all keys, (Tq, d):
//
//     whole = Σ_p e^{L_p} c_p / Σ_p e^{L_p}
//
// contexts has the shape (P, Tq, d), and log_sum_exps has (P, Tq). The L_p may be large. A part without a
// visible key has L = −∞ and a context of 0. Each query has a visible key in at least one part.
#include "lessons/grader/answer.hpp"

Tensor put_together(const Tensor& contexts, const Tensor& log_sum_exps) {
  //[ one or two lines
  //: static_cast<void>(contexts), static_cast<void>(log_sum_exps);
  //: return not_written_yet();
  const Tensor shares = softmax(log_sum_exps, 0);  // (P, Tq): over the parts; softmax subtracts the largest
  return sum(contexts * unsqueeze(shares, -1), {0});  // (P, Tq, d) · (P, Tq, 1)
  //]
}

// hint: e^{L_p} / Σ_p e^{L_p} is a well-known function of the numbers L_p. Which function, and over which
//   axis?
// hint: shares = softmax(log_sum_exps, ____) has the shape (P, Tq), and contexts has (P, Tq, d). Which axis
//   is missing?
// hint: Return sum(contexts * unsqueeze(shares, -1), {0}).
//
// wrong: All parts have the same weight. A part with one key whose score is far above all others must have
//   nearly all of the weight.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor shares = softmax(0.0 * log_sum_exps, 0);
// wrong: The softmax runs over the queries. For each query, the weights of the parts must sum to 1.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor shares = softmax(log_sum_exps, 1);
// wrong: You use L_p as a weight. L_p is a logarithm and may be negative. The weights are proportional to
//   e^{L_p}.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor shares = log_sum_exps / sum(log_sum_exps, {0}, Keep::yes);
// wrong: e^L overflows if L is large, and ∞ / ∞ is NaN. Subtract the largest L first, as softmax does.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor shares = exp(log_sum_exps) / sum(exp(log_sum_exps), {0}, Keep::yes);
// wrong: You subtract the same number, the largest of all L, for every query. If the L of one query are far
//   below those of another, its e^L are 0 in all parts, and 0 / 0 is NaN. Subtract the largest L of each
//   query.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor less = exp(log_sum_exps - max(log_sum_exps));
// + const Tensor shares = less / sum(less, {0}, Keep::yes);
// wrong: The weights do not sum to 1, because the division by Σ e^L is missing.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor shares = exp(log_sum_exps - max(log_sum_exps, {0}, Keep::yes));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Scores (Tq, Tk) and values (Tk, d), with −∞ for masked pairs, split into parts that end before the given
/// keys.
struct Cut {
  Tensor contexts, log_sum_exps, whole;
};

Cut cut(const Tensor& scores, const Tensor& values, const std::vector<Size>& ends) {
  const Size queries = scores.size(0), width = values.size(1);
  std::vector<double> contexts, sums, whole;
  const auto attend = [&](Size i, Size begin, Size end, std::vector<double>& out) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (Size j = begin; j < end; ++j) top = std::max(top, scores.at({i, j}));
    std::vector<double> context(static_cast<std::size_t>(width), 0.0);
    for (Size j = begin; j < end && !std::isinf(top); ++j) {
      const double weight = std::exp(scores.at({i, j}) - top);
      sum += weight;
      for (Size c = 0; c < width; ++c) context[static_cast<std::size_t>(c)] += weight * values.at({j, c});
    }
    for (const double x : context) out.push_back(sum == 0 ? 0 : x / sum);
    return sum == 0 ? top : top + std::log(sum);
  };
  Size begin = 0;
  for (const Size end : ends) {
    for (Size i = 0; i < queries; ++i) sums.push_back(attend(i, begin, end, contexts));
    begin = end;
  }
  for (Size i = 0; i < queries; ++i) attend(i, 0, begin, whole);
  const Size parts = static_cast<Size>(ends.size());
  return {tensor(contexts, {parts, queries, width}, DType::f64), tensor(sums, {parts, queries}, DType::f64),
          tensor(whole, {queries, width}, DType::f64)};
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("merges a part with one key and a part with three keys", [&] {
    judge.example("two queries; scores (2, 0, 0, 1) and (0, 1, 3, 0); the first part has one key");
    const Cut found = cut(tensor({{2, 0, 0, 1}, {0, 1, 3, 0}}, DType::f64),
                          tensor({{1, 0}, {0, 1}, {0, 2}, {0, 3}}, DType::f64), {1, 4});
    judge.same(put_together(found.contexts, found.log_sum_exps), found.whole, "the context");
  });
  const auto compare = [&](double from, double hidden) {
    judge.each_size({{"queries", 1, 4}, {"parts", 1, 4}, {"d", 1, 3}}, [&](const Sizes& n) {
      std::vector<Size> ends;
      for (Size p = 0; p < n[1]; ++p)
        ends.push_back((ends.empty() ? 0 : ends.back()) + judge.random().between(1, 5));
      std::vector<double> scores;
      for (Size i = 0; i < n[0]; ++i)
        for (Size j = 0; j < ends.back(); ++j)
          scores.push_back(j > 0 && judge.random().uniform() < hidden
                               ? -std::numeric_limits<double>::infinity()
                               : (i % 2 == 0 ? from : 0) + 2 * judge.random().normal());
      const Cut found =
          cut(tensor(scores, {n[0], ends.back()}, DType::f64), judge.normal({ends.back(), n[2]}), ends);
      judge.same(put_together(found.contexts, found.log_sum_exps), found.whole, "the context");
    });
  };
  judge.claim("merges any number of parts", [&] { compare(0, 0); });
  judge.claim("merges parts in which a query sees no key", [&] { compare(0, 0.7); });
  judge.claim("works for scores near 900, and near 0 in every second query", [&] { compare(900, 0); });
  judge.claim("has the right gradients for contexts and log-sum-exps", [&] {
    judge.gradients(put_together, {judge.normal({3, 2, 2}), judge.normal({3, 2})});
  });
}
