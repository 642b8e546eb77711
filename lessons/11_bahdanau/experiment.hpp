// Reversing strings while looking back: nn/'s step, the models, their training and the pictures of lesson 11.
#pragma once

#include <memory>
#include <string>

#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/map_series.hpp"
#include "lessons/kit/tasks/gru_step.hpp"
#include "lessons/kit/tasks/reversal.hpp"
#include "nn/seq2seq/seq2seq.hpp"

namespace tapestry::lesson11 {

/// The chapter's step in terms of nn/: Attention with the score additive(), and a GRUCell.
struct Step : Module {
  /// Widths of an embedding, of the decoder's state, of an encoder's state; hidden units of the score.
  Step(Size embedding, Size state, Size memory, Size units);
  /// e (B, embedding), s (B, state), h (B, T, memory) → the next state (B, state).
  Tensor operator()(const Tensor& e, const Tensor& s, const Tensor& h, const ValidLengths& lengths) const;
  /// For its weights.
  const AdditiveScore& score() const;
  kit::GruWeights gru() const;

  Attention attention;
  GRUCell cell;
};

/// What the decoder may look at.
enum class Sees {
  all_states,  ///< a state of 64 numbers for each letter
  one_vector,  ///< the two ends, [→h_T; ←h_1], where each direction has read the whole string: 64 numbers
};

/// nn/'s Translator: an encoder that reads in both directions, 32 units each, and a decoder of the chapter's
/// steps with 64. What it sees changes no weight's shape and no first value.
struct Reverser : Translator {
  explicit Reverser(Sees sees);
  Encoded read(const kit::Padded& source) const;

  Sees sees;
};

struct Run {
  std::unique_ptr<Reverser> model;
  kit::Series exact;  ///< per cent of strings written without a mistake, for each length that was trained
  kit::MapSeries alignments;  ///< meanwhile, of three strings; of a model that sees all states

  double worst() const;  ///< of all lengths
};

/// Trains for options.steps, then tests 1,000 fresh strings of each length.
Run train_and_test(Sees sees, const std::string& name, const kit::Options& options);

/// Exact match against length, both curves; to lengths.svg.
void draw_lengths(const Run& looking, const Run& squeezed, const kit::Options& options);

/// Where a model looked while it wrote strings of 14 letters, in per cent.
struct Looked {
  double near = 0;  ///< letters whose largest weight lies on the letter itself or on one beside it
  double weight_at = 0, weight_near = 0;  ///< the mean weight on the letter itself; its neighbours included
};

/// Prints one string, and draws its alignment to alignment.svg; those of the training go to
/// alignment_over_training.json.
Looked watch(const Run& run, const kit::Options& options);

}  // namespace tapestry::lesson11
