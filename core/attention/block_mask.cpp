#include "core/attention/block_mask.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tapestry {

namespace {

constexpr Size kTilePairs = simd::kQueryTile * simd::kKeyTile;

Size tiles_for(Size n, Size tile) { return (n + tile - 1) / tile; }

/// Returns the range from the first to the last key that a query of the strip may attend to.
simd::Span span_of_strip(const bool* pairs) {
  simd::Span span;
  for (Size j = 0; j < simd::kKeyTile; ++j)
    for (Size i = 0; i < simd::kStrip; ++i) {
      if (!pairs[i * simd::kKeyTile + j]) continue;
      if (span.end == 0) span.begin = j;
      span.end = j + 1;
    }
  return span;
}

}  // namespace

struct BlockMask::Tiles {
  Size batch = 1, heads = 1, queries = 0, keys = 0;
  std::vector<std::int32_t> tiles;
  std::string patterns;                  // kTilePairs bytes each, 0 or 1
  std::vector<simd::Span> strips;        // kStrips key ranges per pattern
  std::unique_ptr<bool[]> live_keys;     // (batch, heads, keys)
  std::unique_ptr<bool[]> live_queries;  // (batch, heads, queries)
  bool all_keys_live = true;
};

/// Maps the pairs of a tile to the number of its pattern, so that equal tiles are stored once.
struct BlockMask::Builder::Patterns {
  std::string next = std::string(static_cast<std::size_t>(kTilePairs), '\0');
  std::unordered_map<std::string, std::int32_t> numbers;
};

BlockMask::Builder::Builder(Size queries, Size keys, Size batch, Size heads)
    : tiles_(std::make_shared<Tiles>()), patterns_(std::make_unique<Patterns>()) {
  if (queries < 0 || keys < 0 || batch < 1 || heads < 1)
    fail(
        "[block_mask] queries and keys must be at least 0, batch and heads at least 1, got {} queries, {} keys, "
        "batch {}, {} heads",
        queries, keys, batch, heads);
  Tiles& t = *tiles_;
  t.batch = batch, t.heads = heads, t.queries = queries, t.keys = keys;
  t.tiles.reserve(static_cast<std::size_t>(batch * heads * tiles_for(queries, simd::kQueryTile) *
                                           tiles_for(keys, simd::kKeyTile)));
  t.live_keys = std::make_unique<bool[]>(static_cast<std::size_t>(batch * heads * keys));
  t.live_queries = std::make_unique<bool[]>(static_cast<std::size_t>(batch * heads * queries));
}

BlockMask::Builder::~Builder() = default;

bool* BlockMask::Builder::next() {
  std::fill(patterns_->next.begin(), patterns_->next.end(), '\0');
  static_assert(sizeof(bool) == 1);
  return reinterpret_cast<bool*>(patterns_->next.data());
}

void BlockMask::Builder::take(Size b, Size h, Size first_query, Size first_key) {
  Tiles& t = *tiles_;
  const Size queries = std::min(simd::kQueryTile, t.queries - first_query),
             keys = std::min(simd::kKeyTile, t.keys - first_key);
  const bool* pairs = reinterpret_cast<const bool*>(patterns_->next.data());
  bool* live_keys = t.live_keys.get() + (b * t.heads + h) * t.keys + first_key;
  bool* live_queries = t.live_queries.get() + (b * t.heads + h) * t.queries + first_query;
  Size count = 0;
  for (Size i = 0; i < queries; ++i) {
    static_assert(simd::kKeyTile < 256);
    unsigned char in_row =
        0;  // a byte, so that a register of the vectorised loop holds as many pairs as bytes
    for (Size j = 0; j < keys; ++j)
      in_row = static_cast<unsigned char>(in_row + (pairs[i * simd::kKeyTile + j] ? 1 : 0));
    count += in_row;
    live_queries[i] |= in_row > 0;
  }
  if (count == 0 || count == queries * keys) {
    if (count > 0) std::fill_n(live_keys, keys, true);
    t.tiles.push_back(count == 0 ? simd::TileMask::kNone : simd::TileMask::kAll);
    return;
  }
  for (Size i = 0; i < queries; ++i)
    for (Size j = 0; j < keys; ++j) live_keys[j] |= pairs[i * simd::kKeyTile + j];
  const auto number = static_cast<std::int32_t>(patterns_->numbers.size());
  const auto [place, is_new] = patterns_->numbers.emplace(patterns_->next, number);
  if (is_new) {
    t.patterns += patterns_->next;
    for (Size strip = 0; strip < simd::kStrips; ++strip)
      t.strips.push_back(span_of_strip(pairs + strip * simd::kStrip * simd::kKeyTile));
  }
  t.tiles.push_back(place->second);
}

BlockMask BlockMask::Builder::finish() {
  const Size count = tiles_->batch * tiles_->heads * tiles_->keys;
  tiles_->all_keys_live =
      std::all_of(tiles_->live_keys.get(), tiles_->live_keys.get() + count, [](bool b) { return b; });
  return BlockMask(std::move(tiles_));
}

BlockMask BlockMask::from(const Mask& mask, Size queries, Size keys) {
  if (!mask.defined()) return {};
  struct KeptTiles final : detail::Kept {
    const bool* data = nullptr;
    Dims shape, strides;
    BlockMask tiles;
  };
  detail::Buffer& memory = mask.buffer();
  int others = 0;
  for (const detail::Kept* one = memory.kept.load(std::memory_order_acquire); one;
       one = one->next, ++others) {
    const auto* kept = dynamic_cast<const KeptTiles*>(one);
    if (kept && kept->data == mask.data() && kept->shape == mask.shape() && kept->strides == mask.strides() &&
        kept->tiles.queries() == queries && kept->tiles.keys() == keys)
      return kept->tiles;
  }
  BlockMask tiles = tiled(mask, queries, keys);
  constexpr int kViews = 8;  // at most, since a caller may make a new view of the mask at each step
  if (others < kViews) {
    auto kept = std::make_unique<KeptTiles>();
    kept->data = mask.data(), kept->shape = mask.shape(), kept->strides = mask.strides();
    kept->tiles = tiles;
    memory.keep(std::move(kept));
  }
  return tiles;
}

BlockMask BlockMask::tiled(const Mask& mask, Size queries, Size keys) {
  const int rank = std::max(mask.rank(), 2);
  Dims shape = Dims::filled(rank, 1);
  for (int axis = 0; axis < mask.rank(); ++axis) shape[rank - mask.rank() + axis] = mask.shape()[axis];
  shape[rank - 2] = queries, shape[rank - 1] = keys;
  const View<const bool> view = mask.broadcast(shape, "block_mask");
  const Size batch = rank > 2 ? shape[0] : 1;
  const Size heads = shape.count(1, rank - 2);
  if (batch * heads == 0) return where(queries, keys, [](QueryKey) { return true; });  // no rows to mask
  const Size row = view.stride[rank - 2], column = view.stride[rank - 1];
  // Pointers to the first element of each batch row and head.
  std::vector<const bool*> items(static_cast<std::size_t>(batch * heads), view.data);
  Dims leading = shape, leading_stride = view.stride;
  for (int axis = rank - 1; axis >= rank - 2; --axis) leading.erase(axis), leading_stride.erase(axis);
  for (std::size_t item = 0; item < items.size(); ++item)
    items[item] += offset_of(static_cast<Size>(item), leading, leading_stride);
  return where(
      queries, keys,
      [&](QueryKey p) {
        return items[static_cast<std::size_t>(p.b * heads + p.h)][p.i * row + p.j * column];
      },
      batch, heads);
}

BlockMask BlockMask::from(const ValidLengths& lengths, Size queries, Size keys) {
  if (!lengths.defined()) return {};
  if (lengths.longest() > keys)
    fail("[block_mask] a valid length must be at most the number of keys, got {} for {} keys",
         lengths.longest(), keys);
  if (lengths.per_query() && lengths.shape()[1] != queries)
    fail("[block_mask] valid lengths must have one column per query, got {} for {} queries",
         lengths.shape()[1], queries);
  const Size batch = lengths.shape()[0], step = lengths.per_query() ? queries : 1;
  if (batch == 0) return where(queries, keys, [](QueryKey) { return true; });  // no rows to mask
  return where(
      queries, keys, [&](QueryKey p) { return p.j < lengths[p.b * step + (lengths.per_query() ? p.i : 0)]; },
      batch);
}

template <class F>
BlockMask BlockMask::joined(const BlockMask& a, const BlockMask& b, const char* op, const F& f) {
  const auto fits = [](Size m, Size n) { return m == n || m == 1 || n == 1; };
  if (a.queries() != b.queries() || a.keys() != b.keys() || !fits(a.batch(), b.batch()) ||
      !fits(a.heads(), b.heads()))
    fail(
        "[block_mask] masks of {} must have equal sizes (batch and heads may be 1), got batch {}, {} heads, "
        "{} queries and {} keys, and batch {}, {} heads, {} queries and {} keys",
        op, a.batch(), a.heads(), a.queries(), a.keys(), b.batch(), b.heads(), b.queries(), b.keys());
  const simd::TileMask x = a.view(), y = b.view();
  const auto bits = [](const simd::TileMask& mask, QueryKey p) {
    const std::int32_t tile = mask.tiles[mask.item(p.b, p.h, mask.query_tiles * mask.key_tiles) +
                                         p.i / simd::kQueryTile * mask.key_tiles + p.j / simd::kKeyTile];
    return tile < 0 ? tile == simd::TileMask::kAll
                    : mask.patterns[tile * kTilePairs + p.i % simd::kQueryTile * simd::kKeyTile +
                                    p.j % simd::kKeyTile];
  };
  return where(
      a.queries(), a.keys(), [&](QueryKey p) { return f(bits(x, p), bits(y, p)); },
      std::max(a.batch(), b.batch()), std::max(a.heads(), b.heads()));
}

BlockMask operator&(const BlockMask& a, const BlockMask& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return BlockMask::joined(a, b, "&", [](bool x, bool y) { return x && y; });
}

BlockMask operator|(const BlockMask& a, const BlockMask& b) {
  if (!a.defined() || !b.defined()) return {};
  return BlockMask::joined(a, b, "|", [](bool x, bool y) { return x || y; });
}

BlockMask operator!(const BlockMask& a) {
  if (!a.defined())
    fail("[block_mask] the operand of ! must be a defined mask, got none, which allows all pairs");
  return BlockMask::joined(a, a, "!", [](bool x, bool) { return !x; });
}

BlockMask BlockMask::causal(Size queries, Size keys) {
  // Cached, since the layers of a model ask for the same mask at each step.
  thread_local BlockMask last;
  if (!last.defined() || last.queries() != queries || last.keys() != keys)
    last = where(queries, keys, [ahead = keys - queries](QueryKey p) { return p.j <= p.i + ahead; });
  return last;
}

BlockMask BlockMask::window(Size queries, Size keys, Size before, Size after) {
  if (before < 0 || after < 0)
    fail("[block_mask] a window must reach at least 0 keys to each side, got {} before and {} after", before,
         after);
  return where(queries, keys, [=, ahead = keys - queries](QueryKey p) {
    const Size distance = p.j - (p.i + ahead);  // adding `before` or `after` could overflow
    return distance >= -before && distance <= after;
  });
}

Size BlockMask::batch() const { return tiles_ ? tiles_->batch : 1; }
Size BlockMask::heads() const { return tiles_ ? tiles_->heads : 1; }
Size BlockMask::queries() const { return tiles_ ? tiles_->queries : 0; }
Size BlockMask::keys() const { return tiles_ ? tiles_->keys : 0; }

double BlockMask::density() const {
  if (!tiles_ || tiles_->tiles.empty()) return 1;
  const auto empty = std::count(tiles_->tiles.begin(), tiles_->tiles.end(), simd::TileMask::kNone);
  return 1 - static_cast<double>(empty) / static_cast<double>(tiles_->tiles.size());
}

simd::TileMask BlockMask::view() const {
  const Tiles& t = *tiles_;
  return {t.batch,
          t.heads,
          tiles_for(t.queries, simd::kQueryTile),
          tiles_for(t.keys, simd::kKeyTile),
          t.keys,
          t.tiles.data(),
          reinterpret_cast<const bool*>(t.patterns.data()),
          t.strips.data(),
          t.all_keys_live ? nullptr : t.live_keys.get()};
}

Mask BlockMask::mask() const {
  if (!tiles_) return {};
  const simd::TileMask view = this->view();
  const Size queries = tiles_->queries, keys = tiles_->keys, items = view.batch * view.heads;
  return Mask::from(
             items * queries, keys,
             [&](Size row, Size j) {
               const Size item = row / std::max<Size>(1, queries), i = row % std::max<Size>(1, queries);
               const std::int32_t tile =
                   view.tiles[(item * view.query_tiles + i / simd::kQueryTile) * view.key_tiles +
                              j / simd::kKeyTile];
               if (tile < 0) return tile == simd::TileMask::kAll;
               return view
                   .patterns[tile * kTilePairs + i % simd::kQueryTile * simd::kKeyTile + j % simd::kKeyTile];
             })
      .reshape({view.batch, view.heads, queries, keys});
}

Mask BlockMask::live_keys() const {
  if (!tiles_) return {};
  const Tiles& t = *tiles_;
  return Mask({t.live_keys.get(), static_cast<std::size_t>(t.batch * t.heads * t.keys)},
              {t.batch, t.heads, t.keys, 1});
}

std::optional<QueryKey> BlockMask::fully_masked_query() const {
  if (!tiles_) return {};
  const Tiles& t = *tiles_;
  const bool *end = t.live_queries.get() + t.batch * t.heads * t.queries,
             *masked_query = std::find(static_cast<const bool*>(t.live_queries.get()), end, false);
  if (masked_query == end) return {};
  const Size at = masked_query - t.live_queries.get(), item = at / t.queries;
  return QueryKey{item / t.heads, item % t.heads, at % t.queries, 0};
}

}  // namespace tapestry
