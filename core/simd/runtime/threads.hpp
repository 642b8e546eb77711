// The thread pool: fork, run fixed chunks, join. What runs where never shows in the results.
//
// The caller cuts the work into chunks by shape alone; the pool only decides who runs which chunk. Each
// thread starts in its own contiguous share, so that the same rows meet the same core's cache from one call
// to the next, and then helps the others. Nobody waits for a thread that sleeps: the caller can finish every
// chunk alone.
#pragma once

#include <algorithm>

#include "core/simd/view.hpp"

namespace tapestry::simd {

/// The largest number of threads that may be asked for.
inline constexpr int kMaxThreads = 256;

/// How many threads share the work, the caller included. The first use reads TAPESTRY_THREADS and, where that
/// is unset, counts the processors that the process may run on. Where the system makes no more threads, there
/// are fewer, and the first time a line on standard error says so. Throws std::runtime_error when
/// TAPESTRY_THREADS is not a number from 1 to kMaxThreads.
int thread_count();

/// Changes the number of threads, from 1 to kMaxThreads (more than there are processors is legal: nobody
/// spins then; fewer where the system makes no more). Waits for work under way in other threads. Throws
/// std::invalid_argument out of that range, and std::logic_error inside a parallel region.
void set_thread_count(int threads);

/// The number of ranges of `grain` elements (the last may be shorter) that cover n.
constexpr Size chunks_for(Size n, Size grain) { return n <= 0 ? 0 : (n - 1) / grain + 1; }

namespace detail {
using ChunkBody = void (*)(const void* context, Size chunk);
void run_chunks(Size chunks, ChunkBody body, const void* context);
}  // namespace detail

/// Runs body(chunk) for chunk = 0 … chunks - 1, each once, in any order, and returns when all are done.
/// Allocates nothing. Costs well under a microsecond when the pool is warm, so a chunk should be worth two
/// or more.
///
/// Inside a chunk, and while another thread has the pool, the chunks run one after the other on the calling
/// thread. When chunks throw, the exception of the first one by index is rethrown here once all threads have
/// stopped; the pool stays usable. Chunks after one that threw may be left out.
template <class F>
void parallel_for(Size chunks, const F& body) {
  if (chunks == 1) {
    body(Size{0});
  } else if (chunks > 1) {
    detail::run_chunks(
        chunks, [](const void* context, Size chunk) { (*static_cast<const F*>(context))(chunk); }, &body);
  }
}

/// Into how many ranges parallel_ranges cuts at most: each starts its loops anew, some 30 ns of it.
inline constexpr Size kMostRanges = 128;

/// Runs body(begin, end) over 0 … n in ranges of a multiple of `grain` elements, the last may be shorter. The
/// ranges depend on n and grain alone; choose a grain of some microseconds of work (and a multiple of the
/// SIMD width).
template <class F>
void parallel_ranges(Size n, Size grain, const F& body) {
  grain *= std::max(Size{1}, chunks_for(chunks_for(n, grain), kMostRanges));
  parallel_for(chunks_for(n, grain), [&](Size chunk) {
    const Size begin = chunk * grain;
    body(begin, std::min(begin + grain, n));
  });
}

}  // namespace tapestry::simd
