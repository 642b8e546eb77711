// How fast each level of memory is.
#pragma once

#include <vector>

#include "lessons/04_simd/registers.hpp"
#include "lessons/kit/program/stopwatch.hpp"

namespace tapestry::lesson04 {

using kit::Timed;  // what one run does (in billions), the run, and its best speed so far (billions a second)

/// One level of memory, measured on so many floats: they fit into it, and not into the level above. It moves
/// more when it is also written to, so the better of both is what it can do. In bytes.
struct Level {
  const char* name;
  Timed read, update;
  double bandwidth() const;
};

/// The first cache, the second, and memory.
class Memory {
 public:
  explicit Memory(bool smoke);
  std::vector<Level>& levels() { return levels_; }
  /// The speed of y ← y + f·x where every byte comes from memory, in operations.
  double long_update() const { return levels_.back().update.best / 6; }

 private:
  Floats x_, y_;
  std::vector<Level> levels_;
};

}  // namespace tapestry::lesson04
