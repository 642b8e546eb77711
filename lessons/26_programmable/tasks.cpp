#include "lessons/26_programmable/tasks.hpp"

#include <array>
#include <vector>

namespace lesson26 {

using tapestry::kit::Random;

Text draw_themes(Random random, Size rows, Size length) {
  std::vector<std::int64_t> words, answers;
  for (Size row = 0; row < rows; ++row) {
    std::array<std::int64_t, 6> theme{};
    for (std::int64_t& word : theme) word = random.below(kWords);
    std::int64_t word = random.below(kWords), before = random.below(kWords);
    for (Size t = 0; t < length; ++t) {
      words.push_back(word);
      const double which = random.uniform();
      std::int64_t next = random.below(kWords);
      if (which < 0.6)
        next = (before * 27 + 11) % kWords;  // a permutation, the same in all strings
      else if (which < 0.9)
        next = theme[static_cast<std::size_t>(random.below(6))];
      before = word;
      word = next;
      answers.push_back(next);
    }
  }
  return {Indices(words, {rows, length}), Indices(answers, {rows, length})};
}

Text draw_voices(Random random, Size rows, Size length) {
  std::vector<std::int64_t> said, answers;
  for (Size row = 0; row < rows; ++row) {
    std::array<std::int64_t, kVoices> favourite{};
    for (std::int64_t& symbol : favourite) symbol = random.below(kSymbols);
    for (Size t = 0; t < length; ++t) {
      const bool is_favourite = random.uniform() < 0.4;
      said.push_back(is_favourite ? favourite[static_cast<std::size_t>(t % kVoices)]
                                  : random.below(kSymbols));
      answers.push_back(favourite[static_cast<std::size_t>((t + 1) % kVoices)]);
    }
  }
  return {Indices(said, {rows, length}), Indices(answers, {rows, length})};
}

}  // namespace lesson26
