// 5.2 from_the_others: Leave-one-out predictions
// implement, 10 minutes
//
// Lesson 05 learns σ from predictions that leave one point out. Point i is predicted from all points except i, with the
// weights
//
//     α_ij = softmax of −(x_i − x_j)² / 2σ² over all j ≠ i
//
// x (n) are the places and y (n) the measured values, for n ≥ 2 points. A place may occur more than once. Return the
// predictions, (n).
//
// x.size(0) is n, the number of points, as a Size. Mask::from(n, n, f) calls f(i, j) for each pair, where i and j are of
// type Size, too. masked_softmax(scores, mask) is the softmax over the pairs that are true.
#include "lessons/grader/answer.hpp"

Tensor from_the_others(const Tensor& x, const Tensor& y, double sigma) {
  //[ about five lines
  //: return not_written_yet();
  const Tensor apart = unsqueeze(x, 1) - unsqueeze(x, 0);  // (n, n)
  const Tensor scores = -0.5 * apart * apart / (sigma * sigma);
  const Size n = x.size(0);
  const Mask others = Mask::from(n, n, [](Size i, Size j) { return i != j; });  // true = may attend
  const Tensor weights = masked_softmax(scores, others);  // adds up to 1 without point i
  return squeeze(matmul(weights, unsqueeze(y, 1)), 1);
  //]
}

// hint: The points are both the queries and the keys. Which elements of the scores (n, n) belong to a point and itself?
// hint: others = Mask::from(n, n, [](Size i, Size j) { return ____; }), where true means "may attend".
// hint: Use masked_softmax(scores, others) in place of softmax(scores, -1). The other lines need no change.
//
// wrong: Each point still attends to itself. Its own score is 0, the highest possible score, so its own weight is
//   larger than that of any point at another place. With a small σ, it predicts its own value, including the error.
// - const Tensor weights = masked_softmax(scores, others);
// + const Tensor weights = softmax(scores, -1);
// wrong: The mask is inverted, so each point attends only to itself. True means "may attend".
// - const Mask others = Mask::from(n, n, [](Size i, Size j) { return i != j; });
// + const Mask others = Mask::from(n, n, [](Size i, Size j) { return i == j; });
// wrong: You remove the point's own weight after the softmax. The remaining weights add up to less than 1, so every
//   prediction is too close to 0. If all values are 5, every prediction must be 5.
// - const Tensor weights = masked_softmax(scores, others);
// + const Tensor weights = where(others, softmax(scores, -1), scalar(0, x.dtype()));
// wrong: You leave out every point at distance 0. If a place was measured twice, this also removes the other
//   measurement at the same place, which is the most useful one. Compare the indices, i ≠ j, not the places.
// - const Mask others = Mask::from(n, n, [](Size i, Size j) { return i != j; });
// + const Mask others = less(scores, zeros(scores.shape(), x.dtype()));
// wrong: You use only earlier points, j < i. The points to the right are as useful as the points to the left, and the
//   first point would have no point to attend to.
// - const Mask others = Mask::from(n, n, [](Size i, Size j) { return i != j; });
// + const Mask others = Mask::from(n, n, [](Size i, Size j) { return j < i; });
// wrong: The score −1000 is not low enough to exclude the point itself. If all other points are far away, their scores
//   are still lower, and the point gets the whole weight itself.
// - const Tensor weights = masked_softmax(scores, others);
// + const Tensor weights = softmax(where(others, scores, scalar(-1000, x.dtype())), -1);
// wrong: If all other points are far away, every e^score is 0 in f64, and 0/0 is NaN. Softmax avoids this: it subtracts
//   the largest score that the mask allows before it computes the exponentials.
// - const Tensor weights = masked_softmax(scores, others);
// + const Tensor e = exp(scores) - eye(n, x.dtype());
// + const Tensor weights = e / sum(e, {-1}, Keep::yes);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Predicts each point from lists from which the point has been erased.
Tensor by_lists(const Tensor& x, const Tensor& y, double sigma) {
  const std::vector<double> places = x.to_vector(), values = y.to_vector();
  std::vector<double> predictions;
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::vector<double> at = places, seen = values;
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(i));
    seen.erase(seen.begin() + static_cast<std::ptrdiff_t>(i));
    double above = 0, below = 0;
    for (std::size_t j = 0; j < at.size(); ++j) {
      const double kernel = std::exp(-std::pow(places[i] - at[j], 2) / (2 * sigma * sigma));
      above += kernel * seen[j];
      below += kernel;
    }
    predictions.push_back(above / below);
  }
  return tensor(predictions, x.shape(), DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("predicts each of four points, two of them at one place, from three others", [&] {
    const Tensor x = tensor({1, 1, 2, 4}, DType::f64), y = tensor({10, 12, 20, 40}, DType::f64);
    judge.example("the places 1, 1, 2, 4 with the values 10, 12, 20, 40, and σ = 1");
    judge.same(from_the_others(x, y, 1), by_lists(x, y, 1), "the predictions");
  });
  judge.claim("predicts random points for random σ", [&] {
    judge.each_size({{"points", 2, 9}}, [&](const Sizes& n) {
      const Tensor x = judge.uniform({n[0]}, 0, 4), y = judge.normal({n[0]});
      const double sigma = judge.random().uniform(0.5, 2);
      judge.same(from_the_others(x, y, sigma), by_lists(x, y, sigma), "the predictions");
    });
  });
  judge.claim("predicts points that are far from all other points", [&] {
    judge.example(
        "the places 0, 100, 201 with the values 3, 7, 20, and σ = 0.01: the nearest point gets all of the weight");
    judge.same(from_the_others(tensor({0, 100, 201}, DType::f64), tensor({3, 7, 20}, DType::f64), 0.01),
               tensor({7, 3, 7}, DType::f64), "the predictions");
  });
  judge.claim("has the right gradients for places and values", [&] {
    judge.gradients([](const Tensor& x, const Tensor& y) { return from_the_others(x, y, 1); },
                    {judge.normal({5}), judge.normal({5})});
  });
}
