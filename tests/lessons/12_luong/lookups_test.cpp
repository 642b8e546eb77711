// The tasks of lesson 12.
#include "lessons/12_luong/lookups.hpp"

#include <map>
#include <set>

#include "lessons/kit/text/vocabulary.hpp"
#include "tests/catch.hpp"

namespace tapestry::lesson12 {
namespace {

using kit::Ids, kit::Random;

/// Row `row`: what each letter stands for.
std::map<std::string, std::string> pairs_of(const Indices& source, Size row) {
  const Ids ids = source.to_vector();
  const Size length = source.shape()[1];
  std::map<std::string, std::string> pairs;
  for (Size i = row * length; i < (row + 1) * length; i += 2)
    pairs[lookup_symbol(ids[static_cast<std::size_t>(i)])] =
        lookup_symbol(ids[static_cast<std::size_t>(i + 1)]);
  return pairs;
}

}  // namespace

TEST_CASE("every letter of a list is asked for once, and answered with its digit", "[kit]") {
  const Lookups lookups = draw_lookups(Random(1, 2), 50, 16);
  const Ids asked = lookups.questions.to_vector(), answers = lookups.answers.to_vector();
  for (Size row = 0; row < 50; ++row) {
    const auto pairs = pairs_of(lookups.source, row);
    REQUIRE(pairs.size() == 16);
    std::set<std::string> questions;
    for (std::size_t at = static_cast<std::size_t>(16 * row); at < static_cast<std::size_t>(16 * (row + 1));
         ++at) {
      questions.insert(lookup_symbol(asked[at]));
      REQUIRE(pairs.at(lookup_symbol(asked[at])) == lookup_symbol(answers[at]));
    }
    CHECK(questions.size() == 16);
  }
}

TEST_CASE("each answer of a trail is what the letter answered before stands for", "[kit]") {
  const Lookups trails = draw_trails(Random(1, 2), 50, 5);
  const Ids asked = trails.questions.to_vector(), answers = trails.answers.to_vector();
  for (Size row = 0; row < 50; ++row) {
    const auto pairs = pairs_of(trails.source, row);
    REQUIRE(pairs.size() == 5);
    const auto first = static_cast<std::size_t>(4 * row);
    std::string letter = lookup_symbol(asked[first]);
    for (std::size_t hop = 0; hop < 4; ++hop) {
      if (hop > 0) CHECK(lookup_symbol(asked[first + hop]) == "·");
      const std::string answer = lookup_symbol(answers[first + hop]);
      REQUIRE(pairs.at(letter) == answer);
      letter = std::string(1, static_cast<char>(answer[0] - 'A' + 'a'));
    }
  }
}

}  // namespace tapestry::lesson12
