// 13.1 weights_near: A window around p with a fade
// implement, 15 minutes
//
// In local-p, the decoder predicts a position p_t at each step t. Only the keys within D places of p_t are in
// the window. Each of their weights is also multiplied by a Gaussian, the *fade*, which is smaller for keys
// that are farther away. For each step t and each key j = 0 … S − 1:
//
//     α_tj = softmax of the scores where |j − p_t| ≤ D  ·  exp(−(j − p_t)² / 2σ²),        σ = D/2
//
// Outside the window, α_tj = 0. Do not normalise the weights again after the fade.
//
// `scores` has the shape (B, Tq, S). `p` holds real numbers, (B, Tq). `reach` is D. Return the weights, (B, Tq,
// S). Gradients must reach the scores and p. Two functions are useful: arange(0, S, 1, dtype), and less(a, b),
// which returns a mask.
#include "lessons/grader/answer.hpp"

Tensor weights_near(const Tensor& scores, const Tensor& p, Size reach) {
  const auto length = static_cast<double>(scores.size(-1)), d = static_cast<double>(reach);
  //[ four or five lines
  //: static_cast<void>(length), static_cast<void>(d);
  //: return not_written_yet();
  const Tensor away = arange(0, length, 1, p.dtype()) - unsqueeze(p, -1);  // j − p_t, (B, Tq, S)
  const Mask inside = !less(scalar(d, p.dtype()), abs(away));  // not D < |j − p_t|: the edge is inside
  const Tensor chosen = masked_softmax(scores, inside);
  const double sigma = d / 2;
  return chosen * exp(away * away / (-2 * sigma * sigma));
  //]
}

// hint: You need j − p_t for all t and all j at once. Which shape must p have, so that the key numbers (S) and
//   p broadcast to (B, Tq, S)?
// hint: away = arange(0, length, 1, p.dtype()) - unsqueeze(p, __). A key is inside the window if D is not less
//   than abs(away).
// hint: Return masked_softmax(scores, inside) * exp(____ / (-2 * sigma * sigma)). Do nothing more after the
//   fade.
//
// wrong: You use σ = D. At the edge of the window, the fade is then exp(−D² / 2D²) = 0.607. With σ = D/2, it is
//   0.135, so a key enters the window with a much smaller weight.
// - const double sigma = d / 2;
// + const double sigma = d;
// wrong: You normalise the weights again after the fade. A single key at the edge of the window then gets the
//   weight 1, and p learns nothing from it: the division removes the fade.
// - return chosen * exp(away * away / (-2 * sigma * sigma));
// + const Tensor faded = chosen * exp(away * away / (-2 * sigma * sigma));
// + return faded / sum(faded, {-1}, Keep::yes);
// wrong: There is no window: every key is in the softmax. The fade makes the weights of far keys small, but
//   these keys have already taken their part of the softmax.
// - const Tensor chosen = masked_softmax(scores, inside);
// + static_cast<void>(inside);
// + const Tensor chosen = softmax(scores, -1);
// wrong: You apply the window after the softmax. The keys outside have then already taken their part of the
//   softmax. Apply the mask before the softmax.
// - const Tensor chosen = masked_softmax(scores, inside);
// + const Tensor chosen = where(inside, softmax(scores, -1), scalar(0, scores.dtype()));
// wrong: The keys at exactly the distance D are missing. They belong to the window, because |j − p| ≤ D holds
//   for them.
// - const Mask inside = !less(scalar(d, p.dtype()), abs(away));
// + const Mask inside = less(abs(away), scalar(d, p.dtype()));
// wrong: The 2 in 2σ² is missing. At the edge, the fade is then e⁻⁴ = 0.018. It should be e⁻² = 0.135.
// - return chosen * exp(away * away / (-2 * sigma * sigma));
// + return chosen * exp(away * away / (-1 * sigma * sigma));
// wrong: You rounded the distance, so the window sits on whole places. p is a real number. When p is between
//   two places, the window holds one key fewer than at a whole p.
// - const Mask inside = !less(scalar(d, p.dtype()), abs(away));
// + const Mask inside = !less(scalar(d, p.dtype()), abs(floor(away + 0.5)));
// wrong: No gradient reaches p: you compute the fade from a p that was taken off the tape. The window passes no
//   gradient, so p can only learn through the fade.
// - return chosen * exp(away * away / (-2 * sigma * sigma));
// + return chosen * exp(away.detach() * away.detach() / (-2 * sigma * sigma));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the formula one key at a time.
Tensor by_loops(const Tensor& scores, const Tensor& p, Size reach) {
  const auto d = static_cast<double>(reach), sigma = d / 2;
  const Size length = scores.size(2);
  std::vector<double> all;
  for (Size b = 0; b < scores.size(0); ++b)
    for (Size t = 0; t < scores.size(1); ++t) {
      const auto away = [&](Size j) { return static_cast<double>(j) - p.at({b, t}); };
      double sum = 0;
      for (Size j = 0; j < length; ++j)
        if (std::abs(away(j)) <= d) sum += std::exp(scores.at({b, t, j}));
      for (Size j = 0; j < length; ++j)
        all.push_back(std::abs(away(j)) <= d ? std::exp(scores.at({b, t, j})) / sum *
                                                   std::exp(-away(j) * away(j) / (2 * sigma * sigma))
                                             : 0);
    }
  return tensor(all, scores.shape(), DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("fades the weights inside the window and masks the keys outside", [&] {
    judge.example("seven keys with the scores 1, 0, 0, 0, 0, 0, 2; p = 3 and D = 2");
    const Tensor scores = tensor({{{1, 0, 0, 0, 0, 0, 2}}}, DType::f64), p = tensor({{3}}, DType::f64);
    const double edge = std::exp(-2) / 5, near = std::exp(-0.5) / 5;  // five keys with a fifth each
    judge.same(weights_near(scores, p, 2), tensor({{{0, edge, near, 0.2, near, edge, 0}}}, DType::f64),
               "the weights");
  });
  judge.claim("computes the weights for p between two places and for other sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"queries", 1, 3}, {"keys", 1, 8}, {"D", 1, 3}}, [&](const Sizes& n) {
      const Tensor scores = judge.normal({n[0], n[1], n[2]});
      const Tensor p = judge.uniform({n[0], n[1]}, 0, static_cast<double>(n[2]));
      judge.same(weights_near(scores, p, n[3]), by_loops(scores, p, n[3]), "the weights");
    });
    judge.example("p = 3.4 and D = 2: the keys 2, 3, 4 and 5 are inside");
    const Tensor scores = judge.normal({1, 1, 8}), p = tensor({{3.4}}, DType::f64);
    judge.same(weights_near(scores, p, 2), by_loops(scores, p, 2), "the weights");
  });
  judge.claim("passes gradients to the scores and to p", [&] {
    const Tensor p = tensor({{1.3, 2.6}, {3.75, 4.2}}, DType::f64);  // off the edges
    judge.gradients([](const Tensor& scores, const Tensor& at) { return weights_near(scores, at, 2); },
                    {judge.normal({2, 2, 6}), p});
  });
}
