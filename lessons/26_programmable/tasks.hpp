// The texts of lesson 26: strings with a theme, and seven voices.
#pragma once

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace lesson26 {

using tapestry::Indices, tapestry::Size;

struct Text {
  Indices words;    ///< (B, n)
  Indices answers;  ///< (B, n)
};

inline constexpr Size kWords = 64;

/// Each string has a theme, six of 64 words. Three words in five follow from the one before the last, by a
/// rule that all strings share; three in ten are of the theme; the others are any. The answers are the next
/// words.
Text draw_themes(tapestry::kit::Random random, Size rows, Size length);

inline constexpr Size kVoices = 7, kSymbols = 24;

/// Seven voices speak in turn, one symbol each. Each has a favourite, in each string another one, which it
/// says two times in five; otherwise it says anything. The answer at each place: what is the favourite of the
/// voice that speaks next?
Text draw_voices(tapestry::kit::Random random, Size rows, Size length);

/// The share of answers that can be known, in per cent, an estimate from this text: who counts what each
/// voice has said so far and names what it said most often is the best possible guesser.
double best_of_voices(const Text& text);

}  // namespace lesson26
