// Translating sentences with names: a writer that can copy and one that cannot, their training, what they get right.
#pragma once

#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/attention/pointing/copy.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"

namespace tapestry::lesson29 {

/// The mixture by hand beside nn/'s copy_loss, in f64: vocabulary (B, V), weights (B, S), p_gen (B, 1), the source's ids
/// (B, S), `extra` of them unknown → (B, V + extra).
using Mixture = Tensor (*)(const Tensor& vocabulary, const Tensor& weights, const Tensor& p_gen,
                           const Indices& source, Size extra);
void check_copying(Mixture by_hand, std::uint64_t seed, kit::Report& report);

/// What a Writer is told, and what it says.
struct Written {
  CopyScores scores;
  Indices words;  ///< (B, T), what it wrote, of the open vocabulary; none in training
};

/// Lesson 11's: a bidirectional GRU reads, a GRU that attends before each step writes. New is the gate.
struct Writer : Module {
  Writer();
  /// Each step is given the word before, of `target` (B, T) in the open vocabulary.
  CopyScores forced(const Indices& source, const Indices& target) const;
  /// As many words as the source has, each fed back. Without `copies` it writes known words alone, 40 among them.
  Written write(const Indices& source, bool copies) const;

  Embedding read, written;
  GRU encoder;
  Linear start;
  Attention attention;
  GRUCell cell;
  Linear output, gate;

 private:
  struct State {
    PreparedKV memory;
    Tensor hidden;  // (B, H)
    ScoreState looked;
  };
  State begin(const Indices& source) const;
  /// The word before (B) → what output and gate read (B, …), and where it looked (B, 1, S).
  Tensor step(const Indices& word, State& state, Tensor& weights) const;
};

/// In %, of sentences of the longest trained length.
struct Named {
  double names = 0, words = 0, sentences = 0;  ///< right: names, known words, whole sentences
  double replaced = 0;  ///< names, where 40 is replaced by the source's word with the largest weight
};
struct Copied {
  Named plain, copies;
};
/// Trains both, prints a table, and draws copying.svg.
Copied train_writers(const kit::Options& options);

}  // namespace tapestry::lesson29
