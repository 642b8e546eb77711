// Pair scores in tiles of attention, from a user's lambda f: s_ij = Σ_u f(q_iu, k_ju, w_u …) over the components u of
// query and key, called units. The lanes hold units; derivatives come from dual numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/simd/attention/attention.hpp"
#include "core/simd/attention/dual.hpp"
#include "core/simd/attention/score_tiles.hpp"
#include "core/simd/horizontal.hpp"
#include "core/simd/matmul/blocks.hpp"
#include "core/simd/runtime/arch.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// A weight, one value per unit. Its values for head h start at data + h·head; its gradient starts at index `first`
/// among the gradients of all learned values.
template <class T>
struct UnitWeight {
  const T* data = nullptr;
  Size head = 0, first = 0;
};

/// Implements TilePairs with a lambda f(q, k, weights…) of N weights or, if kPlaces, f(q, k, position, weights…).
template <class T, class F, std::size_t N, bool kPlaces>
class LambdaPairs final : public TilePairs<T> {
 public:
  LambdaPairs(const F& f, const std::array<UnitWeight<T>, N>& weights, Size width, Size learned)
      : f_(f), weights_(weights), width_(width), learned_(learned) {}

  Size learned() const override { return learned_; }

  void forward(const ScoreTile<T>& tile, Tile<const T> query, Tile<const T> key) const override {
    each_pair(tile, [&](Size i, Size j) {
      const T *q = query.data + i * query.row, *k = key.data + j * key.row;
      Lanes<T> sum(T(0));
      const Place at = place_of(tile, i, j);
      each_unit([&](Size u, Size n) {
        const Lanes<T> term = value(inputs(q, k, tile.head, u, n), at, std::make_index_sequence<N>{});
        sum += n == kLanes<T> ? term : first_lanes(term, n);
      });
      tile.scores[i * kKeyTile + j] = reduce_add(sum);
    });
  }

  void backward(const ScoreTile<T>& tile, const T* d, Tile<const T> query, Tile<const T> key, Tile<T> d_query,
                Tile<T> d_key, double* learned) const override {
    // Gradients of learned values are summed over the pairs of a query in T, then over queries in f64, since a sum in
    // f32 over a long text loses digits.
    const Scratch<T> of_query(this->learned());
    const auto finish_query = [&] {
      for (Size w = 0; w < this->learned(); ++w)
        learned[w] += static_cast<double>(std::exchange(of_query.data()[w], T(0)));
    };
    std::fill_n(of_query.data(), this->learned(), T(0));
    Size query_before = 0;
    each_pair(tile, [&](Size i, Size j) {
      if (i != query_before) finish_query();
      query_before = i;
      const T change = d[i * kKeyTile + j];
      if (change == T(0)) return;
      const T *q = query.data + i * query.row, *k = key.data + j * key.row;
      const Place at = place_of(tile, i, j);
      each_unit([&](Size u, Size n) {
        const Inputs x = inputs(q, k, tile.head, u, n);
        const auto add = [&](std::size_t input, T* to) {
          const Lanes<T> slope = slope_of(x, at, input, std::make_index_sequence<N>{});
          store_n(to, fma(Lanes<T>(change), slope, load_n(static_cast<const T*>(to), n)), n);
        };
        add(0, d_query.data + i * d_query.row + u);
        add(1, d_key.data + j * d_key.row + u);
        for (std::size_t w = 0; w < N; ++w)
          add(2 + w, of_query.data() + weights_[w].first + tile.head * weights_[w].head + u);
      });
    });
    finish_query();
  }

 private:
  using Inputs = std::array<Lanes<T>, 2 + N>;
  using Place = At<WholeNumber, Lanes<T>>;

  static Place place_of(const ScoreTile<T>& tile, Size i, Size j) {
    return {{tile.batch}, {tile.head}, Lanes<T>(tile.first_query + i), Lanes<T>(tile.first_key + j)};
  }

  template <class Body>
  static void each_pair(const ScoreTile<T>& tile, const Body& body) {
    for (Size i = 0; i < tile.queries; ++i)
      for (Size j = 0; j < tile.keys; ++j)
        if (tile.live == nullptr || tile.live[i * kKeyTile + j]) body(i, j);
  }
  template <class Body>
  void each_unit(const Body& body) const {
    for (Size u = 0; u < width_; u += kLanes<T>) body(u, std::min(kLanes<T>, width_ - u));
  }
  Inputs inputs(const T* q, const T* k, Size head, Size u, Size n) const {
    Inputs x;
    x[0] = load_n(q + u, n);
    x[1] = load_n(k + u, n);
    for (std::size_t w = 0; w < N; ++w) x[2 + w] = load_n(weights_[w].data + head * weights_[w].head + u, n);
    return x;
  }
  /// Sets the lanes after the first n to 0: f of zeros need not be 0.
  static Lanes<T> first_lanes(Lanes<T> x, Size n) {
    T lanes[kLanes<T>] = {};
    store_n(lanes, x, n);
    return load(static_cast<const T*>(lanes));
  }

  template <class Number, class... Numbers>
  Number evaluate(const Place& at, Number q, Number k, Numbers... weights) const {
    if constexpr (kPlaces)
      return Number(f_(q, k, at, weights...));
    else
      return Number(f_(q, k, weights...));
  }
  template <std::size_t... W>
  Lanes<T> value(const Inputs& x, const Place& at, std::index_sequence<W...>) const {
    return evaluate(at, x[0], x[1], x[2 + W]...);
  }
  /// Returns ∂f / ∂(input number `input`). Inlined calls for several inputs share the computation of values.
  template <std::size_t... W>
  Lanes<T> slope_of(const Inputs& x, const Place& at, std::size_t input, std::index_sequence<W...>) const {
    const auto dual = [&](std::size_t i) { return Dual<T>(x[i], Lanes<T>(T(i == input ? 1 : 0))); };
    return evaluate(at, dual(0), dual(1), dual(2 + W)...).slope;
  }

  F f_;
  std::array<UnitWeight<T>, N> weights_;
  Size width_, learned_;
};

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
