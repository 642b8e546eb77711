// The task of lesson 18: a list of keys with one digit each, and one question for two of the keys.
#include "lessons/18_multi_head/two_questions.hpp"

#include <numeric>
#include <vector>

namespace tapestry::kit {

TwoQuestions draw_two_questions(Random random, Size count, bool one_list) {
  std::vector<std::int64_t> all(kListKeys), keys, digits, first, second, places, answers;
  std::iota(all.begin(), all.end(), 0);
  for (Size row = 0; row < count; ++row) {
    const bool fresh = row == 0 || !one_list;
    if (fresh) random.shuffle(all);
    for (std::size_t i = 0; i < kListPairs; ++i) {
      keys.push_back(all[i]);
      digits.push_back(fresh ? random.below(kListDigits) : digits[i]);
    }
    const Size one = random.below(kListPairs), other = (one + 1 + random.below(kListPairs - 1)) % kListPairs;
    const auto at = [row](Size place) { return static_cast<std::size_t>(row * kListPairs + place); };
    first.push_back(keys[at(one)]);
    second.push_back(keys[at(other)]);
    places.insert(places.end(), {one, other});
    answers.insert(answers.end(), {digits[at(one)], digits[at(other)]});
  }
  const Dims list{count, kListPairs}, single{count, 1}, pair{count, 2};
  return {Indices(keys, list),     Indices(digits, list), Indices(first, single),
          Indices(second, single), Indices(places, pair), Indices(answers, pair)};
}

char key_letter(std::int64_t key) { return static_cast<char>(key < 26 ? 'a' + key : 'A' + key - 26); }

}  // namespace tapestry::kit
