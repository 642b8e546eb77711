// Thread pool of parallel_for: pinned workers that spin briefly and then sleep, and a gate that admits them.
//
// The whole protocol is gate_, one 32-bit word: | open | caller sleeps | generation | workers inside |. The caller
// writes the job and opens the gate. A worker that sees a new generation enters by incrementing the count, and
// decrements it when no chunk is left. The caller works too, then closes the gate and waits until no worker is inside.
// A worker that comes late finds the gate closed, and the caller does not wait for it.
#include "core/simd/runtime/threads.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/simd/runtime/system.hpp"

namespace tapestry::simd {
namespace {

using detail::Word, detail::sleep_on, detail::wake_all, detail::allowed_cpus;
constexpr Word kInside = 0xffff, kGeneration = 0x3fff0000, kNextGeneration = 0x10000;
constexpr Word kCallerSleeps = 0x40000000, kOpen = 0x80000000;
constexpr auto kSpin = std::chrono::milliseconds(1);

thread_local bool t_inside = false;

struct InsideRegion {
  InsideRegion() : outer(std::exchange(t_inside, true)) {}
  ~InsideRegion() { t_inside = outer; }
  bool outer;
};

int threads_from_environment(std::size_t cpus) {
  const char* text = std::getenv("TAPESTRY_THREADS");
  if (text == nullptr || *text == '\0') return static_cast<int>(std::min<std::size_t>(cpus, kMaxThreads));
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  if (errno != 0 || *end != '\0' || value < 1 || value > kMaxThreads) {
    throw std::runtime_error("TAPESTRY_THREADS=\"" + std::string(text) + "\" must be a number from 1 to " +
                             std::to_string(kMaxThreads) + "; unset it to use every processor");
  }
  return static_cast<int>(value);
}

class Pool {
 public:
  int threads() {
    const int threads = threads_.load(std::memory_order_acquire);
    return threads != 0 ? threads : start();
  }

  void resize(int threads) {
    const Reserve reserve(busy_);
    stop_workers();
    start_workers(threads);
  }

  /// Stops the workers at exit; kernels that still run then use their calling thread alone.
  void shut_down() {
    if (t_inside) return;  // a chunk called exit
    const Reserve reserve(busy_);
    stop_workers();
    threads_.store(1, std::memory_order_release);
  }

  void run(Size chunks, detail::ChunkBody body, const void* context) {
    if (threads() == 1 || t_inside) return run_alone(chunks, body, context);
    if (busy_.exchange(true, std::memory_order_acquire)) {
      // Two user threads and the workers may outnumber the cores, so no thread spins in the meantime.
      const Other other(others_);
      return run_alone(chunks, body, context);
    }
    run_together(chunks, body, context);
    std::exception_ptr error = std::move(error_);
    error_ = nullptr;
    busy_.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
  }

 private:
  /// One thread's share of the chunks; other threads take from it when they have finished theirs.
  struct alignas(64) Share {
    std::atomic<Size> next{0};
    Size end = 0;
  };

  struct Worker {
    std::thread thread;
    int cpu;  // the processor it is pinned to, or -1
  };

  /// Counts a caller that found the pool in use.
  struct Other {
    explicit Other(std::atomic<int>& counter) : count(counter) {
      count.fetch_add(1, std::memory_order_relaxed);
    }
    ~Other() { count.fetch_sub(1, std::memory_order_relaxed); }
    std::atomic<int>& count;
  };

  /// Locks the pool against all other callers.
  struct Reserve {
    explicit Reserve(std::atomic<bool>& flag) : busy(flag) {
      while (busy.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    }
    ~Reserve() { busy.store(false, std::memory_order_release); }
    std::atomic<bool>& busy;
  };

  int start() {
    const Reserve reserve(busy_);
    if (threads_.load(std::memory_order_relaxed) == 0) {
      start_workers(threads_from_environment(allowed_cpus().size()));
    }
    return threads_.load(std::memory_order_relaxed);
  }

  void start_workers(int threads) {
    cpus_ = allowed_cpus();
    may_spin_.store(static_cast<std::size_t>(threads) <= cpus_.size(), std::memory_order_relaxed);
    stopping_.store(false, std::memory_order_relaxed);
    owner_ = getpid();
    workers_.reserve(static_cast<std::size_t>(threads - 1));
    shares_ = std::vector<Share>(static_cast<std::size_t>(threads));
    const Word generation = gate_.load(std::memory_order_relaxed) & kGeneration;
    const bool pin = may_spin();
    for (std::size_t i = 1; i < shares_.size(); ++i) {
      try {
        workers_.push_back({std::thread([this, i, generation] { work(i, generation); }), -1});
      } catch (const std::system_error& error) {
        settle_for(static_cast<int>(i), threads, error);
        break;
      }
      if (pin) pin_worker(workers_.back(), cpus_[i]);
    }
    threads_.store(static_cast<int>(shares_.size()), std::memory_order_release);
  }

  /// Continues with the threads that exist when the system cannot create more. Workers read the shares only after the
  /// gate is opened, so they may be replaced here.
  void settle_for(int threads, int wanted, const std::system_error& error) {
    shares_ = std::vector<Share>(static_cast<std::size_t>(threads));
    if (std::exchange(told_, true)) return;
    std::fprintf(
        stderr,
        "tapestry: the system cannot create more threads (%s): running on %d thread%s instead of %d\n",
        error.code().message().c_str(), threads, threads == 1 ? "" : "s", wanted);
  }

  void stop_workers() {
    stopping_.store(true, std::memory_order_relaxed);
    gate_.store((gate_.load(std::memory_order_relaxed) + kNextGeneration) & kGeneration);
    wake_all(gate_);
    for (Worker& worker : workers_) {
      // After a fork the child has the handles, but no threads to join.
      owner_ == getpid() ? worker.thread.join() : worker.thread.detach();
    }
    workers_.clear();
  }

  bool may_spin() const {
    return may_spin_.load(std::memory_order_relaxed) && others_.load(std::memory_order_relaxed) == 0;
  }

  /// Spins until done(). Returns false after kSpin, or at once if spinning would take a core from another thread.
  template <class Done>
  bool spin_until(const Done& done) const {
    const auto start = std::chrono::steady_clock::now();
    while (may_spin() && std::chrono::steady_clock::now() - start < kSpin) {
      for (int i = 0; i < 64; ++i) {
        if (done()) return true;
        detail::pause();
      }
    }
    return false;
  }

  static void pin_worker(Worker& worker, int cpu) {
    detail::stay_on(worker.thread, cpu);
    worker.cpu = cpu;
  }

  /// Moves a worker off the caller's core. The pool never pins the caller, so the system may move it onto a worker's.
  void make_room_for_caller() {
    const int here = detail::this_cpu();
    for (Worker& worker : workers_) {
      if (worker.cpu != here || here < 0) continue;
      for (int cpu : cpus_) {
        const bool taken =
            std::any_of(workers_.begin(), workers_.end(), [&](const Worker& w) { return w.cpu == cpu; });
        if (!taken) return pin_worker(worker, cpu);
      }
    }
  }

  static void run_alone(Size chunks, detail::ChunkBody body, const void* context) {
    const InsideRegion inside;
    for (Size chunk = 0; chunk < chunks; ++chunk) body(context, chunk);
  }

  void run_together(Size chunks, detail::ChunkBody body, const void* context) {
    if (may_spin_.load(std::memory_order_relaxed)) make_room_for_caller();
    body_ = body;
    context_ = context;
    failed_.store(chunks, std::memory_order_relaxed);
    const Size threads = static_cast<Size>(shares_.size());
    for (Size i = 0; i < threads; ++i) {
      Share& share = shares_[static_cast<std::size_t>(i)];
      share.next.store(chunks / threads * i + std::min(i, chunks % threads), std::memory_order_relaxed);
      share.end = chunks / threads * (i + 1) + std::min(i + 1, chunks % threads);
    }
    const Word generation = (gate_.load(std::memory_order_relaxed) + kNextGeneration) & kGeneration;
    gate_.store(generation | kOpen);
    if (sleepers_.load() > 0) wake_all(gate_);

    take_chunks(0);

    gate_.fetch_and(~kOpen, std::memory_order_relaxed);
    const auto empty = [this] { return (gate_.load(std::memory_order_acquire) & kInside) == 0; };
    if (empty() || spin_until(empty)) return;
    Word seen = gate_.fetch_or(kCallerSleeps, std::memory_order_acquire) | kCallerSleeps;
    while ((seen & kInside) != 0) {
      sleep_on(gate_, seen);
      seen = gate_.load(std::memory_order_acquire);
    }
  }

  void work(std::size_t self, Word seen_generation) {
    for (;;) {
      Word gate = 0;
      const auto news = [&] {
        gate = gate_.load();
        return (gate & kGeneration) != seen_generation || stopping_.load(std::memory_order_relaxed);
      };
      if (!news() && !spin_until(news)) {
        sleepers_.fetch_add(1);  // then check again: the caller opens the gate before it reads sleepers_
        while (!news()) sleep_on(gate_, gate);
        sleepers_.fetch_sub(1);
      }
      if (stopping_.load(std::memory_order_relaxed)) return;
      seen_generation = gate & kGeneration;
      while ((gate & kOpen) != 0) {
        if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire)) {
          seen_generation = gate & kGeneration;
          take_chunks(self);
          const Word before = gate_.fetch_sub(1, std::memory_order_release);
          if ((before & kCallerSleeps) != 0 && (before & kInside) == 1) wake_all(gate_);
          break;
        }
      }
    }
  }

  void take_chunks(std::size_t self) {
    const InsideRegion inside;
    const std::size_t threads = shares_.size();
    for (std::size_t i = 0; i < threads; ++i) {
      Share& share = shares_[(self + i) % threads];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const Size chunk = share.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= share.end) break;
        if (chunk > failed_.load(std::memory_order_relaxed)) continue;
        try {
          body_(context_, chunk);
        } catch (...) {
          const std::lock_guard lock(error_mutex_);
          if (chunk < failed_.load(std::memory_order_relaxed)) {
            failed_.store(chunk, std::memory_order_relaxed);
            error_ = std::current_exception();
          }
        }
      }
    }
  }

  alignas(64) std::atomic<Word> gate_{0};
  alignas(64) detail::ChunkBody body_ = nullptr;
  const void* context_ = nullptr;
  std::atomic<Size> failed_{0};  // the lowest chunk that threw so far
  std::vector<Share> shares_;
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<int> threads_{0};  // 0 before the first use
  std::atomic<int> others_{0};   // callers that found the pool in use
  std::atomic<int> sleepers_{0};
  std::atomic<bool> may_spin_{false}, stopping_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<Worker> workers_;
  std::vector<int> cpus_;
  pid_t owner_ = 0;
  bool told_ = false;  // the warning about fewer threads was printed
};

/// The pool. It is never destroyed, so that static destructors may still run kernels; only its threads end, at exit.
Pool& pool() {
  static Pool* const instance = new Pool;
  static const struct AtExit {
    ~AtExit() { instance->shut_down(); }
  } at_exit;
  return *instance;
}

}  // namespace

int thread_count() { return pool().threads(); }

void set_thread_count(int threads) {
  if (threads < 1 || threads > kMaxThreads) {
    throw std::invalid_argument("set_thread_count(" + std::to_string(threads) +
                                "): the count must be from 1 to " + std::to_string(kMaxThreads));
  }
  if (t_inside) throw std::logic_error("set_thread_count must be called outside parallel regions");
  pool().resize(threads);
}

void detail::run_chunks(Size chunks, ChunkBody body, const void* context) {
  pool().run(chunks, body, context);
}

}  // namespace tapestry::simd
