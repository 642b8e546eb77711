// 24.2 mean_of_words: The mean vector of a text
// implement, 10 minutes
//
// states (B, T, d) are the states of an encoder. Text b has lengths[b] tokens. The positions after them are
// padding, and their states may be any numbers. Compute one vector for each text, (B, d):
//
//     e_b = mean of the states of text b's tokens,        vector_b = e_b / |e_b|
//
// Each text has at least one token.
#include "lessons/grader/answer.hpp"

Tensor mean_of_words(const Tensor& states, const ValidLengths& lengths) {
  const Size batch = states.size(0), time = states.size(1);
  const Mask places = lengths.mask(time).reshape({batch, time, 1});  // true for the tokens of a text
  //[ three or four lines
  //: static_cast<void>(places);
  //: return not_written_yet();
  const Tensor none = scalar(0, states.dtype());
  const Tensor kept = where(places, states, none);  // where, not a product: 0 · NaN is NaN
  const Tensor ones = where(places, full({batch, time, 1}, 1, states.dtype()), none);
  const Tensor mean = sum(kept, {1}) / sum(ones, {1});  // (B, d) / (B, 1)
  return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
  //]
}

// hint: Which number must padding add to a sum so that it has no effect? And by which number do you divide
//   for text b?
// hint: where(places, states, ____) has the shape (B, T, d). Sum it over axis 1 and divide by the counts, (B,
//   1).
// hint: sum(mean * mean, {-1}, Keep::yes) has the shape (B, 1), because Keep::yes keeps the last axis. So it
//   divides each row.
//
// wrong: You divide by T, as if padding were tokens with states 0. The mean then has the right direction, but
//   the wrong norm. Divide the mean by its norm at the end.
// - return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
// + return sum(kept, {1}) / static_cast<double>(time);
// wrong: Padding counts, because the mean is over all T positions. So a short text gets a different vector in
//   a batch with a long text than alone.
// - const Tensor mean = sum(kept, {1}) / sum(ones, {1});
// + const Tensor mean = sum(states, {1}) / static_cast<double>(time);
// wrong: The norms of the vectors are not 1, so their dot products are not cosines.
// - return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
// + return mean;
// wrong: You divide by the square of the norm. The square root is missing.
// - return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
// + return mean / sum(mean * mean, {-1}, Keep::yes);
// wrong: You divide each state by its norm first, and then take the mean. In general, a mean of unit vectors
//   has another direction, and its norm is below 1.
// - const Tensor kept = where(places, states, none);
// - const Tensor ones = where(places, full({batch, time, 1}, 1, states.dtype()), none);
// - const Tensor mean = sum(kept, {1}) / sum(ones, {1});
// - return mean / sqrt(sum(mean * mean, {-1}, Keep::yes));
// + const Tensor unit = states / sqrt(sum(states * states, {-1}, Keep::yes));
// + const Tensor kept = where(places, unit, none);
// + const Tensor ones = where(places, full({batch, time, 1}, 1, states.dtype()), none);
// + return sum(kept, {1}) / sum(ones, {1});
// wrong: You return the state of the first position, [CLS]. Some models are pooled in this way, but this task
//   asks for the mean.
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
  judge.claim("returns (0.6, 0.8) for the states (4, 2) and (2, 6), for every padding", [&] {
    judge.example("states (4, 2) and (2, 6), then padding (90, 0) and (0, 5)");
    const Tensor states = tensor({{{4, 2}, {2, 6}, {90, 0}, {0, 5}}}, DType::f64);
    judge.same(mean_of_words(states, {2}), tensor({{0.6, 0.8}}, DType::f64), "the vector");
  });
  judge.claim("returns a vector for each text of a batch", [&] {
    judge.each_size({{"batch", 1, 4}, {"places", 1, 5}, {"d", 1, 4}}, [&](const Sizes& n) {
      std::vector<Size> lengths;
      for (Size b = 0; b < n[0]; ++b) lengths.push_back(b == 0 ? n[1] : judge.random().between(1, n[1]));
      const Tensor states = judge.uniform({n[0], n[1], n[2]}, 0.2, 2);
      judge.same(mean_of_words(states, ValidLengths(lengths)), by_loops(states, lengths), "the vectors");
    });
  });
  judge.claim("ignores padding, also if it is NaN", [&] {
    judge.example("a text of one place; padding NaN");
    const Tensor states = tensor({{{3, 4}, {std::nan(""), 1}}}, DType::f64);
    judge.same(mean_of_words(states, {1}), tensor({{0.6, 0.8}}, DType::f64), "the vector");
  });
  judge.claim("has the right gradients", [&] {
    const ValidLengths lengths = {3, 1};
    judge.gradients([&](const Tensor& x) { return mean_of_words(x, lengths); },
                    {judge.normal({2, 3, 4}) + 3.0});
  });
}
