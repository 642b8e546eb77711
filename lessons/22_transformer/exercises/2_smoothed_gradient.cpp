// 22.2 smoothed_gradient: The gradient of label smoothing
// derive, 15 minutes
//
// The loss of a batch is the mean of −Σ_c t_c log p_c over the positions that count. p is the softmax of the
// logits at a position, and t is the smoothed target: each of the V words gets ε/V, and the right word gets
// 1 − ε in addition. Positions with the target 0 are padding and do not count.
//
// Write the gradient of the loss with respect to the logits, without a tape. The shapes are logits (N, V) and
// targets (N). The result is (N, V).
#include "lessons/grader/answer.hpp"

Tensor smoothed_gradient(const Tensor& logits, const Indices& targets, double smoothing) {
  const Size places = logits.size(0), words = logits.size(1);
  const std::vector<std::int64_t> right = targets.to_vector();
  const Tensor p = softmax(logits, -1);
  std::vector<double> g(static_cast<std::size_t>(places * words), 0.0);  // row by row
  const double counted = static_cast<double>(places - std::count(right.begin(), right.end(), 0));
  for (Size n = 0; n < places; ++n)
    for (Size c = 0; c < words; ++c) {
      double& out = g[static_cast<std::size_t>(n * words + c)];  // the gradient of logit c at position n
      const std::int64_t wanted = right[static_cast<std::size_t>(n)];
      //[ two or three lines; p.at({n, c}) is a probability
      //: static_cast<void>(out), static_cast<void>(wanted), static_cast<void>(counted);
      //: return not_written_yet();
      const double spread = smoothing / static_cast<double>(words);  // for every word, the right one included
      const double t = (c == wanted ? 1 - smoothing : 0) + spread;   // sums to 1 over the words
      if (wanted != 0) out = (p.at({n, c}) - t) / counted;           // p − t as in lesson 03, for a mean
      //]
    }
  return tensor(g, logits.shape(), logits.dtype());
}

// hint: If the t_c sum to 1, what is the gradient of −Σ t_c log softmax(z)_c with respect to z? Lesson 03
//   derives it for a t that is 1 at one word.
// hint: out = (p.at({n, c}) − t) / ____, where t is ε/V, plus ____ for the right word.
// hint: Positions with wanted == 0 keep their zeros, and the mean does not count them.
//
// wrong: You give the right word only 1 − ε, so your targets sum to 1 − ε/V. In this exercise ε is spread over
//   all V words, the right one included.
// - const double t = (c == wanted ? 1 - smoothing : 0) + spread;
// + const double t = c == wanted ? 1 - smoothing : spread;
// wrong: You spread ε over the V − 1 wrong words. This is another convention. In this exercise the right word
//   also gets its ε/V.
// - const double spread = smoothing / static_cast<double>(words);
// - const double t = (c == wanted ? 1 - smoothing : 0) + spread;
// + const double spread = smoothing / static_cast<double>(std::max<Size>(1, words - 1));
// + const double t = c == wanted ? 1 - smoothing : spread;
// wrong: You computed the gradient without smoothing, in which the right word has the target 1.
// - const double t = (c == wanted ? 1 - smoothing : 0) + spread;
// + const double t = (c == wanted ? 1 : 0) + 0 * spread;
// wrong: The sign is reversed. Gradient descent subtracts the gradient. A logit must grow where p is less than
//   t, so its gradient p − t is negative there.
// - if (wanted != 0) out = (p.at({n, c}) - t) / counted;
// + if (wanted != 0) out = (t - p.at({n, c})) / counted;
// wrong: You computed the gradient of the sum. The loss is the mean over the positions that count.
// - if (wanted != 0) out = (p.at({n, c}) - t) / counted;
// + if (wanted != 0) out = p.at({n, c}) - t;
// wrong: You divide by the number of all positions, padding included. So the gradient of a batch shrinks when
//   the batch has more padding.
// - if (wanted != 0) out = (p.at({n, c}) - t) / counted;
// + if (wanted != 0) out = (p.at({n, c}) - t) / static_cast<double>(places);
// wrong: Your gradient is not 0 at padding, so the model would learn to write padding.
// - if (wanted != 0) out = (p.at({n, c}) - t) / counted;
// + out = (p.at({n, c}) - t) / counted;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the loss from its definition.
double loss_of(const std::vector<double>& z, const std::vector<std::int64_t>& right, Size words,
               double smoothing) {
  double loss = 0, counted = 0;
  for (std::size_t n = 0; n < right.size(); ++n) {
    if (right[n] == 0) continue;
    ++counted;
    const double* row = z.data() + n * static_cast<std::size_t>(words);
    double sum = 0;
    for (Size c = 0; c < words; ++c) sum += std::exp(row[c]);
    for (Size c = 0; c < words; ++c) {
      const double target = smoothing / static_cast<double>(words) + (c == right[n] ? 1 - smoothing : 0);
      loss -= target * (row[c] - std::log(sum));
    }
  }
  return loss / counted;
}

/// Returns the gradient by central differences.
Tensor differences(const Tensor& logits, const std::vector<std::int64_t>& right, double smoothing) {
  constexpr double kStep = 1e-5;
  std::vector<double> z = logits.to_vector(), slopes;
  for (double& value : z) {
    const double here = value;
    value = here + kStep;
    const double above = loss_of(z, right, logits.size(1), smoothing);
    value = here - kStep;
    slopes.push_back((above - loss_of(z, right, logits.size(1), smoothing)) / (2 * kStep));
    value = here;
  }
  return tensor(slopes, logits.shape(), DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](const Tensor& logits, const std::vector<std::int64_t>& right, double smoothing) {
    judge.same(smoothed_gradient(logits, Indices(right, {logits.size(0)}), smoothing),
               differences(logits, right, smoothing), "the gradient", 1e-7);
  };
  judge.claim("computes the gradient for two positions and four words", [&] {
    judge.example("the right words are 1 and 3, ε = 0.2");
    compare(judge.normal({2, 4}), {1, 3}, 0.2);
  });
  judge.claim("excludes padding from the gradient and from the mean", [&] {
    judge.each_size({{"places", 2, 6}, {"words", 3, 6}}, [&](const Sizes& n) {
      std::vector<std::int64_t> right;
      for (Size i = 0; i < n[0]; ++i) right.push_back(i == 0 ? 1 : i == 1 ? 0 : judge.random().below(n[1]));
      compare(judge.normal({n[0], n[1]}), right, judge.random().uniform(0.05, 0.3));
    });
  });
}
