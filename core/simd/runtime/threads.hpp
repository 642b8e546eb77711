// Thread pool: fork, run fixed chunks, join. Results never depend on which thread runs which chunk.
//
// The caller cuts the work into chunks by shape alone; the pool only assigns chunks to threads. Each thread starts in
// a contiguous share, so that a core finds the same rows in its cache from one call to the next, and then helps the
// others. The caller never waits for a sleeping thread: it can finish every chunk alone.
#pragma once

#include <algorithm>

#include "core/simd/view.hpp"

namespace tapestry::simd {

/// Largest number of threads.
inline constexpr int kMaxThreads = 256;

/// Returns the number of threads that share the work, including the caller. The first use reads TAPESTRY_THREADS or,
/// if that is unset, counts the processors that the process may run on. If the system cannot create all threads, the
/// pool has fewer, and says so once on standard error. Throws std::runtime_error if TAPESTRY_THREADS is not a number
/// from 1 to kMaxThreads.
int thread_count();

/// Sets the number of threads, from 1 to kMaxThreads. It may exceed the number of processors (no thread spins then),
/// and is lower if the system cannot create all threads. Waits for work under way in other threads. Throws
/// std::invalid_argument outside that range, and std::logic_error inside a parallel region.
void set_thread_count(int threads);

/// Number of ranges of `grain` elements (the last may be shorter) that cover n.
constexpr Size chunks_for(Size n, Size grain) { return n <= 0 ? 0 : (n - 1) / grain + 1; }

namespace detail {
using ChunkBody = void (*)(const void* context, Size chunk);
void run_chunks(Size chunks, ChunkBody body, const void* context);
}  // namespace detail

/// Runs body(chunk) for chunk = 0 … chunks - 1, each once, in any order, and returns when all are done. Does not
/// allocate. Costs well under a microsecond when the pool is warm, so a chunk should take two microseconds or more.
///
/// Inside a chunk, and while another thread uses the pool, the chunks run one after the other on the calling thread.
/// If chunks throw, the exception of the lowest chunk is rethrown here once all threads have stopped; the pool stays
/// usable. Chunks after one that threw may be skipped.
template <class F>
void parallel_for(Size chunks, const F& body) {
  if (chunks == 1) {
    body(Size{0});
  } else if (chunks > 1) {
    detail::run_chunks(
        chunks, [](const void* context, Size chunk) { (*static_cast<const F*>(context))(chunk); }, &body);
  }
}

/// Maximum number of ranges of parallel_ranges: starting the loops of a range costs about 30 ns.
inline constexpr Size kMostRanges = 128;

/// Runs body(begin, end) over 0 … n in ranges of a multiple of `grain` elements; the last may be shorter. The ranges
/// depend on n and grain alone. Choose a grain of a few microseconds of work that is a multiple of the SIMD width.
template <class F>
void parallel_ranges(Size n, Size grain, const F& body) {
  grain *= std::max(Size{1}, chunks_for(chunks_for(n, grain), kMostRanges));
  parallel_for(chunks_for(n, grain), [&](Size chunk) {
    const Size begin = chunk * grain;
    body(begin, std::min(begin + grain, n));
  });
}

}  // namespace tapestry::simd
