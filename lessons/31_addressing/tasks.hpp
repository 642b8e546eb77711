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

inline constexpr Size kLetters = 32, kFew = 8;  // number of letters; number in tasks where letters may repeat
inline constexpr Size kAnswered = 2,
                      kShortest =
                          kAnswered + 1;  // in draw_go_on(): letters to output; fewest letters of a string

/// Strings of inputs. Each input is a letter (0: no letter) and a mark.
enum Mark : std::int64_t { kGiven, kEnd, kFrom, kSay, kMarks };
struct Strings {
  Indices letters, marks;  // (B, T)
  Indices answers;         // (B, A): the outputs for the last A inputs
};
/// `length` letters, "end", and "say" once for each letter. The outputs are the letters again.
Strings draw_copy(kit::Random random, Size rows, Size length);
/// `length` different letters, then one of them marked "from", and "say". The outputs are the two letters
/// after it.
Strings draw_go_on(kit::Random random, Size rows, Size length);
/// `length` letters, one of the first five of them marked "from", then "end". The output is the marked
/// letter.
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
