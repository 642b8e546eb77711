// Lesson 21's sequences, and its three other tasks.
#pragma once

#include <utility>
#include <vector>

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/text/vocabulary.hpp"

namespace tapestry {

inline constexpr Size kSymbols = 32, kLength = 64;

struct Sequences {
  Indices inputs;             // (B, 63)
  Indices targets;            // (B, 63): the symbol after each; −1 where the context does not tell it
  std::vector<Size> periods;  // of repeats: how long each row's round is
};

/// ids (B, 64), row after row; `known`(row, place): the context tells the symbol at that place.
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

/// 0 … count − 1 in random order.
kit::Ids shuffled(kit::Random& random, Size count);

Sequences draw_bigram(kit::Random random, Size rows);
Sequences draw_pairs(kit::Random random, Size rows);
Sequences draw_gcd(kit::Random random, Size rows);

/// The loss of someone who counts what followed the present symbol so far: (times + 1) / (all + states).
double loss_of_counting(const Sequences& test, Size states);
/// The loss of someone who looks at nothing, and knows how often each answer comes.
double loss_of_shares(const Sequences& test);

}  // namespace tapestry
