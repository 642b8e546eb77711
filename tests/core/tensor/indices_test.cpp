// Ids: columns, views and nested braces.
#include "core/tensor/indices.hpp"

#include <vector>

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
