// Tiled attention forward (FlashAttention): the loop over tiles. Each tile of scores is used once and overwritten.
//
//                  keys →                          for a chunk of queries (a task):
//            ┌─────┬─────┬─────┐                     for each tile of keys, copied once per chunk:
//            │  S  │     │     │  48 queries           for each tile of queries that sees some of it:
//    queries ├─────┼─────┼─────┤  × 96 keys              S = score(scale·Q Kᵀ), masked
//       ↓    │     │     │     │                         P = exp(S − max), where max is each query's
//            └─────┴─────┴─────┘                             largest score so far
//                                                        sum = sum·exp(old max − max) + Σ P
//                                                        O = O·exp(old max − max) + dropout(P) V
//
// When a later tile has a larger score, sum and O are rescaled: the online softmax. At first, max is −∞ and sum is 0;
// with a sink, max is its score and sum is 1. At the end, out = O / sum and lse = max + ln sum.
#include <cmath>

#include "core/simd/attention/score_tiles.hpp"
#include "core/simd/attention/tiles.hpp"
#include "core/simd/horizontal.hpp"
#include "core/simd/math.hpp"
#include "core/simd/rows/row_loop.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace {

// Query tiles per task. For f32 and d = 64, a task's data and a tile of keys take 282 KiB, to fit the L2 cache.
constexpr Size kChunkTiles = 8;

/// State of the softmax of a tile of queries.
template <class T>
struct OnlineSoftmax {
  T max[kQueryTile], sum[kQueryTile], rescale[kQueryTile];
  bool sees[kQueryTile] = {};  // true once the query has a score other than −∞, without the sink's

  /// Initialises `max` and `sum`. `sink` is the score of an extra key that all queries see; −∞ for none.
  void start(T sink) {
    std::fill_n(max, kQueryTile, sink);
    std::fill_n(sum, kQueryTile, sink == -kInfinity<T> ? T(0) : T(1));
  }

  /// Returns true if neither the sink's score nor a score so far was NaN or +∞.
  bool below_infinity(Size queries) const {
    return std::all_of(max, max + queries, [](T score) { return score < kInfinity<T>; });
  }

  /// Updates `max` and `sum`, replaces the scores by exp(scores − max), and sets `rescale` to exp(old max − max), the
  /// factor for the outputs so far.
  void update(T* scores, Size queries, const Strips<T>& strips) {
    constexpr Size kL = kLanes<T>;
    T base[kQueryTile];
    strips.each_query(queries, [&](Size i, Span keys) {
      const T* row = scores + i * kKeyTile;
      Lanes<T> tile_max(-kInfinity<T>);
      for (Size j = keys.begin; j < keys.end; j += kL) tile_max = max_nan(tile_max, load(row + j));
      const T old_max = max[i];
      sees[i] |= reduce_max(tile_max) != -kInfinity<T>;
      max[i] = reduce_max(max_nan(tile_max, Lanes<T>(old_max)));
      base[i] = max[i] == -kInfinity<T> ? T(0) : max[i];  // no score other than −∞ so far: all weights are 0
      rescale[i] = old_max - base[i];
    });
    std::fill(rescale + queries, rescale + kQueryTile, T(0));
    for (Size i = 0; i < queries; i += kL)
      store(rescale + i, exp_nonpositive(load(static_cast<const T*>(rescale + i))));
    strips.each_query(queries, [&](Size i, Span keys) {
      T* row = scores + i * kKeyTile;
      Lanes<T> total(T(0));
      for (Size j = keys.begin; j < keys.end; j += kL) {
        const Lanes<T> weight = weight_of(load(static_cast<const T*>(row + j)) - Lanes<T>(base[i]));
        store(row + j, weight);
        total += weight;
      }
      sum[i] = sum[i] * rescale[i] + reduce_add(total);
      clear_outside(keys, strips, row);
    });
  }
};

/// Forward for the queries [first, first + count) of one head of one batch row.
template <class T>
class Chunk {
 public:
  Chunk(const Attention<T>& x, Size b, Size h, Size first, Size count)
      : x_(x),
        b_(b),
        h_(h),
        first_(first),
        count_(count),
        width_(whole_vectors<T>(x.width)),
        value_width_(whole_vectors<T>(x.value_width)),
        memory_(count * (width_ + value_width_) + (kQueryTile + width_ * 2 + value_width_) * kKeyTile),
        scaled_queries_(memory_.data()),
        outputs_(scaled_queries_ + count * width_),
        scores_(outputs_ + count * value_width_),
        keys_(scores_ + kQueryTile * kKeyTile),
        transposed_(keys_ + kKeyTile * width_),
        values_(transposed_ + kKeyTile * width_) {}

  void run(Heads<T> out, T* lse) {
    copy_rows(x_.query.at(b_, h_) + first_ * x_.query.row, x_.query.row, count_, x_.width, x_.scale, nullptr,
              {scaled_queries_, width_});
    std::fill_n(outputs_, count_ * value_width_, T(0));
    for (OnlineSoftmax<T>& online : online_) online.start(x_.sink == nullptr ? -kInfinity<T> : x_.sink[h_]);
    for (Size key = 0; key < x_.keys; key += kKeyTile) attend_to(key);
    finish(out, lse);
  }

 private:
  /// Attends from all queries to the keys [key, key + kKeyTile).
  void attend_to(Size key) {
    const Size keys = std::min(kKeyTile, x_.keys - key);
    bool copied = false;
    for (Size i = 0; i < count_; i += kQueryTile) {
      const std::int32_t tile_mask = pairs_at(x_.mask, b_, h_, (first_ + i) / kQueryTile, key / kKeyTile);
      if (tile_mask == TileMask::kNone) continue;
      if (!copied) copy_keys(key, keys);
      copied = true;
      const bool* live =
          tile_mask == TileMask::kAll ? nullptr : x_.mask->patterns + tile_mask * kQueryTile * kKeyTile;
      const Size queries = std::min(kQueryTile, count_ - i);
      const Strips<T> strips = strips_of(x_, tile_mask, keys);
      const ScoreTile<T> tile{scores_, b_, h_, first_ + i, key, queries, keys, live};
      const Tile<const T> query{scaled_queries_ + i * width_, width_};
      compute_scores(tile, strips, query);
      OnlineSoftmax<T>& online = online_[i / kQueryTile];
      online.update(scores_, queries, strips);
      if (x_.pairs != nullptr && !online.below_infinity(queries)) check_pairs(tile, strips, query);
      if (x_.drop != nullptr) apply_dropout(x_, tile, scores_);
      T* outputs = outputs_ + i * value_width_;
      for (Size row = 0; row < queries; ++row)
        multiply_row(outputs + row * value_width_, online.rescale[row]);
      add_product<T>(queries, value_width_, keys, scores_, kKeyTile, 1, {values_, value_width_},
                     {outputs, value_width_}, [&](Size row, Size rows) { return strips.keys_of(row, rows); });
    }
  }

  void compute_scores(const ScoreTile<T>& tile, const Strips<T>& strips, Tile<const T> query) const {
    if (x_.pairs != nullptr)
      x_.pairs->forward(tile, query, {keys_, width_});
    else
      multiply_transposed<T>(strips, tile.queries, x_.width, query, transposed_, {tile.scores, kKeyTile});
    if (x_.score != nullptr) x_.score->forward(tile);
    mask_scores(tile, strips);
  }

  /// Throws if a live score of a finite query and key is NaN or +∞. Computes the scores again, since the weights have
  /// replaced them.
  void check_pairs(ScoreTile<T> tile, const Strips<T>& strips, Tile<const T> query) const {
    const Scratch<T> scores(kQueryTile * kKeyTile);
    tile.scores = scores.data();
    compute_scores(tile, strips, query);
    const auto finite = [&](const T* x) {
      return std::all_of(x, x + x_.width, [](T one) { return one - one == T(0); });
    };
    for (Size i = 0; i < tile.queries; ++i)
      for (Size j = 0; j < tile.keys; ++j) {
        const T score = tile.scores[i * kKeyTile + j];
        if (score < kInfinity<T> || (tile.live != nullptr && !tile.live[i * kKeyTile + j])) continue;
        if (finite(query.data + i * query.row) && finite(keys_ + j * width_))
          fail_pair_score(static_cast<double>(score),
                          {tile.batch, tile.head, tile.first_query + i, tile.first_key + j});
      }
  }

  void multiply_row(T* row, T factor) const {
    if (factor == T(1)) return;
    for (Size c = 0; c < value_width_; c += kLanes<T>)
      store(row + c, load(static_cast<const T*>(row + c)) * Lanes<T>(factor));
  }

  void copy_keys(Size key, Size keys) {
    bool live_keys[kKeyTile];
    const Size key_head = h_ / x_.group_size;
    const bool* live =
        live_in_tile(x_.mask, b_, key_head * x_.group_size, x_.group_size, key, keys, live_keys);
    copy_rows(x_.key.at(b_, key_head) + key * x_.key.row, x_.key.row, keys, x_.width, T(1), live,
              {keys_, width_});
    transpose_rows<T>({keys_, width_}, keys, x_.width, transposed_);
    copy_rows(x_.value.at(b_, key_head) + key * x_.value.row, x_.value.row, keys, x_.value_width, T(1), live,
              {values_, value_width_});
  }

  void finish(Heads<T> out, T* lse) {
    T* to = out.at(b_, h_) + first_ * out.row;
    T* lse_to = lse + (b_ * x_.heads + h_) * x_.queries + first_;
    for (Size i = 0; i < count_; ++i) {
      const OnlineSoftmax<T>& online = online_[i / kQueryTile];
      const T max = online.max[i % kQueryTile], sum = online.sum[i % kQueryTile];
      if (!online.sees[i % kQueryTile]) {  // no pairs; its O may be NaN, from 0 times a NaN value
        std::fill_n(to + i * out.row, x_.value_width, T(0));
        lse_to[i] = -kInfinity<T>;
        continue;
      }
      T* output = outputs_ + i * value_width_;
      multiply_row(output, T(1) / sum);
      std::copy_n(output, x_.value_width, to + i * out.row);
      lse_to[i] = max + std::log(sum);
    }
  }

  const Attention<T>& x_;
  Size b_, h_, first_, count_, width_, value_width_;
  Scratch<T> memory_;
  T *scaled_queries_, *outputs_, *scores_, *keys_, *transposed_, *values_;
  OnlineSoftmax<T> online_[kChunkTiles];
};

}  // namespace

template <class T>
void attention_forward(const Attention<T>& x, Heads<T> out, T* lse) {
  constexpr Size kChunk = kChunkTiles * kQueryTile;
  const Size chunks = ceil_div(x.queries, kChunk);
  each(worth_threads(x), x.batch * x.heads * chunks, [&](Size task) {
    const Size item = task / chunks, first = task % chunks * kChunk;
    Chunk<T>(x, item / x.heads, item % x.heads, first, std::min(kChunk, x.queries - first)).run(out, lse);
  });
}

template void attention_forward(const Attention<float>&, Heads<float>, float*);
template void attention_forward(const Attention<double>&, Heads<double>, double*);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
