// Sorting digits, the task of lesson 20: the digits, "=", the same digits sorted.
#include "lessons/kit/tasks/sorting.hpp"

#include <algorithm>
#include <string>

#include "core/tensor/error.hpp"
#include "core/tensor/random.hpp"

namespace tapestry::kit {

namespace {

std::vector<std::int64_t> sorted(std::vector<std::int64_t> digits) {
  std::sort(digits.begin(), digits.end());
  return digits;
}

}  // namespace

NextTokens sorting(const std::vector<std::vector<std::int64_t>>& strings) {
  std::size_t longest = 0;
  for (const auto& string : strings) {
    if (string.empty()) fail("[sorting] each string must have at least one digit, got an empty one");
    longest = std::max(longest, string.size());
  }
  std::vector<std::int64_t> inputs, targets;
  for (const auto& string : strings) {
    const auto answer = sorted(string);
    const std::size_t padding = 2 * (longest - string.size());
    inputs.insert(inputs.end(), string.begin(), string.end());
    inputs.push_back(kEquals);
    inputs.insert(inputs.end(), answer.begin(), answer.end() - 1);  // the last digit is only a target
    inputs.insert(inputs.end(), padding, kEquals);
    targets.insert(targets.end(), string.size(), -1);
    targets.insert(targets.end(), answer.begin(), answer.end());
    targets.insert(targets.end(), padding, -1);
  }
  const Dims shape{static_cast<Size>(strings.size()), static_cast<Size>(2 * longest)};
  return {Indices(inputs, shape), Indices(targets, shape)};
}

bool held_out(const std::vector<std::int64_t>& sorted_digits) {
  std::string answer;
  for (const std::int64_t digit : sorted_digits) answer += static_cast<char>('0' + digit);
  return hash_of(answer) % 10 == 0;
}

NextTokens draw_sorting(Random random, Size rows, Size fewest, Size most, bool from_held_out) {
  std::vector<std::vector<std::int64_t>> strings;
  while (static_cast<Size>(strings.size()) < rows) {
    std::vector<std::int64_t> string;
    for (Size i = random.between(fewest, most); i > 0; --i) string.push_back(random.below(10));
    if (held_out(sorted(string)) == from_held_out) strings.push_back(std::move(string));
  }
  return sorting(strings);
}

}  // namespace tapestry::kit
