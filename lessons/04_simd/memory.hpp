// Measures the bandwidth of each level of memory.
#pragma once

#include <vector>

#include "lessons/04_simd/registers.hpp"
#include "lessons/kit/program/stopwatch.hpp"

namespace tapestry::lesson04 {

using kit::Timed;  // one run, its work in billions, and its best speed so far in billions per second

/// One level of memory. It is measured on a number of floats that fit into this level, but not into the faster one.
/// Writing as well as reading can move more bytes, so the bandwidth is the better of both results, in bytes.
struct Level {
  const char* name;
  Timed read, update;
  double bandwidth() const;
};

/// The first cache, the second cache, and memory.
class Memory {
 public:
  explicit Memory(bool smoke);
  std::vector<Level>& levels() { return levels_; }
  /// Returns the speed of y ← y + f·x, in operations, if every byte comes from memory.
  double long_update() const { return levels_.back().update.best / 6; }

 private:
  Floats x_, y_;
  std::vector<Level> levels_;
};

}  // namespace tapestry::lesson04
