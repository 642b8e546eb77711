// Self-attention at work: nn/'s layer, a gap in a sentence, tokens that occur twice, and what it all costs.
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

/// The chapter's layer in terms of nn/: three linear layers, and Attention with the score scaled_dot().
/// Without projections the words go straight into Attention.
struct SelfAttention : Module {
  SelfAttention(Parent parent, Size width, Projected projected);
  SelfAttention(Size width, Projected projected) : SelfAttention(Parent{}, width, projected) {}

  /// a (B, n, d) → context (B, n, d), weights (B, n, n)
  AttentionOutput operator()(const Tensor& a) const;

  std::optional<Linear> query, key, value;
  Attention attention{{*this, "attention"}, scaled_dot()};
};

/// Judges what the chapter wrote, with projections and without: the same as the four steps one word at a
/// time; right derivatives; and the same as this layer.
void check_layers(const std::function<Tensor(const Tensor& a, const SelfAttention& layer)>& projected,
                  const std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>& mix,
                  std::uint64_t seed, kit::Report& report);

/// How a model filled the gap of sentences that it had not seen.
struct Filled {
  double right = 0, on_noun = 0;  ///< in per cent: right words; the gap's mean weight on the noun
  Tensor weights;                 ///< (4, 4), of "see _ girl run"
};

/// Who looks at whom in "see _ girl run", at several steps of a training; for two models, with projections and
/// without.
kit::TrainingRecorder film_of_agreement(const kit::Options& options);
Filled learn_agreement(const char* name, Projected projected, kit::TrainingRecorder& film,
                       const kit::Options& options);
/// Who looks at whom in "see _ girl run"; to agreement.svg, and the film to agreement_over_training.json.
void draw_agreement(const Filled& filled, const kit::TrainingRecorder& film, const kit::Options& options);

/// Judges "shuffled in, shuffled out" on twelve random words: true of self-attention, false of a GRU.
void check_order(std::uint64_t seed, kit::Report& report);

/// Tokens that are marked rightly, in per cent.
struct Marked {
  double always_no = 0, self = 0, rnn = 0, gru = 0, wide = 0;
  bool fair = false;  ///< neither of the two recurrent models has fewer weights than self-attention
  /// Of the trained self-attention, as a kind occurs once, twice, three times: the weight that a token gives
  /// to its kind grows; what each token of the kind gets of it falls.
  bool grows = false, each_falls = false;
};

/// Trains self-attention with projections and without, an RNN, a GRU, and a wide GRU with three times the
/// units, for options.steps each. Who looks at whom goes to like.svg, map.svg and
/// like_over_training.json.
Marked mark_the_twice(const kit::Options& options);

/// Milliseconds forward and backward for one sequence of width 64: self-attention, and a GRU; to time.svg.
void draw_costs(const kit::Options& options);

}  // namespace tapestry::lesson16
