// Searches of one sentence as their definitions read: every hypothesis whole, every continuation scored from
// its beginning, everything sorted. The reference for nn/decode.hpp, with which it shares nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "nn/decode.hpp"

namespace tapestry::testing {

using Ids = std::vector<std::int64_t>;

/// log P of every word after each of some prefixes, all of one length, `begin` not among their words.
using NextWord = std::function<std::vector<std::vector<double>>(const std::vector<Ids>&)>;

struct PlainResult {
  Ids ids;
  double log_probability = 0, score = 0;
  bool ended = false;
};

/// log P / ((5 + n) / 6)^α
inline double normalised(double log_probability, std::size_t words, double power) {
  return log_probability / std::pow((5.0 + static_cast<double>(words)) / 6.0, power);
}

inline PlainResult plain_greedy(const NextWord& next, const SearchOptions& how) {
  PlainResult found;
  for (Size n = 1; n <= how.max_length && !found.ended; ++n) {
    const std::vector<double> words = next({found.ids}).front();
    std::size_t best = 0;
    for (std::size_t id = 1; id < words.size(); ++id)
      if (words[id] > words[best]) best = id;
    found.log_probability += words[best];
    found.score = normalised(found.log_probability, static_cast<std::size_t>(n), how.length_power);
    found.ended = static_cast<std::int64_t>(best) == how.end;
    if (!found.ended) found.ids.push_back(static_cast<std::int64_t>(best));
  }
  return found;
}

inline PlainResult plain_beam(const NextWord& next, const SearchOptions& how) {
  struct Continuation {
    std::size_t of;
    std::int64_t id;
    double log_probability;
  };
  std::vector<PlainResult> living{{}};
  std::vector<PlainResult> ended;  // in the order in which they ended
  const auto best_ended = [&] {
    return std::max_element(ended.begin(), ended.end(),
                            [](const PlainResult& a, const PlainResult& b) { return a.score < b.score; });
  };
  for (Size n = 1; n <= how.max_length; ++n) {
    std::vector<Ids> prefixes;
    for (const PlainResult& one : living) prefixes.push_back(one.ids);
    const std::vector<std::vector<double>> words = next(prefixes);
    std::vector<Continuation> all;
    for (std::size_t of = 0; of < living.size(); ++of)
      for (std::size_t id = 0; id < words[of].size(); ++id)
        all.push_back({of, static_cast<std::int64_t>(id), living[of].log_probability + words[of][id]});
    // Of equals the earlier hypothesis goes first, and then the smaller id: as they stand.
    std::stable_sort(all.begin(), all.end(), [](const Continuation& a, const Continuation& b) {
      return a.log_probability > b.log_probability;
    });

    // What ends among the first `beam` has ended; the first `beam` that do not end live on.
    std::vector<PlainResult> going_on;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      PlainResult one = living[all[rank].of];
      one.log_probability = all[rank].log_probability;
      one.score = normalised(one.log_probability, static_cast<std::size_t>(n), how.length_power);
      one.ended = all[rank].id == how.end;
      if (one.ended && static_cast<Size>(rank) < how.beam) ended.push_back(one);
      if (one.ended || static_cast<Size>(going_on.size()) == how.beam) continue;
      one.ids.push_back(all[rank].id);
      going_on.push_back(one);
    }
    living = going_on;
    if (living.empty()) break;
    if (n == how.max_length) return ended.empty() ? living.front() : *best_ended();
    if (ended.empty()) continue;
    // Once `beam` have ended, a living one must be ahead as it stands; before, at the greatest length.
    const Size length = static_cast<Size>(ended.size()) >= how.beam ? n : how.max_length;
    if (normalised(living.front().log_probability, static_cast<std::size_t>(length), how.length_power) <=
        best_ended()->score)
      break;
  }
  return *best_ended();
}

}  // namespace tapestry::testing
