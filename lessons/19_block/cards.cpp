// The task of lesson 19: cards that point to other cards.
#include "lessons/19_block/cards.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tapestry::kit {

Cards deal_cards(Random random, Size rows) {
  std::vector<std::int64_t> pointer(kCards), digit(kCards), pointers, digits, answers;
  std::iota(pointer.begin(), pointer.end(), 0);
  for (Size row = 0; row < rows; ++row) {
    random.shuffle(pointer);
    for (std::int64_t& d : digit) d = random.below(kCardDigits);
    pointers.insert(pointers.end(), pointer.begin(), pointer.end());
    digits.insert(digits.end(), digit.begin(), digit.end());
    for (const std::int64_t place : pointer) {
      const auto first = static_cast<std::size_t>(place), second = static_cast<std::size_t>(pointer[first]);
      answers.insert(answers.end(),
                     {digit[first], digit[second], (digit[first] + digit[second]) % kCardDigits});
    }
  }
  return {Indices(pointers, {rows, kCards}), Indices(digits, {rows, kCards}),
          Indices(answers, {rows, kCards, kCardQuestions})};
}

double most_frequent_digit(const Cards& cards) {
  const std::vector<std::int64_t> digits = cards.digits.to_vector();
  double sum = 0;
  for (auto row = digits.begin(); row != digits.end(); row += kCards) {
    std::ptrdiff_t most = 0;
    for (std::int64_t d = 0; d < kCardDigits; ++d) most = std::max(most, std::count(row, row + kCards, d));
    sum += static_cast<double>(most);
  }
  return 100 * sum / static_cast<double>(digits.size());
}

}  // namespace tapestry::kit
