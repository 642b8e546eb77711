// What the thread pool asks of the system: to sleep until a word changes, which processors there are, to stay on
// one of them. core/simd/runtime/threads.cpp alone uses it, so what it calls is static.
//
// Linux has all of it. Elsewhere sleeping is the standard library's, and nobody is pinned. A WebAssembly module
// without threads has one processor, and nobody who could sleep.
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

/// Tells the processor that this is a loop that waits.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

#ifdef __linux__

/// Sleeps while `word` is `seen`; may return early.
static void sleep_on(std::atomic<Word>& word, Word seen) {
  syscall(SYS_futex, reinterpret_cast<Word*>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
/// Wakes all who sleep on `word`.
static void wake_all(std::atomic<Word>& word) {
  syscall(SYS_futex, reinterpret_cast<Word*>(&word), FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(),
          nullptr, nullptr, 0);
}

/// The processors that this process may run on, at least one.
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
/// Keeps the thread on that processor. A refusal costs only speed.
inline void stay_on(std::thread& thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof set, &set);
}
/// Where the caller runs; negative where that is not known.
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
