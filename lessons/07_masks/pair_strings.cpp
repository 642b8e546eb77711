// Strings of pairs (key, value), for the task of lesson 07: look up the value of a key.
#include "lessons/07_masks/pair_strings.hpp"

namespace tapestry::kit {

Mask PairStrings::valid() const {
  return Mask::from(rows, sizes.columns, [this](Size row, Size column) {
    return column >= sizes.columns - pairs[static_cast<std::size_t>(row)];
  });
}

PairStrings draw_pair_strings(Random random, Size rows, const PairSizes& sizes) {
  PairStrings s;
  s.rows = rows;
  s.sizes = sizes;
  for (Size row = 0; row < rows; ++row) {
    s.pairs.push_back(random.chance(1.0 / 6) ? 0 : random.between(4, sizes.columns));
    std::vector<std::int64_t> keys, values;  // of this string; only the first four are used
    for (Size key = 0; key < sizes.keys; ++key) {
      keys.push_back(key);
      values.push_back(random.below(sizes.values));
    }
    random.shuffle(keys);
    std::vector<bool> seen(4, false);
    std::size_t now = 0;
    for (Size column = 0; column < sizes.columns; ++column) {
      const bool pair = column >= sizes.columns - s.pairs.back();
      s.keys.push_back(pair ? keys[now] : random.below(sizes.keys));
      s.values.push_back(pair ? values[now] : random.below(sizes.values));
      if (pair) seen[now] = true;
      if (pair) now = (now + 1 + static_cast<std::size_t>(random.below(3))) % 4;
      s.asked.push_back(pair ? keys[now] : random.below(sizes.keys));
      s.known.push_back(pair && seen[now]);
    }
  }
  return s;
}

}  // namespace tapestry::kit
