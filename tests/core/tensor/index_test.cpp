// Places in a shape, against nested loops that count.
#include "core/tensor/index.hpp"

#include <vector>

#include "core/tensor/tensor.hpp"
#include "tests/catch.hpp"

using namespace tapestry;

TEST_CASE("an element's number gives its index and, with strides, its offset") {
  const Dims shape{2, 3, 4}, stride{100, -7, 0};
  Size place = 0;
  for (Size i = 0; i < 2; ++i)
    for (Size j = 0; j < 3; ++j)
      for (Size k = 0; k < 4; ++k, ++place) {
        CAPTURE(place);
        CHECK(index_of(place, shape) == Dims{i, j, k});
        CHECK(offset_of(place, shape, stride) == 100 * i - 7 * j);
      }
  CHECK(index_of(0, {}) == Dims{});
  CHECK(offset_of(0, {}, {}) == 0);
}

TEST_CASE("elements come in row-major order, with an offset for each of several strides") {
  const Dims shape{2, 3, 4}, a{1, 0, 50}, b{-1, 10, 3};
  std::vector<std::array<Size, 2>> expected, found;
  for (Size i = 0; i < 2; ++i)
    for (Size j = 0; j < 3; ++j)
      for (Size k = 0; k < 4; ++k) expected.push_back({i + 50 * k, -i + 10 * j + 3 * k});
  detail::each_offset<2>(shape, {a, b}, [&](const auto& at) { found.push_back(at); });
  CHECK(found == expected);

  const auto count = [](const Dims& of) {
    int n = 0;
    detail::each_offset<1>(of, {Dims::filled(of.rank(), 1)}, [&](const auto&) { ++n; });
    return n;
  };
  CHECK(count({}) == 1);
  CHECK(count({5}) == 5);
  CHECK(count({1, 1, 2, 1}) == 2);
  CHECK(count({2, 0, 3}) == 0);
  CHECK(count({3, 0}) == 0);
}

TEST_CASE("a new axis may stand before, between and behind those there are, and nowhere else") {
  CHECK(new_axis_of(0, 2) == 0);
  CHECK(new_axis_of(2, 2) == 2);
  CHECK(new_axis_of(-1, 2) == 2);
  CHECK(new_axis_of(-3, 2) == 0);
  CHECK_FALSE(new_axis_of(3, 2));
  CHECK_FALSE(new_axis_of(-4, 2));
  CHECK(new_axis_of(0, 0) == 0);
  CHECK(new_axis_of(-1, 0) == 0);
  CHECK_FALSE(new_axis_of(0, kMaxRank));
}

TEST_CASE("sizes of some axes, and of axes that are not there") {
  const Dims shape{2, 3, 5};
  CHECK(shape.count(0, 3) == 30);
  CHECK(shape.count(1, 3) == 15);
  CHECK(shape.count(0, 1) == 2);
  CHECK(shape.count(2, 2) == 1);
  CHECK(shape.count(1, 0) == 1);
  CHECK(shape.from_back(1) == 5);
  CHECK(shape.from_back(3) == 2);
  CHECK(shape.from_back(4) == 1);
}
