// BLEU by length, with sentences joined to reach it.
#include "lessons/15_translate/length_curves.hpp"

#include "tests/catch.hpp"

namespace tapestry::kit {
namespace {

/// Seven pairs of `words` words; the French is the English with "f" before it.
ParallelText text_of(std::size_t words) {
  ParallelText text;
  for (int i = 0; i < 7; ++i) {
    Words source, target;
    for (std::size_t w = 0; w < words; ++w) {
      source.push_back(std::to_string(i) + "." + std::to_string(w));
      target.push_back("f" + source.back());
    }
    text.source.push_back(source);
    text.target.push_back(target);
  }
  return text;
}

}  // namespace

TEST_CASE("a text is tested alone, in twos and in threes", "[kit]") {
  const LengthCurves curves(text_of(5), {{"and"}, {"et"}}, {5, 11});
  REQUIRE(curves.text().source.size() == 7 + 3 + 2);
  CHECK(curves.text().source[0].size() == 5);
  CHECK(curves.text().source[7].size() == 11);
  CHECK(curves.text().source[7][5] == "and");
  CHECK(curves.text().source[11].size() == 17);
  CHECK(curves.text().target[11].size() == 17);
  CHECK(curves.text().target[11][11] == "et");
  CHECK(curves.longest() == 17);
}

TEST_CASE("each translator gets a curve", "[kit]") {
  LengthCurves curves(text_of(5), {}, {5, 10});
  for (const double score : curves.add("perfect", curves.text().target).y) CHECK(score == Approx(100));
  std::vector<Words> short_only = curves.text().target;
  for (std::size_t i = 7; i < short_only.size(); ++i) short_only[i] = {"wrong"};
  const Series& curve = curves.add("short", short_only);
  CHECK(curve.x == std::vector<double>{5, 10, 15});
  REQUIRE(curve.y.size() == 3);
  CHECK(curve.y[0] == Approx(100));
  CHECK(curve.y[1] == 0);
  CHECK(curve.y[2] == 0);
  REQUIRE(curves.chart().series.size() == 2);
  CHECK(curves.chart().series[0].name == "perfect");
  CHECK(curves.table() ==
        "  words                     1-5   6-10    11+\n"
        "  perfect                 100.0  100.0  100.0\n"
        "  short                   100.0    0.0    0.0\n");
}

}  // namespace tapestry::kit
