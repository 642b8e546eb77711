// Strings of pairs (key, value), for the task of lesson 07: look up the value of a key.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/mask.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

struct PairSizes {
  Size columns;  ///< Positions of a string.
  Size keys, values;
};

/// `rows` strings. The pairs of a string are at its right end. To the left of them is padding with random contents.
/// Within a string, a key always has the same value.
struct PairStrings {
  Size rows = 0;
  PairSizes sizes;
  std::vector<std::int64_t> keys, values;  ///< rows × columns.
  std::vector<std::int64_t> asked;         ///< rows × columns: the key of the next pair.
  std::vector<Size> pairs;                 ///< Number of pairs of each row: 0, or at least 4.
  std::vector<bool> known;                 ///< rows × columns: true if the asked key has occurred already.

  Dims shape() const { return {rows, sizes.columns}; }
  /// Returns a mask (rows, columns) that is true at pairs and false at padding.
  Mask valid() const;
};

/// Draws strings. One in six has no pair. The others use four keys each, and the same key never twice in a row.
PairStrings draw_pair_strings(Random random, Size rows, const PairSizes& sizes);

}  // namespace tapestry::kit
