// Tapes and threads: one active tape for each thread, and nothing shared but the pools.
#ifndef __EMSCRIPTEN__
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/core.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("two threads train two models", "[threads]") {
  const auto train = [](double target) {
    Tensor w = variable(tensor({0, 0}, DType::f64));
    for (int step = 0; step < 200; ++step) {
      Tape tape;
      const Tensor error = w - target;
      tape.backward(sum(error * error));
      assign(w, w.detach() - w.grad() * 0.1);
      w.clear_grad();
    }
    return w.at({1});
  };
  double results[2] = {};
  std::thread first([&] { results[0] = train(3); });
  std::thread second([&] { results[1] = train(-5); });
  first.join();
  second.join();
  CHECK(results[0] == Approx(3));
  CHECK(results[1] == Approx(-5));
}

TEST_CASE("the tapes of two threads share weights", "[threads]") {
  const Tensor w = variable(full({3}, 1.0)), u = variable(full({3}, 1.0));
  int wrong[2] = {};
  // Each thread meets the leaves in another order, so their numbers differ on the two tapes.
  const auto work = [&](int thread) {
    for (int i = 0; i < 20'000; ++i) {
      try {
        Tape tape;
        const Tensor y = thread == 0 ? sum(w * u) + sum(u * u) : sum(u * u * 2.0) + sum(w * u);
        const auto g = tape.gradients(y, {w, u});
        wrong[thread] += g[0].at({2}) != 1 || g[1].at({2}) != (thread == 0 ? 3 : 5);
      } catch (const Error&) {
        ++wrong[thread];
      }
    }
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  CHECK(wrong[0] == 0);
  CHECK(wrong[1] == 0);
}

TEST_CASE("two threads put one mask in tiles", "[threads]") {
  for (int round = 0; round < 50; ++round) {
    const Mask mask = Mask::from(70, 130, [&](Size i, Size j) { return (i * 7 + j * 3 + round) % 5 < 3; });
    Mask seen[4];
    std::vector<std::thread> threads;
    for (Mask& one : seen)
      threads.emplace_back([&] { one = BlockMask::from(mask.reshape({1, 70, 130}), 70, 130).mask(); });
    for (std::thread& thread : threads) thread.join();
    for (const Mask& one : seen) CHECK(one.to_vector() == mask.to_vector());
  }
}

TEST_CASE("a tape belongs to its thread", "[threads]") {
  const Tensor w = variable(tensor({2}));
  Tape tape;
  const Tensor y = sum(w * w);
  std::string message;
  std::thread([&] {
    try {
      tape.backward(y);
    } catch (const Error& error) {
      message = error.what();
    }
  }).join();
  CHECK_THAT(message, ContainsSubstring("the tape must be this thread's active tape"));
  tape.backward(y);
  CHECK(w.grad().item() == 4);
}

#ifndef __EMSCRIPTEN__
TEST_CASE("a tape that is destroyed on another thread ends the program with a sentence",
          "[threads][unsanitized]") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    auto tape = std::make_unique<Tape>();
    std::thread([&] { tape.reset(); }).join();
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char part[256];
  for (ssize_t count; (count = read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK_THAT(said, ContainsSubstring("a tape must be destroyed on the thread that made it"));
}
#endif
