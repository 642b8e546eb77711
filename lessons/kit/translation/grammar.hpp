// Grammar that generates English sentences with their French translations.
#pragma once

#include <string>
#include <vector>

#include "core/simd/view.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/text/text.hpp"

namespace tapestry::kit {

/// Positions of an adjective and its noun in a sentence, counted in words from 0.
struct AdjectiveNoun {
  std::string adjective;  ///< in English
  std::string noun;       ///< in English, singular
  Size source_adjective = 0;
  Size source_noun = 0;
  Size target_adjective = 0;
  Size target_noun = 0;

  /// Returns true if the order is exchanged: English puts the adjective first, French mostly after the noun.
  bool crosses() const { return target_adjective > target_noun; }
};

struct GrammarSentence {
  Words source;  ///< English, 3 to 14 words
  Words target;  ///< French, 3 to 14 words; "l'", "d'" and "n'" count as words
  std::vector<AdjectiveNoun> pairs;
};

/// Disjoint sets of sentences.
enum class GrammarSplit {
  train,     ///< all other sentences
  fresh,     ///< sentences that are never in train but have the same pairs (one in 16, by a hash)
  held_out,  ///< sentences with an adjective–noun pair that is never in train, although both words are
};

/// Samples a sentence of the split; it depends only on `random`. With probability `names`, a phrase is a person's name,
/// which both languages spell alike ("tom sees the red house of marie").
///
/// A sentence is a noun phrase, or a subject, a verb (may be negated with "does not"), and optionally an object and a
/// place. The French agrees in gender and number (la vieille porte, les zones internationales), uses short forms
/// (l' homme, cet arbre, mon école, vieil homme), contracts (près du chat, les portes des villes), and turns "of
/// international control" into "de contrôle international". Each English sentence has exactly one translation.
GrammarSentence sample_sentence(Random& random, GrammarSplit split, double names = 0);

/// Returns "the zone of international control" → "la zone de contrôle international", whose pair is held out.
GrammarSentence grammar_showcase();

/// Returns true for a held-out adjective–noun pair. Both words are English, the noun is singular.
bool is_held_out(const std::string& adjective, const std::string& noun);

/// Return all words that the grammar can generate, sorted. Names are separate, because a vocabulary may lack them.
Words grammar_source_words();
Words grammar_target_words();
Words grammar_names();

}  // namespace tapestry::kit
