// Copies two matrices into the order in which a tile reads them.
#pragma once

#include "lessons/04_simd/registers.hpp"

namespace tapestry::lesson04 {

/// A panel of a contains `rows` rows: their numbers for p = 0, then for p = 1, and so on. A panel of b contains `wide`
/// columns in the same way. The panel of a that starts with row i is at a[i·n], and the panel of b that starts with
/// column j is at b[j·n].
struct Packed {
  Floats a, b;
  /// Packs a and b, each n × n. n must be a multiple of `rows` and of `wide`, and `wide` a multiple of kLanes.
  void copy(const float* from_a, const float* from_b, Size n, Size rows, Size wide);
};

}  // namespace tapestry::lesson04
