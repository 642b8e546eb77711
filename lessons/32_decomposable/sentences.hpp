// Pairs of sentences from a small grammar: is the second entailed, neutral or contradicted?
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::lesson32 {

/// The relation of the first sentence, the premise, to the second, the hypothesis.
enum Answer : std::int64_t { kEntailed, kNeutral, kContradicted };
inline constexpr Size kAnswers = 3;

/// The ids of adjective, noun, verb, adjective, noun. A missing adjective is 0.
using Sentence = std::array<std::int64_t, 5>;
enum Role { kAdjective1, kNoun1, kVerb, kAdjective2, kNoun2 };
inline constexpr Size kLongest = 5;

/// The words by their ids; 0 is no word. They come in groups of five, a general word and four special words:
/// "animal", then "dog", "cat" …
const std::vector<std::string>& vocabulary();
/// Returns the id of a word. Throws if the vocabulary does not have it.
std::int64_t id_of(const std::string& word);
/// "red dog chases cat"
std::string text_of(const Sentence& sentence);

/// Returns the relation of two words in the same role: a dog is an animal, an animal may be a dog, a dog is
/// not a cat. Nouns of two groups contradict each other; verbs and adjectives of two groups are neutral. A
/// missing word of the hypothesis is entailed by any word.
Answer relation(Role role, std::int64_t premise, std::int64_t hypothesis);
/// Returns the relation of two sentences, the strongest relation of their roles: contradicted before neutral
/// before entailed.
Answer relation(const Sentence& premise, const Sentence& hypothesis);

struct Pair {
  Sentence premise, hypothesis;
  Answer answer;
};

/// Returns true for the combinations of adjective and noun that never occur in training: one in five.
bool held_out(std::int64_t adjective, std::int64_t noun, std::uint64_t seed);
/// Returns true if a sentence of the pair has such a combination, next to each other.
bool held_out(const Pair& pair, std::uint64_t seed);

/// Draws a pair with this answer. Half of the contradictions exchange the two nouns and have no other
/// contradiction.
Pair draw_pair(kit::Random& random, Answer answer);

/// Draws the pairs of a batch: entailed, neutral and contradicted in turn.
enum class Words { seen_together, held_out };
std::vector<Pair> draw_pairs(kit::Random random, Size count, Words words, std::uint64_t seed);
/// Draws entailed pairs. Each is followed by its twin, which is contradicted because the two nouns of the
/// hypothesis are exchanged.
std::vector<Pair> draw_twins(kit::Random random, Size pairs, Words words, std::uint64_t seed);

/// The input of a model.
struct Batch {
  Indices premise, hypothesis;                       ///< (B, 5), 0 after the last word
  ValidLengths premise_lengths, hypothesis_lengths;  ///< (B)
  Indices answers;                                   ///< (B)
};
Batch batch_of(const std::vector<Pair>& pairs);

}  // namespace tapestry::lesson32
