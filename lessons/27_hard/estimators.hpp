// What estimates of one gradient are worth: how far their mean is from it, how much they vary, what they
// read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson27 {

/// A loss for each row, whose gradient is the estimate: scores (B, n), the key that each row drew and its
/// loss (B), and a baseline.
using ByDraw =
    std::function<Tensor(const Tensor& scores, const Indices& drawn, const Tensor& losses, double b)>;

struct Moments {
  double drawn[2];  ///< the estimate after each draw
  double mean, variance;
};
/// Of the estimate for the first of two cells with chances ¼ and ¾: both draws, by their chances.
Moments of_two_cells(const ByDraw& estimate, const std::vector<double>& losses, double baseline);

/// Weights (B, n) of scores (B, n), noise (B, n) and a temperature.
using ByNoise = std::function<Tensor(const Tensor& scores, const Tensor& noise, double tau)>;
/// Gradcheck in f64, and nn/'s pieces with the same noise. What jumps has no differences to be compared
/// with: the value of `straight` must be the drawn key, one-hot, and its gradient that of `soft`.
void check_all(kit::Report& report, const ByDraw& estimate, const ByNoise& soft, const ByNoise& straight,
               std::uint64_t seed);

/// A question to a reader that knows the symbols, and does not know yet where to look. f64.
struct Unsure {
  Tensor scores;   ///< (cells): normal with deviation ½
  Tensor logits;   ///< (cells, symbols): what it says of each cell: 4 at the symbol that lies there, else 0
  Indices answer;  ///< (1): a symbol that lies in one cell only
  Tensor losses;   ///< (cells): of what it says, when that cell is read
  double expected;
  Tensor gradient;  ///< (cells): of the expected loss with respect to the scores, p_k (L_k − J)
};
Unsure unsure_reader(std::uint64_t seed);

struct Worth {
  std::string name;
  double variance = 0;  ///< Σ_k of the variances ÷ Σ_k of the gradient's squares
  double off = 0;       ///< |mean − gradient| ÷ |gradient|, in %
  double errors = 0;    ///< the largest of |mean_k − gradient_k| in standard errors of that mean
};
/// Each from as many draws, with nn/'s pieces.
struct Worths {
  Worth no_baseline, baseline, straight_cold, straight_warm, soft_cold, soft_warm;  // τ = 0.1 and 1
};
Worths measure(const Unsure& unsure, Size draws, std::uint64_t seed);
/// The variance of L_a (1{a = k} − p_k), by its chances: every loss larger by `offset`.
double exact_variance(const Unsure& unsure, double offset);

/// Something else is put under all covers but the one that was drawn: whether the estimate changes.
struct Peeks {
  bool reinforce, straight_through;
};
Peeks who_peeks(const Unsure& unsure, std::uint64_t seed);

}  // namespace tapestry::lesson27
