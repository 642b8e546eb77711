// 26.3 window_and_slopes: A sliding window with learned slopes
// implement, 15 minutes
//
// Write the options of attend() for a sliding window with learned slopes. Query i is at position i + keys −
// queries of the text. It sees the keys that are 0 to reach − 1 positions before it, so `reach` keys in all,
// including its own. The score is reduced by the square of the distance, where ALiBi uses the distance
// itself:
//
//     s − slope_h · distance²
//
// slopes has the shape (H), one number for each head, and needs a gradient. In the lambda, at.h, at.i and
// at.j are the indices of the head, the query and the key.
#include "core/attention/score_lambda.hpp"
#include "lessons/grader/answer.hpp"

AttendOptions window_and_slopes(Size queries, Size keys, Size reach, const Tensor& slopes) {
  const Size first = keys - queries;
  //[ a mask and a score
  //: static_cast<void>(reach), static_cast<void>(slopes), static_cast<void>(first);
  //: return not_written_yet();
  const auto seen = [first, reach](QueryKey p) {
    const Size distance = p.i + first - p.j;
    return distance >= 0 && distance < reach;  // no later key, and `reach` keys in all
  };
  const double place = static_cast<double>(first);
  const auto less = [place](auto s, auto at, auto slope) {
    const auto distance = at.i + place - at.j;
    return s - slope(at.h) * distance * distance;
  };
  const auto score = score_mod(less, learned(slopes));  // passed: C++ code cannot inspect a capture
  return {.mask = BlockMask::where(queries, keys, seen), .score_mod = score};
  //]
}

// hint: Which option decides which pairs are visible, and which one changes the scores of the visible pairs?
//   Which of the two skips tiles?
// hint: Use BlockMask::where(queries, keys, [=](QueryKey p) { return ____; }) and score_mod([=](auto s, auto
//   at, auto slope) { return ____; }, learned(slopes)).
// hint: The distance is p.i + first − p.j in the mask, and at.i + place − at.j in the lambda, where `place`
//   is a double. slope(at.h) returns the slope of the head.
//
// wrong: Your window has one key too many: with `distance <= reach`, a query sees reach + 1 keys.
// - return distance >= 0 && distance < reach;
// + return distance >= 0 && distance <= reach;
// wrong: Queries see later keys, because your window is open in both directions.
// - return distance >= 0 && distance < reach;
// + return std::abs(distance) < reach;
// wrong: You use the slope of the first head in every head.
// - return s - slope(at.h) * distance * distance;
// + return s - slope(0) * distance * distance;
// wrong: You add the slope term, so distant keys get larger scores. Subtract it.
// - return s - slope(at.h) * distance * distance;
// + return s + slope(at.h) * distance * distance;
// wrong: You do not square the distance. That is ALiBi's formula.
// - return s - slope(at.h) * distance * distance;
// + return s - slope(at.h) * distance;
// wrong: The slopes get no gradient, because you do not pass them as learned(…).
// - const auto score = score_mod(less, learned(slopes));
// + const auto score = score_mod(less, slopes.detach());
// wrong: If there are fewer queries than keys, your mask treats query 0 as the first word of the text.
// - const Size distance = p.i + first - p.j;
// + const Size distance = p.i + 0 * first - p.j;
// wrong: The mask uses the positions of the queries, but the score still counts them from 0.
// - const auto distance = at.i + place - at.j;
// + const auto distance = at.i + 0.0 * place - at.j;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the attention with plain ops: scores minus slope times distance², and −∞ for masked pairs.
Tensor by_ops(const Tensor& q, const Tensor& k, const Tensor& v, Size reach, const Tensor& slopes) {
  const Size queries = q.size(2), keys = k.size(2);
  std::vector<double> squares, seen;
  for (Size i = keys - queries; i < keys; ++i)
    for (Size j = 0; j < keys; ++j) {
      squares.push_back(static_cast<double>((i - j) * (i - j)));
      seen.push_back(j <= i && j > i - reach ? 0 : -1e9);
    }
  const Tensor far = tensor(squares, {queries, keys}, DType::f64),
               hidden = tensor(seen, {queries, keys}, DType::f64);
  const Tensor s = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(3)));
  return matmul(softmax(s - reshape(slopes, {slopes.size(0), 1, 1}) * far + hidden, -1), v);
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](const Sizes& n, Size before) {
    const Size keys = n[0] + before;
    const Tensor q = judge.normal({1, n[1], n[0], 2}), k = judge.normal({1, n[1], keys, 2}),
                 v = judge.normal({1, n[1], keys, 2}), slopes = judge.uniform({n[1]}, 0.1, 1);
    judge.same(attend(q, k, v, window_and_slopes(n[0], keys, n[2], slopes)), by_ops(q, k, v, n[2], slopes),
               "the contexts");
  };
  judge.claim("is right for four words and a reach of 2", [&] {
    judge.example("4 words, 2 heads, reach 2");
    compare({4, 2, 2}, 0);
  });
  judge.claim("is right for any sizes", [&] {
    judge.each_size({{"words", 1, 7}, {"heads", 1, 3}, {"reach", 1, 4}},
                    [&](const Sizes& n) { compare(n, 0); }, {.f32 = false});
  });
  judge.claim("is right with a cache of keys", [&] {
    judge.each_size({{"new words", 1, 3}, {"heads", 1, 2}, {"reach", 1, 4}},
                    [&](const Sizes& n) { compare(n, 5); }, {.f32 = false});
  });
  judge.claim("has the right gradient for the slopes", [&] {
    const Tensor q = judge.normal({1, 2, 4, 2}), k = judge.normal({1, 2, 4, 2}),
                 v = judge.normal({1, 2, 4, 2});
    const Tensor slopes = variable(judge.uniform({2}, 0.1, 1), "slopes"), d_out = judge.normal({1, 2, 4, 2});
    const auto gradient = [&](const std::function<Tensor()>& f) {
      Tape tape;
      return tape.gradients(sum(d_out * f()) + sum(slopes), full({}, 1, DType::f64), std::vector{slopes})[0];
    };
    judge.same(gradient([&] { return attend(q, k, v, window_and_slopes(4, 4, 3, slopes)); }),
               gradient([&] { return by_ops(q, k, v, 3, slopes); }), "the slopes' gradient, plus 1");
  });
}
