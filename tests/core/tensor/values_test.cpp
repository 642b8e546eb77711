// Indices, masks and lengths; and what dropout draws.
#include "core/tensor/mask.hpp"

#include <cmath>

#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

using Bits = std::vector<bool>;
using Ids = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("indices and their columns") {
  const Ids values{1, 2, 3, 4, 5, 6};
  const Indices ids(values, {2, 3});
  CHECK(ids.columns(0, 2).to_vector() == Ids{1, 2, 4, 5});
  CHECK(ids.columns(1, 3).columns(1, 2).to_vector() == Ids{3, 6});
  CHECK(ids.column(2).shape() == Dims{2});
  CHECK(ids.column(2).to_vector() == Ids{3, 6});
  CHECK(ids.columns(1, 3).reshape({4}).to_vector() == Ids{2, 3, 5, 6});
  CHECK(Indices{7, 8}.shape() == Dims{2});
  CHECK_THAT(message_of([&] { static_cast<void>(ids.columns(2, 4)); }),
             ContainsSubstring("[columns] 2 to 4 does not fit ids of shape (2,3)"));
  for (const Size beside : {Size{-1}, Size{3}})
    CHECK_THAT(message_of([&] { static_cast<void>(ids.column(beside)); }),
               ContainsSubstring("does not fit ids of shape (2,3)"));
  CHECK_THAT(message_of([&] { static_cast<void>(ids.reshape({5})); }),
             ContainsSubstring("ids of shape (2,3) do not fill shape (5)"));
  CHECK_THAT(message_of([&] {
               Indices(values, {2, 2});
             }),
             ContainsSubstring("6 values do not fill an array of shape (2,2)"));
}

TEST_CASE("a view of ids serves as ids") {
  const Ids values{0, 2, 1, 1};
  const Indices ids = Indices(values, {2, 2}).column(1);
  const Tensor table = tensor({{1, 2}, {3, 4}, {5, 6}});
  CHECK(embedding(table, ids).to_vector() == std::vector<double>{5, 6, 3, 4});
  CHECK(cross_entropy(zeros({2, 4}), ids).item() == Approx(1.3862943611));
  CHECK(one_hot(ids, 3).to_vector() == std::vector<double>{0, 0, 1, 0, 1, 0});
  CHECK(gather(transpose(table), 1, Indices(values, {2, 2}).columns(1, 2)).to_vector() ==
        std::vector<double>{5, 4});
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

TEST_CASE("dropout keeps its share, scales it, and draws the same in both types") {
  set_random(3, 8);
  const auto kept = dropout(ones({20000}), 0.3).to_vector();
  CHECK(random_state().site == 1);
  double count = 0;
  for (double v : kept) {
    if (v == 0) continue;
    REQUIRE(v == Approx(1 / 0.7));
    ++count;
  }
  CHECK(count / 20000 == Approx(0.7).margin(0.015));
  const auto second = dropout(ones({20000}), 0.3).to_vector();
  CHECK(second != kept);  // the next site
  set_random(3, 8);
  const auto wide = dropout(ones({20000}, DType::f64), 0.3).to_vector();
  for (std::size_t i = 0; i < kept.size(); ++i) REQUIRE((wide[i] == 0) == (kept[i] == 0));
  set_random(3, 9);
  CHECK(dropout(ones({20000}), 0.3).to_vector() != kept);  // the next step
  CHECK(dropout(ones({5}), 0).to_vector() == std::vector<double>(5, 1));
}

TEST_CASE("each taker gets numbers that nobody else draws, and a seed and step give the same again") {
  set_random(3, 8);
  const Stream first = next_stream(), second = next_stream();
  CHECK(random_state().site == 2);
  CHECK(first.bits(0) != second.bits(0));
  set_random(3, 9);
  CHECK(next_stream().bits(0) != first.bits(0));
  set_random(4, 8);
  CHECK(next_stream().bits(0) != first.bits(0));
  set_random(3, 8);
  CHECK(next_stream().bits(0) == first.bits(0));
  // Checkpoints rely on it: what a seed and a step keep may not change from one version to the next.
  set_random(3, 8);
  std::string kept;
  for (const double v : dropout(ones({16}), 0.5).to_vector()) kept += v != 0 ? '1' : '0';
  CHECK(kept == "1100010111111010");
}

TEST_CASE("ids from nested braces") {
  const Indices ids = Indices::rows({{1, 2, 3}, {4, 5, 6}});
  CHECK(ids.shape() == Dims{2, 3});
  CHECK(ids.to_vector() == Ids{1, 2, 3, 4, 5, 6});
  CHECK(Indices::rows({}).shape() == Dims{0, 0});
  CHECK(Indices::rows({{}, {}}).shape() == Dims{2, 0});
  CHECK_THAT(message_of([] {
               Indices::rows({{1, 2}, {3}});
             }),
             ContainsSubstring("[rows] rows must have equal lengths, got 2 and 1; pad the shorter ones"));
  // These braces are ids and a shape.
  CHECK_THAT(message_of([] {
               Indices({1, 2}, {3, 4});
             }),
             ContainsSubstring("for nested braces, write Indices::rows({{1, 2}, {3, 4}})"));
}

TEST_CASE("argmax, less, equal") {
  CHECK(argmax(tensor({{1, 3, 3}, {2, 0, 1}})).to_vector() == Ids{1, 0});
  CHECK_THAT(message_of([] { argmax(zeros({2, 0})); }), ContainsSubstring("[argmax]"));
  CHECK(less(tensor({1, 2}), tensor({{2}, {1}})).to_vector() == Bits{true, false, false, false});
  CHECK(equal(Indices{1, 2, 1}, 1).to_vector() == Bits{true, false, true});
}
