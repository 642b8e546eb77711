// Three tasks for a memory, and what reads them: a neural Turing machine, an LSTM, an LSTM with its past
// states.
#pragma once

#include <optional>
#include <string>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/recurrent/lstmn.hpp"
#include "nn/attention/recurrent/neural_turing_machine.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson31 {

inline constexpr Size kLetters = 32, kFew = 8;  // letters; how many where they may come again
inline constexpr Size kAnswered = 2,
                      kShortest = kAnswered + 1;  // in draw_go_on(): letters to be said, and given

/// Strings of words, each a letter (0: none) and a mark.
enum Mark : std::int64_t { kGiven, kEnd, kFrom, kSay, kMarks };
struct Strings {
  Indices letters, marks;  // (B, T)
  Indices answers;         // (B, A): to be said at the last A words
};
/// `length` letters, "end", and as often "say": they are to be said again.
Strings draw_copy(kit::Random random, Size rows, Size length);
/// `length` different letters, then one of them, "from", and "say": the next two are to be said.
Strings draw_go_on(kit::Random random, Size rows, Size length);
/// `length` letters, one of the first five of them marked "from", then "end": the marked one is to be said.
Strings draw_marked(kit::Random random, Size rows, Size length);

enum class Kind { machine, lstm, lstmn };
struct ReaderOptions {
  Kind kind = Kind::machine;
  NeuralTuringMachineOptions machine = {};
};

/// Reads strings, and says letters.
struct Reader : Module {
  explicit Reader(const ReaderOptions& options);
  /// Logits (B, A, kLetters).
  Tensor operator()(const Strings& strings) const;
  /// Of letters and marks together, (B, T, 32).
  Tensor words(const Strings& strings) const;

  Embedding letters, marks;
  std::optional<NeuralTuringMachine> machine;  // one of these
  std::optional<Recurrent> lstm;
  std::optional<LSTMN> lstmn;
  Linear answer;
};

}  // namespace tapestry::lesson31
