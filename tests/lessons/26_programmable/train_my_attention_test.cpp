// `lessons/run 26 --my-attention`: which mechanisms it trains, and which it refuses.
#include "lessons/26_programmable/train_my_attention.hpp"

#include <sstream>
#include <string>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"
#include "lessons/26_programmable/tasks.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string trained(const kit::Mechanism& mechanism) {
  const kit::Scratch scratch;
  kit::Options options;
  options.steps = 2;
  options.smoke = true;
  options.out = scratch.folder();
  std::ostringstream out;
  kit::Report report(out);
  lesson26::train_my_attention(mechanism, "sorting", options, report);
  return out.str();
}

kit::Mechanism twice(bool (*may)(Size i, Size j)) {
  kit::Mechanism mechanism{.name = "twice", .heads = 1, .width = 4};
  mechanism.score_mod = [](const std::vector<Tensor>&, Size, Size) {
    return score_mod([](auto s, auto) { return 2 * s; });
  };
  if (may)
    mechanism.mask = [may](Size queries, Size keys) {
      return BlockMask::where(queries, keys, [=](QueryKey p) { return may(p.i + keys - queries, p.j); });
    };
  return mechanism;
}

/// The line of a report that has the loss.
std::string loss_of(const std::string& text) {
  const std::size_t begin = text.find("loss on the test");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("a mechanism of one's own is trained under its own mask", "[mechanism]") {
  const std::string alone = trained(twice([](Size i, Size j) { return i == j; })),
                    near = trained(twice([](Size i, Size j) { return j <= i && i - j < 3; })),
                    causal = trained(twice([](Size i, Size j) { return j <= i; }));
  CHECK(loss_of(alone) != loss_of(near));
  CHECK(loss_of(near) != loss_of(causal));
}

TEST_CASE("a mechanism that reads its answers is not trained", "[mechanism]") {
  CHECK_THAT(trained(twice([](Size i, Size j) { return j <= i + 1; })),
             ContainsSubstring("query 0 sees key 1: a model") && ContainsSubstring("Not trained") &&
                 !ContainsSubstring("loss on the test"));
  // Without a mask of its own it gets one.
  const std::string bare = trained(twice(nullptr));
  CHECK_THAT(bare, ContainsSubstring("trained with BlockMask::causal"));
  CHECK_THAT(bare, ContainsSubstring("loss on the test"));
  kit::Mechanism ops{.name = "by ops"};
  ops.ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const std::vector<Tensor>&) {
    return attend(q, k, v);
  };
  CHECK_THAT(trained(ops),
             ContainsSubstring("give attend() {.mask") && !ContainsSubstring("loss on the test"));
}

TEST_CASE("of the voices' favourites six in ten can be known", "[mechanism]") {
  const double best = lesson26::best_of_voices(lesson26::draw_voices(kit::Random(1), 2000, 64));
  INFO(best);
  CHECK(best == Approx(60).margin(3));
}
