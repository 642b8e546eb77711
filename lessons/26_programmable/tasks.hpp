// The texts of lesson 26: strings with a theme, and seven voices.
#pragma once

#include "core/tensor/indices.hpp"
#include "lessons/kit/random.hpp"

namespace lesson26 {

using tapestry::Indices, tapestry::Size;

struct Text {
  Indices words;    ///< (B, n)
  Indices answers;  ///< (B, n)
};

inline constexpr Size kWords = 64;

/// Draws strings with a theme: six of 64 words. Three words in five follow from the word before the last one,
/// by a rule that all strings share. Three in ten are words of the theme. The others are random. The answers
/// are the next words.
Text draw_themes(tapestry::kit::Random random, Size rows, Size length);

inline constexpr Size kVoices = 7, kSymbols = 24;

/// Draws strings of seven voices that speak in turn, one symbol each. Each voice has a favourite symbol,
/// drawn anew for each string. It says its favourite two times in five, and otherwise a random symbol. The
/// answer at each position is the favourite of the voice that speaks next.
Text draw_voices(tapestry::kit::Random random, Size rows, Size length);

/// Estimates, from this text, the highest percentage of answers that can be predicted. The best possible
/// guess is the symbol that the voice has said most often so far.
double best_of_voices(const Text& text);

}  // namespace lesson26
