// PoolVector: a vector with memory from the buffer pool, for lists that each training step creates and frees.
#pragma once

#include <vector>

#include "core/simd/runtime/memory.hpp"

namespace tapestry {

/// A std::vector that allocates from the pool (core/simd/runtime/memory.hpp).
template <class T>
using PoolVector = std::vector<T, simd::PoolAllocator<T>>;

}  // namespace tapestry
