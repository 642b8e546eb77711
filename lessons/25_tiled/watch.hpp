// Measures the peak memory of a computation. It samples the bytes of the memory pool from the tape and from
// inside attend().
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/attention/attend.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/tape/tape.hpp"

namespace tapestry::lesson25 {

/// Measures from its construction on. Use one thread.
struct Watch {
  Size before = simd::pool_stats().in_use, most = before;
  std::vector<std::array<Size, 2>>
      visited;  ///< the first query and key of each tile that attend() computed in forward

  Size tiles() const { return static_cast<Size>(visited.size()); }

  void look() { most = std::max(most, simd::pool_stats().in_use); }
  /// Returns the peak memory beyond the memory in use at the start.
  double mebibytes() const { return static_cast<double>(most - before) / (1 << 20); }

  /// Samples the memory after each op that is recorded, and whenever a gradient is complete.
  void follow(Tape& tape) {
    tape.on_value([this, &tape](const NodeInfo&, const Tensor& value) {
      look();
      tape.on_gradient(value, [this](const Tensor&) {
        look();
        return Tensor();  // keeps the gradient unchanged
      });
    });
  }
};

template <class T>
struct WatchedTiles : simd::TileScore<T> {
  explicit WatchedTiles(Watch& watch_in) : watch(watch_in) {}
  void forward(const simd::ScoreTile<T>& tile) const override {
    watch.visited.push_back({tile.first_query, tile.first_key});
    watch.look();
  }
  void forward(const simd::ScoreTile<T>& tile, T* slopes) const override {
    std::fill_n(slopes, tile.queries * simd::kKeyTile, T(1));
    watch.look();
  }
  void backward(const simd::ScoreTile<T>&, const T*, simd::LearnedSums&) const override {}
  Watch& watch;
};

/// A score that leaves all scores unchanged, and samples the memory at each tile.
struct WatchedScore : ScoreMod::Form {
  explicit WatchedScore(Watch& watch_in) : watch(watch_in) {}
  std::unique_ptr<simd::TileScore<float>> on_tiles(float, const std::vector<Tensor>&) const override {
    return std::make_unique<WatchedTiles<float>>(watch);
  }
  std::unique_ptr<simd::TileScore<double>> on_tiles(double, const std::vector<Tensor>&) const override {
    return std::make_unique<WatchedTiles<double>>(watch);
  }
  Tensor by_ops(const Tensor& scores, const std::vector<Tensor>&, const Mask&) const override {
    return scores;
  }
  Watch& watch;
};

inline ScoreMod watched(Watch& watch) { return {std::make_shared<WatchedScore>(watch), {}, {}}; }

}  // namespace tapestry::lesson25
