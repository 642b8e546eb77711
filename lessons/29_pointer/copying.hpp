// Translates sentences with names: trains a decoder that can copy and one that cannot, and measures both.
#pragma once

#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/attention/pointing/copy.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"

namespace tapestry::lesson29 {

/// Compares the mixture by hand with nn/'s copy_loss, in f64: vocabulary (B, V), weights (B, S), p_gen (B, 1)
/// and the source's ids (B, S), of which `extra` are unknown → (B, V + extra).
using Mixture = Tensor (*)(const Tensor& vocabulary, const Tensor& weights, const Tensor& p_gen,
                           const Indices& source, Size extra);
void check_copying(Mixture by_hand, std::uint64_t seed, kit::Report& report);

/// The scores and the output words of a PointerGenerator.
struct Written {
  CopyScores scores;
  Indices words;  ///< (B, T), the output words, in the open vocabulary; undefined in training
};

/// Lesson 11's translator with a gate p_gen (pointer-generator network, See, Liu and Manning 2017). Encoder: a
/// bidirectional GRU. Decoder: a GRU that attends before each step.
struct PointerGenerator : Module {
  PointerGenerator();
  /// The input of each step is the previous word of `target` (B, T), in the open vocabulary.
  CopyScores teacher_forced(const Indices& source, const Indices& target) const;
  /// Writes one word for each source word and feeds each back. Without `copies` it writes only the ids 0 … 40
  /// (<unk>).
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
    ScoreState score;
  };
  State begin(const Indices& source) const;
  /// The previous word (B) → the features for output and gate (B, …), and the attention weights (B, 1, S).
  Tensor step(const Indices& word, State& state, Tensor& weights) const;
};

/// Test results in %, for sentences of the longest length in training.
struct TranslationAccuracy {
  double names = 0, words = 0, sentences = 0;  ///< right names, right known words, right whole sentences
  double replaced = 0;  ///< right names if each <unk> is replaced by the source word with the largest weight
};
struct TranslationResults {
  TranslationAccuracy plain, copies;
};
/// Trains both decoders, prints a table, and draws copying.svg.
TranslationResults train_translators(const kit::Options& options);

}  // namespace tapestry::lesson29
