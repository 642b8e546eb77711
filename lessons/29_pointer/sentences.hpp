// The task of parts 1 and 2 of lesson 29: sentences with names that nobody has taught.
//
// All ids are of one open vocabulary: 0 … 39 are words of the language that is written, 40 stands in for any unknown
// word, 41 … 80 are the words of the language that is read, 81 and above are names, as many as there may be.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::lesson29 {

inline constexpr Size kKnown = 40, kUnknown = kKnown, kFirstRead = kKnown + 1,
                      kFirstName = kFirstRead + kKnown;

struct Sentences {
  Indices source;  ///< (B, n): words that are read, and names
  Indices target;  ///< (B, n): words that are written, and names
};

/// Every word has one translation, which depends on the seed. One word in four is a name, at least one a sentence; a name
/// stays as it is. The first ten words that are read are adjectives: one that stands before another kind of word comes
/// behind it in the translation.
Sentences draw_sentences(std::uint64_t seed, kit::Random random, Size count, Size length);

/// What the encoder sees of `source`: 0 … 39, and 40 for every name.
Indices as_read(const Indices& source);
/// What is fed back to the writer: 0 … 39, and 40 for every name.
Indices as_written(const Indices& target);
/// Which of them are names.
Mask names_of(const Indices& words);

/// For pictures: "a3" an adjective, "w17" another word, "W17" one that is written, "Name112" a name, "<unk>".
std::string word_of(std::int64_t id);

}  // namespace tapestry::lesson29
