// BLEU against sacrebleu's figures.
#include "lessons/kit/translation/bleu.hpp"

#include <stdexcept>

#include "tests/catch.hpp"

namespace tapestry::kit {
namespace {

struct Golden {
  double score;
  double brevity;
  std::vector<std::string> hypotheses;
  std::vector<std::string> references;
};

// From sacrebleu 2.6.0: corpus_bleu(hypotheses, [references], tokenize="none", force=True).
const std::vector<Golden> kGoldens = {
    {100.00000000000004, 1.0, {"la zone de contrôle international"}, {"la zone de contrôle international"}},
    {62.57106818159155,
     0.7788007830714049,
     {"le chat dort sur le lit", "un homme"},
     {"le chat dort sur le grand lit", "un homme court"}},
    {7.809849842300637, 1.0, {"the the the the the the the"}, {"the cat is on the mat"}},
    {14.058533129758727, 1.0, {"a b c d e"}, {"a x b y c"}},
    {0.0, 1.0, {"a b c", "d e f"}, {"a b x", "d e y"}},
    {54.44460596606694, 0.7165313105737893, {"", "a b c d e f"}, {"x y", "a b c d e g"}},
    {34.57207846419409, 1.0, {"a b c d e f g h"}, {"a b c d"}},
    {0.0, 0.0, {"", ""}, {"a", "b"}},
    {0.0, 1.0, {"a b c"}, {"a b c"}},
    {44.57810148157672,
     1.0,
     {"un homme est en train de faire du vélo .", "deux chiens courent dans la neige ."},
     {"un homme fait du vélo .", "deux chiens courent dans la neige blanche ."}},
};

std::vector<Words> sentences(const std::vector<std::string>& lines) {
  std::vector<Words> all;
  for (const std::string& line : lines) all.push_back(split_words(line));
  return all;
}

}  // namespace

TEST_CASE("BLEU equals sacrebleu's", "[kit]") {
  for (const Golden& golden : kGoldens) {
    const Bleu bleu = corpus_bleu(sentences(golden.hypotheses), sentences(golden.references));
    CAPTURE(golden.hypotheses);
    CHECK(bleu.score == Approx(golden.score).epsilon(0).margin(1e-9));
    CHECK(bleu.brevity == Approx(golden.brevity).epsilon(0).margin(1e-12));
  }
}

TEST_CASE("BLEU counts clipped matches", "[kit]") {
  const Bleu bleu = corpus_bleu({{"the", "the", "the", "cat"}}, {{"the", "cat", "the"}});
  CHECK(bleu.matches == std::array<Size, 4>{3, 1, 0, 0});
  CHECK(bleu.totals == std::array<Size, 4>{4, 3, 2, 1});
  CHECK(bleu.hypothesis_words == 4);
  CHECK(bleu.reference_words == 3);
  CHECK(bleu.text().find("4 words") != std::string::npos);
  // Joined words must not be confused: "a b"+"c" is not "a"+"b c" word by word.
  CHECK(corpus_bleu({{"ab", "c"}}, {{"a", "bc"}}).matches[1] == 0);
}

TEST_CASE("BLEU of nothing is 0, and unequal numbers are refused", "[kit]") {
  CHECK(corpus_bleu({}, {}).score == 0);
  CHECK(corpus_bleu({{}}, {{}}).score == 0);
  CHECK_THROWS_AS(corpus_bleu({{"a"}}, {}), std::invalid_argument);
}

TEST_CASE("BLEU by length puts each sentence into one bucket", "[kit]") {
  const std::vector<Words> sources = {Words(3, "s"), Words(10, "s"), Words(11, "s"), Words(40, "s")};
  const std::vector<Words> same = sentences({"a b c d", "a b c d", "e f g h", "i j k l"});
  std::vector<Words> hypotheses = same;
  hypotheses[3] = {"wrong"};
  const auto buckets = bleu_by_length(sources, hypotheses, same, {10, 20, 30});
  REQUIRE(buckets.size() == 3);
  CHECK(buckets[0].least == 1);
  CHECK(buckets[0].mean == 6.5);
  CHECK(buckets[0].most == 10);
  CHECK(buckets[0].sentences == 2);
  CHECK(buckets[0].bleu.score == Approx(100));
  CHECK(buckets[1].least == 11);
  CHECK(buckets[1].sentences == 1);
  CHECK(buckets[2].least == 31);
  CHECK(buckets[2].sentences == 1);
  CHECK(buckets[2].bleu.score == 0);
}

}  // namespace tapestry::kit
