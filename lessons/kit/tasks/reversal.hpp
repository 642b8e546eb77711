// The task of lessons 10 and 11: write a string backwards.
#pragma once

#include "lessons/kit/random.hpp"
#include "lessons/kit/translation/batches.hpp"
#include "nn/seq2seq/decoder.hpp"

namespace tapestry::kit {

/// Ten letters, a to j, and strings of 4 to 24 of them.
inline constexpr Size kLetters = 10, kShortestString = 4, kLongestString = 24;
/// Names of the letters, after the special words.
Vocabulary alphabet();

/// Strings with their reversals.
struct Strings {
  Padded sources;  ///< letters, <end>
  Padded targets;  ///< <start>, letters from the back, <end>
};

/// `count` strings with lengths drawn from shortest … longest.
Strings draw_strings(Random random, Size count, Size shortest = kShortestString,
                     Size longest = kLongestString);
/// Of one length, from a stream far from those of training.
Strings test_strings(std::uint64_t seed, Size count, Size length);

/// What a decoder writes when it is fed the likeliest symbol that it wrote before, from kStart on: (B,
/// count).
Indices write_freely(const Decoder& decoder, const Encoded& source, Size count);

}  // namespace tapestry::kit
