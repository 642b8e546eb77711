// Tapes and threads: one active tape for each thread, and nothing shared but the pools.
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
  CHECK_THAT(message, ContainsSubstring("this tape is not the active one of this thread"));
  tape.backward(y);
  CHECK(w.grad().item() == 4);
}
