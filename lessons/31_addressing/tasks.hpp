// Three tasks for a memory, and the models: a neural Turing machine, an LSTM, and an LSTM that keeps its past
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

inline constexpr Size kLetters = 32;
inline constexpr Size kFewLetters = 8;  // number of letters in the tasks in which letters may repeat
inline constexpr Size kContinued = 2;   // number of outputs in draw_continue()
inline constexpr Size kShortest = kContinued + 1;  // fewest letters of a string in draw_continue()

enum Mark : std::int64_t { kNone, kEnd, kFrom, kSay, kMarks };
/// Strings of inputs. Each input is a letter (0: no letter) and a mark: none, "end", "from" or "say".
struct Strings {
  Indices letters, marks;  // (B, T)
  Indices answers;         // (B, A): the outputs for the last A inputs
};
/// `length` letters, the mark "end", and "say" once for each letter. The outputs are the letters again.
Strings draw_copy(kit::Random random, Size rows, Size length);
/// `length` different letters, then one of them with the mark "from", and "say". The outputs are the two letters after
/// this letter.
Strings draw_continue(kit::Random random, Size rows, Size length);
/// `length` letters, one of the first five with the mark "from", then "end". The output is the letter with the mark.
Strings draw_marked(kit::Random random, Size rows, Size length);

enum class Kind { machine, lstm, lstmn };
struct ReaderOptions {
  Kind kind = Kind::machine;
  NeuralTuringMachineOptions machine = {};
};

/// Reads strings and outputs letters.
struct Reader : Module {
  explicit Reader(const ReaderOptions& options);
  /// Returns logits (B, A, kLetters).
  Tensor operator()(const Strings& strings) const;
  /// Returns the sums of letter and mark embeddings, (B, T, 32).
  Tensor words(const Strings& strings) const;

  Embedding letters, marks;
  std::optional<NeuralTuringMachine> machine;  // exactly one of these three is used
  std::optional<Recurrent> lstm;
  std::optional<LSTMN> lstmn;
  Linear answer;
};

}  // namespace tapestry::lesson31
