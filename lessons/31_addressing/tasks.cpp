#include "lessons/31_addressing/tasks.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tapestry::lesson31 {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr Size kWidth = 32, kHidden = 64;  // width of the inputs; hidden units of both LSTMs

/// Collects rows of equal length.
struct StringBuilder {
  Ids letters, marks, answers;

  void add_input(std::int64_t letter, std::int64_t mark) { letters.push_back(letter), marks.push_back(mark); }
  void add_question(std::int64_t letter, std::int64_t mark, std::int64_t expected) {
    add_input(letter, mark), answers.push_back(expected);
  }
  Strings strings(Size rows) const {
    const auto of = [rows](const Ids& ids) {
      return Indices(ids, {rows, static_cast<Size>(ids.size()) / rows});
    };
    return {of(letters), of(marks), of(answers)};
  }
};

/// Returns all letters, 1 and up, in random order.
Ids shuffled_letters(kit::Random& random) {
  Ids all(kLetters);
  std::iota(all.begin(), all.end(), 1);
  random.shuffle(all);
  return all;
}

Size width_of(const ReaderOptions& options) {
  return options.kind == Kind::machine ? options.machine.hidden + options.machine.width : kHidden;
}

}  // namespace

Strings draw_copy(kit::Random random, Size rows, Size length) {
  StringBuilder builder;
  for (Size row = 0; row < rows; ++row) {
    Ids string;
    for (Size i = 0; i < length; ++i) string.push_back(random.below(kFewLetters));
    for (const std::int64_t letter : string) builder.add_input(letter + 1, kNone);
    builder.add_input(0, kEnd);
    for (const std::int64_t letter : string) builder.add_question(0, kSay, letter);
  }
  return builder.strings(rows);
}

Strings draw_continue(kit::Random random, Size rows, Size length) {
  StringBuilder builder;
  for (Size row = 0; row < rows; ++row) {
    const Ids all = shuffled_letters(random);
    for (Size i = 0; i < length; ++i) builder.add_input(all[static_cast<std::size_t>(i)], kNone);
    const Size from = random.below(length - kContinued);
    for (Size i = 0; i < kContinued; ++i) {
      const auto at = static_cast<std::size_t>(from + i);
      builder.add_question(i == 0 ? all[at] : 0, i == 0 ? kFrom : kSay, all[at + 1] - 1);
    }
  }
  return builder.strings(rows);
}

Strings draw_marked(kit::Random random, Size rows, Size length) {
  StringBuilder builder;
  for (Size row = 0; row < rows; ++row) {
    const Size marked = random.below(std::min<Size>(5, length));
    std::int64_t expected = 0;
    for (Size i = 0; i < length; ++i) {
      const std::int64_t letter = random.below(kFewLetters);
      builder.add_input(letter + 1, i == marked ? kFrom : kNone);
      if (i == marked) expected = letter;
    }
    builder.add_question(0, kEnd, expected);
  }
  return builder.strings(rows);
}

Reader::Reader(const ReaderOptions& options)
    : letters{{*this, "letters"}, kLetters + 1, kWidth},
      marks{{*this, "marks"}, kMarks, kWidth},
      answer{{*this, "answer"}, width_of(options), kLetters} {
  NeuralTuringMachineOptions of_machine = options.machine;
  of_machine.in = kWidth;
  if (options.kind == Kind::machine) machine.emplace(Parent{*this, "machine"}, of_machine);
  if (options.kind == Kind::lstm) lstm.emplace(Parent{*this, "lstm"}, CellKind::lstm, kWidth, kHidden);
  if (options.kind == Kind::lstmn) lstmn.emplace(Parent{*this, "lstmn"}, kWidth, kHidden, kHidden);
}

Tensor Reader::words(const Strings& strings) const { return letters(strings.letters) + marks(strings.marks); }

Tensor Reader::operator()(const Strings& strings) const {
  const Tensor x = words(strings);
  const Tensor states = machine ? (*machine)(x).states : lstm ? (*lstm)(x).states : (*lstmn)(x).states;
  const Size steps = x.size(1), answers = strings.answers.shape()[1];
  return answer(slice(states, 1, steps - answers, steps));
}

}  // namespace tapestry::lesson31
