// The task of parts 1 and 2 of lesson 29: sentences with unknown names.
//
// All ids belong to one open vocabulary. 0 … 39 are words of the target language, and 40 is <unk>, which
// replaces any unknown word. 41 … 80 are words of the source language. 81 and above are names, as many as
// there are.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::lesson29 {

inline constexpr Size kKnown = 40, kUnknown = kKnown, kFirstRead = kKnown + 1,
                      kFirstName = kFirstRead + kKnown;

struct Sentences {
  Indices source;  ///< (B, n): source words and names
  Indices target;  ///< (B, n): target words and names
};

/// Every source word has one translation, which depends on the seed. One word in four is a name, with at
/// least one name in each sentence, and names are not translated. The first ten source words are adjectives.
/// An adjective before another kind of word moves behind it in the translation.
Sentences draw_sentences(std::uint64_t seed, kit::Random random, Size count, Size length);

/// Returns the ids that the encoder receives: 0 … 39, and 40 for every name.
Indices as_read(const Indices& source);
/// Returns the ids that are fed back to the decoder: 0 … 39, and 40 for every name.
Indices as_written(const Indices& target);
/// Returns a mask that is true for names.
Mask names_of(const Indices& words);

/// Returns a name for plots: "a3" for an adjective, "w17" for another source word, "W17" for a target word,
/// "Name112" for a name, or "<unk>".
std::string word_of(std::int64_t id);

}  // namespace tapestry::lesson29
