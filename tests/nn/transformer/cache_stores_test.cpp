// The rolling, paged and quantised caches, each compared with a list of all positions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tape/tape.hpp"
#include "nn/transformer/cache_paged.hpp"
#include "nn/transformer/cache_quantised.hpp"
#include "nn/transformer/cache_rolling.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace tapestry;
using testing::apart;
using testing::equal_bits;
using testing::normal;

namespace {

Tensor part(const Tensor& x, Size begin, Size end) { return slice(x, -2, begin, end); }

/// Appends positions [begin, end) of all keys and values.
template <class Cache>
void feed(Cache& cache, const Tensor& keys, const Tensor& values, Size begin, Size end) {
  cache.append(part(keys, begin, end), part(values, begin, end));
}

}  // namespace

TEST_CASE("rolling cache: slot p mod window holds the last position p of that slot") {
  const Size window = GENERATE(1, 3, 8);
  const std::vector<Size> parts = GENERATE(std::vector<Size>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                                           std::vector<Size>{2, 7, 1}, std::vector<Size>{5, 0, 30, 2});
  const Tensor keys = normal({2, 3, 40, 4}, 1), values = normal({2, 3, 40, 5}, 2);
  RollingCache cache(window);
  Size length = 0;
  for (const Size added : parts) {
    feed(cache, keys, values, length, length + added);
    length += added;
    REQUIRE(cache.length() == length);
    REQUIRE(cache.keys().shape() == Dims{2, 3, std::min(length, window), 4});
    for (Size p = std::max<Size>(0, length - window); p < length; ++p) {
      const Size slot = p % window;
      CHECK(apart(part(cache.keys(), slot, slot + 1), part(keys, p, p + 1)) == 0);
      CHECK(apart(part(cache.values(), slot, slot + 1), part(values, p, p + 1)) == 0);
    }
  }
  CHECK(cache.bytes() == 2 * 3 * window * (4 + 5) * 8);
}

TEST_CASE("paged cache: any split of the text gives all positions, and a page has one page_size") {
  const Size page = GENERATE(1, 4, 7, 64);
  const Tensor keys = normal({1, 2, 21, 4}, 1, DType::f32), values = normal({1, 2, 21, 3}, 2, DType::f32);
  for (const std::vector<Size>& parts :
       std::vector<std::vector<Size>>{{21}, {1, 0, 20}, {7, 7, 7}, {3, 1, 9, 8}}) {
    PagePool pool(page);
    PagedCache cache(pool);
    CHECK_FALSE(cache.keys().defined());
    Size length = 0;
    for (const Size added : parts) feed(cache, keys, values, length, length + added), length += added;
    CHECK(cache.length() == 21);
    CHECK(equal_bits(cache.keys(), contiguous(keys)));
    CHECK(equal_bits(cache.values(), contiguous(values)));
    const Size pages = (21 + page - 1) / page;
    CHECK(pool.pages_in_use() == pages);
    CHECK(static_cast<Size>(cache.table().size()) == pages);
    CHECK(cache.page_keys(pages - 1).size(-2) == 21 - (pages - 1) * page);
    CHECK(pool.bytes() == pages * page * 2 * (4 + 3) * 4);
  }
}

TEST_CASE("paged cache: a prompt is shared, and a page is copied before one of its owners writes to it") {
  const Tensor keys = normal({1, 2, 40, 4}, 1), values = normal({1, 2, 40, 3}, 2);
  PagePool pool(4);
  PagedCache first(pool);
  feed(first, keys, values, 0, 10);  // two full pages and one half
  {
    PagedCache second = first, third = first;
    CHECK(pool.pages_in_use() == 3);
    CHECK(pool.owners(first.table()[2]) == 3);
    feed(second, keys, values, 20, 23);
    CHECK(pool.pages_in_use() == 5);  // a copy of the half page, and one more
    CHECK(second.table()[0] == first.table()[0]);
    CHECK(second.table()[2] != first.table()[2]);
    CHECK(pool.owners(first.table()[2]) == 2);
    feed(first, keys, values, 10, 11);
    feed(third, keys, values, 30, 31);  // third alone owns the old page by now: no copy
    CHECK(pool.pages_in_use() == 6);
    CHECK(pool.owners(third.table()[2]) == 1);
    const auto text = [&](const Tensor& x, Size begin, Size end) {
      return concat({part(x, 0, 10), part(x, begin, end)}, -2);
    };
    CHECK(apart(first.keys(), part(keys, 0, 11)) == 0);
    CHECK(apart(first.values(), part(values, 0, 11)) == 0);
    CHECK(apart(second.keys(), text(keys, 20, 23)) == 0);
    CHECK(apart(second.values(), text(values, 20, 23)) == 0);
    CHECK(apart(third.keys(), text(keys, 30, 31)) == 0);
    CHECK(apart(third.values(), text(values, 30, 31)) == 0);
  }
  CHECK(pool.pages_in_use() == 3);
  for (const Size page : first.table()) CHECK(pool.owners(page) == 1);
  PagedCache again(pool);
  feed(again, keys, values, 0, 9);  // in the pages that were given back
  CHECK(*std::max_element(again.table().begin(), again.table().end()) < 6);
  CHECK(apart(first.keys(), part(keys, 0, 11)) == 0);
}

TEST_CASE("paged cache: a full last page is shared without a copy") {
  const Tensor keys = normal({1, 12, 4}, 1);
  PagePool pool(4);
  PagedCache first(pool);
  feed(first, keys, keys, 0, 8);
  PagedCache second = first;
  feed(second, keys, keys, 8, 9);
  CHECK(pool.pages_in_use() == 3);
  CHECK(pool.owners(first.table()[1]) == 2);
}

TEST_CASE("paged cache: moving and assigning count owners right, also to itself") {
  const Tensor keys = normal({1, 12, 4}, 1);
  PagePool pool(4);
  PagedCache first(pool), other(pool);
  feed(first, keys, keys, 0, 6);
  feed(other, keys, keys, 0, 12);
  PagedCache moved = std::move(first);
  CHECK(pool.owners(moved.table()[0]) == 1);
  other = moved;
  CHECK(pool.pages_in_use() == 2);
  CHECK(pool.owners(moved.table()[1]) == 2);
  const PagedCache& same = other;
  other = same;
  CHECK(pool.owners(moved.table()[1]) == 2);
  other = PagedCache(pool);
  CHECK(pool.owners(moved.table()[1]) == 1);
  CHECK(other.length() == 0);
}

TEST_CASE("page pool: a full pool refuses before anything changes") {
  const Tensor keys = normal({1, 20, 4}, 1);
  PagePool pool(4, 3);
  PagedCache first(pool);
  feed(first, keys, keys, 0, 10);
  CHECK_THROWS_WITH(feed(first, keys, keys, 10, 13),
                    ContainsSubstring("1 free pages") && ContainsSubstring("3 of 3"));
  CHECK(first.length() == 10);
  feed(first, keys, keys, 10, 12);
  {
    PagedCache second = first;
    CHECK_THROWS_WITH(feed(second, keys, keys, 12, 13), ContainsSubstring("1 free pages"));
  }
  PagePool small(4, 1);
  PagedCache half(small);
  feed(half, keys, keys, 0, 2);
  PagedCache copy = half;
  CHECK_THROWS_WITH(feed(copy, keys, keys, 2, 3),
                    ContainsSubstring("1 free pages"));  // for the copy on write
  CHECK(small.owners(0) == 2);
}

TEST_CASE("quantised cache: each number is within half a step of its row") {
  const DType type = GENERATE(DType::f32, DType::f64);
  // Rows of very different sizes, a row of zeros, and keys as a permuted view.
  Tensor keys = transpose(normal({2, 9, 3, 5}, 1, type), 1, 2);
  const Tensor sizes = pow(scalar(10, type), normal({2, 3, 9, 1}, 3, type) * 3);
  keys = where(Mask::from(9, 1, [](Size t, Size) { return t != 4; }), keys * sizes, scalar(0, type));
  const Tensor values = normal({2, 3, 9, 1}, 2, type);
  QuantisedCache cache;
  CHECK_FALSE(cache.keys().defined());
  for (const auto& [begin, end] : std::vector<std::pair<Size, Size>>{{0, 4}, {4, 4}, {4, 5}, {5, 9}})
    feed(cache, keys, values, begin, end);
  CHECK(cache.length() == 9);
  REQUIRE(cache.keys().shape() == keys.shape());
  CHECK(cache.keys().dtype() == type);
  const Tensor step = max(abs(keys), {-1}, Keep::yes) / 127;
  CHECK(max(abs(cache.keys() - keys) - step * 0.5001).item() <= 0);
  CHECK(max(abs(cache.keys() - keys)).item() > 0);
  CHECK(apart(cache.values(), values) < 1e-6);  // a row of one number is its own scale
  CHECK(cache.bytes() == 2 * 3 * 9 * ((5 + 4) + (1 + 4)));
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(cache.append(full({2, 3, 1, 5}, infinity, type), part(values, 0, 1)),
                    ContainsSubstring("must be finite"));
  CHECK(cache.length() == 9);
}

TEST_CASE("caches refuse rows that do not fit, and a tape") {
  const Tensor x = zeros({1, 2, 3, 4});
  PagePool pool(2);
  RollingCache rolling(2);
  PagedCache paged(pool);
  QuantisedCache quantised;
  const auto refuse = [&](auto& cache) {
    CHECK_THROWS_WITH(cache.append(x, zeros({1, 2, 2, 4})), ContainsSubstring("one value for each key"));
    cache.append(x, x);
    CHECK_THROWS_WITH(cache.append(zeros({1, 3, 3, 4}), x), ContainsSubstring("must stay the same"));
    CHECK_THROWS_WITH(cache.append(x, zeros({1, 2, 3, 5})), ContainsSubstring("must stay the same"));
    CHECK_THROWS_WITH(cache.append(x.to(DType::f64), x), ContainsSubstring("must stay the same"));
    const Tape tape;
    CHECK_THROWS_WITH(cache.append(x, x), ContainsSubstring("without a tape"));
    CHECK(cache.length() == 3);
  };
  refuse(rolling);
  refuse(paged);
  refuse(quantised);
  CHECK_THROWS_WITH(RollingCache(0), ContainsSubstring("window must be at least 1, got 0"));
  CHECK_THROWS_WITH(PagePool(0), ContainsSubstring("page_size must be at least 1"));
}
