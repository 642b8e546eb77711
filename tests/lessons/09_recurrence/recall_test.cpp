// The strings of lesson 09.
#include "lessons/09_recurrence/recall.hpp"

#include <set>

#include "tests/catch.hpp"

namespace tapestry::kit {

TEST_CASE("the answer is the first symbol, and lengths are those asked for", "[kit]") {
  const RecallStrings strings = draw_recall(Random(1, 2), 300, 2, 6);
  CHECK(strings.symbols.shape() == Dims{300, 7});
  CHECK(strings.first.to_vector() == strings.symbols.column(0).to_vector());
  std::set<Size> lengths;
  for (Size row = 0; row < 300; ++row) lengths.insert(strings.lengths[row]);
  CHECK(lengths == std::set<Size>{3, 4, 5, 6, 7});
  const auto symbols = strings.symbols.to_vector();
  CHECK(std::set<std::int64_t>(symbols.begin(), symbols.end()).size() == kRecallSymbols);
}

}  // namespace tapestry::kit
