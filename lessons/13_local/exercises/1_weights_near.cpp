// 13.1 weights_near: a window around p, and a fade
// implement, 15 minutes
//
// Local-p looks only at the keys within D places of the position p that the decoder predicted, and weighs
// down those that are farther from it. For each query t and each key j = 0 … S − 1:
//
//     α_tj = softmax of the scores where |j − p_t| ≤ D  ·  exp(−(j − p_t)² / 2σ²),        σ = D/2
//
// and 0 outside the window. scores is (B, Tq, S), p (B, Tq) of real numbers; the result is (B, Tq, S). What
// the fade has taken away is not given back: the weights are not normalised again. Gradients must reach the
// scores and p. arange(0, S, 1, dtype) and less(a, b), a mask, are useful.
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

// hint: You need j − p_t for all t and j at once. Which shapes of the places (S) and of p broadcast to
//   (B, Tq, S)?
// hint: away = arange(0, length, 1, p.dtype()) - unsqueeze(p, __). A key is inside if D is not less than
//   abs(away).
// hint: masked_softmax(scores, inside) * exp(____ / (-2 * sigma * sigma)), and nothing after it.
//
// wrong: σ is D: at the edge of the window exp(−D² / 2D²) = 0.607 of the weight is left. With σ = D/2 it is
//   0.135, so that a key comes in nearly unseen.
// - const double sigma = d / 2;
// + const double sigma = d;
// wrong: The weights are normalised again after the fade. Then a lone key at the window's edge gets weight 1,
//   and p learns nothing from it: what the fade says about the distance is divided away.
// - return chosen * exp(away * away / (-2 * sigma * sigma));
// + const Tensor faded = chosen * exp(away * away / (-2 * sigma * sigma));
// + return faded / sum(faded, {-1}, Keep::yes);
// wrong: There is no window: every key takes part in the softmax. The fade alone makes the far ones small,
//   but they have had their share of the sum already.
// - const Tensor chosen = masked_softmax(scores, inside);
// + static_cast<void>(inside);
// + const Tensor chosen = softmax(scores, -1);
// wrong: The window is applied after the softmax, so that the keys outside have had their share of the sum.
//   It is a mask, and belongs before.
// - const Tensor chosen = masked_softmax(scores, inside);
// + const Tensor chosen = where(inside, softmax(scores, -1), scalar(0, scores.dtype()));
// wrong: The keys at exactly the distance D are missing: |j − p| ≤ D holds for them.
// - const Mask inside = !less(scalar(d, p.dtype()), abs(away));
// + const Mask inside = less(abs(away), scalar(d, p.dtype()));
// wrong: The 2 of 2σ² is missing: at the edge only e⁻⁴ = 0.018 is left, and e⁻² = 0.135 should be.
// - return chosen * exp(away * away / (-2 * sigma * sigma));
// + return chosen * exp(away * away / (-1 * sigma * sigma));
// wrong: The window sits on whole places: you rounded p. It is a real number, and between two places a window
//   holds one key fewer.
// - const Mask inside = !less(scalar(d, p.dtype()), abs(away));
// + const Mask inside = !less(scalar(d, p.dtype()), abs(floor(away + 0.5)));
// wrong: No gradient reaches p: the fade is computed from a p that was taken off the tape. The window has no
//   slope, so the fade is the only way by which p can learn.
// - return chosen * exp(away * away / (-2 * sigma * sigma));
// + return chosen * exp(away.detach() * away.detach() / (-2 * sigma * sigma));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The formula, one key at a time.
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
  judge.claim("fades inside the window, and hides what is outside", [&] {
    judge.example("seven keys with the scores 1, 0, 0, 0, 0, 0, 2; p = 3, D = 2");
    const Tensor scores = tensor({{{1, 0, 0, 0, 0, 0, 2}}}, DType::f64), p = tensor({{3}}, DType::f64);
    const double edge = std::exp(-2) / 5, near = std::exp(-0.5) / 5;  // five keys with a fifth each
    judge.same(weights_near(scores, p, 2), tensor({{{0, edge, near, 0.2, near, edge, 0}}}, DType::f64),
               "the weights");
  });
  judge.claim("does so between two places, at any sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"queries", 1, 3}, {"keys", 1, 8}, {"D", 1, 3}}, [&](const Sizes& n) {
      const Tensor scores = judge.normal({n[0], n[1], n[2]});
      const Tensor p = judge.uniform({n[0], n[1]}, 0, static_cast<double>(n[2]));
      judge.same(weights_near(scores, p, n[3]), by_loops(scores, p, n[3]), "the weights");
    });
    judge.example("p = 3.4, D = 2: the keys 2, 3, 4 and 5 are inside");
    const Tensor scores = judge.normal({1, 1, 8}), p = tensor({{3.4}}, DType::f64);
    judge.same(weights_near(scores, p, 2), by_loops(scores, p, 2), "the weights");
  });
  judge.claim("lets gradients through to the scores and to p", [&] {
    const Tensor p = tensor({{1.3, 2.6}, {3.75, 4.2}}, DType::f64);  // off the edges
    judge.gradients([](const Tensor& scores, const Tensor& at) { return weights_near(scores, at, 2); },
                    {judge.normal({2, 2, 6}), p});
  });
}
