// The merge loop of byte-pair encoding, with a queue of the pairs that can be merged.
#include "nn/text/merge_pairs.hpp"

#include <cstddef>
#include <functional>
#include <queue>

namespace tapestry {
namespace {

std::uint64_t both(std::int64_t left, std::int64_t right) {
  return (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint64_t>(right);
}

/// A pair that could be merged when it was queued. `at` is the index of its left piece.
struct PairToMerge {
  Size rank;
  std::size_t at;
  std::int64_t left, right;
  bool operator>(const PairToMerge& other) const {
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

/// Indices of a piece's neighbours; `after` of the last piece is the number of pieces.
struct Neighbours {
  std::size_t before, after;
};

}  // namespace

bool MergeRules::add(std::int64_t left, std::int64_t right, std::int64_t merged) {
  return rules_.emplace(both(left, right), Rule{size(), merged}).second;
}

const MergeRules::Rule* MergeRules::find(std::int64_t left, std::int64_t right) const {
  if (left < 0 || right < 0) return nullptr;
  const auto found = rules_.find(both(left, right));
  return found == rules_.end() ? nullptr : &found->second;
}

void merge_pairs(std::vector<std::int64_t>& pieces, const MergeRules& rules) {
  const std::size_t count = pieces.size();
  std::vector<Neighbours> links;
  std::vector<char> alive(count, 1);  // 0: merged into the piece before it
  links.reserve(count);
  for (std::size_t i = 0; i < count; ++i) links.push_back({i - 1, i + 1});
  std::priority_queue<PairToMerge, std::vector<PairToMerge>, std::greater<>> candidates;
  const auto look_at = [&](std::size_t at) {
    const std::size_t after = links[at].after;
    if (after >= count) return;
    const std::int64_t left = pieces[at], right = pieces[after];
    if (const MergeRules::Rule* rule = rules.find(left, right))
      candidates.push({rule->rank, at, left, right});
  };
  for (std::size_t i = 0; i < count; ++i) look_at(i);
  while (!candidates.empty()) {
    const PairToMerge next = candidates.top();
    candidates.pop();
    // Skip a candidate if another merge has changed its pair since.
    const std::size_t right = links[next.at].after;
    if (!alive[next.at] || pieces[next.at] != next.left || right >= count || pieces[right] != next.right)
      continue;
    pieces[next.at] = rules.find(next.left, next.right)->merged;
    alive[right] = 0;
    links[next.at].after = links[right].after;
    if (links[right].after < count) links[links[right].after].before = next.at;
    look_at(next.at);
    if (next.at != 0) look_at(links[next.at].before);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; i = links[i].after) pieces[kept++] = pieces[i];
  pieces.resize(kept);
}

}  // namespace tapestry
