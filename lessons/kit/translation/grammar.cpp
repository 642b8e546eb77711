// Grammar that generates English sentences with their French translations.
#include "lessons/kit/translation/grammar.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "lessons/kit/translation/grammar_words.hpp"

namespace tapestry::kit {
namespace {

using namespace lexicon;

constexpr std::size_t kMostWords = 14;
constexpr std::size_t kLeastWords = 3;
constexpr std::uint64_t kFreshShare = 16;

template <typename Row, std::size_t N>
const Row& pick(Random& random, const std::array<Row, N>& table) {
  return table[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(N)))];
}

/// Returns true if the word starts with a vowel or a mute h. Every h of the lexicon is mute.
bool starts_with_vowel(std::string_view word) {
  return std::string_view("aeiouh").find(word.front()) != std::string_view::npos || word.substr(0, 2) == "é";
}

const char* form(const Adjective& adjective, Gender gender, bool plural) {
  if (gender == Gender::masculine) return plural ? adjective.masculine_plural : adjective.masculine;
  return plural ? adjective.feminine_plural : adjective.feminine;
}

/// Noun phrase, independent of the language.
struct Phrase {
  const Noun* noun = nullptr;
  const Determiner* determiner = nullptr;  // null for an uncountable noun
  const Adjective* before = nullptr;       // adjective before the noun in French
  const Adjective* after = nullptr;        // adjective after the noun in French
  bool plural = false;
};

/// Builder of both sides of a sentence that records its adjective–noun pairs.
class Writer {
 public:
  void english(const char* word) { sentence_.source.emplace_back(word); }
  void french(std::string word) { sentence_.target.push_back(std::move(word)); }

  /// Writes both sides of a phrase. With `with_de`, the French starts with the matching form of "de".
  void phrase(const Phrase& phrase, bool with_de) {
    const std::size_t first_pair = sentence_.pairs.size();
    write_english(phrase);
    write_french(phrase, with_de);
    for (std::size_t i = first_pair; i < sentence_.pairs.size(); ++i) {
      AdjectiveNoun& pair = sentence_.pairs[i];
      pair.source_noun = source_noun_;
      pair.target_noun = target_noun_;
      const bool is_before = phrase.before != nullptr && pair.adjective == phrase.before->english;
      pair.target_adjective = target_noun_ + (is_before ? -1 : 1);
    }
  }

  /// Writes a name, which is the same on both sides.
  void person(const char* name, bool with_de) {
    english(name);
    if (with_de) french("de");
    french(name);
  }

  GrammarSentence take() { return std::move(sentence_); }

 private:
  void write_english(const Phrase& phrase) {
    const std::string noun = phrase.plural ? phrase.noun->english_plural : phrase.noun->english;
    Words words;
    for (const Adjective* adjective : {phrase.before, phrase.after}) {
      if (adjective != nullptr) words.emplace_back(adjective->english);
    }
    words.push_back(noun);
    if (phrase.determiner != nullptr) {
      std::string determiner = phrase.plural ? phrase.determiner->english_plural : phrase.determiner->english;
      if (determiner == "a" && starts_with_vowel(words.front()) && words.front().front() != 'h')
        determiner = "an";
      words.insert(words.begin(), determiner);
    }
    for (const std::string& word : words) {
      for (const Adjective* adjective : {phrase.before, phrase.after}) {
        if (adjective == nullptr || word != adjective->english) continue;
        AdjectiveNoun pair;
        pair.adjective = word;
        pair.noun = phrase.noun->english;
        pair.source_adjective = static_cast<Size>(sentence_.source.size());
        sentence_.pairs.push_back(pair);
      }
      sentence_.source.push_back(word);
    }
    source_noun_ = static_cast<Size>(sentence_.source.size()) - 1;
  }

  void write_french(const Phrase& phrase, bool with_de) {
    const Gender gender = phrase.noun->gender;
    const std::string noun = phrase.plural ? phrase.noun->french_plural : phrase.noun->french;
    std::string before;
    if (phrase.before != nullptr) {
      const bool short_form = gender == Gender::masculine && !phrase.plural && starts_with_vowel(noun);
      before =
          short_form ? phrase.before->masculine_before_vowel : form(*phrase.before, gender, phrase.plural);
    }
    const std::string& next = before.empty() ? noun : before;
    for (const std::string& word : opening(phrase, next, with_de)) french(word);
    if (!before.empty()) french(before);
    target_noun_ = static_cast<Size>(sentence_.target.size());
    french(noun);
    if (phrase.after != nullptr) french(form(*phrase.after, gender, phrase.plural));
  }

  /// Returns the forms of "de" (if `with_de`) and of the determiner before the word `next`.
  static Words opening(const Phrase& phrase, const std::string& next, bool with_de) {
    Words words;
    if (phrase.determiner != nullptr) {
      const Determiner& determiner = *phrase.determiner;
      const bool masculine = phrase.noun->gender == Gender::masculine;
      if (phrase.plural) {
        words.emplace_back(determiner.plural);
      } else if (starts_with_vowel(next)) {
        words.emplace_back(masculine ? determiner.before_vowel_masculine : determiner.before_vowel_feminine);
      } else {
        words.emplace_back(masculine ? determiner.masculine : determiner.feminine);
      }
    }
    if (!with_de) return words;
    const std::string& after_de = words.empty() ? next : words.front();
    if (after_de == "le") return {"du"};
    if (after_de == "les") return {"des"};
    words.insert(words.begin(), starts_with_vowel(after_de) ? "d'" : "de");
    return words;
  }

  GrammarSentence sentence_;
  Size source_noun_ = 0;
  Size target_noun_ = 0;
};

void add_adjectives(Random& random, Phrase& phrase) {
  const double draw = random.uniform();
  if (draw < 0.20) phrase.before = &pick(random, kBefore);
  if (draw >= 0.12 && draw < 0.60) phrase.after = &pick(random, kAfter);
}

/// Samples a noun phrase. `no_article_a` excludes "a", which French turns into "de" after a negated verb; the grammar
/// does not cover this.
Phrase noun_phrase(Random& random, bool no_article_a = false) {
  Phrase phrase;
  phrase.noun = &pick(random, kNouns);
  phrase.plural = random.chance(0.4);
  phrase.determiner = random.chance(0.4) ? &kDeterminers[0] : &pick(random, kDeterminers);
  while ((phrase.plural ? phrase.determiner->english_plural : phrase.determiner->english)[0] == '\0' ||
         (no_article_a && phrase.determiner == &kDeterminers[1])) {
    phrase.determiner = &pick(random, kDeterminers);
  }
  add_adjectives(random, phrase);
  return phrase;
}

Phrase stuff_phrase(Random& random) {
  Phrase phrase;
  phrase.noun = &pick(random, kUncountableNouns);
  if (random.chance(0.7)) phrase.after = &pick(random, kAfter);
  return phrase;
}

/// Writes a name, or a noun phrase, sometimes with "of …". Returns true if it is plural.
bool write_noun_phrase(Random& random, Writer& writer, bool with_de, bool no_article_a, double names) {
  if (names > 0 && random.chance(names)) {
    writer.person(pick(random, kNames), with_de);
    return false;
  }
  const Phrase head = noun_phrase(random, no_article_a);
  writer.phrase(head, with_de);
  if (random.chance(0.3)) {
    writer.english("of");
    if (names > 0 && random.chance(names)) {
      writer.person(pick(random, kNames), true);
      return head.plural;
    }
    writer.phrase(random.chance(0.6) ? stuff_phrase(random) : noun_phrase(random), true);
  }
  return head.plural;
}

/// Writes the verb, sometimes negated. Returns true if it is negated.
bool write_verb(Random& random, Writer& writer, const Verb& verb, bool plural) {
  const char* french = plural ? verb.french_plural : verb.french;
  if (!random.chance(0.2)) {
    writer.english(plural ? verb.english_plural : verb.english);
    writer.french(french);
    return false;
  }
  writer.english(plural ? "do" : "does");
  writer.english("not");
  writer.english(verb.english_plural);
  writer.french(starts_with_vowel(french) ? "n'" : "ne");
  writer.french(french);
  writer.french("pas");
  return true;
}

GrammarSentence any_sentence(Random& random, double names) {
  Writer writer;
  const bool plural = write_noun_phrase(random, writer, false, false, names);
  if (random.chance(0.15)) return writer.take();  // a noun phrase alone
  if (random.chance(0.3)) {
    write_verb(random, writer, pick(random, kIntransitive), plural);
  } else {
    const bool negated = write_verb(random, writer, pick(random, kTransitive), plural);
    write_noun_phrase(random, writer, false, negated, names);
  }
  if (random.chance(0.35)) {
    const Preposition& place = pick(random, kPlaces);
    writer.english(place.english);
    writer.french(place.french);
    write_noun_phrase(random, writer, place.with_de, false, names);
  }
  return writer.take();
}

bool fits(const Words& words) { return words.size() >= kLeastWords && words.size() <= kMostWords; }

GrammarSplit split_of(const GrammarSentence& sentence) {
  for (const AdjectiveNoun& pair : sentence.pairs) {
    if (is_held_out(pair.adjective, pair.noun)) return GrammarSplit::held_out;
  }
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a, mixed by Random's constructor
  for (const char c : join_words(sentence.source)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }
  return Random(hash).next() % kFreshShare == 0 ? GrammarSplit::fresh : GrammarSplit::train;
}

void collect(std::set<std::string>& words, std::initializer_list<const char*> more) {
  for (const char* word : more) {
    if (*word != '\0') words.insert(word);
  }
}

}  // namespace

GrammarSentence sample_sentence(Random& random, GrammarSplit split, double names) {
  while (true) {
    GrammarSentence sentence = any_sentence(random, names);
    if (fits(sentence.source) && fits(sentence.target) && split_of(sentence) == split) return sentence;
  }
}

GrammarSentence grammar_showcase() {
  const auto noun = [](std::string_view english, const auto& table) {
    return &*std::find_if(table.begin(), table.end(),
                          [&](const Noun& each) { return english == each.english; });
  };
  Phrase zone, control;
  zone.noun = noun("zone", kNouns);
  zone.determiner = &kDeterminers[0];
  control.noun = noun("control", kUncountableNouns);
  control.after = &*std::find_if(kAfter.begin(), kAfter.end(), [](const Adjective& each) {
    return std::string_view("international") == each.english;
  });
  Writer writer;
  writer.phrase(zone, false);
  writer.english("of");
  writer.phrase(control, true);
  return writer.take();
}

bool is_held_out(const std::string& adjective, const std::string& noun) {
  return std::any_of(kHeldOut.begin(), kHeldOut.end(),
                     [&](const HeldOut& pair) { return adjective == pair.adjective && noun == pair.noun; });
}

Words grammar_source_words() {
  std::set<std::string> words = {"an", "of", "do", "does", "not"};
  for (const Noun& noun : kNouns) collect(words, {noun.english, noun.english_plural});
  for (const Noun& noun : kUncountableNouns) collect(words, {noun.english});
  for (const Adjective& adjective : kBefore) collect(words, {adjective.english});
  for (const Adjective& adjective : kAfter) collect(words, {adjective.english});
  for (const Verb& verb : kTransitive) collect(words, {verb.english, verb.english_plural});
  for (const Verb& verb : kIntransitive) collect(words, {verb.english, verb.english_plural});
  for (const Determiner& each : kDeterminers) collect(words, {each.english, each.english_plural});
  for (const Preposition& place : kPlaces) collect(words, {place.english});
  return {words.begin(), words.end()};
}

Words grammar_target_words() {
  std::set<std::string> words = {"de", "d'", "du", "des", "ne", "n'", "pas"};
  for (const Noun& noun : kNouns) collect(words, {noun.french, noun.french_plural});
  for (const Noun& noun : kUncountableNouns) collect(words, {noun.french});
  for (const Adjective& each : kBefore) {
    collect(words, {each.masculine, each.feminine, each.masculine_plural, each.feminine_plural,
                    each.masculine_before_vowel});
  }
  for (const Adjective& each : kAfter) {
    collect(words, {each.masculine, each.feminine, each.masculine_plural, each.feminine_plural});
  }
  for (const Verb& verb : kTransitive) collect(words, {verb.french, verb.french_plural});
  for (const Verb& verb : kIntransitive) collect(words, {verb.french, verb.french_plural});
  for (const Determiner& each : kDeterminers) {
    collect(words, {each.masculine, each.feminine, each.plural, each.before_vowel_masculine,
                    each.before_vowel_feminine});
  }
  for (const Preposition& place : kPlaces) collect(words, {place.french});
  return {words.begin(), words.end()};
}

Words grammar_names() { return {kNames.begin(), kNames.end()}; }

}  // namespace tapestry::kit
