// The gallery's buckets at distances that short texts do not have: the last bucket takes all that is far.
#include "core/core.hpp"
#include "lessons/26_programmable/gallery.hpp"
#include "tests/catch.hpp"

using namespace tapestry;

TEST_CASE("the gallery's farthest bucket begins at 91 and has no end", "[gallery]") {
  constexpr Size kTime = 200;
  for (const auto& entry : lesson26::gallery()) {
    if (entry.mechanism.name != "T5 buckets") continue;
    // Bucket b adds b: of scores of 0, a pair's score is its bucket.
    const Size heads = entry.mechanism.learned[0].shape[0];
    const Tensor bias = expand(arange(0, 16, 1, DType::f64), {heads, 16});
    const std::vector<Tensor> learned{variable(bias + 0.0)};
    const Tensor found = entry.mechanism.score_mod(learned, kTime, kTime)
                             .by_ops(zeros({1, heads, kTime, kTime}, DType::f64), Mask::causal(kTime, kTime))
                             .detach();
    // The last distance of each of the first 15.
    const Size ends[] = {0, 1, 2, 3, 4, 5, 6, 7, 11, 15, 22, 31, 45, 63, 90};
    Size bucket = 0;
    for (Size far = 0; far < kTime; ++far) {
      if (bucket < 15 && far > ends[bucket]) ++bucket;
      CAPTURE(far);
      CHECK(found.at({0, 0, kTime - 1, kTime - 1 - far}) == static_cast<double>(bucket));
    }
    return;
  }
  FAIL("the gallery has no entry of that name");
}
