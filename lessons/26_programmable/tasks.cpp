#include "lessons/26_programmable/tasks.hpp"

#include <algorithm>
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

double best_of_voices(const Text& text) {
  const Size rows = text.words.shape()[0], length = text.words.shape()[1];
  const std::vector<std::int64_t> said = text.words.to_vector(), answers = text.answers.to_vector();
  double right = 0;
  for (std::size_t at = 0, row = 0; row < static_cast<std::size_t>(rows); ++row) {
    std::array<std::array<int, kSymbols>, kVoices> times{};
    for (Size t = 0; t < length; ++t, ++at) {
      ++times[static_cast<std::size_t>(t % kVoices)][static_cast<std::size_t>(said[at])];
      const auto& next = times[static_cast<std::size_t>((t + 1) % kVoices)];
      const int most = *std::max_element(next.begin(), next.end());
      // If several symbols are equally frequent, the guess is right with a chance of one over their number.
      if (next[static_cast<std::size_t>(answers[at])] == most)
        right += 1 / static_cast<double>(std::count(next.begin(), next.end(), most));
    }
  }
  return 100 * right / static_cast<double>(rows * length);
}

}  // namespace lesson26
