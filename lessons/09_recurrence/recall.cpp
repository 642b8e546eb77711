// The task of lesson 09: name the first symbol of a string after many more symbols.
#include "lessons/09_recurrence/recall.hpp"

#include <vector>

namespace tapestry::kit {

RecallStrings draw_recall(Random random, Size count, Size shortest, Size longest) {
  std::vector<std::int64_t> symbols, first;
  std::vector<Size> lengths;
  for (Size row = 0; row < count; ++row) {
    for (Size t = 0; t <= longest; ++t) symbols.push_back(random.below(kRecallSymbols));
    first.push_back(symbols[static_cast<std::size_t>(row * (longest + 1))]);
    lengths.push_back(1 + random.between(shortest, longest));
  }
  return {Indices(symbols, {count, longest + 1}), ValidLengths(lengths), Indices(first, {count})};
}

}  // namespace tapestry::kit
