// Monotonic attention: a telegraph receives letters and pauses, and writes a code of two symbols for each letter as
// soon as the letter has come in.
#pragma once

#include "lessons/kit/kit.hpp"
#include "nn/attention/pointing/monotonic.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"

namespace tapestry::lesson29 {

/// Expected monotonic weights by hand: p (B, S) and the previous query's α (B, S) → α (B, S). The check compares them
/// with nn/'s, in f64.
using ExpectedWeights = Tensor (*)(const Tensor& p, const Tensor& before);
void check_expected_weights(ExpectedWeights by_hand, std::uint64_t seed, kit::Report& report);

inline constexpr Size kLetters = 12, kPause = kLetters;

struct Signals {
  Indices source;  ///< (B, 2k): k letters, 0 … 11, and pauses
  Indices target;  ///< (B, 2k): two symbols for each letter, from a code that depends on the seed
  Indices places;  ///< (B, 2k): the position of each symbol's letter
};
Signals draw_signals(std::uint64_t seed, kit::Random random, Size count, Size letters);

/// The attention of the decoder.
enum class AttentionKind {
  softmax,   ///< lesson 11's attention
  expected,  ///< monotonic attention with expected weights
  hard       ///< monotonic attention that stops at the first key with a score above 0
};

/// Encoder: a GRU that runs from left to right only. Decoder: a GRU that attends before each step.
struct Telegraph : Module {
  explicit Telegraph(double noise = 1);
  struct Sent {
    Tensor logits;    ///< (B, T, 12)
    Tensor weights;   ///< (B, T, S)
    Indices symbols;  ///< (B, T): the most likely symbols; without a target, these were fed back
  };
  /// The input of each step is the previous symbol: from `target` if it is given, else the decoder's output.
  Sent operator()(const Indices& source, AttentionKind kind, const Indices& target = {}) const;
  /// Decodes one source (S) and takes a letter only when it must. For each symbol, `letters_taken` gets the number of
  /// letters and pauses taken when the symbol was written. `scored_keys` is increased by the number of scored keys.
  std::vector<std::int64_t> online(const Indices& source, std::vector<Size>& letters_taken,
                                   Size& scored_keys) const;

  Embedding letters, symbols;
  GRU encoder;
  Attention soft;
  MonotonicAttention monotonic;
  GRUCell cell;
  Linear output;

 private:
  struct State {
    Tensor hidden;
    ScoreState score;
  };
  /// The previous symbol (B) → logits (B, 1, 12) and weights (B, 1, S).
  AttentionOutput step(const Indices& symbol, const PreparedKV& memory, AttentionKind kind,
                       State& state) const;
};

/// Test results in %. A model is tested with the attention that it was trained with, and with hard decisions.
struct TelegraphResults {
  double expected = 0, hard = 0;                     ///< right symbols, trained with expected weights
  double without_noise = 0, without_noise_hard = 0;  ///< right symbols, trained without noise
  double softmax = 0, softmax_hard = 0;              ///< right symbols, trained with softmax
  // Of the first model, when letters are taken only as needed:
  double online_equal = 0;  ///< texts with the same symbols
  double lookahead = 0;  ///< mean number of letters and pauses taken beyond the letter that is being written
  double scored_pairs = 0;  ///< scored query–key pairs, of all pairs
};
/// Trains the three models, prints a table, and draws chances.svg and monotonic.svg.
TelegraphResults train_telegraphs(double noise, const kit::Options& options);

}  // namespace tapestry::lesson29
