#include "lessons/04_simd/packing.hpp"

namespace tapestry::lesson04 {

void Packed::copy(const float* from_a, const float* from_b, Size n, Size rows, Size wide) {
  a.resize(static_cast<std::size_t>(n * n));
  b.resize(static_cast<std::size_t>(n * n));
  float* to = a.data();
  for (Size i = 0; i < n; i += rows)
    for (Size p = 0; p < n; ++p)
      for (Size r = 0; r < rows; ++r) *to++ = from_a[(i + r) * n + p];
  to = b.data();
  for (Size j = 0; j < n; j += wide)
    for (Size p = 0; p < n; ++p, to += wide)
      for (Size v = 0; v < wide; v += kLanes) store(to + v, load(from_b + p * n + j + v));
}

}  // namespace tapestry::lesson04
