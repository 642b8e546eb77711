// Tiled attention backward: the weights are recomputed from the scores and each query's log-sum-exp.
//
//     P = exp(S − lse)     dP = dO Vᵀ     dS = P ⊙ (dP − D),  D = dO·O of the query (minus its d lse)
//     dV = Pᵀ dO           dK = dSᵀ Q·scale                   dQ = dS K·scale
//
// Dropout changes P in dV, and dO Vᵀ in dP, but not D.
//
// A task owns tiles of keys. For each, it loops over the queries and accumulates dK and dV in a local tile; dQ is
// accumulated in memory, one tile of keys after another. With few heads, the keys are cut into parts, to occupy all
// threads; the shape alone decides how many. Each part has its own dQ; these are added in order at the end. The five
// products of a tile take nine tenths of the time.
#include <deque>

#include "core/simd/attention/tiles.hpp"
#include "core/simd/horizontal.hpp"
#include "core/simd/math.hpp"
#include "core/simd/rows/row_loop.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace {

constexpr Size kFewGroups = 8;               // with fewer groups of heads, the keys are cut into parts
constexpr Size kSumsAtOnce = Size{1} << 18;  // limit for the sums of learned values of all running tasks

template <class T>
struct Backward {
  const Attention<T>& x;
  Heads<const T> out;
  const T* lse;
  Heads<const T> d_out;
  const T* d_lse;
  Heads<T> d_query, d_key, d_value;

  Size group_heads() const { return x.heads / x.group_size; }
  Size groups() const { return x.batch * group_heads(); }
};

/// Returns true if query i of an item (one head of one batch row) has no pairs, or only scores of −∞.
template <class T>
bool has_no_pairs(const Backward<T>& y, Size item, Size i) {
  return y.lse[item * y.x.queries + i] == -kInfinity<T>;
}

/// Computes D = Σ dO⊙O − d lse of every query (delta in FlashAttention-2).
template <class T>
void compute_deltas(const Backward<T>& y, T* d) {
  const Attention<T>& x = y.x;
  each(worth_threads(x), x.batch * x.heads, [&](Size item) {
    const Size b = item / x.heads, h = item % x.heads;
    for (Size i = 0; i < x.queries; ++i) {
      const T *out = y.out.at(b, h) + i * y.out.row, *d_out = y.d_out.at(b, h) + i * y.d_out.row;
      const Size place = item * x.queries + i;
      d[place] = reduce_add(accumulate<T>(
          x.value_width, T(0), [=](Size c, auto part) { return load(out + c, part) * load(d_out + c, part); },
          AddLanes{}));
      if (y.d_lse != nullptr) d[place] -= y.d_lse[place];
    }
  });
}

/// Backward for a range of key tiles of one group of heads, which share these keys.
template <class T>
class KeyPart {
 public:
  KeyPart(const Backward<T>& y, Size group, const T* deltas, double* of_pairs, LearnedSums& of_score)
      : y_(y),
        x_(y.x),
        b_(group / y.group_heads()),
        h_(group % y.group_heads()),
        width_(whole_vectors<T>(x_.width)),
        value_width_(whole_vectors<T>(x_.value_width)),
        deltas_(deltas),
        of_pairs_(of_pairs),
        of_score_(of_score),
        memory_((kQueryTile + kKeyTile) * (2 * width_ + 2 * value_width_) +
                kKeyTile * (width_ + value_width_) + 4 * kQueryTile * kKeyTile) {
    T* next = memory_.data();
    const auto take = [&](Size rows, Size row) {
      T* taken = next;
      next += rows * row;
      return Tile<T>{taken, row};
    };
    key_ = take(kKeyTile, width_), key_transposed_ = take(kKeyTile, width_);
    value_ = take(kKeyTile, value_width_), value_transposed_ = take(kKeyTile, value_width_);
    d_key_ = take(kKeyTile, width_), d_value_ = take(kKeyTile, value_width_);
    query_ = take(kQueryTile, width_), d_out_ = take(kQueryTile, value_width_);
    given_ = take(kQueryTile, kKeyTile), weights_ = take(kQueryTile, kKeyTile);
    d_scores_ = take(kQueryTile, kKeyTile), slopes_ = take(kQueryTile, kKeyTile);
  }

  /// Runs key tiles [first_tile, last_tile): adds to `d_query` (strides d_query_head, d_query_row) and writes the keys'
  /// gradients.
  void run(Size first_tile, Size last_tile, T* d_query, Size d_query_head, Size d_query_row) {
    for (Size tile = first_tile; tile < last_tile; ++tile) {
      const Size key = tile * kKeyTile, keys = std::min(kKeyTile, x_.keys - key);
      copy_keys(key, keys);
      std::fill_n(d_key_.data, keys * width_, T(0));
      std::fill_n(d_value_.data, keys * value_width_, T(0));
      for (Size in_group = 0; in_group < x_.group_size; ++in_group)
        for (Size i = 0; i < x_.queries; i += kQueryTile)
          run_tile(h_ * x_.group_size + in_group, i, key, keys,
                   {d_query + in_group * d_query_head + i * d_query_row, d_query_row});
      write_rows<T>({d_key_.data, width_}, keys, x_.width, y_.d_key.at(b_, h_) + key * y_.d_key.row,
                    y_.d_key.row);
      write_rows<T>({d_value_.data, value_width_}, keys, x_.value_width,
                    y_.d_value.at(b_, h_) + key * y_.d_value.row, y_.d_value.row);
    }
  }

 private:
  void copy_keys(Size key, Size keys) {
    bool memory[kKeyTile];
    const bool* live = live_in_tile(x_.mask, b_, h_ * x_.group_size, x_.group_size, key, keys, memory);
    const T *k = x_.key.at(b_, h_) + key * x_.key.row, *v = x_.value.at(b_, h_) + key * x_.value.row;
    copy_rows(k, x_.key.row, keys, x_.width, T(1), live, key_);
    transpose_rows<T>({key_.data, width_}, keys, x_.width, key_transposed_.data);
    copy_rows(k, x_.key.row, keys, x_.width, x_.scale, live, key_);  // for dQ
    copy_rows(v, x_.value.row, keys, x_.value_width, T(1), live, value_);
    transpose_rows<T>({value_.data, value_width_}, keys, x_.value_width, value_transposed_.data);
  }

  /// Runs one tile: queries [i, i + kQueryTile) of head h.
  void run_tile(Size h, Size i, Size key, Size keys, Tile<T> d_query) {
    const std::int32_t pairs = pairs_at(x_.mask, b_, h, i / kQueryTile, key / kKeyTile);
    if (pairs == TileMask::kNone) return;
    const bool* live = pairs == TileMask::kAll ? nullptr : x_.mask->patterns + pairs * kQueryTile * kKeyTile;
    const Size queries = std::min(kQueryTile, x_.queries - i);
    const Strips<T> strips = strips_of(x_, pairs, keys);
    bool sees[kQueryTile];  // queries without pairs are copied as 0, even if they hold NaN
    for (Size row = 0; row < queries; ++row) sees[row] = !has_no_pairs(y_, b_ * x_.heads + h, i + row);
    copy_rows(x_.query.at(b_, h) + i * x_.query.row, x_.query.row, queries, x_.width, x_.scale, sees, query_);
    copy_rows(y_.d_out.at(b_, h) + i * y_.d_out.row, y_.d_out.row, queries, x_.value_width, T(1), sees,
              d_out_);
    const Tile<const T> query{query_.data, width_}, d_out{d_out_.data, value_width_}, k{key_.data, width_};
    ScoreTile<T> tile{weights_.data, b_, h, i, key, queries, keys, live};
    if (x_.pairs != nullptr)
      x_.pairs->forward(tile, query, k);
    else
      multiply_transposed<T>(strips, queries, x_.width, query, key_transposed_.data, weights_);
    const bool learns = x_.score != nullptr && x_.score->learned() > 0;
    if (learns)
      for (Size row = 0; row < queries; ++row)
        std::copy_n(weights_.data + row * kKeyTile, padded<T>(keys), given_.data + row * kKeyTile);
    if (x_.score != nullptr) x_.score->forward(tile, slopes_.data);
    mask_scores(tile, strips);
    multiply_transposed<T>(strips, queries, x_.value_width, d_out, value_transposed_.data, d_scores_);
    if (x_.drop != nullptr) apply_dropout(x_, tile, d_scores_.data);
    weigh((b_ * x_.heads + h) * x_.queries + i, queries, strips);
    if (x_.drop != nullptr) apply_dropout(x_, tile, weights_.data);
    if (learns) {
      tile.scores = given_.data;
      x_.score->backward(tile, d_scores_.data, of_score_);
    }
    if (x_.score != nullptr) multiply_by_slopes(queries, padded<T>(keys));
    const auto live_queries = [&](Size key_row, Size rows) {
      return strips.queries_of(key_row, rows, queries);
    };
    const auto live_keys = [&](Size row, Size rows) { return strips.keys_of(row, rows); };
    add_product<T>(keys, value_width_, queries, weights_.data, 1, kKeyTile, d_out, d_value_, live_queries);
    if (x_.pairs != nullptr)
      return x_.pairs->backward(tile, d_scores_.data, query, k, d_query, d_key_, of_pairs_);
    add_product<T>(keys, width_, queries, d_scores_.data, 1, kKeyTile, query, d_key_, live_queries);
    add_product<T>(queries, width_, keys, d_scores_.data, kKeyTile, 1, k, d_query, live_keys);
  }

  /// Turns the gradients of the changed scores into those of the scores given to x.score.
  void multiply_by_slopes(Size queries, Size keys) {
    const Lanes<T> none(T(0));
    for (Size i = 0; i < queries; ++i)
      for (Size j = i * kKeyTile; j < i * kKeyTile + keys; j += kLanes<T>) {
        const Lanes<T> d = load(static_cast<const T*>(d_scores_.data + j));
        const Lanes<T> slope = load(static_cast<const T*>(slopes_.data + j));
        store(d_scores_.data + j, select(d == none, none, d * slope));  // a masked pair's slope may be NaN
      }
  }

  /// Turns scores into weights, and dP into dS. `first`: the tile's first query among those of all items.
  void weigh(Size first, Size queries, const Strips<T>& strips) {
    strips.each_query(queries, [&](Size i, Span keys) {
      T *weights = weights_.data + i * kKeyTile, *d = d_scores_.data + i * kKeyTile;
      const T lse = y_.lse[first + i];
      if (lse == -kInfinity<T>) {  // no pairs
        for (T* row : {weights, d}) std::fill_n(row, strips.padded_keys(), T(0));
        return;
      }
      const Lanes<T> base(lse), delta(deltas_[first + i]), none(T(0));
      for (Size j = keys.begin; j < keys.end; j += kLanes<T>) {
        const Lanes<T> weight = weight_of(load(static_cast<const T*>(weights + j)) - base);
        const Lanes<T> change = weight * (load(static_cast<const T*>(d + j)) - delta);
        store(weights + j, weight);
        store(d + j, select(weight == none, none, change));  // a weight of 0 has gradient 0, even next to NaN
      }
      clear_outside(keys, strips, weights);
      clear_outside(keys, strips, d);
    });
  }

  const Backward<T>& y_;
  const Attention<T>& x_;
  Size b_, h_, width_, value_width_;
  const T* deltas_;
  double* of_pairs_;       // sums of the values that x.pairs learns
  LearnedSums& of_score_;  // and of those that x.score learns
  Scratch<T> memory_;
  Tile<T> key_, key_transposed_, value_, value_transposed_, d_key_, d_value_, query_, d_out_, given_,
      weights_, d_scores_, slopes_;
};

/// Gradients of all learned values: sums over the tasks, added in the order of the tasks. Only a few tasks run at the
/// same time, since each needs memory for its sums. Their number does not change the result.
class LearnedTotal {
 public:
  LearnedTotal(Size of_pairs, Size of_score, Size tasks)
      : of_pairs_(of_pairs),
        of_score_(of_score),
        at_once_(std::clamp<Size>(kSumsAtOnce / std::max<Size>(1, of_pairs + of_score),
                                  std::min<Size>(tasks, 4 * thread_count()), tasks)),
        pairs_(of_pairs * at_once_),
        total_(of_pairs + of_score) {
    std::fill_n(total_.data(), of_pairs + of_score, 0.0);
    for (Size i = 0; i < at_once_; ++i) scores_.emplace_back(of_score);
  }

  /// Number of tasks that may run at the same time.
  Size at_once() const { return at_once_; }
  /// Returns the sums of one of the tasks, from 0 to at_once() - 1.
  double* of_pairs(Size task) const { return pairs_.data() + task * of_pairs_; }
  LearnedSums& of_score(Size task) { return scores_[static_cast<std::size_t>(task)]; }

  void clear() {
    std::fill_n(pairs_.data(), of_pairs_ * at_once_, 0.0);
    for (LearnedSums& sums : scores_) sums.clear();
  }
  /// Adds the sums of the first `tasks` tasks. Each thread adds pages of all tasks, in order.
  void add(Size tasks) {
    for (Size task = 0; task < tasks; ++task)
      for (Size i = 0; i < of_pairs_; ++i) total_.data()[i] += of_pairs(task)[i];
    parallel_ranges(scores_.front().pages(), 16, [&](Size begin, Size end) {
      for (Size task = 0; task < tasks; ++task)
        for (Size page = begin; page < end; ++page)
          of_score(task).add_page_to(total_.data() + of_pairs_, page);
    });
  }
  template <class T>
  void write(T* to) const {
    for (Size i = 0; i < of_pairs_ + of_score_; ++i) to[i] = static_cast<T>(total_.data()[i]);
  }

 private:
  Size of_pairs_, of_score_, at_once_;
  Scratch<double> pairs_, total_;
  std::deque<LearnedSums> scores_;
};

}  // namespace

template <class T>
void attention_backward(const Attention<T>& x, Heads<const T> out, const T* lse, Heads<const T> d_out,
                        const T* d_lse, Heads<T> d_query, Heads<T> d_key, Heads<T> d_value, T* d_learned) {
  const Size of_pairs = x.pairs != nullptr ? x.pairs->learned() : 0,
             of_score = x.score != nullptr ? x.score->learned() : 0;
  if (x.batch * x.heads == 0) {
    std::fill_n(d_learned, of_pairs + of_score, T(0));
    return;
  }
  const Backward<T> y{x, out, lse, d_out, d_lse, d_query, d_key, d_value};
  const Size groups = y.groups(), key_tiles = ceil_div(x.keys, kKeyTile), width = whole_vectors<T>(x.width);
  const Scratch<T> deltas(x.batch * x.heads * x.queries);
  compute_deltas(y, deltas.data());

  const Size parts = std::clamp<Size>(kFewGroups / groups, 1, std::max<Size>(1, key_tiles));
  const Size tasks = groups * parts;
  LearnedTotal learned(of_pairs, of_score, tasks);
  // A single part sums in d_query itself, if rows are whole vectors. Otherwise, the sums are in scratch memory.
  const bool in_place = parts == 1 && width == x.width;
  const Size row = in_place ? d_query.row : width, head = in_place ? d_query.head : x.queries * width;
  const Scratch<T> partial(in_place ? 0 : tasks * x.group_size * head);

  const bool parallel = worth_threads(x);
  const auto run = [&](Size task, Size slot) {
    const Size group = task / parts, part = task % parts;
    T* to = in_place ? d_query.at(group / y.group_heads(), group % y.group_heads() * x.group_size)
                     : partial.data() + task * x.group_size * head;
    for (Size h = 0; h < x.group_size; ++h)
      for (Size i = 0; i < x.queries; ++i) std::fill_n(to + h * head + i * row, width, T(0));
    KeyPart<T>(y, group, deltas.data(), learned.of_pairs(slot), learned.of_score(slot))
        .run(part * key_tiles / parts, (part + 1) * key_tiles / parts, to, head, row);
  };
  for (Size first = 0; first < tasks; first += learned.at_once()) {
    const Size now = std::min(learned.at_once(), tasks - first);
    learned.clear();
    each(parallel, now, [&](Size slot) { run(first + slot, slot); });
    learned.add(now);
  }
  if (!in_place)
    each(parallel, x.batch * x.heads, [&](Size item) {
      const Size group = item / x.group_size, b = item / x.heads, h = item % x.heads;
      for (Size i = 0; i < x.queries; ++i) {
        T* sum = partial.data() + (group * parts * x.group_size + item % x.group_size) * head + i * row;
        for (Size part = 1; part < parts; ++part)
          for (Size c = 0; c < x.width; ++c) sum[c] += sum[part * x.group_size * head + c];
        std::copy_n(sum, x.width, d_query.at(b, h) + i * d_query.row);
      }
    });
  for (Size item = 0; item < x.batch * x.heads; ++item)  // 0 times a NaN key is not 0
    for (Size i = 0; i < x.queries; ++i)
      if (has_no_pairs(y, item, i))
        std::fill_n(d_query.at(item / x.heads, item % x.heads) + i * d_query.row, x.width, T(0));
  learned.write(d_learned);
}

template void attention_backward(const Attention<float>&, Heads<const float>, const float*,
                                 Heads<const float>, const float*, Heads<float>, Heads<float>, Heads<float>,
                                 float*);
template void attention_backward(const Attention<double>&, Heads<const double>, const double*,
                                 Heads<const double>, const double*, Heads<double>, Heads<double>,
                                 Heads<double>, double*);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
