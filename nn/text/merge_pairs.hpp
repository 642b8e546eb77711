// The merge loop of byte-pair encoding, shared by the tokenizers that use it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry {

/// Merges of two pieces into one. Pieces are numbers from 0 to 2^31 - 1.
class MergeRules {
 public:
  /// Result of a merge.
  struct Rule {
    Size rank;            ///< Index among the merges; lower ranks are applied first.
    std::int64_t merged;  ///< Number of the merged piece.
  };

  /// Adds a merge with the next rank. Returns false if there is a merge of these two pieces already.
  bool add(std::int64_t left, std::int64_t right, std::int64_t merged);
  /// Returns the merge of two pieces, or nullptr if there is none. Negative numbers have no merge.
  const Rule* find(std::int64_t left, std::int64_t right) const;
  /// Number of merges.
  Size size() const { return static_cast<Size>(rules_.size()); }

 private:
  std::unordered_map<std::uint64_t, Rule> rules_;  // key: numbers of both pieces
};

/// Merges neighbours in `pieces` until no rule applies: always the pair of the lowest rank, the leftmost one
/// first (Sennrich, Haddow & Birch 2016). Negative numbers stay as they are. Takes O(n log n) time.
void merge_pairs(std::vector<std::int64_t>& pieces, const MergeRules& rules);

}  // namespace tapestry
