// A telegraph: letters come in with pauses, and each is written as its code of two symbols, while they come.
#pragma once

#include "lessons/kit/kit.hpp"
#include "nn/attention/pointing/monotonic.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"

namespace tapestry::lesson29 {

/// The chances of stops by hand beside nn/'s, in f64: p (B, S) and α of the query before (B, S) → α (B, S).
using Stops = Tensor (*)(const Tensor& p, const Tensor& before);
void check_stops(Stops by_hand, std::uint64_t seed, kit::Report& report);

inline constexpr Size kLetters = 12, kPause = kLetters;

struct Signals {
  Indices source;  ///< (B, 2k): k letters, 0 … 11, and pauses
  Indices target;  ///< (B, 2k): two symbols for each letter, of a code that depends on the seed
  Indices places;  ///< (B, 2k): where the letter of each symbol stands
};
Signals draw_signals(std::uint64_t seed, kit::Random random, Size count, Size letters);

/// How the writer reads.
enum class Reading {
  softmax,   ///< lesson 11's attention
  expected,  ///< monotonic, the chances worked out
  decided    ///< monotonic, the first key above 0
};

/// A GRU reads, from left to right only; a GRU that attends before each step writes.
struct Telegraph : Module {
  explicit Telegraph(double noise = 1);
  struct Sent {
    Tensor logits;    ///< (B, T, 12)
    Tensor weights;   ///< (B, T, S)
    Indices symbols;  ///< (B, T): the likeliest, what was fed back where nothing was given
  };
  /// Given is the symbol before: of `target` if there is one, else what was written.
  Sent operator()(const Indices& source, Reading reading, const Indices& target = {}) const;
  /// One source (S), of which it takes a letter only when it must. `came` gets, for each symbol, how many letters had been
  /// taken when it was written; `looked`, how many keys were scored.
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
  /// The symbol before (B) → logits (B, 1, 12) and weights (B, 1, S).
  AttentionOutput step(const Indices& symbol, const PreparedKV& memory, Reading reading, State& state) const;
};

struct Telegraphed {
  double expected = 0, decided = 0;     ///< symbols right in %, of a reader trained with monotonic chances
  double quiet = 0, quiet_decided = 0;  ///< of one trained without noise
  double softmax = 0,
         softmax_decided = 0;  ///< of one trained with a softmax, as it was and by the same decision
  double online_same = 0;      ///< texts that came out the same when letters were taken only as needed, in %
  double ahead = 0;            ///< letters taken beyond the one that is being written, on average
  double looked = 0;           ///< keys scored, in % of all pairs
};
/// Trains the three, prints a table, and draws chances.svg and monotonic.svg.
Telegraphed train_telegraphs(double noise, const kit::Options& options);

}  // namespace tapestry::lesson29
