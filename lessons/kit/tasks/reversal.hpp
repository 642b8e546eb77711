// String reversal, the task of lessons 10 and 11.
#pragma once

#include "lessons/kit/random.hpp"
#include "lessons/kit/translation/batches.hpp"
#include "nn/seq2seq/decoder.hpp"

namespace tapestry::kit {

/// Number of letters (a to j), and the shortest and longest length of a string.
inline constexpr Size kLetters = 10, kShortestString = 4, kLongestString = 24;
/// Returns the vocabulary: the special tokens, then the letters.
Vocabulary alphabet();

/// Batch of strings with their reversals.
struct Strings {
  Padded sources;  ///< letters, <end>
  Padded targets;  ///< <start>, letters in reverse order, <end>
};

/// Draws `count` strings with lengths uniform in [shortest, longest].
Strings draw_strings(Random random, Size count, Size shortest = kShortestString,
                     Size longest = kLongestString);
/// Draws `count` strings of one length from a random stream that training does not use.
Strings test_strings(std::uint64_t seed, Size count, Size length);

/// Decodes greedily, starting with kStart, and returns the first `count` symbols of each row: (B, count). Decoding does
/// not stop at <end>.
Indices write_freely(const Decoder& decoder, const Encoded& source, Size count);

}  // namespace tapestry::kit
