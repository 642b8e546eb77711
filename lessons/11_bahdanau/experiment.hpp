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
  /// Takes the widths of an embedding, a decoder state and an encoder state, and the number of hidden units of the
  /// score.
  Step(Size embedding, Size state, Size memory, Size units);
  /// Returns the next state (B, state) for e (B, embedding), s (B, state) and h (B, T, memory).
  Tensor operator()(const Tensor& e, const Tensor& s, const Tensor& h, const ValidLengths& lengths) const;
  /// Return the weights of the score and of the GRU cell.
  const AdditiveScore& score() const;
  kit::GruWeights gru() const;

  Attention attention;
  GRUCell cell;
};

/// The states to which the decoder can attend.
enum class Memory {
  all_states,  ///< the T = letters + 1 encoder states, 64 numbers each: one for each letter, and one for <end>
  one_vector,  ///< [→h_T; ←h_1], 64 numbers: the last state of each direction, which depends on the whole string
};

/// nn/'s Translator: a bidirectional encoder with 32 units in each direction, and a decoder with 64 units that takes
/// the chapter's steps. The shapes and the initial values of the weights are the same for both values of `memory`.
struct Reverser : Translator {
  explicit Reverser(Memory memory);
  Encoded read(const kit::Padded& source) const;

  Memory memory;
};

/// A trained model and its test results.
struct Run {
  std::unique_ptr<Reverser> model;
  kit::Series exact;          ///< percentage of strings written without a mistake, by length
  kit::MapSeries alignments;  ///< of three strings, during training; empty for Memory::one_vector

  double worst() const;  ///< lowest exact match of all lengths
};

/// Trains for options.steps steps, then tests 1,000 new strings of each length (20 in a smoke run).
Run train_and_test(Memory memory, const std::string& name, const kit::Options& options);

/// Draws the exact match of both models by length, to lengths.svg.
void draw_lengths(const Run& all_states, const Run& one_vector, const kit::Options& options);

/// Statistics on the alignments of 14-letter strings, in per cent.
struct AlignmentShares {
  double near = 0;  ///< output letters whose largest weight is on the copied letter or a neighbour of it
  double weight_at = 0,
         weight_near = 0;  ///< mean weight on the copied letter, and on it and its two neighbours together
};

/// Writes strings and measures their alignments. Prints one string, draws its alignment to alignment.svg, and saves
/// the alignments during training to alignment_over_training.json.
AlignmentShares measure_alignments(const Run& run, const kit::Options& options);

}  // namespace tapestry::lesson11
