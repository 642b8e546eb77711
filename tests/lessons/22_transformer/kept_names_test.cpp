// Names that must stay the same: the answers depend only on the output so far.
#include <map>

#include "lessons/22_transformer/names.hpp"
#include "nn/text/vocabulary.hpp"
#include "tests/catch.hpp"

namespace tapestry::lesson22 {

TEST_CASE("a kind keeps the name that it got first", "[kit]") {
  const NamedThings drawn = draw_things(kit::Random(3, 7), 50);
  const auto things = drawn.things.to_vector(), inputs = drawn.inputs.to_vector(),
             names = drawn.names.to_vector(), known = drawn.known.to_vector(),
             words_ago = drawn.words_ago.to_vector();
  REQUIRE(drawn.things.shape() == Dims{50, kThings});
  bool right = true;
  std::map<std::int64_t, std::int64_t> firsts;  // how often each of a kind's names was taken
  for (std::size_t row = 0; row < 50; ++row) {
    std::map<std::int64_t, std::size_t> last;  // where a kind was named
    for (std::size_t t = 0; t < kThings; ++t) {
      const std::size_t i = row * kThings + t;
      const std::int64_t kind = things[i] - 4, name = names[i] - 4;
      right &= kind >= 0 && kind < kKinds && name / kNamesOfKind == kind;
      right &= inputs[i] == (t == 0 ? kStart : names[i - 1]);
      const auto before = last.find(kind);
      if (before == last.end()) {
        right &= known[i] == -1 && words_ago[i] == 0;
        ++firsts[name % kNamesOfKind];
      } else {
        right &= known[i] == names[i] && names[i] == names[row * kThings + before->second];
        right &= words_ago[i] == static_cast<std::int64_t>(t - before->second);
      }
      last[kind] = t;
    }
  }
  CHECK(right);
  CHECK(firsts.size() == kNamesOfKind);
  CHECK(draw_things(kit::Random(3, 7), 50).names.to_vector() == names);
  CHECK(draw_things(kit::Random(3, 8), 50).names.to_vector() != names);
}

}  // namespace tapestry::lesson22
