// A learner's lambda of one unit of query and key in the tiles of attention: s_ij = Σ_u f(q_iu, k_ju, w_u …).
// Units lie on the lanes; the derivatives come from duals.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/simd/arch.hpp"
#include "core/simd/attention.hpp"
#include "core/simd/dual.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// f gets the unit's q, k and N weights.
template <class T, class F, std::size_t N>
class LambdaPairs final : public TilePairs<T> {
 public:
  /// Each weight points to `width` numbers.
  LambdaPairs(const F& f, const std::array<const T*, N>& weights, Size width)
      : f_(f), weights_(weights), width_(width) {}

  Size learned() const override { return static_cast<Size>(N) * width_; }

  void forward(const ScoreTile<T>& tile, Tile<const T> query, Tile<const T> key) const override {
    each_pair(tile, [&](Size i, Size j) {
      const T *q = query.data + i * query.row, *k = key.data + j * key.row;
      Batch<T> sum(T(0));
      each_unit([&](Size u, Size n) {
        const Batch<T> term = value(inputs(q, k, u, n), std::make_index_sequence<N>{});
        sum += n == kLanes<T> ? term : first_lanes(term, n);
      });
      tile.scores[i * kKeyTile + j] = reduce_add(sum);
    });
  }

  void backward(const ScoreTile<T>& tile, const T* d, Tile<const T> query, Tile<const T> key, Tile<T> d_query,
                Tile<T> d_key, T* learned) const override {
    each_pair(tile, [&](Size i, Size j) {
      const T change = d[i * kKeyTile + j];
      if (change == T(0)) return;
      const T *q = query.data + i * query.row, *k = key.data + j * key.row;
      each_unit([&](Size u, Size n) {
        const Inputs x = inputs(q, k, u, n);
        const auto add = [&](std::size_t input, T* to) {
          const Batch<T> slope = slope_of(x, input, std::make_index_sequence<N>{});
          store_n(to, fma(Batch<T>(change), slope, load_n(static_cast<const T*>(to), n)), n);
        };
        add(0, d_query.data + i * d_query.row + u);
        add(1, d_key.data + j * d_key.row + u);
        for (std::size_t w = 0; w < N; ++w) add(2 + w, learned + static_cast<Size>(w) * width_ + u);
      });
    });
  }

 private:
  using Inputs = std::array<Batch<T>, 2 + N>;

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
  Inputs inputs(const T* q, const T* k, Size u, Size n) const {
    Inputs x;
    x[0] = load_n(q + u, n);
    x[1] = load_n(k + u, n);
    for (std::size_t w = 0; w < N; ++w) x[2 + w] = load_n(weights_[w] + u, n);
    return x;
  }
  /// The lanes behind the first n as 0: a lambda of zeros need not be 0.
  static Batch<T> first_lanes(Batch<T> x, Size n) {
    T lanes[kLanes<T>] = {};
    store_n(lanes, x, n);
    return load(static_cast<const T*>(lanes));
  }

  template <std::size_t... W>
  Batch<T> value(const Inputs& x, std::index_sequence<W...>) const {
    return Batch<T>(f_(x[0], x[1], x[2 + W]...));
  }
  /// ∂f / ∂(input number `input`). The compiler sees that the inputs' values are the same each time.
  template <std::size_t... W>
  Batch<T> slope_of(const Inputs& x, std::size_t input, std::index_sequence<W...>) const {
    const auto dual = [&](std::size_t i) { return Dual<T>(x[i], Batch<T>(T(i == input ? 1 : 0))); };
    return Dual<T>(f_(dual(0), dual(1), dual(2 + W)...)).slope;
  }

  F f_;
  std::array<const T*, N> weights_;
  Size width_;
};

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
