// 25.2 put_together: many parts of one attention
// implement, 10 minutes
//
// The keys of a cache lie in P parts of different sizes. Each part p has attended to its own keys, and says
// of each of the Tq queries its context c_p, (Tq, d), and its log-sum-exp L_p = ln Σ exp(s_j), (Tq). Put them
// together into what attention to all keys gives, (Tq, d):
//
//     whole = Σ_p e^{L_p} c_p / Σ_p e^{L_p}
//
// contexts is (P, Tq, d), log_sum_exps (P, Tq). They may be large, a part without a visible key has L = −∞
// (and a context of 0), and each query sees a key in one part at least.
#include "lessons/grader/answer.hpp"

Tensor put_together(const Tensor& contexts, const Tensor& log_sum_exps) {
  //[ one or two lines
  //: static_cast<void>(contexts), static_cast<void>(log_sum_exps);
  //: return not_written_yet();
  const Tensor shares = softmax(log_sum_exps, 0);     // (P, Tq): over the parts, with the largest taken off
  return sum(contexts * unsqueeze(shares, -1), {0});  // (P, Tq, d) · (P, Tq, 1)
  //]
}

// hint: e^{L_p} / Σ_p e^{L_p}: which function of the numbers L_p is that, and over which axis?
// hint: shares = softmax(log_sum_exps, ____) is (P, Tq); contexts are (P, Tq, d). Which axis is missing?
// hint: sum(contexts * unsqueeze(shares, -1), {0}).
//
// wrong: All parts count alike. A part with one key far above all others should have nearly all of the
//   weight.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor shares = softmax(0.0 * log_sum_exps, 0);
// wrong: The softmax runs over the queries. Each query has shares of its own, which sum to 1 over the parts.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor shares = softmax(log_sum_exps, 1);
// wrong: L_p itself is not a share: it is a logarithm, may be negative, and e^L is what adds up.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor shares = log_sum_exps / sum(log_sum_exps, {0}, Keep::yes);
// wrong: e^L overflows if L is large: ∞ / ∞ is no number. Take the largest off first, as softmax does.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor shares = exp(log_sum_exps) / sum(exp(log_sum_exps), {0}, Keep::yes);
// wrong: One largest number is taken off all L. A query whose own L are far below another query's then has e^L
//   = 0 in all parts, and 0 / 0 is no number. Take off the largest of each query.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor less = exp(log_sum_exps - max(log_sum_exps));
// + const Tensor shares = less / sum(less, {0}, Keep::yes);
// wrong: Contexts are added with weights that do not sum to 1: the division by Σ e^L is missing.
// - const Tensor shares = softmax(log_sum_exps, 0);
// + const Tensor shares = exp(log_sum_exps - max(log_sum_exps, {0}, Keep::yes));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Scores (Tq, Tk) and values (Tk, d), −∞ for hidden pairs, in parts that end before the given keys.
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
  judge.claim("puts one key and three keys together", [&] {
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
  judge.claim("puts any number of parts together", [&] { compare(0, 0); });
  judge.claim("takes parts in which a query sees nothing", [&] { compare(0, 0.7); });
  judge.claim("takes scores near 900, and near 0 in every second query", [&] { compare(900, 0); });
  judge.claim("lets gradients through to contexts and log-sum-exps", [&] {
    judge.gradients(put_together, {judge.normal({3, 2, 2}), judge.normal({3, 2})});
  });
}
