// A telegraph: it receives letters with pauses and writes a code of two symbols for each letter as they come
// in.
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

/// The decoder's kind of attention.
enum class Reading {
  softmax,   ///< lesson 11's attention
  expected,  ///< monotonic attention with expected weights
  decided    ///< monotonic attention that stops at the first key with a score above 0
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
  Sent operator()(const Indices& source, Reading reading, const Indices& target = {}) const;
  /// Decodes one source (S) and takes a letter only when it must. For each symbol, `came` gets the number of
  /// letters taken when the symbol was written. `looked` gets the number of scored keys.
  std::vector<std::int64_t> online(const Indices& source, std::vector<Size>& came, Size& looked) const;

  Embedding letters, symbols;
  GRU encoder;
  Attention soft;
  MonotonicAttention monotonic;
  GRUCell cell;
  Linear output;

 private:
  struct State {
    Tensor hidden;
    ScoreState looked;
  };
  /// The previous symbol (B) → logits (B, 1, 12) and weights (B, 1, S).
  AttentionOutput step(const Indices& symbol, const PreparedKV& memory, Reading reading, State& state) const;
};

struct Telegraphed {
  double expected = 0, decided = 0;     ///< symbols right in %, for the model trained with expected weights
  double quiet = 0, quiet_decided = 0;  ///< the same, trained without noise
  double softmax = 0,
         softmax_decided = 0;  ///< the same, trained with softmax: used as trained, and with hard decisions
  double online_same = 0;      ///< texts with the same symbols when letters are taken only as needed, in %
  double ahead =
      0;  ///< lookahead: letters and pauses taken beyond the letter that is being written, on average
  double looked = 0;  ///< scored keys, in % of all pairs
};
/// Trains the three models, prints a table, and draws chances.svg and monotonic.svg.
Telegraphed train_telegraphs(double noise, const kit::Options& options);

}  // namespace tapestry::lesson29
