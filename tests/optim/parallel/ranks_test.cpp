// What ranks hand to each other, against sums in the test; and what happens when one of them is not there.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "core/core.hpp"
#include "optim/parallel/collectives.hpp"
#include "optim/parallel/mpi/mpi.hpp"
#include "optim/parallel/thread_ranks.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

double seconds(const std::function<void()>& run) {
  const auto begun = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

double number(int rank, std::size_t i) { return std::sin(static_cast<double>(i * 7 + 1) * (rank + 1)); }

}  // namespace

TEMPLATE_TEST_CASE("the ring adds up what all ranks have, to the same bits everywhere", "[threads]", float,
                   double) {
  for (const int size : {1, 2, 3, 5, 8})
    for (const std::size_t length : {0U, 1U, 2U, 7U, 64U, 1001U}) {
      CAPTURE(size, length);
      std::vector<std::vector<TestType>> all(static_cast<std::size_t>(size)), again = all;
      std::atomic<std::uint64_t> most_bytes = 0;
      for (auto* into : {&all, &again})
        run_on_threads({.ranks = size}, [&](Communicator& ranks) {
          std::vector<TestType>& x = (*into)[static_cast<std::size_t>(ranks.rank())];
          for (std::size_t i = 0; i < length; ++i)
            x.push_back(static_cast<TestType>(number(ranks.rank(), i)));
          ring_all_reduce(ranks, std::span(x));
          std::uint64_t before = most_bytes;
          while (before < ranks.bytes_sent() &&
                 !most_bytes.compare_exchange_weak(before, ranks.bytes_sent())) {
          }
        });
      double farthest = 0;
      for (std::size_t i = 0; i < length; ++i) {
        double sum = 0;
        for (int r = 0; r < size; ++r) sum += static_cast<double>(static_cast<TestType>(number(r, i)));
        farthest = std::max(farthest, std::abs(sum - static_cast<double>(all[0][i])));
      }
      CHECK(farthest <= (sizeof(TestType) == 4 ? 1e-6 : 1e-14));
      for (const auto& x : all) CHECK(x == all[0]);
      CHECK(again == all);
      const std::size_t chunk =
          (length + static_cast<std::size_t>(size) - 1) / static_cast<std::size_t>(size);
      CHECK(most_bytes <= 2 * static_cast<std::size_t>(size - 1) * chunk * sizeof(TestType));
    }
}

TEST_CASE("a broadcast brings the root's bytes to all, by log₂ R messages of each at most", "[threads]") {
  for (const int size : {1, 2, 3, 6, 8})
    for (const int root : {0, size - 1}) {
      CAPTURE(size, root);
      run_on_threads({.ranks = size}, [&](Communicator& ranks) {
        const auto mine = static_cast<std::uint64_t>(ranks.rank() + 100);
        if (broadcast(ranks, mine, root) != static_cast<std::uint64_t>(root + 100)) fail("another's number");
        if (ranks.messages_sent() > 3) fail("{} messages", ranks.messages_sent());
        const Tensor x = full({2, 3}, ranks.rank() == root ? 0.1 : 7.0);
        broadcast(ranks, State{{"x", x}}, root);
        if (x.at({1, 2}) != static_cast<double>(0.1F)) fail("x is {}", x.at({1, 2}));
      });
    }
}

TEST_CASE("a barrier holds all ranks until the last has come", "[threads]") {
  std::atomic<int> come = 0;
  run_on_threads({.ranks = 5}, [&](Communicator& ranks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * ranks.rank()));
    ++come;
    barrier(ranks);
    if (come != 5) fail("only {} had come", come.load());
  });
}

TEST_CASE("ranks notice one bit that differs", "[threads]") {
  for (const bool differ : {false, true})
    run_on_threads({.ranks = 3}, [&](Communicator& ranks) {
      const double last = differ && ranks.rank() == 2 ? std::nextafter(1.0, 2.0) : 1.0;
      const State state{{"w", tensor({0.5, last}, DType::f64)}};
      if (same_on_all_ranks(ranks, state) == differ) fail("rank {} is wrong about it", ranks.rank());
    });
}

TEST_CASE("ranks notice other names and other shapes with the same values", "[threads]") {
  const Tensor x = tensor({1, 2}, DType::f64);
  for (const State& other : {State{{"v", x}}, State{{"w.", x}}, State{{"w", reshape(x, {2, 1})}}})
    run_on_threads({.ranks = 3}, [&](Communicator& ranks) {
      const State mine = ranks.rank() == 1 ? other : State{{"w", x}};
      if (same_on_all_ranks(ranks, mine)) fail("rank {} notices nothing", ranks.rank());
    });
}

TEST_CASE("the root gathers the texts of all ranks, in their order", "[threads]") {
  const std::vector<std::string> all = {"", std::string(3, '\0'), "one", std::string(10'000, 'x')};
  for (const int size : {1, 2, 4})
    for (const int root : {0, size - 1}) {
      CAPTURE(size, root);
      run_on_threads({.ranks = size}, [&](Communicator& ranks) {
        const std::vector<std::string> texts =
            gather(ranks, all[static_cast<std::size_t>(ranks.rank())], root);
        const bool right =
            ranks.rank() == root ? texts == std::vector(all.begin(), all.begin() + size) : texts.empty();
        if (!right) fail("rank {} has {} texts", ranks.rank(), texts.size());
      });
    }
  CHECK_THAT(message_of([] { run_on_threads({}, [](Communicator& ranks) { gather(ranks, "x", 2); }); }),
             ContainsSubstring("root must be at least 0 and below 2, the number of ranks, got 2"));
}

TEST_CASE("a rank that dies or hangs ends all in bounded time, with one sentence", "[threads]") {
  std::string message;
  const auto run = [&](double timeout, double per_byte, const std::function<void(Communicator&)>& body) {
    return seconds([&] {
      message = message_of([&] {
        run_on_threads({.ranks = 3, .timeout = timeout, .per_byte = per_byte}, [&](Communicator& ranks) {
          body(ranks);
          std::vector<float> x(1000, 1.0F);
          ring_all_reduce(ranks, std::span(x));
        });
      });
    });
  };
  CHECK(run(30, 0, [](Communicator& ranks) {
          if (ranks.rank() == 1) throw Error("rank 1 has no memory left");
        }) < 5);
  CHECK(message == "rank 1 has no memory left");
  CHECK(run(0.2, 0, [](Communicator& ranks) {
          if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(700));
        }) < 3);
  CHECK_THAT(message, ContainsSubstring("has heard nothing from rank"));
  CHECK_THAT(message, ContainsSubstring("for 0.2 s"));
  CHECK(run(0.2, 1e-2, [](Communicator&) {}) < 3);  // 1,300 bytes in 13 s
  CHECK_THAT(message, ContainsSubstring("the wire is too slow"));
}

TEST_CASE("a slow wire takes its time", "[threads]") {
  const double took = seconds([] {
    run_on_threads({.ranks = 2, .latency = 0.02, .per_byte = 1e-5}, [](Communicator& ranks) {
      std::vector<float> x(500, 1.0F);  // two messages of 1,000 bytes: 2 (0.02 + 0.01) s
      ring_all_reduce(ranks, std::span(x));
    });
  });
  CHECK(took >= 0.06);
  CHECK(took < 1);
}

TEST_CASE("misuse is told", "[threads]") {
  CHECK_THAT(message_of([] { run_on_threads({.ranks = 65}, [](Communicator&) {}); }),
             ContainsSubstring("ranks must be from 1 to 64, got 65"));
  OneRank alone;
  std::byte one{};
  CHECK_THAT(message_of([&] {
               alone.exchange(1, {&one, 1}, 1, {});
             }),
             ContainsSubstring("below 1, the number of ranks, got 1"));
  CHECK_THAT(message_of([&] {
               alone.exchange(0, {&one, 1}, 0, {});
             }),
             ContainsSubstring("must be other ranks"));
  CHECK_THAT(message_of([] {
               run_on_threads({.ranks = 2, .timeout = 5}, [](Communicator& ranks) {
                 std::vector<float> x(ranks.rank() == 0 ? 8 : 12);
                 ring_all_reduce(ranks, std::span(x));
               });
             }),
             ContainsSubstring("ranks must make the same calls"));
}

TEST_CASE("without mpirun there is one rank", "[threads]") {
  if (rank_under_mpi() >= 0) return;
  CHECK(run_under_mpi(
            {}, [](Communicator& ranks) { return ranks.size() == 1 && ranks.rank() == 0 ? 7 : 1; }) == 7);
}

TEST_CASE("a message of MPI is a number at least, and what MPI can count at most", "[threads]") {
  for (const std::size_t piece : {std::size_t{3}, std::size_t{1} << 31})
    CHECK_THAT(message_of([&] { run_under_mpi({.piece = piece}, [](Communicator&) { return 0; }); }),
               ContainsSubstring(fmt::format("piece must be from 4 to 2147483647 bytes, got {}", piece)));
}
