// Strings of pairs (key, value) in which a key's value is to be looked up: the task of lesson 07.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

struct PairSizes {
  Size columns;  ///< places of a string
  Size keys, values;
};

/// `rows` strings. A string's pairs stand at its right end; left of them is padding, which holds anything.
/// Within a string one key always has the same value.
struct PairStrings {
  Size rows = 0;
  PairSizes sizes;
  std::vector<std::int64_t> keys, values;  ///< rows × columns
  std::vector<std::int64_t> asked;         ///< rows × columns: the key of the next pair
  std::vector<Size> pairs;                 ///< of each row; 0 or at least 4
  std::vector<bool> known;                 ///< rows × columns: the key that is asked for came before

  Dims shape() const { return {rows, sizes.columns}; }
  /// (rows, columns): true where a pair stands.
  Mask valid() const;
};

/// One string in six has no pair. The others use four keys each, never one of them twice in a row.
PairStrings draw_pair_strings(Random random, Size rows, const PairSizes& sizes);

}  // namespace tapestry::kit
