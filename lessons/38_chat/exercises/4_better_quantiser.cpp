// 38.4 better_quantiser: A quantiser with a smaller error
// design, 30 minutes, limit 60 s, fast
//
// Quantise 32 weights in the format Q4_1: choose d, m and 32 whole numbers q_j from 0 to 15, so that x_j ≈ d q_j + m.
// The 16 numbers d q + m are the *levels*. ggml, the library of llama.cpp, takes m = min x and d = (max x − min x) /
// 15, and rounds each weight to the nearest level. So the smallest and the largest weight are exact, but the levels
// are far apart, and the errors of all other weights are large. Choose better.
//
// The score is your mean squared error over 4,000 blocks of normally distributed weights, in percent of ggml's error.
// It must be at most 88, and less is better. The judge rounds d and m to 16 bits, because a file would store them so.
// Your function must take less than a millisecond per block.
#include "lessons/grader/answer.hpp"

struct Block {
  double d = 0, m = 0;
  std::array<int, 32> q = {};
};

//[ the choice of d, m and q
//: Block quantise_block(const std::array<double, 32>& x) {
//:   const auto [least, most] = std::minmax_element(x.begin(), x.end());
//:   Block block{(*most - *least) / 15, *least};
//:   for (std::size_t j = 0; j < 32; ++j)
//:     block.q[j] = block.d == 0 ? 0 : static_cast<int>(std::lround((x[j] - block.m) / block.d));
//:   return block;
//: }
Block quantise_block(const std::array<double, 32>& x) {
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  const double range = *most - *least;
  Block best{0, *least};
  if (range == 0) return best;
  double smallest = std::numeric_limits<double>::infinity();
  for (int cut = 0; cut <= 12; ++cut) {  // leaves out this share of the range at both ends
    const double shorter = 0.02 * cut * range / 2;
    Block block{(range - 2 * shorter) / 15, *least + shorter};
    for (int round = 0; round < 4; ++round) {
      // The nearest levels for this d and m …
      double n = 32, q1 = 0, q2 = 0, x1 = 0, qx = 0;
      for (std::size_t j = 0; j < 32; ++j) {
        block.q[j] = std::clamp(static_cast<int>(std::lround((x[j] - block.m) / block.d)), 0, 15);
        q1 += block.q[j], q2 += block.q[j] * block.q[j], x1 += x[j], qx += block.q[j] * x[j];
      }
      // … and the least squares line for these levels.
      const double spread = n * q2 - q1 * q1;
      if (spread == 0) break;
      block.d = (n * qx - q1 * x1) / spread;
      block.m = (x1 - block.d * q1) / n;
    }
    double error = 0;
    for (std::size_t j = 0; j < 32; ++j) error += std::pow(x[j] - block.d * block.q[j] - block.m, 2);
    if (error < smallest) smallest = error, best = block;
  }
  return best;
}
//]

// hint: Given the numbers q_j, which d and m make the squared error smallest? You know this problem as fitting a
//   line.
// hint: Fit x ≈ d q + m by least squares: d = (n Σqx − Σq Σx) / (n Σq² − (Σq)²). Then the levels have moved, so round
//   again, and repeat.
// hint: This finds the nearest local minimum. Try several starts, such as ranges that leave out 0 to 24 % of the
//   ends, clamp q to 0 … 15, and keep the block with the smallest error.
//
// start: This is ggml's choice, and its score is 100. The two extreme weights are exact, but they make the levels far
//   apart for the other 30. Which d and m would make the sum of all squared errors smaller?
//
// wrong: You keep the block with the largest error.
// - if (error < smallest) smallest = error, best = block;
// + if (error > smallest || smallest == std::numeric_limits<double>::infinity()) smallest = error, best = block;
// wrong: Some q_j are outside 0 … 15. Four bits cannot store them.
// - block.q[j] = std::clamp(static_cast<int>(std::lround((x[j] - block.m) / block.d)), 0, 15);
// + block.q[j] = static_cast<int>(std::lround((x[j] - block.m) / block.d));
// wrong: This is the slope of a line through the origin. The line may start anywhere, so subtract the product of
//   sums.
// - block.d = (n * qx - q1 * x1) / spread;
// + block.d = qx / q2;
// wrong: m is not the mean of the weights. It is the level of q = 0, so subtract d times the mean of the q_j.
// - block.m = (x1 - block.d * q1) / n;
// + block.m = x1 / n;

//= judge
#include "core/quantised/half.hpp"
#include "lessons/grader/judge/judge.hpp"

namespace {

using Weights = std::array<double, 32>;

double in_half(double x) { return half_to_float(float_to_half(static_cast<float>(x))); }

double error_of(const Weights& x, const Block& block) {
  double error = 0;
  for (std::size_t j = 0; j < 32; ++j)
    error += std::pow(x[j] - in_half(block.d) * block.q[j] - in_half(block.m), 2);
  return error;
}

/// ggml's choice.
Block usual(const Weights& x) {
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  Block block{(*most - *least) / 15, *least};
  for (std::size_t j = 0; j < 32 && block.d > 0; ++j)
    block.q[j] = static_cast<int>(std::lround((x[j] - block.m) / block.d));
  return block;
}

bool fits(const Block& block) {
  return std::all_of(block.q.begin(), block.q.end(), [](int q) { return q >= 0 && q <= 15; });
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("stores every block in four bits per number", [&] {
    judge.example("32 equal weights of 0.5");
    Weights x;
    x.fill(0.5);
    const Block equal = quantise_block(x);
    judge.that(fits(equal), "a q is outside 0 … 15");
    judge.between(error_of(x, equal), 0, 1e-6, "the squared error");
    judge.example("the weights 0, 1, … 31, and a large one");
    for (std::size_t j = 0; j < 32; ++j) x[j] = static_cast<double>(j);
    x[7] = 100;
    judge.that(fits(quantise_block(x)), "a q is outside 0 … 15");
  });
  judge.claim("has a smaller error than the usual choice", [&] {
    judge.example("4,000 blocks of normally distributed weights");
    double yours = 0, theirs = 0;
    bool all_fit = true;
    for (int i = 0; i < 4000; ++i) {
      Weights x;
      for (double& weight : x) weight = 0.02 * judge.random().normal();
      const Block block = quantise_block(x);
      all_fit = all_fit && fits(block);
      yours += error_of(x, block);
      theirs += error_of(x, usual(x));
    }
    judge.that(all_fit, "a q is outside 0 … 15");
    const double percent = 100 * yours / theirs;
    judge.between(percent, 0, 88, "the error in percent of the usual choice");
    judge.score(percent, "% of the usual error");
  });
}
