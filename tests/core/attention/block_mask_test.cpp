// Masks in tiles: the same pairs as masks have, however they are made; shared tiles; who sees and is seen.
#include "core/attention/block_mask.hpp"

#include <array>
#include <set>
#include <vector>

#include "tests/catch.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A mask of this shape with no order in it.
Mask mixed(const Dims& shape) {
  return Mask::from(1, shape.count(), [](Size, Size i) { return (i * 2654435761 >> 7) % 3 != 0; })
      .reshape(shape);
}

void check_same(const BlockMask& mask, const Mask& want, const Dims& shape) {
  CAPTURE(to_string(shape));
  REQUIRE(mask.defined());
  REQUIRE(to_string(mask.mask().shape()) == to_string(shape));
  CHECK(mask.batch() == shape[0]);
  CHECK(mask.heads() == shape[1]);
  CHECK(mask.queries() == shape[2]);
  CHECK(mask.keys() == shape[3]);
  const bool same = mask.mask().to_vector() == want.to_vector();  // printing so many takes minutes
  CHECK(same);
}

/// How many patterns are kept.
std::size_t patterns_of(const BlockMask& mask) {
  const simd::TileMask view = mask.view();
  std::set<std::int32_t> kinds(view.tiles,
                               view.tiles + view.batch * view.heads * view.query_tiles * view.key_tiles);
  kinds.erase(simd::TileMask::kNone);
  kinds.erase(simd::TileMask::kAll);
  return kinds.size();
}

const std::vector<std::pair<Size, Size>> kMaskSizes{
    {1, 1}, {48, 96}, {47, 95}, {49, 97}, {3, 200}, {200, 3}, {144, 288}, {145, 289}, {0, 5}, {5, 0}, {0, 0}};

}  // namespace

TEST_CASE("block masks have the pairs that they were made from") {
  for (const auto& [queries, keys] : kMaskSizes) {
    CAPTURE(queries, keys);
    const Dims shape{1, 1, queries, keys};
    check_same(BlockMask::causal(queries, keys), Mask::causal(queries, keys), shape);
    for (const auto& [before, after] : {std::pair<Size, Size>{0, 0}, {60, 0}, {3, 70}, {500, 500}})
      check_same(BlockMask::window(queries, keys, before, after), Mask::window(queries, keys, before, after),
                 shape);
    const Mask plain = mixed({queries, keys});
    check_same(BlockMask::from(plain, queries, keys), plain, shape);
    const std::vector<bool> pairs = plain.to_vector();
    check_same(BlockMask::where(
                   queries, keys,
                   [&, row = keys](QueryKey p) { return pairs[static_cast<std::size_t>(p.i * row + p.j)]; }),
               plain, shape);
    check_same(BlockMask::where(
                   queries, keys,
                   [&, row = keys](Size i, Size j) { return pairs[static_cast<std::size_t>(i * row + j)]; }),
               plain, shape);
  }
}

TEST_CASE("block masks of one query for each batch row and head") {
  const auto may = [](QueryKey p) { return (p.b * 7 + p.h * 3 + p.j) % 5 < 2; };
  for (const auto& [batch, heads] : {std::pair<Size, Size>{1, 1}, {5, 1}, {1, 4}, {3, 2}})
    for (const Size keys : {1, 40, 96, 200}) {
      const Mask by_row = Mask::from(batch * heads, keys, [&, heads = heads](Size row, Size j) {
        return may(QueryKey{row / heads, row % heads, 0, j});
      });
      check_same(BlockMask::where(1, keys, may, batch, heads), by_row, {batch, heads, 1, keys});
    }
}

TEST_CASE("the causal mask of a layer is made once for the next ones of its size") {
  const BlockMask first = BlockMask::causal(50, 60), again = BlockMask::causal(50, 60);
  CHECK(first.view().tiles == again.view().tiles);
  const BlockMask other = BlockMask::causal(50, 61);
  check_same(other, Mask::causal(50, 61), {1, 1, 50, 61});
  check_same(BlockMask::causal(51, 61), Mask::causal(51, 61), {1, 1, 51, 61});
  check_same(first, Mask::causal(50, 60), {1, 1, 50, 60});
}

TEST_CASE("block masks of batch rows and heads") {
  const auto may = [](QueryKey p) { return (p.b * 5 + p.h * 3 + p.i + p.j) % 4 < 2; };
  const Mask by_row = Mask::from(6 * 50, 100, [&](Size row, Size j) {
    return may(QueryKey{row / 50 / 3, row / 50 % 3, row % 50, j});
  });
  check_same(BlockMask::where(50, 100, may, 2, 3), by_row, {2, 3, 50, 100});
  check_same(BlockMask::from(by_row.reshape({2, 3, 50, 100}), 50, 100), by_row, {2, 3, 50, 100});
  check_same(BlockMask::from(by_row.reshape({6, 50, 100}), 50, 100), by_row, {6, 1, 50, 100});
  check_same(BlockMask::from(by_row.reshape({1, 2, 3, 50, 100}), 50, 100), by_row, {1, 6, 50, 100});
  // Axes that repeat, and what masks are made of elsewhere.
  const Mask row = mixed({2, 1, 1, 100});
  check_same(BlockMask::from(row, 50, 100), row.expand({2, 1, 50, 100}), {2, 1, 50, 100});
  const Mask column = mixed({3, 50, 1});
  check_same(BlockMask::from(column, 50, 100), column.expand({3, 50, 100}), {3, 1, 50, 100});
  check_same(BlockMask::from(mixed({100}), 50, 100), mixed({100}).expand({50, 100}), {1, 1, 50, 100});
  const Mask lengths = ValidLengths{3, 97, 0}.mask(100);
  check_same(BlockMask::from(lengths, 50, 100), lengths.expand({3, 50, 100}), {3, 1, 50, 100});
  const Mask repeated = mixed({2, 1, 50, 100}).expand({2, 3, 50, 100});
  check_same(BlockMask::from(repeated, 50, 100), repeated, {2, 3, 50, 100});
}

TEST_CASE("a mask keeps its tiles, whatever else is put in tiles meanwhile") {
  const Mask one = mixed({60, 60}), other = !mixed({60, 60});
  const auto* tiles = BlockMask::from(one, 60, 60).view().tiles;
  const auto* others = BlockMask::from(other, 60, 60).view().tiles;
  const Mask copy = one, heads = one.reshape({1, 1, 60, 60});
  const auto* of_heads = BlockMask::from(heads, 60, 60).view().tiles;
  CHECK(BlockMask::from(copy, 60, 60).view().tiles == tiles);
  CHECK(BlockMask::from(other, 60, 60).view().tiles == others);
  CHECK(BlockMask::from(one.reshape({1, 1, 60, 60}), 60, 60).view().tiles == of_heads);
  // A mask that repeats along ever more keys keeps a few of them, and is right for all.
  const Mask column = mixed({30, 1});
  for (Size keys = 1; keys < 40; ++keys)
    check_same(BlockMask::from(column, 30, keys), column.expand({30, keys}), {1, 1, 30, keys});
  check_same(BlockMask::from(column, 30, 1), column, {1, 1, 30, 1});
}

TEST_CASE("the tiles that a mask keeps are taken only for itself") {
  // The same memory, read otherwise.
  const Mask square = mixed({60, 60});
  check_same(BlockMask::from(square, 60, 60), square, {1, 1, 60, 60});
  const Mask row = square.reshape({1, 3600});
  check_same(BlockMask::from(row, 2, 3600), row.expand({2, 3600}), {1, 1, 2, 3600});
  check_same(BlockMask::from(row, 1, 3600), row, {1, 1, 1, 3600});
  // One memory and one shape, repeated along either axis.
  const Mask line = mixed({40});
  const Mask down = line.reshape({40, 1}).expand({40, 40}), across = line.expand({40, 40});
  check_same(BlockMask::from(down, 40, 40), down, {1, 1, 40, 40});
  check_same(BlockMask::from(across, 40, 40), across, {1, 1, 40, 40});
  // Other memory of the same shape, after the first is gone everywhere else.
  for (const bool inverted : {false, true, false}) {
    const Mask mask = inverted ? !mixed({60, 60}) : mixed({60, 60});
    check_same(BlockMask::from(mask, 60, 60), mask, {1, 1, 60, 60});
  }
  CHECK(BlockMask::from(square, 60, 60).view().tiles == BlockMask::from(square, 60, 60).view().tiles);
}

TEST_CASE("a block mask without values, without a batch, or of sizes that do not fit") {
  CHECK_FALSE(BlockMask().defined());
  CHECK_FALSE(BlockMask::from(Mask(), 3, 4).defined());
  CHECK_FALSE(BlockMask().mask().defined());
  CHECK_FALSE(BlockMask().live_keys().defined());
  CHECK(BlockMask().density() == 1);
  CHECK_FALSE(BlockMask().fully_masked_query());
  CHECK(BlockMask::from(mixed({0, 3, 4}), 3, 4).batch() == 1);
  CHECK(BlockMask::from(mixed({2, 0, 3, 4}), 3, 4).heads() == 1);
  CHECK_THROWS_WITH(BlockMask::from(mixed({2, 3, 5}), 3, 4),
                    ContainsSubstring("[block_mask]") || ContainsSubstring("(2,3,5)"));
  const auto any = [](QueryKey) { return true; };
  CHECK_THROWS_WITH(BlockMask::where(-1, 4, any), ContainsSubstring("got -1 queries, 4 keys"));
  CHECK_THROWS_WITH(BlockMask::where(3, 4, any, 0), ContainsSubstring("[block_mask]"));
  CHECK_THROWS_AS(BlockMask::where(3, 4, any, 1, 0), Error);
  CHECK_THROWS_WITH(BlockMask::window(3, 3, -1, 0), ContainsSubstring("got -1 before and 0 after"));
  CHECK_THROWS_AS(BlockMask::window(3, 3, 0, -2), Error);
}

TEST_CASE("the share of tiles that have a pair") {
  CHECK(BlockMask::where(96, 192, [](QueryKey p) { return p.j < 96; }).density() == 0.5);
  CHECK(BlockMask::where(96, 192, [](QueryKey p) { return p.i == 95 && p.j == 191; }).density() == 0.25);
  CHECK(BlockMask::where(96, 192, [](QueryKey) { return false; }).density() == 0);
  CHECK(BlockMask::where(49, 97, [](QueryKey p) { return p.i == 48 && p.j == 96; }).density() == 0.25);
  CHECK(BlockMask::where(
            48, 96, [](QueryKey p) { return p.b == 1; }, 4)
            .density() == 0.25);
  // Four tiles of queries by two of keys, six of them on or below the diagonal.
  CHECK(BlockMask::causal(192, 192).density() == 0.75);
  CHECK(BlockMask::window(4800, 4800, 47, 0).density() < 0.04);
}

TEST_CASE("equal tiles are kept once, and whole ones not at all") {
  // On the diagonal a tile of 48 queries begins where a tile of 96 keys begins, or in its middle.
  CHECK(patterns_of(BlockMask::causal(960, 960)) == 2);
  CHECK(patterns_of(BlockMask::where(
            960, 960, [](QueryKey p) { return p.j <= p.i; }, 3, 2)) == 2);
  CHECK(patterns_of(BlockMask::where(480, 960, [](QueryKey) { return true; })) == 0);
  // The edges are whole, too.
  CHECK(patterns_of(BlockMask::where(485, 963, [](QueryKey) { return true; })) == 0);
  CHECK(patterns_of(BlockMask::where(96, 96, [](QueryKey p) { return p.j != p.i; })) == 2);
}

TEST_CASE("which keys are seen, and which query sees nothing") {
  const auto may = [](QueryKey p) {
    return p.j % 3 == p.h && (p.b == 0 || p.i != 77) && (p.j != 120 || p.i == 99);
  };
  const BlockMask mask = BlockMask::where(100, 130, may, 2, 2);
  const Mask seen = mask.live_keys();
  REQUIRE(to_string(seen.shape()) == "(2,2,130,1)");
  const std::vector<bool> found = seen.to_vector();
  for (Size i = 0; i < seen.count(); ++i) {
    CAPTURE(i);
    CHECK(found[static_cast<std::size_t>(i)] == (i % 130 % 3 == i / 130 % 2));
  }
  CHECK(mask.view().live_keys != nullptr);
  CHECK(BlockMask::causal(100, 130).view().live_keys == nullptr);  // all are seen
  CHECK(BlockMask::window(100, 200, 3, 0).view().live_keys != nullptr);

  const std::optional<QueryKey> masked_query = mask.fully_masked_query();
  REQUIRE(masked_query);
  CHECK(masked_query->b == 1);
  CHECK(masked_query->h == 0);
  CHECK(masked_query->i == 77);
  CHECK_FALSE(BlockMask::causal(100, 130).fully_masked_query());
  CHECK(BlockMask::causal(130, 100).fully_masked_query()->i == 0);
  CHECK(BlockMask::causal(3, 0).fully_masked_query()->i == 0);
  CHECK_FALSE(BlockMask::causal(0, 3).fully_masked_query());
  CHECK(BlockMask::where(
            60, 5, [](QueryKey p) { return p.i < 59; }, 1, 2)
            .fully_masked_query()
            ->i == 59);
}

TEST_CASE("masks in tiles are joined and turned round as masks are") {
  for (const auto& [a, b, shape] :
       std::vector<std::array<Dims, 3>>{{{{1, 1, 60, 110}, {1, 1, 60, 110}, {1, 1, 60, 110}}},
                                        {{{2, 3, 49, 97}, {1, 1, 49, 97}, {2, 3, 49, 97}}},
                                        {{{2, 1, 5, 200}, {1, 3, 5, 200}, {2, 3, 5, 200}}}}) {
    const Mask x = mixed(a), y = (!mixed(b)) | Mask::causal(b[2], b[3]);
    const BlockMask p = BlockMask::from(x, a[2], a[3]), q = BlockMask::from(y, b[2], b[3]);
    check_same(p & q, x & y, shape);
    check_same(p | q, x | y, shape);
    check_same(!p, !x, a);
  }
  const BlockMask none, causal = BlockMask::causal(60, 110);
  check_same(none & causal, Mask::causal(60, 110), {1, 1, 60, 110});
  check_same(causal & none, Mask::causal(60, 110), {1, 1, 60, 110});
  CHECK(!(none | causal).defined());
  CHECK_THROWS_WITH(!none, ContainsSubstring("[block_mask] the operand of ! must be a defined mask"));
  CHECK_THROWS_WITH(
      causal & BlockMask::causal(60, 100),
      ContainsSubstring(
          "[block_mask] masks of & must have equal sizes (batch and heads may be 1), got batch 1, 1 "
          "heads, 60 queries and 110 keys, and batch 1, 1 heads, 60 queries and 100 keys"));
}

TEST_CASE("a mask in tiles from valid lengths") {
  const ValidLengths lengths{3, 0, 100};
  check_same(BlockMask::from(lengths, 50, 100), lengths.mask(100).expand({3, 50, 100}), {3, 1, 50, 100});
  const ValidLengths by_query{{1, 2, 3}, {4, 0, 5}};
  check_same(BlockMask::from(by_query, 3, 5), by_query.mask(5), {2, 1, 3, 5});
  CHECK(!BlockMask::from(ValidLengths(), 3, 5).defined());
  CHECK_THROWS_WITH(
      BlockMask::from(lengths, 50, 99),
      ContainsSubstring("a valid length must be at most the number of keys, got 100 for 99 keys"));
  CHECK_THROWS_WITH(BlockMask::from(by_query, 4, 5),
                    ContainsSubstring("valid lengths must have one column per query, got 3 for 4 queries"));
}
