// 24.2 mean_of_words: one vector of a text, without its padding
// implement, 10 minutes
//
// states (B, T, d) are an encoder's, and text b has lengths[b] places; what stands behind them is padding,
// and may be anything. Make one vector of each text, (B, d):
//
//     e_b = mean of the states of its places,        vector_b = e_b / |e_b|
//
// Each text has at least one place.
#include "lessons/grader/answer.hpp"

Tensor mean_of_words(const Tensor& states, const ValidLengths& lengths) {
  const Size batch = states.size(0), time = states.size(1);
  const Mask places = lengths.mask(time).reshape({batch, time, 1});  // true for a text's own places
  //[ three or four lines
  //: static_cast<void>(places);
  //: return not_written_yet();
  const Tensor none = scalar(0, states.dtype());
  const Tensor kept = where(places, states, none);  // a choice: 0 · NaN would be NaN
  const Tensor ones = where(places, full({batch, time, 1}, 1, states.dtype()), none);
  const Tensor mean = sum(kept, {1}) / sum(ones, {1});  // (B, d) / (B, 1)
  return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
  //]
}

// hint: What must padding add to a sum so that it says nothing? And by how many do you divide for text b?
// hint: where(places, states, ____) is (B, T, d); its sum over axis 1, divided by a (B, 1) of counts.
// hint: Keep::yes in sum(mean * mean, {-1}, Keep::yes) leaves (B, 1), which divides each row.
//
// wrong: You divide by T, as if padding were words that say 0. The direction survives that, but not the
//   length: bring the mean to length 1 afterwards.
// - return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
// + return sum(kept, {1}) / static_cast<double>(time);
// wrong: Padding is counted: the mean is over all T places. A short text beside a long one then gets another
//   vector than alone.
// - const Tensor mean = sum(kept, {1}) / sum(ones, {1});
// + const Tensor mean = sum(states, {1}) / static_cast<double>(time);
// wrong: The vectors do not have length 1, so that their products are no cosines.
// - return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
// + return mean;
// wrong: You divide by the square of the length: a root is missing.
// - return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
// + return mean / sum(mean * mean, {-1}, Keep::yes);
// wrong: Each state is brought to length 1, and then the mean is taken. A mean of unit vectors has another
//   direction, and is shorter than 1.
// - const Tensor kept = where(places, states, none);
// - const Tensor ones = where(places, full({batch, time, 1}, 1, states.dtype()), none);
// - const Tensor mean = sum(kept, {1}) / sum(ones, {1});
// - return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
// + const Tensor unit = states / sqrt(sum(states * states, {-1}, Keep::yes));
// + const Tensor kept = where(places, unit, none);
// + const Tensor ones = where(places, full({batch, time, 1}, 1, states.dtype()), none);
// + return sum(kept, {1}) / sum(ones, {1});
// wrong: You took the first place alone, [CLS]. Some models are pooled so, this one was trained with the
//   mean.
// - const Tensor mean = sum(kept, {1}) / sum(ones, {1});
// + const Tensor mean = select(kept, 1, 0) + 0.0 * sum(ones, {1});

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Tensor by_loops(const Tensor& states, const std::vector<Size>& lengths) {
  std::vector<double> all;
  for (Size b = 0; b < states.size(0); ++b) {
    std::vector<double> mean(static_cast<std::size_t>(states.size(2)), 0.0);
    double square = 0;
    for (Size i = 0; i < states.size(2); ++i) {
      double& x = mean[static_cast<std::size_t>(i)];
      for (Size t = 0; t < lengths[static_cast<std::size_t>(b)]; ++t) x += states.at({b, t, i});
      x /= static_cast<double>(lengths[static_cast<std::size_t>(b)]);
      square += x * x;
    }
    for (const double x : mean) all.push_back(x / std::sqrt(square));
  }
  return tensor(all, {states.size(0), states.size(2)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("gives (0.6, 0.8) for states (4, 2) and (2, 6), whatever the padding", [&] {
    judge.example("states (4, 2) and (2, 6), then padding (90, 0) and (0, 5)");
    const Tensor states = tensor({{{4, 2}, {2, 6}, {90, 0}, {0, 5}}}, DType::f64);
    judge.same(mean_of_words(states, {2}), tensor({{0.6, 0.8}}, DType::f64), "the vector");
  });
  judge.claim("gives each text of a batch its own vector", [&] {
    judge.each_size({{"batch", 1, 4}, {"places", 1, 5}, {"d", 1, 4}}, [&](const Sizes& n) {
      std::vector<Size> lengths;
      for (Size b = 0; b < n[0]; ++b) lengths.push_back(b == 0 ? n[1] : judge.random().between(1, n[1]));
      const Tensor states = judge.uniform({n[0], n[1], n[2]}, 0.2, 2);
      judge.same(mean_of_words(states, ValidLengths(lengths)), by_loops(states, lengths), "the vectors");
    });
  });
  judge.claim("lets nothing of the padding through, NaN neither", [&] {
    judge.example("a text of one place; padding NaN");
    const Tensor states = tensor({{{3, 4}, {std::nan(""), 1}}}, DType::f64);
    judge.same(mean_of_words(states, {1}), tensor({{0.6, 0.8}}, DType::f64), "the vector");
  });
  judge.claim("lets gradients through", [&] {
    const ValidLengths lengths = {3, 1};
    judge.gradients([&](const Tensor& x) { return mean_of_words(x, lengths); },
                    {judge.normal({2, 3, 4}) + 3.0});
  });
}
