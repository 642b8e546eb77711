// A learner's lambda in the tiles of attention: on lanes forward, on duals backward. It is inlined into the
// loop over a row of scores; what it reads from tables is checked, and their gradients are added up one place
// after the other.
#pragma once

#include <array>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "core/simd/arch.hpp"
#include "core/simd/attention.hpp"
#include "core/simd/dual.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Where a score stands: batch row, head, query, key.
template <class Item, class Place>
struct At {
  Item b, h;
  Place i, j;
};

/// A dense table that a lambda reads.
template <class T>
struct Source {
  const T* data = nullptr;
  Dims shape;
  Size learned = -1;  ///< where its gradient begins among what is learned; -1: it is constant
};

/// Throws std::out_of_range for an index outside a table, with the place of the score.
[[noreturn]] void fail_read(const Dims& shape, int axis, Size index, Size query, Size key);
/// Throws std::domain_error for a score that is NaN or +∞.
[[noreturn]] void fail_score(double score, Size batch, Size head, Size query, Size key);

/// What the readers of one evaluation share.
template <class T>
struct Reading {
  const bool* live = nullptr;  ///< of the lanes; null: all that there are
  Size lanes = 0, query = 0, key = 0;
  int count = 0;      ///< reads so far
  int seed = -1;      ///< the read that the derivative is for
  Size learned = -1;  ///< of that read: the start of its table's gradient, −1 for a constant
  bool uniform = false;
  std::array<Size, static_cast<std::size_t>(kLanes<T>)> place{};

  bool is_live(Size lane) const { return lane < lanes && (live == nullptr || live[lane]); }
};

/// One table for a lambda: reader(index…), an index for each axis. An index is a whole number (at.b, at.h) or
/// lanes that hold whole numbers (at.i, at.j and what is made of them).
template <class T, class Number>
class Reader {
 public:
  Reader(const Source<T>& table, Reading<T>& reading) : table_(table), reading_(reading) {}

  template <class... I>
  Number operator()(I... index) const {
    if (static_cast<int>(sizeof...(I)) != table_.shape.rank())
      fail_read(table_.shape, -1, sizeof...(I), 0, 0);
    const bool seeded = reading_.count++ == reading_.seed;
    Batch<T> value(T(0));
    if constexpr ((std::is_integral_v<I> && ...)) {
      Size place = 0;
      int axis = 0;
      ((place = place * table_.shape[axis] + checked(axis, static_cast<Size>(index)), ++axis), ...);
      value = Batch<T>(table_.data[place]);
      if (seeded) reading_.uniform = true, reading_.place[0] = place;
    } else {
      std::array<Size, static_cast<std::size_t>(kLanes<T>)> places{};
      int axis = 0;
      ((go_on(places, axis, index), ++axis), ...);
      T values[kLanes<T>] = {};
      for (std::size_t lane = 0; lane < places.size(); ++lane)
        if (table_.data != nullptr && reading_.is_live(static_cast<Size>(lane)))
          values[lane] = table_.data[places[lane]];
      value = load(static_cast<const T*>(values));
      if (seeded) reading_.uniform = false, reading_.place = places;
    }
    if (seeded) reading_.learned = table_.learned;
    if constexpr (std::is_same_v<Number, Batch<T>>) {
      return value;
    } else {
      return {value, Batch<T>(T(seeded ? 1 : 0))};
    }
  }

 private:
  Size checked(int axis, Size index) const {
    if (index < 0 || index >= table_.shape[axis])
      fail_read(table_.shape, axis, index, reading_.query, reading_.key);
    return index;
  }
  template <class I>
  void go_on(std::array<Size, static_cast<std::size_t>(kLanes<T>)>& places, int axis, I index) const {
    T indices[kLanes<T>];
    if constexpr (std::is_same_v<I, Dual<T>>) {
      store(indices, index.value);
    } else {
      store(indices, Batch<T>(index));
    }
    for (std::size_t lane = 0; lane < places.size(); ++lane) {
      const Size key = static_cast<Size>(lane);
      if (!reading_.is_live(key)) continue;
      const auto whole = static_cast<Size>(indices[lane]);
      if (whole < 0 || whole >= table_.shape[axis])
        fail_read(table_.shape, axis, whole, reading_.query, reading_.key + key);
      places[lane] = places[lane] * table_.shape[axis] + whole;
    }
  }

  const Source<T>& table_;
  Reading<T>& reading_;
};

template <class T, class F, std::size_t N>
class LambdaTiles final : public TileScore<T> {
 public:
  LambdaTiles(const F& f, const std::array<Source<T>, N>& sources, Size learned)
      : f_(f), sources_(sources), learned_(learned) {}

  Size learned() const override { return learned_; }

  void forward(const ScoreTile<T>& tile) const override {
    each(tile, [&](Size, T* scores, const At<Size, Batch<T>>& at, Reading<T>& reading) {
      const Batch<T> before = load(static_cast<const T*>(scores));
      const Batch<T> after = evaluate<Batch<T>>(before, at, reading);
      store(scores, after);
      if (any(!(after < Batch<T>(std::numeric_limits<T>::infinity())))) check(before, after, tile, reading);
    });
  }

  void backward(const ScoreTile<T>& tile, T* d, T* learned) const override {
    const Batch<T> none(T(0)), one(T(1));
    // A read at one place for a whole row is summed on lanes before it goes to the table's gradient.
    each(tile, [&](Size offset, T* scores, const At<Size, Batch<T>>& at, Reading<T>& reading) {
      const Batch<T> score = load(static_cast<const T*>(scores)),
                     dy = load(static_cast<const T*>(d + offset));
      const auto through = [&](Dual<T> x) { return select(dy == none, none, dy * x.slope); };
      reading.seed = -1;
      const Batch<T> ds = through(evaluate<Dual<T>>(Dual<T>(score, one), at, reading));
      const int reads = learned_ > 0 ? reading.count : 0;
      for (int read = 0; read < reads; ++read) {
        reading.seed = read;
        const Batch<T> change = through(evaluate<Dual<T>>(Dual<T>(score), at, reading));
        if (reading.learned < 0) continue;
        T* to = learned + reading.learned;
        if (reading.uniform) {
          to[reading.place[0]] += reduce_add(change);
        } else {
          T changes[kLanes<T>];
          store(changes, change);
          for (std::size_t lane = 0; lane < reading.place.size(); ++lane)
            if (reading.is_live(static_cast<Size>(lane))) to[reading.place[lane]] += changes[lane];
        }
      }
      store(d + offset, ds);
    });
  }

 private:
  template <class Number>
  Number evaluate(Number s, const At<Size, Batch<T>>& at, Reading<T>& reading) const {
    reading.count = 0;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Number(f_(s, at, Reader<T, Number>(sources_[I], reading)...));
    }
    (std::make_index_sequence<N>{});
  }

  /// body(offset, scores, at, reading) for each vector of the tile.
  template <class Body>
  void each(const ScoreTile<T>& tile, const Body& body) const {
    constexpr Size kL = kLanes<T>;
    T steps[kL];
    for (Size lane = 0; lane < kL; ++lane) steps[lane] = static_cast<T>(lane);
    const Batch<T> lanes = load(static_cast<const T*>(steps));
    Reading<T> reading;
    for (Size i = 0; i < tile.queries; ++i) {
      reading.query = tile.first_query + i;
      for (Size j = 0; j < tile.keys; j += kL) {
        reading.key = tile.first_key + j;
        reading.lanes = tile.keys - j;
        if (tile.live != nullptr) reading.live = tile.live + i * kKeyTile + j;
        const At<Size, Batch<T>> at{tile.batch, tile.head, Batch<T>(reading.query),
                                    lanes + Batch<T>(reading.key)};
        body(i * kKeyTile + j, tile.scores + i * kKeyTile + j, at, reading);
      }
    }
  }

  /// A score that went wrong, unless it does not count or was wrong before.
  void check(Batch<T> before, Batch<T> after, const ScoreTile<T>& tile, const Reading<T>& reading) const {
    T was[kLanes<T>], is[kLanes<T>];
    store(was, before);
    store(is, after);
    for (Size lane = 0; lane < kLanes<T>; ++lane)
      if (reading.is_live(lane) && was[lane] - was[lane] == T(0) &&
          !(is[lane] < std::numeric_limits<T>::infinity()))
        fail_score(static_cast<double>(is[lane]), tile.batch, tile.head, reading.query, reading.key + lane);
  }

  F f_;
  std::array<Source<T>, N> sources_;
  Size learned_;
};

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
