// Measures the peak memory of a computation by sampling the bytes of the memory pool, from the tape and from inside
// attend().
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/attention/attend.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/tape/tape.hpp"

namespace tapestry::lesson25 {

/// Measures the peak memory from its construction on, and records the tiles that attend() computes. Use one thread.
struct MemoryProfiler {
  Size before = simd::pool_stats().in_use, most = before;
  /// The first query and key of each tile that attend() computed in forward.
  std::vector<std::array<Size, 2>> visited_tiles;

  Size tiles() const { return static_cast<Size>(visited_tiles.size()); }

  void sample() { most = std::max(most, simd::pool_stats().in_use); }
  /// Returns the peak memory beyond the memory in use at the start.
  double peak_mebibytes() const { return static_cast<double>(most - before) / (1 << 20); }

  /// Samples the memory after each op that is recorded, and whenever a gradient is complete.
  void follow(Tape& tape) {
    tape.on_value([this, &tape](const NodeInfo&, const Tensor& value) {
      sample();
      tape.on_gradient(value, [this](const Tensor&) {
        sample();
        return Tensor();  // keeps the gradient unchanged
      });
    });
  }
};

template <class T>
struct ProfiledTiles : simd::TileScore<T> {
  explicit ProfiledTiles(MemoryProfiler& profiler_in) : profiler(profiler_in) {}
  void forward(const simd::ScoreTile<T>& tile) const override {
    profiler.visited_tiles.push_back({tile.first_query, tile.first_key});
    profiler.sample();
  }
  void forward(const simd::ScoreTile<T>& tile, T* slopes) const override {
    std::fill_n(slopes, tile.queries * simd::kKeyTile, T(1));
    profiler.sample();
  }
  void backward(const simd::ScoreTile<T>&, const T*, simd::LearnedSums&) const override {}
  MemoryProfiler& profiler;
};

/// A score_mod that leaves all scores unchanged and samples the memory at each tile.
struct ProfiledScore : ScoreMod::Impl {
  explicit ProfiledScore(MemoryProfiler& profiler_in) : profiler(profiler_in) {}
  std::unique_ptr<simd::TileScore<float>> on_tiles(float, const std::vector<Tensor>&) const override {
    return std::make_unique<ProfiledTiles<float>>(profiler);
  }
  std::unique_ptr<simd::TileScore<double>> on_tiles(double, const std::vector<Tensor>&) const override {
    return std::make_unique<ProfiledTiles<double>>(profiler);
  }
  Tensor by_ops(const Tensor& scores, const std::vector<Tensor>&, const Mask&) const override {
    return scores;
  }
  MemoryProfiler& profiler;
};

inline ScoreMod profiled(MemoryProfiler& profiler) {
  return {std::make_shared<ProfiledScore>(profiler), {}, {}};
}

}  // namespace tapestry::lesson25
