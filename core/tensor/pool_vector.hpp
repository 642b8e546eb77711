// A vector whose memory comes from the buffer pool: for the lists that every training step makes and drops.
#pragma once

#include <vector>

#include "core/simd/runtime/memory.hpp"

namespace tapestry {

/// A std::vector whose memory is the pool's (core/simd/runtime/memory.hpp).
template <class T>
using PoolVector = std::vector<T, simd::PoolAllocator<T>>;

}  // namespace tapestry
