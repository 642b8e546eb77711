// Score modifications by a user's lambda in tiles of attention: evaluated on lanes in forward and on dual numbers in
// backward. The lambda is inlined into the loop over a row of scores.
#pragma once

#include <array>
#include <limits>
#include <utility>

#include "core/simd/attention/attention.hpp"
#include "core/simd/attention/dual.hpp"
#include "core/simd/attention/score_reader.hpp"
#include "core/simd/horizontal.hpp"
#include "core/simd/runtime/arch.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Position of a score: batch row, head, query, key.
template <class Item, class Place>
struct At {
  Item b, h;
  Place i, j;
};

/// Throws std::domain_error for a score that is NaN or +∞.
[[noreturn]] void fail_score(double score, const QueryKey& pair);
/// Same for a score from pair_score() of a finite query and key.
[[noreturn]] void fail_pair_score(double score, const QueryKey& pair);

/// Implements TileScore with a lambda f(score, position, readers of the N tables…).
template <class T, class F, std::size_t N>
class LambdaTiles final : public TileScore<T> {
 public:
  LambdaTiles(const F& f, const std::array<Source<T>, N>& sources, Size learned)
      : f_(f), sources_(sources), learned_(learned) {}

  Size learned() const override { return learned_; }

  void forward(const ScoreTile<T>& tile) const override {
    each(tile, [&](Size, T* scores, const At<WholeNumber, Lanes<T>>& at, Reading<T>& reading) {
      const Lanes<T> before = load(static_cast<const T*>(scores));
      const Lanes<T> after = evaluate<Lanes<T>>(before, at, reading);
      store(scores, after);
      if (any(!(after < Lanes<T>(std::numeric_limits<T>::infinity())))) check(before, after, reading);
    });
  }

  void forward(const ScoreTile<T>& tile, T* slopes) const override {
    each(tile, [&](Size offset, T* scores, const At<WholeNumber, Lanes<T>>& at, Reading<T>& reading) {
      const Lanes<T> before = load(static_cast<const T*>(scores));
      const Dual<T> after = evaluate<Dual<T>>(Dual<T>(before, Lanes<T>(T(1))), at, reading);
      store(scores, after.value);
      store(slopes + offset, after.slope);
    });
  }

  void backward(const ScoreTile<T>& tile, const T* d, LearnedSums& learned) const override {
    const Lanes<T> none(T(0));
    each(tile, [&](Size offset, T* scores, const At<WholeNumber, Lanes<T>>& at, Reading<T>& reading) {
      const Lanes<T> score = load(static_cast<const T*>(scores)), dy = load(d + offset);
      // One evaluation for each read of a learned table; the first one counts the reads.
      for (int read = 0, reads = 1; read < reads; ++read) {
        reading.seed = read;
        const Lanes<T> slope = evaluate<Dual<T>>(Dual<T>(score), at, reading).slope;
        reads = reading.count;
        if (reads > 0) reading.add(learned, select(dy == none, none, dy * slope));
      }
    });
  }

 private:
  template <class Number>
  Number evaluate(Number s, const At<WholeNumber, Lanes<T>>& at, Reading<T>& reading) const {
    reading.count = 0;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Number(f_(s, at, Reader<T, Number>(sources_[I], reading)...));
    }
    (std::make_index_sequence<N>{});
  }

  /// Calls body(offset, scores, at, reading) for each vector of the tile.
  template <class Body>
  void each(const ScoreTile<T>& tile, const Body& body) const {
    constexpr Size kL = kLanes<T>;
    const Lanes<T> lanes = iota<T>();
    Reading<T> reading;
    for (Size i = 0; i < tile.queries; ++i) {
      reading.first = {tile.batch, tile.head, tile.first_query + i, 0};
      for (Size j = 0; j < tile.keys; j += kL) {
        reading.first.j = tile.first_key + j;
        reading.lanes = tile.keys - j;
        if (tile.live != nullptr) reading.live = tile.live + i * kKeyTile + j;
        const At<WholeNumber, Lanes<T>> at{
            {tile.batch}, {tile.head}, Lanes<T>(reading.first.i), lanes + Lanes<T>(reading.first.j)};
        body(i * kKeyTile + j, tile.scores + i * kKeyTile + j, at, reading);
      }
    }
  }

  /// Throws if a live score became NaN or +∞, unless it was not finite before.
  void check(Lanes<T> before, Lanes<T> after, const Reading<T>& reading) const {
    T was[kLanes<T>], is[kLanes<T>];
    store(was, before);
    store(is, after);
    for (Size lane = 0; lane < kLanes<T>; ++lane)
      if (reading.is_live(lane) && was[lane] - was[lane] == T(0) &&
          !(is[lane] < std::numeric_limits<T>::infinity()))
        fail_score(static_cast<double>(is[lane]), reading.at(lane));
  }

  F f_;
  std::array<Source<T>, N> sources_;
  Size learned_;
};

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
