// Pairs of sentences from a small grammar: is the second entailed, neutral or contradicted?
#include "lessons/32_decomposable/sentences.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/tensor/tensor.hpp"

namespace tapestry::lesson32 {
namespace {

constexpr std::int64_t kGroup = 5;  // number of words in a group
struct Kind {
  std::int64_t first, groups;  // id of the first word; number of groups
  std::int64_t last() const { return first + groups * kGroup; }
};
constexpr Kind kNouns{1, 6}, kVerbs{31, 3}, kAdjectives{46, 2};

const Kind& kind_of(Role role) {
  return role == kVerb ? kVerbs : role == kNoun1 || role == kNoun2 ? kNouns : kAdjectives;
}
bool is_adjective(Role role) { return &kind_of(role) == &kAdjectives; }
std::int64_t group_of(std::int64_t word) { return (word - 1) / kGroup; }
bool is_general(std::int64_t word) { return (word - 1) % kGroup == 0; }

std::int64_t any_of(kit::Random& random, const Kind& kind) {
  return kind.first + random.below(kind.groups * kGroup);
}

constexpr Role kRoles[] = {kAdjective1, kNoun1, kVerb, kAdjective2, kNoun2};

/// Returns a word that has the relation `wanted` to `word`, or `word` itself if there is none.
std::int64_t word_with(kit::Random& random, Role role, std::int64_t word, Answer wanted) {
  const bool same_group = word != 0 && random.below(3) > 0;
  if (is_adjective(role) && wanted == kEntailed && random.chance(0.5)) return 0;
  std::vector<std::int64_t> all;
  for (std::int64_t other = kind_of(role).first; other < kind_of(role).last(); ++other)
    if (relation(role, word, other) == wanted &&
        (wanted != kContradicted || !same_group || is_general(word) || group_of(word) == group_of(other)))
      all.push_back(other);
  return all.empty() ? word : all[static_cast<std::size_t>(random.below(static_cast<Size>(all.size())))];
}

Sentence draw_premise(kit::Random& random) {
  Sentence sentence{};
  for (const Role role : kRoles)
    if (!is_adjective(role) || random.below(3) > 0) sentence[role] = any_of(random, kind_of(role));
  return sentence;
}

bool exchangeable(const Sentence& s) {
  return relation(kNoun1, s[kNoun1], s[kNoun2]) == kContradicted &&
         relation(kNoun2, s[kNoun2], s[kNoun1]) == kContradicted;
}

std::int64_t length_of(const Sentence& sentence) {
  return std::count_if(sentence.begin(), sentence.end(), [](std::int64_t word) { return word != 0; });
}

}  // namespace

const std::vector<std::string>& vocabulary() {
  static const std::vector<std::string> words = {
      "-",     "animal",  "dog",    "cat",   "horse",  "cow",    "vehicle",  "car",    "bus",   "bike",
      "truck", "fruit",   "apple",  "pear",  "plum",   "cherry", "tree",     "oak",    "pine",  "birch",
      "elm",   "tool",    "hammer", "saw",   "drill",  "spade",  "person",   "doctor", "nurse", "farmer",
      "pilot", "touches", "pushes", "pulls", "lifts",  "drops",  "senses",   "sees",   "hears", "smells",
      "feels", "alters",  "breaks", "mends", "paints", "cleans", "coloured", "red",    "blue",  "green",
      "white", "shaped",  "round",  "long",  "flat",   "square"};
  return words;
}

std::int64_t id_of(const std::string& word) {
  const auto found = std::find(vocabulary().begin(), vocabulary().end(), word);
  if (found == vocabulary().end()) fail("[id_of] word must be in the vocabulary, got \"{}\"", word);
  return found - vocabulary().begin();
}

std::string text_of(const Sentence& sentence) {
  std::string text;
  for (const std::int64_t word : sentence)
    if (word != 0) text += (text.empty() ? "" : " ") + vocabulary()[static_cast<std::size_t>(word)];
  return text;
}

Answer relation(Role role, std::int64_t premise, std::int64_t hypothesis) {
  if (hypothesis == 0 || premise == hypothesis) return kEntailed;
  if (premise == 0) return kNeutral;
  if (group_of(premise) != group_of(hypothesis)) return &kind_of(role) == &kNouns ? kContradicted : kNeutral;
  if (is_general(hypothesis)) return kEntailed;
  return is_general(premise) ? kNeutral : kContradicted;
}

Answer relation(const Sentence& premise, const Sentence& hypothesis) {
  Answer strongest = kEntailed;
  for (const Role role : kRoles)
    strongest = std::max(strongest, relation(role, premise[role], hypothesis[role]));
  return strongest;
}

bool held_out(std::int64_t adjective, std::int64_t noun, std::uint64_t seed) {
  return adjective != 0 &&
         kit::Random(seed, 4'000'000 + static_cast<std::uint64_t>(100 * adjective + noun)).below(5) == 0;
}

bool held_out(const Pair& pair, std::uint64_t seed) {
  const auto in = [&](const Sentence& s) {
    return held_out(s[kAdjective1], s[kNoun1], seed) || held_out(s[kAdjective2], s[kNoun2], seed);
  };
  return in(pair.premise) || in(pair.hypothesis);
}

Pair draw_pair(kit::Random& random, Answer answer) {
  while (true) {
    Pair pair{draw_premise(random), {}, answer};
    pair.hypothesis = pair.premise;
    const bool exchange = answer == kContradicted && random.chance(0.5);
    if (exchange && !exchangeable(pair.premise)) continue;
    if (exchange) std::swap(pair.hypothesis[kNoun1], pair.hypothesis[kNoun2]);
    for (const Role role : kRoles) {
      if (exchange && (role == kNoun1 || role == kNoun2)) continue;
      constexpr Answer kWanted[] = {kEntailed, kEntailed, kNeutral, kContradicted};
      const Answer wanted = std::min(kWanted[random.below(4)], exchange ? kEntailed : answer);
      pair.hypothesis[role] = word_with(random, role, pair.premise[role], wanted);
    }
    if (relation(pair.premise, pair.hypothesis) == answer) return pair;
  }
}

std::vector<Pair> draw_pairs(kit::Random random, Size count, Words words, std::uint64_t seed) {
  std::vector<Pair> pairs;
  while (static_cast<Size>(pairs.size()) < count) {
    const auto answer = static_cast<Answer>(static_cast<Size>(pairs.size()) % kAnswers);
    const Pair pair = draw_pair(random, answer);
    if (held_out(pair, seed) == (words == Words::held_out)) pairs.push_back(pair);
  }
  return pairs;
}

std::vector<Pair> draw_twins(kit::Random random, Size pairs, Words words, std::uint64_t seed) {
  std::vector<Pair> twins;
  while (static_cast<Size>(twins.size()) < 2 * pairs) {
    const Pair pair = draw_pair(random, kEntailed);
    Pair twin = pair;
    std::swap(twin.hypothesis[kNoun1], twin.hypothesis[kNoun2]);
    twin.answer = relation(twin.premise, twin.hypothesis);
    const bool wanted = words == Words::held_out;
    if (twin.answer != kContradicted || held_out(pair, seed) != wanted || held_out(twin, seed) != wanted)
      continue;
    twins.insert(twins.end(), {pair, twin});
  }
  return twins;
}

Batch batch_of(const std::vector<Pair>& pairs) {
  std::vector<std::int64_t> premise, hypothesis, answers;
  std::vector<Size> premise_lengths, hypothesis_lengths;
  const auto add = [](const Sentence& sentence, std::vector<std::int64_t>& words,
                      std::vector<Size>& lengths) {
    lengths.push_back(length_of(sentence));
    for (const std::int64_t word : sentence)
      if (word != 0) words.push_back(word);
    words.resize(lengths.size() * kLongest, 0);
  };
  for (const Pair& pair : pairs) {
    add(pair.premise, premise, premise_lengths);
    add(pair.hypothesis, hypothesis, hypothesis_lengths);
    answers.push_back(pair.answer);
  }
  const auto count = static_cast<Size>(pairs.size());
  return {Indices(premise, {count, kLongest}), Indices(hypothesis, {count, kLongest}),
          ValidLengths(premise_lengths), ValidLengths(hypothesis_lengths), Indices(answers, {count})};
}

}  // namespace tapestry::lesson32
