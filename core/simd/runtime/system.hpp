// System services for the thread pool: sleeping until a word changes, the list of processors, and pinning a thread to
// one. Used only by core/simd/runtime/threads.cpp, so its functions are static.
//
// Linux has all of them. Other systems sleep through the standard library and pin no threads. A WebAssembly module
// without threads has one processor and never sleeps.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#ifdef __linux__
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include <limits>
#endif

namespace tapestry::simd::detail {

using Word = std::uint32_t;

/// Tells the processor that this is a spin loop.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

#ifdef __linux__

/// Sleeps while `word` equals `seen`; may return early.
static void sleep_on(std::atomic<Word>& word, Word seen) {
  syscall(SYS_futex, reinterpret_cast<Word*>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
/// Wakes all threads that sleep on `word`.
static void wake_all(std::atomic<Word>& word) {
  syscall(SYS_futex, reinterpret_cast<Word*>(&word), FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(),
          nullptr, nullptr, 0);
}

/// Returns the processors that this process may run on, at least one.
static std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(getpid(), sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}
/// Pins the thread to processor `cpu`. A failure is ignored, since it costs only speed.
inline void stay_on(std::thread& thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof set, &set);
}
/// Returns the processor that runs the caller, or a negative number if it is unknown.
inline int this_cpu() { return sched_getcpu(); }

#else

static std::vector<int> allowed_cpus() {
  std::vector<int> cpus{0};
  for (unsigned cpu = 1; cpu < std::thread::hardware_concurrency(); ++cpu)
    cpus.push_back(static_cast<int>(cpu));
  return cpus;
}
inline void stay_on(std::thread&, int) {}
inline int this_cpu() { return -1; }

#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
static void sleep_on(std::atomic<Word>&, Word) {}
static void wake_all(std::atomic<Word>&) {}
#else
static void sleep_on(std::atomic<Word>& word, Word seen) { word.wait(seen, std::memory_order_relaxed); }
static void wake_all(std::atomic<Word>& word) { word.notify_all(); }
#endif

#endif

}  // namespace tapestry::simd::detail
