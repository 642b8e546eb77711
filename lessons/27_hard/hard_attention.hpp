// The task of lesson 27, sixteen cells of which one may be read, its model, and five training methods.
#pragma once

#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson27 {

inline constexpr Size kWidth = 8, kCells = 16, kSymbols = 10;

/// A batch of questions. Each has sixteen cells with a key and a symbol.
struct Questions {
  Tensor query;         ///< (B, 1, width): R k, where R is a rotation and k is the key of the right cell
  Tensor keys;          ///< (B, cells, width): random directions, norm √width
  Tensor symbols;       ///< (B, cells, symbols): the symbol in each cell, one-hot
  Indices target_cell;  ///< (B): the right cell
  Indices answer;       ///< (B): its symbol
};
/// Draws a batch of questions. R depends only on the seed, everything else on `random`.
Questions draw_questions(Size batch, std::uint64_t seed, kit::Random random);

/// Scores the cells, and names the symbol that was read.
struct Reader : Module {
  /// Returns the scores (B, cells).
  Tensor scores(const Questions& questions) const;
  /// Maps weights (B, cells), one-hot or a mixture, to logits (B, symbols).
  Tensor answers(const Questions& questions, const Tensor& weights) const;

  Linear w_q{{*this, "w_q"}, kWidth, kWidth, Bias::no}, w_k{{*this, "w_k"}, kWidth, kWidth, Bias::no};
  Linear output{{*this, "says"}, kSymbols, kSymbols};
};

enum class Method { at_random, no_baseline, baseline, soft, straight_through };

struct TrainingConfig {
  std::string name;
  Method method;
  double added = 0;        ///< added to every loss
  double temperature = 1;  ///< of the softmax with Gumbel noise
};

struct Trained {
  /// Right answers to new questions, in %. The cell with the largest score is read (at_random: a random cell).
  double right = 0;
  /// (cells): the probability of each cell of a fixed question, after each of the glimpse_steps().
  std::vector<Tensor> glimpses;
};
/// Returns the steps after which Trained::glimpses are recorded.
std::vector<Size> glimpse_steps(Size steps);
/// Returns the right cell of the question of the glimpses.
Size glimpsed_cell(std::uint64_t seed);
Trained train(const TrainingConfig& config, const kit::Options& options);

}  // namespace tapestry::lesson27
