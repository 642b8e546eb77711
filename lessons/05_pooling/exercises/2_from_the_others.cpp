// 5.2 from_the_others: predict each point from all others
// implement, 10 minutes
//
// Lesson 05 learns σ by predicting each measured point, but not from itself: leave one out. Point i is
// predicted from all points but i, with the weights
//
//     α_ij = softmax of −(x_i − x_j)² / 2σ² over all j ≠ i
//
// x (n) are the places, y (n) the values, and the result is (n), one prediction for each point. Some places
// may be measured more than once; n is 2 or more. Mask::from(n, n, f) asks f(i, j) for each pair, and
// masked_softmax(scores, mask) is the softmax over the true places.
#include "lessons/grader/answer.hpp"

Tensor from_the_others(const Tensor& x, const Tensor& y, double sigma) {
  //[ about five lines
  //: return not_written_yet();
  const Tensor apart = unsqueeze(x, 1) - unsqueeze(x, 0);  // (n, n)
  const Tensor scores = -0.5 * apart * apart / (sigma * sigma);
  const Size n = x.size(0);
  const Mask others = Mask::from(n, n, [](Size i, Size j) { return i != j; });  // true = may attend
  const Tensor weights = masked_softmax(scores, others);  // again with the sum 1, without point i
  return squeeze(matmul(weights, unsqueeze(y, 1)), 1);
  //]
}

// hint: The points are queries and keys at once. Which entries of the table of scores (n, n) belong to a
//   point and itself?
// hint: others = Mask::from(n, n, [](Size i, Size j) { return ____; }), and true means "may attend".
// hint: masked_softmax(scores, others) takes the place of softmax(scores, -1); the rest is as without a mask.
//
// wrong: Each point still sees itself, at distance 0: its score is 0, the highest there is, so its weight is
//   larger than that of any point elsewhere. With a small σ it repeats its own value, and its error is
//   learned by heart.
// - const Tensor weights = masked_softmax(scores, others);
// + const Tensor weights = softmax(scores, -1);
// wrong: The mask is inverted: a point sees itself and nobody else. True means "may attend".
// - const Mask others = Mask::from(n, n, [](Size i, Size j) { return i != j; });
// + const Mask others = Mask::from(n, n, [](Size i, Size j) { return i == j; });
// wrong: You take the own weight away after the softmax. What is left adds up to less than 1, so every
//   prediction is too near to 0. Put in values that are all 5 and see what is predicted.
// - const Tensor weights = masked_softmax(scores, others);
// + const Tensor weights = where(others, softmax(scores, -1), scalar(0, x.dtype()));
// wrong: You leave out everything at distance 0. Where a place was measured twice, that is the other
//   measurement too, the best witness there is. Leave out by number, i ≠ j, and not by place.
// - const Mask others = Mask::from(n, n, [](Size i, Size j) { return i != j; });
// + const Mask others = less(scores, zeros(scores.shape(), x.dtype()));
// wrong: You only look back, j < i. The points to the right know as much as those to the left; and the first
//   point would have nobody to ask.
// - const Mask others = Mask::from(n, n, [](Size i, Size j) { return i != j; });
// + const Mask others = Mask::from(n, n, [](Size i, Size j) { return j < i; });
// wrong: The score that hides a point from itself is not low enough. Where all others are far away their
//   scores are lower still, and the point takes its whole weight itself.
// - const Tensor weights = masked_softmax(scores, others);
// + const Tensor weights = softmax(where(others, scores, scalar(-1000, x.dtype())), -1);
// wrong: Far from all others every e^score is 0 in f64, and 0/0 is NaN. A softmax subtracts the largest score
//   of those that are allowed before it takes powers.
// - const Tensor weights = masked_softmax(scores, others);
// + const Tensor e = exp(scores) - eye(n, x.dtype());
// + const Tensor weights = e / sum(e, {-1}, Keep::yes);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Each point with the lists of all others, which are made by leaving it out of them.
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
  judge.claim("does so for any points and any σ", [&] {
    judge.each_size({{"points", 2, 9}}, [&](const Sizes& n) {
      const Tensor x = judge.uniform({n[0]}, 0, 4), y = judge.normal({n[0]});
      const double sigma = judge.random().uniform(0.5, 2);
      judge.same(from_the_others(x, y, sigma), by_lists(x, y, sigma), "the predictions");
    });
  });
  judge.claim("does so where the nearest of the others is very far away", [&] {
    judge.example(
        "the places 0, 100, 201 with the values 3, 7, 20, and σ = 0.01: the nearest has all the weight");
    judge.same(from_the_others(tensor({0, 100, 201}, DType::f64), tensor({3, 7, 20}, DType::f64), 0.01),
               tensor({7, 3, 7}, DType::f64), "the predictions");
  });
  judge.claim("lets gradients through to places and values", [&] {
    judge.gradients([](const Tensor& x, const Tensor& y) { return from_the_others(x, y, 1); },
                    {judge.normal({5}), judge.normal({5})});
  });
}
