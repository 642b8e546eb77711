// Lesson 16's experiments with self-attention from nn/: filling a gap, marking tokens, measuring times.
#pragma once

#include <functional>
#include <optional>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/map_series.hpp"
#include "nn/attention/attention.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson16 {

enum class Projected { no, yes };
/// The chapter's layer built from nn/: three linear layers, and Attention with the score scaled_dot(). Without
/// projections, the tokens are passed to Attention directly.
struct SelfAttention : Module {
  SelfAttention(Parent parent, Size width, Projected projected);
  SelfAttention(Size width, Projected projected) : SelfAttention(Parent{}, width, projected) {}

  /// Computes the context (B, n, d) and the weights (B, n, n) from a (B, n, d).
  AttentionOutput operator()(const Tensor& a) const;

  std::optional<Linear> query, key, value;
  Attention attention{{*this, "attention"}, scaled_dot()};
};

/// Checks the chapter's functions with projections and without. Their results must equal those of the four steps,
/// computed token by token, and those of SelfAttention. Their derivatives must pass a gradient check.
void check_layers(const std::function<Tensor(const Tensor& a, const SelfAttention& layer)>& projected,
                  const std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>& unprojected,
                  std::uint64_t seed, kit::Report& report);

/// Results of a model on sentences that are not in its training set.
struct Filled {
  double right = 0, on_noun = 0;  ///< right answers, and mean weight of the gap on the noun, both in per cent
  double gap_at_start = 0;        ///< mean weight of the gap on itself before training, in per cent
  Tensor weights;                 ///< attention weights for "see _ girl run", (4, 4)
};

/// Returns a recorder of the attention weights in "see _ girl run" at several steps of training. It records two
/// models: first the one with projections, then the one without.
kit::TrainingRecorder recorder_of_agreement(const kit::Options& options);
/// Trains a model. Prints the gap's weights in "see _ girl run" before and after training.
Filled learn_agreement(const char* name, Projected projected, kit::TrainingRecorder& recorder,
                       const kit::Options& options);
/// Draws the attention weights in "see _ girl run" to agreement.svg, and saves the recorded maps to
/// agreement_over_training.json.
void draw_agreement(const Filled& filled, const kit::TrainingRecorder& recorder, const kit::Options& options);

/// Checks on twelve random tokens that self-attention is permutation-equivariant, and that a GRU is not.
void check_order(std::uint64_t seed, kit::Report& report);

/// Percentages of correctly marked tokens, and properties of the models.
struct Marked {
  double always_no = 0, self = 0, rnn = 0, gru = 0, wide = 0;
  bool fair = false;  ///< RNN and GRU each have at least the number of weights of self-attention
  /// In the trained self-attention, from one occurrence of a symbol to two and three: the total weight on the
  /// symbol grows, and the weight on each of its tokens falls.
  bool grows = false, each_falls = false;
};

/// Trains self-attention with projections and without, an RNN, a GRU, and a wide GRU with three times the
/// units, for options.steps each. Writes the attention weights to like.svg, map.svg and
/// like_over_training.json.
Marked train_markers(const kit::Options& options);

/// Measures the time of self-attention and of a GRU for one sequence of width 64. A time covers one forward and one
/// backward pass. Draws the times to time.svg.
void draw_costs(const kit::Options& options);

}  // namespace tapestry::lesson16
