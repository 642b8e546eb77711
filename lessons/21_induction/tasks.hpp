// Lesson 21's sequences, and its three other tasks.
#pragma once

#include <utility>
#include <vector>

#include "core/tensor/indices.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/text/vocabulary.hpp"

namespace tapestry {

inline constexpr Size kSymbols = 32, kLength = 64;

struct Sequences {
  Indices inputs;   // (B, 63)
  Indices targets;  // (B, 63): the next symbol at each place; −1 where the context does not determine it
  std::vector<Size> periods;  // for repeats: the length of each row's round
};

/// Builds sequences from ids (B, 64), row by row. `known`(row, place): the context determines the symbol there.
template <class Known>
Sequences sequences(const kit::Ids& ids, const Known& known, std::vector<Size> periods = {}) {
  const Size rows = static_cast<Size>(ids.size()) / kLength;
  kit::Ids targets;
  for (Size row = 0; row < rows; ++row)
    for (Size place = 1; place < kLength; ++place)
      targets.push_back(known(row, place) ? ids[static_cast<std::size_t>(row * kLength + place)] : -1);
  return {Indices(ids, {rows, kLength}).columns(0, kLength - 1), Indices(targets, {rows, kLength - 1}),
          std::move(periods)};
}

/// Returns 0 … count − 1 in random order.
kit::Ids shuffled(kit::Random& random, Size count);

Sequences draw_bigram(kit::Random random, Size rows);
Sequences draw_pairs(kit::Random random, Size rows);
Sequences draw_gcd(kit::Random random, Size rows);

/// Returns the loss of counting how often each symbol followed the present one so far:
/// (times + 1) / (all + states).
double loss_of_counting(const Sequences& test, Size states);
/// Returns the loss of a model that knows only how often each answer occurs.
double loss_of_frequencies(const Sequences& test);

}  // namespace tapestry
