// The pool: every chunk once, exceptions, nesting, several callers, changes of size, the environment
// variable.
#include "core/simd/runtime/threads.hpp"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "tests/threads.hpp"

using namespace tapestry;
using namespace tapestry::simd;
using test::Threads;

namespace {

std::vector<int> visits(Size chunks) {
  std::vector<std::atomic<int>> counts(static_cast<std::size_t>(chunks));
  parallel_for(chunks, [&](Size chunk) { ++counts[static_cast<std::size_t>(chunk)]; });
  return {counts.begin(), counts.end()};
}

}  // namespace

TEST_CASE("parallel_for runs every chunk once", "[threads]") {
  for (int threads : {1, 2, 3, 4, 7}) {
    const Threads scope(threads);
    CHECK(thread_count() == threads);
    for (Size chunks : {0, 1, 2, 3, 5, 64, 1000}) {
      CAPTURE(threads, chunks);
      CHECK(visits(chunks) == std::vector<int>(static_cast<std::size_t>(chunks), 1));
    }
  }
}

TEST_CASE("thousands of short regions, and regions after a long pause", "[threads]") {
  const Threads scope(2);
  std::atomic<Size> sum{0};
  for (int i = 0; i < 20000; ++i) parallel_for(3, [&](Size chunk) { sum += chunk; });
  CHECK(sum == 60000);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than the workers spin
    parallel_for(4, [&](Size chunk) { sum += chunk; });
  }
  CHECK(sum == 60120);
}

TEST_CASE("several threads share one region", "[threads]") {
  const Threads scope(2);
  std::atomic<int> arrived{0};
  parallel_for(2, [&](Size) {
    ++arrived;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  });
  CHECK(arrived == 2);
  // Each chunk waited for the other: only two threads at once can have met.
}

TEST_CASE("parallel_ranges covers n with ranges that depend on n and grain alone", "[threads]") {
  for (int threads : {1, 2, 4}) {
    const Threads scope(threads);
    for (Size n : {0, 1, 15, 16, 17, 160, 161}) {
      std::vector<Size> ends(static_cast<std::size_t>(chunks_for(n, 16)));
      parallel_ranges(n, 16, [&](Size begin, Size end) {
        if (begin % 16 == 0) ends[static_cast<std::size_t>(begin / 16)] = end;
      });
      for (std::size_t i = 0; i < ends.size(); ++i) {
        CHECK(ends[i] == std::min<Size>(n, static_cast<Size>(i + 1) * 16));
      }
    }
  }
}

TEST_CASE("parallel_ranges cuts large n into a few ranges of whole grains", "[threads]") {
  for (int threads : {1, 2, 4}) {
    const Threads scope(threads);
    for (Size n : {16 * kMostRanges, 16 * kMostRanges + 1, Size{100'003}}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
      std::atomic<Size> ranges{0}, ragged{0};
      parallel_ranges(n, 16, [&](Size begin, Size end) {
        ++ranges;
        if (begin % 16 != 0 || (end % 16 != 0 && end != n)) ++ragged;
        for (Size i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      CHECK(ranges > kMostRanges / 2);
      CHECK(ranges <= kMostRanges);
      CHECK(ragged == 0);
      CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& count) { return count == 1; }));
    }
  }
}

TEST_CASE("the first exception by index reaches the caller and the pool goes on", "[threads]") {
  for (int threads : {1, 2, 4}) {
    const Threads scope(threads);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> inside{0};
      std::atomic<bool> later{false};
      std::string what;
      try {
        parallel_for(64, [&](Size chunk) {
          ++inside;
          const bool bad = chunk == 17 || chunk == 40 || chunk == 63;
          if (chunk == 40) later = true;
          // The first by index comes after a later one, where there is a thread for that; asleep, so that
          // what else the machine does is not waited for at every step.
          for (int wait = 0; chunk == 17 && threads > 1 && !later && wait < 50; ++wait)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
          --inside;
          if (bad) throw std::runtime_error(std::to_string(chunk));
        });
      } catch (const std::runtime_error& error) {
        what = error.what();
      }
      CHECK(what == "17");
      CHECK(inside == 0);
    }
    CHECK(visits(100) == std::vector<int>(100, 1));
  }
}

TEST_CASE("a nested region runs inline and in order", "[threads]") {
  const Threads scope(4);
  std::atomic<int> wrong{0};
  parallel_for(8, [&](Size) {
    const auto self = std::this_thread::get_id();
    Size expected = 0;
    parallel_for(16, [&](Size chunk) {
      if (std::this_thread::get_id() != self || chunk != expected++) ++wrong;
    });
    if (expected != 16) ++wrong;
  });
  CHECK(wrong == 0);
  CHECK(visits(10) == std::vector<int>(10, 1));
}

TEST_CASE("user threads call at the same time, while another resizes the pool", "[threads]") {
  const Threads scope(3);
  std::atomic<Size> sum{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 3; ++user) {
    users.emplace_back([&] {
      for (int i = 0; i < 300; ++i) parallel_for(5, [&](Size chunk) { sum += chunk; });
    });
  }
  users.emplace_back([] {
    for (int i = 0; i < 20; ++i) set_thread_count(1 + i % 4);
  });
  for (std::thread& user : users) user.join();
  CHECK(sum == 3 * 300 * 10);
}

TEST_CASE("a wrong number of threads is refused", "[threads]") {
  CHECK_THROWS_AS(set_thread_count(0), std::invalid_argument);
  CHECK_THROWS_AS(set_thread_count(kMaxThreads + 1), std::invalid_argument);
  const Threads scope(2);
  CHECK_THROWS_AS(parallel_for(4, [](Size) { set_thread_count(2); }), std::logic_error);
  CHECK(thread_count() == 2);
}

namespace {

/// Makes each new thread ask for so much memory, until it goes.
struct LargeStacks {
  explicit LargeStacks(std::size_t bytes) {
    pthread_getattr_default_np(&before);
    pthread_attr_t large;
    pthread_getattr_default_np(&large);
    pthread_attr_setstacksize(&large, bytes);
    pthread_setattr_default_np(&large);
    pthread_attr_destroy(&large);
  }
  ~LargeStacks() {
    pthread_setattr_default_np(&before);
    pthread_attr_destroy(&before);
  }
  LargeStacks(const LargeStacks&) = delete;
  LargeStacks& operator=(const LargeStacks&) = delete;
  pthread_attr_t before;
};

/// What `f` writes to standard error.
template <class F>
std::string errors_of(const F& f) {
  std::FILE* const file = std::tmpfile();
  std::fflush(stderr);
  const int before = dup(2);
  dup2(fileno(file), 2);
  f();
  std::fflush(stderr);
  dup2(before, 2);
  close(before);
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("where the system makes no more threads, those there are do the work", "[threads][unsanitized]") {
  const Threads scope(2);
  constexpr std::size_t kTebibyte = std::size_t{1} << 40;  // an address space has 128
  const std::string told = errors_of([] {
    const LargeStacks none(200 * kTebibyte);
    set_thread_count(4);
    CHECK(thread_count() == 1);
  });
  CHECK(told.find("running on 1 thread instead of 4") != std::string::npos);
  CHECK(std::count(told.begin(), told.end(), '\n') == 1);
  CHECK(visits(1000) == std::vector<int>(1000, 1));
  const std::string again = errors_of([] {
    const LargeStacks none(200 * kTebibyte);
    set_thread_count(5);
    CHECK(thread_count() == 1);
  });
  CHECK(again.empty());  // once is enough
  CHECK(visits(1000) == std::vector<int>(1000, 1));
  set_thread_count(3);
  CHECK(thread_count() == 3);
}

// A sanitizer may have threads of its own.
TEST_CASE("as many threads are made as were asked for, and go when fewer are", "[threads][unsanitized]") {
  const auto count = [] {
    int threads = 0;
    for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
      ++threads;
    return threads;
  };
  const Threads scope(1);
  // The system lists a thread that has ended a moment longer. An emulator has threads of its own.
  int others = count() - 1;
  for (int wait = 0; wait < 20 && others > 0; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    others = std::min(others, count() - 1);
  }
  for (const int threads : {1, 2, 3, 6, 2, 1}) {
    CAPTURE(threads);
    set_thread_count(threads);
    for (int wait = 0; wait < 200 && count() != threads + others; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(count() == threads + others);
  }
}

TEST_CASE("threads without work sleep", "[threads]") {
  const auto seconds = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  for (const int threads : {2, 5}) {
    const Threads scope(threads);
    CHECK(visits(100) == std::vector<int>(100, 1));
    double least = 1;
    for (int trial = 0; trial < 10 && least > 0.2; ++trial) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // longer than they spin
      const double used = seconds(CLOCK_PROCESS_CPUTIME_ID), now = seconds(CLOCK_MONOTONIC);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      least = std::min(least, (seconds(CLOCK_PROCESS_CPUTIME_ID) - used) / (seconds(CLOCK_MONOTONIC) - now));
    }
    CAPTURE(threads);
    CHECK(least <= 0.2);
  }
}

// The count is read once per process, so this one starts itself again for each value.
TEST_CASE("print the number of threads", "[.][threads_child]") {
  if (std::getenv("TAPESTRY_THREADS_CHILD") == nullptr)
    return;  // selected by its file's name, not by its parent
  try {
    std::_Exit(thread_count());
  } catch (const std::runtime_error& error) {
    std::_Exit(std::string(error.what()).find("TAPESTRY_THREADS") != std::string::npos ? 100 : 101);
  }
}

TEST_CASE("TAPESTRY_THREADS", "[threads][processes]") {
  const auto child = [](const char* value) {
    const pid_t pid = fork();
    if (pid == 0) {
      setenv("TAPESTRY_THREADS", value, 1);
      setenv("TAPESTRY_THREADS_CHILD", "1", 1);
      execl("/proc/self/exe", "child", "[threads_child]", static_cast<char*>(nullptr));
      std::_Exit(102);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(child("1") == 1);
  CHECK(child("3") == 3);
  for (const char* bad : {"two", "0", "-1", "2x", "2.5", "257", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(child(bad) == 100);
  }
}
