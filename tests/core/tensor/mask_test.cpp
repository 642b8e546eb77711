// Masks: every kind there is, and that they combine and broadcast.
#include "core/tensor/mask.hpp"

#include <functional>
#include <limits>

#include "core/attention/attend.hpp"
#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/indices.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

using test::message_of;

namespace {

using Bits = std::vector<bool>;

/// Checks a mask of any rank, element by element: f(leading index, query, key).
void check_mask(const Mask& mask, const Dims& shape, const std::function<bool(Size, Size, Size)>& f) {
  REQUIRE(to_string(mask.shape()) == to_string(shape));
  const std::vector<bool> found = mask.to_vector();
  const Size keys = shape.back(), queries = shape[shape.rank() - 2];
  for (Size i = 0; i < mask.count(); ++i) {
    CAPTURE(i);
    CHECK(found[static_cast<std::size_t>(i)] == f(i / keys / queries, i / keys % queries, i % keys));
  }
}

}  // namespace

TEST_CASE("causal masks stand at the bottom right, whatever the sizes") {
  for (const auto& [queries, keys] : {std::pair<Size, Size>{3, 3}, {2, 5}, {5, 2}, {1, 4}}) {
    CAPTURE(queries, keys);
    const Size shift = keys - queries;
    check_mask(Mask::causal(queries, keys), {queries, keys},
               [&](Size, Size i, Size j) { return j <= i + shift; });
  }
}

TEST_CASE("a window may reach as far as a number goes") {
  constexpr Size kFar = std::numeric_limits<Size>::max();
  CHECK(Mask::window(3, 5, 0, kFar).to_vector() == Mask::window(3, 5, 0, 5).to_vector());
  CHECK(Mask::window(3, 5, kFar, kFar).to_vector() == std::vector<bool>(15, true));
  CHECK(BlockMask::window(3, 5, kFar, 0).density() == BlockMask::causal(3, 5).density());
  CHECK(attend(ones({3, 2}), ones({5, 2}), ones({5, 1}), {.mask = BlockMask::window(3, 5, 0, kFar)})
            .to_vector() == std::vector<double>(3, 1));
}

TEST_CASE("windows slide along the diagonal that ends at the bottom right") {
  for (const auto& [queries, keys] : {std::pair<Size, Size>{4, 4}, {2, 6}, {6, 2}})
    for (const auto& [before, after] : {std::pair<Size, Size>{0, 0}, {2, 0}, {0, 1}, {1, 1}, {9, 9}}) {
      CAPTURE(queries, keys, before, after);
      const Size shift = keys - queries, b = before, a = after;
      check_mask(Mask::window(queries, keys, before, after), {queries, keys},
                 [&](Size, Size i, Size j) { return j - (i + shift) >= -b && j - (i + shift) <= a; });
    }
  CHECK(Mask::window(3, 5, 5, 0).to_vector() == Mask::causal(3, 5).to_vector());
  CHECK_THROWS_WITH(Mask::window(3, 3, -1, 0), ContainsSubstring("must be at least 0, got -1 and 0"));
  CHECK_THROWS_AS(Mask::window(3, 3, 0, -2), Error);
}

TEST_CASE("masks of different ranks combine: lengths with causal, windows with anything") {
  const ValidLengths per_row{2, 4}, per_query{{1, 2, 3}, {4, 0, 2}};
  const Mask causal = Mask::causal(3, 4), window = Mask::window(3, 4, 1, 0);
  const auto may = [](Size i, Size j) { return j <= i + 1; };
  check_mask(per_row.mask(4) & causal, {2, 3, 4},
             [&](Size b, Size i, Size j) { return j < per_row[b] && may(i, j); });
  check_mask(causal & per_row.mask(4), {2, 3, 4},
             [&](Size b, Size i, Size j) { return j < per_row[b] && may(i, j); });
  check_mask(per_row.mask(4) | causal, {2, 3, 4},
             [&](Size b, Size i, Size j) { return j < per_row[b] || may(i, j); });
  check_mask(per_query.mask(4) & !window, {2, 3, 4},
             [&](Size b, Size i, Size j) { return j < per_query[b * 3 + i] && !(j == i || j == i + 1); });
  // A column beside a row, and a view with stride 0.
  const Mask column = Mask::from(3, 1, [](Size i, Size) { return i > 0; });
  const Mask row = Mask::from(1, 4, [](Size, Size j) { return j != 2; });
  check_mask(column & row, {3, 4}, [](Size, Size i, Size j) { return i > 0 && j != 2; });
  check_mask(!row.expand({3, 4}), {3, 4}, [](Size, Size, Size j) { return j == 2; });
  check_mask(per_row.mask(4).unsqueeze(1) & causal, {2, 1, 3, 4},
             [&](Size b, Size i, Size j) { return j < per_row[b] && may(i, j); });
  CHECK_THROWS_WITH(causal | Mask::causal(3, 3), ContainsSubstring("(3,4) and (3,3) do not broadcast"));
}

TEST_CASE("no mask at all allows everything") {
  const Mask causal = Mask::causal(2, 3), none;
  CHECK((causal & none).to_vector() == causal.to_vector());
  CHECK((none & causal).to_vector() == causal.to_vector());
  CHECK_FALSE((causal | none).defined());
  CHECK_FALSE((none | causal).defined());
  CHECK_FALSE((none & none).defined());
  CHECK_THROWS_WITH(!none, ContainsSubstring("cannot negate an undefined mask"));
  const Tensor a = tensor({{1, 2, 3}});
  CHECK(where(none, a, -a).to_vector() == a.to_vector());
  CHECK(masked_softmax(a, none).to_vector() == softmax(a, -1).to_vector());
  CHECK_THROWS_WITH(none.to_vector(), ContainsSubstring("a Mask was given no values"));
  CHECK_THROWS_WITH(embedding(a, Indices{}), ContainsSubstring("an Indices was given no values"));
}

TEST_CASE("any() and all() look at every element that one stands for") {
  const std::vector<std::vector<int>> rows{{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 1, 0, 1}};
  const Mask mask = Mask::from(3, 4, [&](Size i, Size j) {
    return rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] == 1;
  });
  CHECK(mask.any({3, 1}).to_vector() == Bits{false, true, true});
  CHECK(mask.any({1, 4}).to_vector() == Bits{false, true, false, true});
  CHECK(mask.any({4}).to_vector() == Bits{false, true, false, true});
  CHECK(mask.any({}).to_vector() == Bits{true});
  CHECK(mask.any({3, 4}).to_vector() == mask.to_vector());
  // A view: stride 0 in front, and columns of another mask.
  CHECK(mask.expand({2, 3, 4}).any({2, 1, 1}).to_vector() == Bits{true, true});
  CHECK(mask.expand({2, 3, 4}).any({2, 3, 1}).to_vector() == Bits{false, true, true, false, true, true});
  CHECK_FALSE(mask.all());
  CHECK(Mask::from(2, 2, [](Size, Size) { return true; }).all());
  CHECK_FALSE(Mask::from(2, 2, [](Size i, Size j) { return i + j < 2; }).all());  // the last alone is false
  // Without keys no query sees one; without elements all are true.
  const Mask empty = Mask::from(2, 0, [](Size, Size) { return true; });
  CHECK(empty.any({2, 1}).to_vector() == Bits{false, false});
  CHECK(empty.all());
  CHECK_THROWS_WITH(mask.any({2, 1}),
                    ContainsSubstring("[any] sizes must be those of the mask (3,4) or 1, got (2,1)"));
  CHECK_THROWS_WITH(Mask{}.any({}), ContainsSubstring("a Mask was given no values"));
}

TEST_CASE("true means may attend") {
  CHECK(Mask::causal(2, 2).to_vector() == Bits{true, false, true, true});
  CHECK(Mask::causal(2, 3).to_vector() ==
        Bits{true, true, false, true, true, true});  // the last query sees every key
  const Mask causal = Mask::causal(3, 3);
  const Mask some = Mask::from(1, 3, [](Size, Size j) { return j != 1; });
  CHECK((causal & some).to_vector() == Bits{true, false, false, true, false, false, true, false, true});
  CHECK((causal | some).to_vector() == Bits{true, false, true, true, true, true, true, true, true});
  CHECK((!causal).to_vector() == Bits{false, true, true, false, false, true, false, false, false});
  CHECK(causal.unsqueeze(0).shape() == Dims{1, 3, 3});
  CHECK(some.unsqueeze(-1).shape() == Dims{1, 3, 1});
  CHECK_THAT(message_of([&] { causal& Mask::causal(2, 2); }),
             ContainsSubstring("masks of shapes (3,3) and (2,2) do not broadcast"));
  CHECK_THAT(message_of([&] {
               masked_softmax(zeros({2, 4}), causal);
             }),
             ContainsSubstring("a mask of shape (3,3) does not broadcast to scores of shape (2,4)"));
}

TEST_CASE("lengths become masks") {
  const ValidLengths lengths{2, 0, 3};
  CHECK(lengths.longest() == 3);
  CHECK(!lengths.per_query());
  CHECK(lengths.mask(3).shape() == Dims{3, 1, 3});
  CHECK(lengths.mask(3).to_vector() == Bits{true, true, false, false, false, false, true, true, true});
  const ValidLengths each{{1, 2}, {0, 2}};
  CHECK(each.per_query());
  CHECK(each.mask(2).shape() == Dims{2, 2, 2});
  CHECK(each.mask(2).to_vector() == Bits{true, false, true, true, false, false, true, true});
  CHECK(!ValidLengths().defined());
  CHECK_THAT(message_of([&] { static_cast<void>(lengths.mask(2)); }),
             ContainsSubstring("must not exceed the number of keys, got 3 for 2 keys"));
  CHECK_THAT(message_of([] { ValidLengths{-1}; }),
             ContainsSubstring("valid lengths must be at least 0, got -1"));
  CHECK_THAT(message_of([] {
               ValidLengths{{1, 2}, {1}};
             }),
             ContainsSubstring("rows of equal sizes, got 2 and 1"));
}

TEST_CASE("a fully masked row gives 0 and gradient 0, and poison in masked places touches nothing") {
  const double nan = std::nan("");
  const Mask mask = Mask::from(3, 3, [](Size i, Size j) { return i != 1 && j != 2; });
  const Tensor scores = variable(tensor({{1, 2, nan}, {nan, nan, nan}, {3, 1, nan}}, DType::f64));
  Tape tape;
  const Tensor p = masked_softmax(scores, mask);
  tape.backward(p, tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, DType::f64));
  const auto values = p.to_vector(), gradient = scores.grad().to_vector();
  CHECK(values[0] + values[1] == Approx(1));
  for (std::size_t i : {2U, 3U, 4U, 5U, 8U}) {
    CHECK(values[i] == 0);
    CHECK(gradient[i] == 0);
  }
  CHECK(gradient[0] == Approx(values[0] * (1 - (values[0] + 2 * values[1]))));
}
