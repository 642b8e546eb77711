// Sixteen covered cells, of which one may be read: the task of lesson 27, its model, and five ways to train
// it.
#pragma once

#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson27 {

inline constexpr Size kWidth = 8, kCells = 16, kSymbols = 10;

struct Table {
  Tensor
      query;  ///< (B, 1, width): R k, where R is a rotation and k stands on the cover of the cell that is meant
  Tensor covers;   ///< (B, cells, width): random arrows of one length
  Tensor symbols;  ///< (B, cells, symbols): what lies under each cover, one-hot
  Indices meant;   ///< (B): which cell
  Indices answer;  ///< (B): its symbol
};
/// R comes from the seed, all else from `random`.
Table lay_table(Size batch, std::uint64_t seed, kit::Random random);

/// Where to look, and what to say of what was read.
struct Reader : Module {
  /// (B, cells)
  Tensor scores(const Table& table) const;
  /// Weights (B, cells): of one cell, or a mixture → logits (B, symbols).
  Tensor answers(const Table& table, const Tensor& weights) const;

  Linear w_q{{*this, "w_q"}, kWidth, kWidth, Bias::no}, w_k{{*this, "w_k"}, kWidth, kWidth, Bias::no};
  Linear says{{*this, "says"}, kSymbols, kSymbols};
};

enum class Way { at_random, no_baseline, baseline, soft, straight_through };

struct Recipe {
  std::string name;
  Way way;
  double added = 0;        ///< to every loss
  double temperature = 1;  ///< of the softmax with Gumbel noise
};

struct Trained {
  double right = 0;  ///< in %, on new tables, where the cell with the largest score is read
  /// (cells): the chance of each cell of one and the same table, after the steps of glimpse_steps().
  std::vector<Tensor> glimpses;
};
std::vector<Size> glimpse_steps(Size steps);
/// The cell that is meant on the table of the glimpses.
Size glimpsed_cell(std::uint64_t seed);
Trained train(const Recipe& recipe, const kit::Options& options);

}  // namespace tapestry::lesson27
