// The sentences of lesson 32, and what follows from what.
#include "lessons/32_decomposable/sentences.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "tests/catch.hpp"

namespace tapestry::lesson32 {

namespace {

Sentence sentence(const char* adjective1, const char* noun1, const char* verb, const char* adjective2,
                  const char* noun2) {
  const auto id = [](const std::string& word) { return word.empty() ? 0 : id_of(word); };
  return {id(adjective1), id(noun1), id(verb), id(adjective2), id(noun2)};
}

const Sentence kPremise = sentence("red", "dog", "pushes", "", "car");

bool same_words(Sentence a, Sentence b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

}  // namespace

TEST_CASE("what follows from \"red dog pushes car\"", "[32]") {
  CHECK(text_of(kPremise) == "red dog pushes car");
  const auto says = [](const Sentence& hypothesis) { return relation(kPremise, hypothesis); };
  CHECK(says(kPremise) == kEntailed);
  CHECK(says(sentence("", "dog", "pushes", "", "car")) == kEntailed);
  CHECK(says(sentence("coloured", "animal", "touches", "", "vehicle")) == kEntailed);
  CHECK(says(sentence("red", "dog", "pushes", "blue", "car")) == kNeutral);
  CHECK(says(sentence("round", "dog", "pushes", "", "car")) == kNeutral);
  CHECK(says(sentence("red", "dog", "sees", "", "car")) == kNeutral);
  CHECK(says(sentence("blue", "dog", "pushes", "", "car")) == kContradicted);
  CHECK(says(sentence("red", "cat", "pushes", "", "car")) == kContradicted);
  CHECK(says(sentence("red", "dog", "pulls", "", "car")) == kContradicted);
  CHECK(says(sentence("red", "dog", "pushes", "", "apple")) == kContradicted);
  CHECK(says(sentence("red", "car", "pushes", "", "dog")) == kContradicted);
  CHECK(says(sentence("round", "cat", "sees", "", "car")) == kContradicted);  // the strongest counts
  const Sentence general = sentence("coloured", "animal", "touches", "", "vehicle");
  CHECK(relation(general, kPremise) == kNeutral);
  CHECK_THROWS_WITH(id_of("unicorn"), "[id_of] word must be in the vocabulary, got \"unicorn\"");
}

TEST_CASE("words come in groups of five: 6 of nouns, 3 of verbs, 2 of adjectives", "[32]") {
  REQUIRE(vocabulary().size() == 1 + 5 * 11);
  CHECK(std::set<std::string>(vocabulary().begin(), vocabulary().end()).size() == 56);
  for (const char* general : {"animal", "vehicle", "fruit", "tree", "tool", "person", "touches", "senses",
                              "alters", "coloured", "shaped"})
    CHECK(id_of(general) % 5 == 1);
  CHECK(relation(kVerb, id_of("paints"), id_of("alters")) == kEntailed);
  CHECK(relation(kAdjective1, id_of("square"), id_of("shaped")) == kEntailed);
  CHECK(relation(kNoun1, id_of("pilot"), id_of("person")) == kEntailed);
}

TEST_CASE("answers of drawn pairs are right, balanced, and half of the contradictions exchange nouns",
          "[32]") {
  const std::vector<Pair> pairs = draw_pairs(kit::Random(1, 2), 1500, Words::seen_together, 1);
  std::map<Answer, int> counts;
  int exchanged = 0;
  std::set<std::int64_t> words;
  for (const Pair& pair : pairs) {
    CHECK(relation(pair.premise, pair.hypothesis) == pair.answer);
    CHECK((pair.premise[kNoun1] != 0 && pair.premise[kVerb] != 0 && pair.premise[kNoun2] != 0));
    CHECK((pair.hypothesis[kNoun1] != 0 && pair.hypothesis[kVerb] != 0 && pair.hypothesis[kNoun2] != 0));
    ++counts[pair.answer];
    exchanged += pair.answer == kContradicted && pair.premise[kNoun1] == pair.hypothesis[kNoun2] &&
                 pair.premise[kNoun2] == pair.hypothesis[kNoun1];
    words.insert(pair.hypothesis.begin(), pair.hypothesis.end());
  }
  CHECK(counts == std::map<Answer, int>{{kEntailed, 500}, {kNeutral, 500}, {kContradicted, 500}});
  CHECK(exchanged > 150);
  CHECK(exchanged < 350);
  CHECK(words.size() == vocabulary().size());
}

TEST_CASE("no held-out words stand together in training, and in every tested pair some do", "[32]") {
  double shares = 0;
  for (std::int64_t adjective = id_of("coloured"); adjective <= id_of("square"); ++adjective)
    for (std::int64_t noun = 1; noun <= 30; ++noun) shares += held_out(adjective, noun, 1) / 300.0;
  CHECK(shares > 0.12);
  CHECK(shares < 0.28);
  const auto stands = [](const Pair& pair) {
    return held_out(pair.premise[0], pair.premise[1], 1) || held_out(pair.premise[3], pair.premise[4], 1) ||
           held_out(pair.hypothesis[0], pair.hypothesis[1], 1) ||
           held_out(pair.hypothesis[3], pair.hypothesis[4], 1);
  };
  for (const Pair& pair : draw_pairs(kit::Random(1, 2), 300, Words::seen_together, 1)) CHECK(!stands(pair));
  for (const Pair& pair : draw_pairs(kit::Random(1, 2), 300, Words::held_out, 1)) CHECK(stands(pair));
  for (const Pair& pair : draw_twins(kit::Random(1, 2), 100, Words::held_out, 1)) CHECK(stands(pair));
}

TEST_CASE("twins are an entailed pair and the same words contradicted", "[32]") {
  const std::vector<Pair> twins = draw_twins(kit::Random(3, 4), 100, Words::seen_together, 1);
  REQUIRE(twins.size() == 200);
  for (std::size_t i = 0; i < twins.size(); i += 2) {
    CHECK(twins[i].premise == twins[i + 1].premise);
    CHECK(twins[i].hypothesis != twins[i + 1].hypothesis);
    CHECK(same_words(twins[i].hypothesis, twins[i + 1].hypothesis));
    for (const std::size_t j : {i, i + 1})
      CHECK(relation(twins[j].premise, twins[j].hypothesis) == twins[j].answer);
    CHECK(twins[i].answer == kEntailed);
    CHECK(twins[i + 1].answer == kContradicted);
  }
}

TEST_CASE("a batch holds words, then padding", "[32]") {
  const Sentence shorter = sentence("", "animal", "touches", "", "vehicle");
  const Batch batch = batch_of({{kPremise, shorter, kEntailed}, {shorter, kPremise, kNeutral}});
  CHECK(batch.premise.shape() == Dims{2, 5});
  CHECK(batch.premise.to_vector() == std::vector<std::int64_t>{id_of("red"), id_of("dog"), id_of("pushes"),
                                                               id_of("car"), 0, id_of("animal"),
                                                               id_of("touches"), id_of("vehicle"), 0, 0});
  CHECK(batch.hypothesis_lengths[0] == 3);
  CHECK(batch.hypothesis_lengths[1] == 4);
  CHECK(batch.answers.to_vector() == std::vector<std::int64_t>{0, 1});
}

}  // namespace tapestry::lesson32
