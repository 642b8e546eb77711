// Table reads of a user's score lambda in tiles of attention: bounds-checked, and fast for evenly spaced indices.
//
// The lanes of a read are the keys j, j + 1, … of one query. So most indices are evenly spaced: at.i is the same on all
// lanes, at.j increases by one, and a distance at.i − at.j decreases by one. Such a read is one load, and its gradient
// one addition. All others go lane by lane: uneven indices, such as buckets from another table, and indices that are
// partly outside the table, as those of masked pairs may be.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <concepts>
#include <type_traits>

#include "core/simd/attention/attention.hpp"
#include "core/simd/attention/dual.hpp"
#include "core/simd/horizontal.hpp"
#include "core/simd/runtime/arch.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// A dense table that a lambda reads.
template <class T>
struct Source {
  const T* data = nullptr;
  Dims shape;
  Size learned = -1;  ///< start of its gradient among all learned values; -1: constant
};

/// Throws std::out_of_range for a read whose number of indices is not the table's number of axes.
[[noreturn]] void fail_rank(const Dims& shape, Size indices);
/// Throws std::domain_error for an integer remainder by 0.
[[noreturn]] void fail_remainder();
/// Throws std::out_of_range for an index outside a table or not an integer; the message names the pair.
[[noreturn]] void fail_read(const Dims& shape, int axis, double index, const QueryKey& pair);

/// Offsets of the lanes of a read in a table: first, first + step, … if `spaced`, otherwise any.
struct Places {
  bool spaced = true;
  Size first = 0, step = 0;
};
/// Offset of each live (unmasked) lane.
template <class T>
using EachPlace = std::array<Size, static_cast<std::size_t>(kLanes<T>)>;

/// Index of a batch row or head in a lambda. Its operators match those of lanes, so that a formula gives the same in
/// tiles and on whole tensors: a quotient keeps its fraction, and % is C's.
struct WholeNumber {
  Size value = 0;

  operator double() const { return static_cast<double>(value); }
  template <class T>
  operator Lanes<T>() const {
    return Lanes<T>(value);
  }
  template <class T>
  operator Dual<T>() const {
    return Dual<T>(value);
  }
  friend WholeNumber operator-(WholeNumber a) { return {-a.value}; }
  friend WholeNumber abs(WholeNumber a) { return {a.value < 0 ? -a.value : a.value}; }
};

inline Size size_of(WholeNumber a) { return a.value; }
template <std::integral N>
Size size_of(N a) {
  return static_cast<Size>(a);
}
/// One operand is a WholeNumber, and the other is a WholeNumber or an integer.
template <class A, class B>
concept WholeNumbers = (std::same_as<A, WholeNumber> && (std::same_as<B, WholeNumber> || std::integral<B>)) ||
                       (std::integral<A> && std::same_as<B, WholeNumber>);

template <class A, class B>
requires WholeNumbers<A, B> WholeNumber operator+(A a, B b) { return {size_of(a) + size_of(b)}; }
template <class A, class B>
requires WholeNumbers<A, B> WholeNumber operator-(A a, B b) { return {size_of(a) - size_of(b)}; }
template <class A, class B>
requires WholeNumbers<A, B> WholeNumber operator*(A a, B b) { return {size_of(a) * size_of(b)}; }
template <class A, class B>
requires WholeNumbers<A, B>
double operator/(A a, B b) { return static_cast<double>(size_of(a)) / static_cast<double>(size_of(b)); }
template <class A, class B>
requires WholeNumbers<A, B> WholeNumber operator%(A a, B b) {
  if (size_of(b) == 0) fail_remainder();
  return {size_of(a) % size_of(b)};
}
inline double operator%(WholeNumber a, double b) { return std::fmod(static_cast<double>(a), b); }
template <class A, class B>
requires WholeNumbers<A, B>
bool operator==(A a, B b) { return size_of(a) == size_of(b); }
template <class A, class B>
requires WholeNumbers<A, B>
auto operator<=>(A a, B b) { return size_of(a) <=> size_of(b); }

/// State shared by the readers of one evaluation.
template <class T>
struct Reading {
  const bool* live = nullptr;  ///< the live lanes; null: all
  Size lanes = 0;
  QueryKey first;    ///< the pair of lane 0
  int count = 0;     ///< reads of learned tables so far
  int seed = -1;     ///< number of the read with respect to which the lambda is differentiated
  Size learned = 0;  ///< start of the gradient of that read's table
  Places places;     ///< offsets of that read
  EachPlace<T> each{};

  QueryKey at(Size lane) const { return {first.b, first.h, first.i, first.j + lane}; }
  bool is_live(Size lane) const { return lane < lanes && (live == nullptr || live[lane]); }

  /// Adds the lanes to the gradient of the table of read `seed`, in f64, since a sum in f32 over a long text loses
  /// digits. Lanes that are not live must be 0.
  void add(LearnedSums& sums, Lanes<T> change) const {
    const Size first_place = learned + places.first;
    const bool whole = lanes >= kLanes<T>;
    T changes[kLanes<T>];
    if (places.spaced && places.step == 0) {
      sums.add(first_place, static_cast<double>(reduce_add(change)));
    } else if (places.spaced && places.step == 1 && whole) {
      store(changes, change);
      sums.add_row(first_place, changes, kLanes<T>);
    } else if (places.spaced && places.step == -1 && whole) {
      store(changes, reverse(change));
      sums.add_row(first_place - (kLanes<T> - 1), changes, kLanes<T>);
    } else {
      store(changes, change);
      for (Size lane = 0; lane < kLanes<T>; ++lane)
        if (is_live(lane))
          sums.add(places.spaced ? first_place + lane * places.step
                                 : learned + each[static_cast<std::size_t>(lane)],
                   static_cast<double>(changes[lane]));
    }
  }
};

/// One table in a lambda: reader(index…), with one index per axis. An index is an integer (at.b, at.h) or lanes of
/// integers (at.i, at.j and expressions of them).
template <class T, class Number>
class Reader {
 public:
  Reader(const Source<T>& table, Reading<T>& reading) : table_(table), reading_(reading) {}

  template <class... I>
  Number operator()(I... index) const {
    if (static_cast<int>(sizeof...(I)) != table_.shape.rank()) fail_rank(table_.shape, sizeof...(I));
    const bool seeded = table_.learned >= 0 && reading_.count++ == reading_.seed;
    if (seeded) reading_.learned = table_.learned;
    const Lanes<T> value = read(seeded, lanes_of(index)...);
    if constexpr (std::is_same_v<Number, Lanes<T>>) {
      return value;
    } else {
      return {value, Lanes<T>(T(seeded ? 1 : 0))};
    }
  }
  /// Not defined. core/attention/score_lambda.hpp rejects brackets with one message; this prevents further ones.
  template <class I>
  Number operator[](const I&) const;

 private:
  template <class... I>
  Lanes<T> read(bool seeded, I... index) const {
    Places places;
    int axis = 0;
    places.spaced = (extend_spaced(places, axis++, index) && ...);
    if (seeded) reading_.places = places;
    if constexpr ((std::is_same_v<I, Size> && ...)) {
      return Lanes<T>(table_.data[places.first]);
    } else if (places.spaced) {
      return spaced_values(places);
    } else {
      EachPlace<T> each{};
      axis = 0;
      (extend_each(each, axis++, index), ...);
      if (seeded) reading_.each = each;
      T values[kLanes<T>] = {};
      for (std::size_t lane = 0; lane < each.size(); ++lane)
        if (reading_.is_live(static_cast<Size>(lane))) values[lane] = table_.data[each[lane]];
      return load(static_cast<const T*>(values));
    }
  }

  template <class I>
  static auto lanes_of(I index) {
    if constexpr (std::is_same_v<I, WholeNumber> || std::is_integral_v<I>) {
      return size_of(index);
    } else if constexpr (std::is_same_v<I, Dual<T>>) {
      return index.value;
    } else {
      return Lanes<T>(index);
    }
  }

  Size checked(int axis, Size index) const {
    if (index < 0 || index >= table_.shape[axis])
      fail_read(table_.shape, axis, static_cast<double>(index), reading_.at(0));
    return index;
  }

  bool extend_spaced(Places& places, int axis, Size index) const {
    places.first = places.first * table_.shape[axis] + checked(axis, index);
    places.step *= table_.shape[axis];
    return true;
  }
  /// Returns false if the lanes are not evenly spaced integers, or not all inside the table.
  bool extend_spaced(Places& places, int axis, Lanes<T> index) const {
    const T first = lane(index, 0), step = lane(index, 1) - first;
    if (!all(index == fma(iota<T>(), step, first))) return false;
    const Size size = table_.shape[axis], most = std::min(kLanes<T>, reading_.lanes) - 1;
    const T last = first + static_cast<T>(most) * step, end = static_cast<T>(size);
    if (!(std::min(first, last) >= T(0) && std::max(first, last) < end)) return false;
    const auto whole = static_cast<Size>(most > 0 ? step : T(0)), begin = static_cast<Size>(first);
    if (static_cast<T>(begin) != first || (most > 0 && static_cast<T>(whole) != step)) return false;
    places.first = places.first * size + begin;
    places.step = places.step * size + whole;
    return true;
  }

  void extend_each(EachPlace<T>& each, int axis, Size index) const {
    for (Size& place : each) place = place * table_.shape[axis] + checked(axis, index);
  }
  void extend_each(EachPlace<T>& each, int axis, Lanes<T> index) const {
    T indices[kLanes<T>];
    store(indices, index);
    for (Size lane = 0; lane < kLanes<T>; ++lane) {
      if (!reading_.is_live(lane)) continue;
      const T at = indices[lane];
      const bool inside = at >= T(0) && at < static_cast<T>(table_.shape[axis]);
      if (!inside || static_cast<T>(static_cast<Size>(at)) != at)
        fail_read(table_.shape, axis, static_cast<double>(at), reading_.at(lane));
      Size& place = each[static_cast<std::size_t>(lane)];
      place = place * table_.shape[axis] + static_cast<Size>(at);
    }
  }

  Lanes<T> spaced_values(const Places& places) const {
    const T* first = table_.data + places.first;
    const Size count = std::min(kLanes<T>, reading_.lanes);
    if (places.step == 0) return Lanes<T>(*first);
    if (places.step == 1) return load_n(first, count);
    if (places.step == -1 && count == kLanes<T>) return reverse(load(first - (kLanes<T> - 1)));
    T values[kLanes<T>] = {};
    for (Size lane = 0; lane < count; ++lane) values[lane] = first[lane * places.step];
    return load(static_cast<const T*>(values));
  }

  const Source<T>& table_;
  Reading<T>& reading_;
};

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
