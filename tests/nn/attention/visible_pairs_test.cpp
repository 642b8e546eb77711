// Shapes of the masks that visible pairs give to scores with no, one or several axes for the heads.
#include "nn/attention/visible_pairs.hpp"

#include <utility>
#include <vector>

#include "core/tensor/create.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

TEST_CASE(
    "a mask for each row has the axes of the scores, also where the batch has as many rows as there are heads") {
  const Tensor one_head = zeros({2, 3, 3}), heads = zeros({2, 2, 3, 3}), groups = zeros({2, 2, 2, 3, 3});
  const Mask rows = Mask::from(6, 3, [](Size i, Size j) { return i != j; }).reshape({2, 3, 3});
  for (const Mask& given : {rows, rows.unsqueeze(1)}) {
    const VisiblePairs pairs({.causal = true}, 3, 3, given);
    CHECK(pairs.mask().shape() == Dims{2, 1, 3, 3});
    CHECK(pairs.mask_for(one_head).shape() == Dims{2, 3, 3});
    CHECK(pairs.mask_for(heads).shape() == Dims{2, 1, 3, 3});
    CHECK(pairs.mask_for(groups).shape() == Dims{2, 1, 1, 3, 3});
    CHECK(pairs.mask_for(groups).to_vector() == (rows & Mask::causal(3, 3)).to_vector());
  }
  const VisiblePairs shared({.causal = true}, 3, 3);
  CHECK(shared.mask().shape() == Dims{3, 3});
  CHECK(shared.mask_for(groups).shape() == Dims{3, 3});
  CHECK_FALSE(VisiblePairs({}, 3, 3).mask_for(heads).defined());
}

TEST_CASE("a mask for each head meets only scores with one axis for the heads") {
  const Mask by_head = Mask::from(12, 3, [](Size i, Size j) { return i % 4 != j; }).reshape({2, 2, 3, 3});
  const VisiblePairs pairs({}, 3, 3, by_head);
  CHECK(pairs.mask_for(zeros({2, 2, 3, 3})).to_vector() == by_head.to_vector());
  for (const Dims& scores : {Dims{2, 3, 3}, Dims{2, 2, 2, 3, 3}})
    CHECK_THAT(test::message_of([&] { static_cast<void>(pairs.mask_for(zeros(scores))); }),
               ContainsSubstring("must meet scores (B, heads, Tq, Tk), got mask (2,2,3,3)"));
}

TEST_CASE("the window of a rule, Mask::window and the window of the attention page are the same pairs") {
  constexpr Size kWindow = 3;
  for (const auto& [queries, keys] : {std::pair<Size, Size>{1, 1}, {6, 6}, {2, 6}, {1, 6}}) {
    CAPTURE(queries, keys);
    const auto written = [first = keys - queries](auto p) {
      return p.j <= p.i + first && p.i + first - p.j < kWindow;
    };
    const std::vector<bool> wanted = BlockMask::where(queries, keys, written).mask().to_vector();
    CHECK(Mask::window(queries, keys, kWindow - 1, 0).to_vector() == wanted);
    CHECK(BlockMask::window(queries, keys, kWindow - 1, 0).mask().to_vector() == wanted);
    const VisiblePairs causal({.causal = true, .window = kWindow}, queries, keys);
    CHECK((causal.mask() & Mask::from(queries, keys, [](Size, Size) { return true; })).to_vector() == wanted);
    const VisiblePairs both({.window = kWindow}, queries, keys);
    CHECK((both.mask() & Mask::causal(queries, keys)).to_vector() == wanted);
  }
}

TEST_CASE("a window counts positions where they are given, also with fewer keys than its width") {
  const std::vector<Size> gap = {0, 1, 100};
  for (const bool causal : {true, false}) {
    CAPTURE(causal);
    const VisibilityRule rule{.causal = causal, .window = 10};
    const VisiblePairs last(rule, 1, 3, {}, gap), whole(rule, 3, 3, {}, gap);
    REQUIRE(last.mask().defined());
    CHECK(last.mask().to_vector() == std::vector<bool>{false, false, true});
    CHECK(whole.mask().to_vector() ==
          std::vector<bool>{true, !causal, false, true, true, false, false, false, true});
    const VisiblePairs near(rule, 1, 3, {}, {4, 5, 13});
    CHECK_FALSE(near.mask().defined());
    CHECK(VisiblePairs(rule, 1, 3, {}, {4, 5, 14}).mask().to_vector() ==
          std::vector<bool>{false, true, true});
  }
}
