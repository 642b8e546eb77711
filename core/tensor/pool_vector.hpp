// A vector whose memory comes from the buffer pool: for the lists that every training step makes and drops.
#pragma once

#include <vector>

#include "core/simd/runtime/memory.hpp"

namespace tapestry {

template <class T>
using PoolVector = std::vector<T, simd::PoolAllocator<T>>;

}  // namespace tapestry
