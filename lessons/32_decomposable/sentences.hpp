// Pairs of sentences in a small grammar, and whether the second follows from the first.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::lesson32 {

/// What the first sentence, the premise, says of the second, the hypothesis.
enum Answer : std::int64_t { kEntailed, kNeutral, kContradicted };
inline constexpr Size kAnswers = 3;

/// Adjective, noun, verb, adjective, noun, by their ids; an adjective may be missing, 0.
using Sentence = std::array<std::int64_t, 5>;
enum Role { kAdjective1, kNoun1, kVerb, kAdjective2, kNoun2 };
inline constexpr Size kLongest = 5;

/// By their ids; 0 is no word. They come in groups of five, a general word and four special ones: "animal",
/// then "dog", "cat" …
const std::vector<std::string>& vocabulary();
/// Throws where there is no such word.
std::int64_t id_of(const std::string& word);
/// "red dog chases cat"
std::string text_of(const Sentence& sentence);

/// Of two words in the same role: a dog is an animal, an animal may be a dog, a dog is no cat. Nouns of two
/// groups exclude each other, verbs and adjectives do not. A missing word is entailed by any.
Answer relation(Role role, std::int64_t premise, std::int64_t hypothesis);
/// Of two sentences: the strongest of their roles' relations, contradicted before neutral before entailed.
Answer relation(const Sentence& premise, const Sentence& hypothesis);

struct Pair {
  Sentence premise, hypothesis;
  Answer answer;
};

/// Which of adjective and noun are never seen together in training: one in five.
bool held_out(std::int64_t adjective, std::int64_t noun, std::uint64_t seed);
/// Whether a sentence of the pair has two such words beside each other.
bool held_out(const Pair& pair, std::uint64_t seed);

/// A pair with that answer. Half of the contradictions exchange the two nouns and contradict nowhere else.
Pair draw_pair(kit::Random& random, Answer answer);

/// The pairs of a batch: in turn entailed, neutral and contradicted.
enum class Words { seen_together, held_out };
std::vector<Pair> draw_pairs(kit::Random random, Size count, Words words, std::uint64_t seed);
/// Entailed pairs, each followed by its twin, in which the hypothesis' two nouns are exchanged, which is then
/// contradicted.
std::vector<Pair> draw_twins(kit::Random random, Size pairs, Words words, std::uint64_t seed);

/// As a model reads them.
struct Batch {
  Indices premise, hypothesis;                       ///< (B, 5), 0 after the last word
  ValidLengths premise_lengths, hypothesis_lengths;  ///< (B)
  Indices answers;                                   ///< (B)
};
Batch batch_of(const std::vector<Pair>& pairs);

}  // namespace tapestry::lesson32
