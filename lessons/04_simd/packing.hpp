// Two matrices in the order in which a tile reads them.
#pragma once

#include "lessons/04_simd/registers.hpp"

namespace tapestry::lesson04 {

/// Panels of a: for each `rows` rows their numbers for p = 0, for p = 1, … Panels of b: for each `wide`
/// columns theirs for p = 0, for p = 1, … The panel of a that begins with row i stands at a[i·n], that of b
/// with column j at b[j·n].
struct Packed {
  Floats a, b;
  /// Of a and b, each n × n; n is a multiple of `rows` and `wide`, and `wide` of kLanes.
  void copy(const float* from_a, const float* from_b, Size n, Size rows, Size wide);
};

}  // namespace tapestry::lesson04
