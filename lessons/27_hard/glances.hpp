// The task of lesson 27, sixteen covered cells of which one may be read, its model, and five training
// methods.
#pragma once

#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson27 {

inline constexpr Size kWidth = 8, kCells = 16, kSymbols = 10;

struct Table {
  Tensor query;    ///< (B, 1, width): R k, where R is a rotation and k is the arrow of the right cell
  Tensor covers;   ///< (B, cells, width): random arrows of equal norm
  Tensor symbols;  ///< (B, cells, symbols): the symbol in each cell, one-hot
  Indices meant;   ///< (B): the right cell
  Indices answer;  ///< (B): its symbol
};
/// Draws a batch of tables. R depends only on the seed, everything else on `random`.
Table lay_table(Size batch, std::uint64_t seed, kit::Random random);

/// Chooses a cell, and names the symbol that was read.
struct Reader : Module {
  /// Returns the scores (B, cells).
  Tensor scores(const Table& table) const;
  /// Maps weights (B, cells), one-hot or a mixture, to logits (B, symbols).
  Tensor answers(const Table& table, const Tensor& weights) const;

  Linear w_q{{*this, "w_q"}, kWidth, kWidth, Bias::no}, w_k{{*this, "w_k"}, kWidth, kWidth, Bias::no};
  Linear says{{*this, "says"}, kSymbols, kSymbols};
};

enum class Method { at_random, no_baseline, baseline, soft, straight_through };

struct TrainingPlan {
  std::string name;
  Method method;
  double added = 0;        ///< added to every loss
  double temperature = 1;  ///< of the softmax with Gumbel noise
};

struct Trained {
  double right = 0;  ///< right answers in %, on new tables, reading the cell with the largest score
  /// (cells): the probability of each cell of a fixed table, after each of the glimpse_steps().
  std::vector<Tensor> glimpses;
};
std::vector<Size> glimpse_steps(Size steps);
/// Returns the right cell of the table of the glimpses.
Size glimpsed_cell(std::uint64_t seed);
Trained train(const TrainingPlan& plan, const kit::Options& options);

}  // namespace tapestry::lesson27
