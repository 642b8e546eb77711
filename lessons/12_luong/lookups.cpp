// The tasks of lesson 12: look up letters in a list, and follow a trail through it.
#include "lessons/12_luong/lookups.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "lessons/kit/text/vocabulary.hpp"

namespace tapestry::lesson12 {
namespace {

using kit::Ids, kit::kEnd, kit::kStart, kit::Random;

constexpr Size kCount = 20, kDigits = 10;
constexpr std::int64_t kLetter = kEnd + 1, kDigit = kLetter + kCount, kCapital = kDigit + kDigits;
static_assert(kCapital + kCount == kLookupVocabulary);

Ids some_letters(Random& random, Size count) {
  Ids letters(kCount);
  std::iota(letters.begin(), letters.end(), kLetter);
  random.shuffle(letters);
  letters.resize(static_cast<std::size_t>(count));
  return letters;
}

}  // namespace

Lookups draw_lookups(Random random, Size count, Size pairs) {
  Ids source, questions, answers;
  for (Size row = 0; row < count; ++row) {
    std::vector<std::pair<std::int64_t, std::int64_t>> list;
    for (const std::int64_t letter : some_letters(random, pairs))
      list.emplace_back(letter, kDigit + random.below(kDigits));
    for (const auto& [letter, digit] : list) source.insert(source.end(), {letter, digit});
    random.shuffle(list);
    for (const auto& [letter, digit] : list) {
      questions.push_back(letter);
      answers.push_back(digit);
    }
  }
  return {Indices(source, {count, 2 * pairs}), Indices(questions, {count, pairs}),
          Indices(answers, {count, pairs})};
}

Lookups draw_trails(Random random, Size count, Size pairs) {
  constexpr Size kHops = 4;
  constexpr std::int64_t kUp = kCapital - kLetter;
  Ids source, questions, answers;
  for (Size row = 0; row < count; ++row) {
    const Ids ring = some_letters(random, pairs);
    const auto after = [&](Size i) { return ring[static_cast<std::size_t>(i % pairs)]; };
    Ids order(ring.size());
    std::iota(order.begin(), order.end(), 0);
    random.shuffle(order);
    for (const std::int64_t i : order) source.insert(source.end(), {after(i), after(i + 1) + kUp});
    const Size start = random.below(pairs);
    for (Size hop = 0; hop < kHops; ++hop) {
      questions.push_back(hop == 0 ? after(start) : kStart);
      answers.push_back(after(start + hop + 1) + kUp);
    }
  }
  return {Indices(source, {count, 2 * pairs}), Indices(questions, {count, kHops}),
          Indices(answers, {count, kHops})};
}

std::string lookup_symbol(std::int64_t id) {
  if (id == kStart) return "·";
  const std::int64_t code = id < kDigit     ? 'a' + id - kLetter
                            : id < kCapital ? '0' + id - kDigit
                                            : 'A' + id - kCapital;
  return std::string(1, static_cast<char>(code));
}

}  // namespace tapestry::lesson12
