// A small grammar that makes English sentences with their French translations.
#pragma once

#include <string>
#include <vector>

#include "core/simd/view.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/text/text.hpp"

namespace tapestry::kit {

/// Where an adjective and its noun stand in a sentence, in words from 0.
struct AdjectiveNoun {
  std::string adjective;  ///< in English
  std::string noun;       ///< in English, singular
  Size source_adjective = 0;
  Size source_noun = 0;
  Size target_adjective = 0;
  Size target_noun = 0;

  /// English puts the adjective first; most French ones come after the noun, and then the pair crosses.
  bool crosses() const { return target_adjective > target_noun; }
};

struct GrammarSentence {
  Words source;  ///< English, 3 to 14 words
  Words target;  ///< French, 3 to 14 words; "l'", "d'" and "n'" are words
  std::vector<AdjectiveNoun> pairs;
};

/// Which sentences: the three sets share none.
enum class GrammarSplit {
  train,     ///< neither of the below
  fresh,     ///< never in train (a sixteenth of all sentences, by a hash), built from the same pairs
  held_out,  ///< with at least one adjective–noun pair that is never in train; each of its words is
};

/// A sentence of the split; `random` alone decides which. A phrase is a person's name, spelled alike in both
/// languages ("tom sees the red house of marie"), with probability `names`.
///
/// The sentences: a noun phrase, or subject, verb, perhaps an object and a place; "does not". The French
/// agrees in gender and number (la vieille porte, les zones internationales), has its short forms (l' homme,
/// cet arbre, mon école, vieil homme), contracts (près du chat, les portes des villes), and turns "of
/// international control" into "de contrôle international". An English sentence has exactly one translation
/// here.
GrammarSentence sample_sentence(Random& random, GrammarSplit split, double names = 0);

/// "the zone of international control" → "la zone de contrôle international": its pair is held out.
GrammarSentence grammar_showcase();

/// True for the adjective–noun pairs that training never shows; both words in English, the noun in singular.
bool is_held_out(const std::string& adjective, const std::string& noun);

/// Every word that the grammar can write, sorted; names are apart: a dictionary need not have them.
Words grammar_source_words();
Words grammar_target_words();
Words grammar_names();

}  // namespace tapestry::kit
