// Lesson 11's models on top of nn/, and their training, tests and pictures.
#pragma once

#include <memory>
#include <string>

#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/map_series.hpp"
#include "lessons/kit/tasks/gru_step.hpp"
#include "lessons/kit/tasks/reversal.hpp"
#include "nn/seq2seq/seq2seq.hpp"

namespace tapestry::lesson11 {

/// The chapter's decoder step built from nn/: Attention with the score additive(), and a GRUCell.
struct Step : Module {
  /// Takes the widths of an embedding, of the decoder's state and of an encoder state, and the hidden units of the
  /// score.
  Step(Size embedding, Size state, Size memory, Size units);
  /// e (B, embedding), s (B, state), h (B, T, memory) → the next state (B, state).
  Tensor operator()(const Tensor& e, const Tensor& s, const Tensor& h, const ValidLengths& lengths) const;
  /// Access to the weights.
  const AdditiveScore& score() const;
  kit::GruWeights gru() const;

  Attention attention;
  GRUCell cell;
};

/// The states that the decoder may look at.
enum class Sees {
  all_states,  ///< one state of 64 numbers for each letter
  one_vector,  ///< [→h_T; ←h_1], 64 numbers: the last state of each direction, which has read the whole string
};

/// nn/'s Translator: a bidirectional encoder with 32 units in each direction, and a decoder with 64 units that takes
/// the chapter's steps. `sees` changes neither the shapes of the weights nor their first values.
struct Reverser : Translator {
  explicit Reverser(Sees sees);
  Encoded read(const kit::Padded& source) const;

  Sees sees;
};

/// A trained model and its test results.
struct Run {
  std::unique_ptr<Reverser> model;
  kit::Series exact;          ///< per cent of strings written without a mistake, by length
  kit::MapSeries alignments;  ///< of three strings, during training; empty for Sees::one_vector

  double worst() const;  ///< the lowest exact match of all lengths
};

/// Trains for options.steps steps, then tests 1,000 new strings of each length (20 in a smoke run).
Run train_and_test(Sees sees, const std::string& name, const kit::Options& options);

/// Draws exact match against length for both models, to lengths.svg.
void draw_lengths(const Run& looking, const Run& squeezed, const kit::Options& options);

/// Statistics of the alignments of strings of 14 letters, in per cent.
struct Looked {
  double near = 0;  ///< letters whose largest weight is on the letter itself or on a neighbour
  double weight_at = 0, weight_near = 0;  ///< mean weight on the letter itself; with its two neighbours
};

/// Writes strings and measures their alignments. Prints one string, draws its alignment to alignment.svg, and saves
/// the alignments during training to alignment_over_training.json.
Looked watch(const Run& run, const kit::Options& options);

}  // namespace tapestry::lesson11
