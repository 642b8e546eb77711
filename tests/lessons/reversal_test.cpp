// The strings of lessons 10 and 11.
#include "lessons/kit/reversal.hpp"

#include <set>

#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("a string's target is the string backwards, between start and end", "[kit]") {
  const Strings strings = draw_strings(Random(1, 2), 200);
  std::set<Size> lengths;
  for (Size row = 0; row < 200; ++row) {
    const Size letters = strings.sources.lengths[static_cast<std::size_t>(row)] - 1;
    lengths.insert(letters);
    REQUIRE(strings.targets.lengths[static_cast<std::size_t>(row)] == letters + 2);
    CHECK(strings.sources.at(row, letters) == kEnd);
    CHECK(strings.targets.at(row, 0) == kStart);
    CHECK(strings.targets.at(row, letters + 1) == kEnd);
    for (Size i = 0; i < letters; ++i) {
      const std::int64_t letter = strings.sources.at(row, i);
      CHECK((letter > kEnd && letter < alphabet().size()));
      CHECK(strings.targets.at(row, letters - i) == letter);
    }
  }
  CHECK(*lengths.begin() == kShortestString);
  CHECK(*lengths.rbegin() == kLongestString);
  CHECK(draw_strings(Random(1, 2), 5, 7, 7).sources.columns == 8);
}

}  // namespace tapestry::kit
