// What benchmarks compute on: leaves with random values, and ids.
#pragma once

#include <vector>

#include "core/core.hpp"

namespace tapestry::bench {

inline Tensor random(const Dims& shape, std::uint64_t seed = 1) { return random_normal(shape, seed); }
inline Tensor leaf(const Dims& shape, std::uint64_t seed = 1) { return variable(random(shape, seed)); }

/// Ids from `first` to n − 1, the same every time.
inline Indices random_ids(const Dims& shape, Size n, std::uint64_t seed = 1, Size first = 0) {
  const Stream stream(seed, 3);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = first + static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(n - first), i));
  return Indices(ids, shape);
}

}  // namespace tapestry::bench
