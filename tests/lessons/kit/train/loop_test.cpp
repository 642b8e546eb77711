// The loop of the lessons on recurrent translators.
#include "lessons/kit/train/loop.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "nn/linear.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/printed.hpp"
#include "tests/lessons/kit/train/adam_by_hand.hpp"

namespace tapestry::kit {

TEST_CASE("training is the loop written out, and a seed gives one result", "[kit]") {
  constexpr Size kSteps = 50;  // the rate rises for 2 steps, and falls for 48
  const auto loss = [](const Linear& line, Random random) {
    const Tensor x = random_normal({8, 3}, random.next(), DType::f64);
    const Tensor error = line(dropout(x, 0.5)) - sum(x, {-1}, Keep::yes);
    return 100 * mean(error * error);  // large: clipped at first
  };
  Linear line(3, 1), by_hand(3, 1), other(3, 1);
  for (Linear* each : {&line, &by_hand, &other}) each->initialise(4, DType::f64);
  std::vector<Size> seen;
  train(line,
        {.name = "line",
         .steps = kSteps,
         .rate = 0.1,
         .seed = 6,
         .after_step = [&](Size step) { seen.push_back(step); }},
        [&](Random random) { return loss(line, random); });
  train(other, {.name = "other", .steps = kSteps, .rate = 0.1, .seed = 7},
        [&](Random random) { return loss(other, random); });

  Adam adam(by_hand.parameters(), {.learning_rate = 0.1});
  for (Size step = 1; step <= kSteps; ++step) {
    set_random(6, static_cast<std::uint64_t>(step));
    Tape tape;
    tape.backward(loss(by_hand, Random(6, static_cast<std::uint64_t>(step))));
    clip_gradients(by_hand.parameters(), 1.0);
    const double fallen = static_cast<double>(step - 2) / 48;
    adam.step(step <= 2 ? static_cast<double>(step) / 2
                        : 0.5 * (1 + std::cos(3.14159265358979323846 * fallen)));
  }
  CHECK(largest(line.weight - by_hand.weight) < 1e-12);
  CHECK(largest(line.weight - other.weight) > 1e-3);
  REQUIRE(seen.size() == kSteps);
  CHECK((seen.front() == 1 && seen.back() == kSteps));
}

TEST_CASE("the loop says how far it is, with the loss and the speed", "[kit]") {
  Linear line(3, 1);
  line.initialise(4, DType::f64);
  std::string said;
  {
    const Printed printed(STDERR_FILENO);
    train(line, {.name = "line", .steps = 2, .rate = 0.1, .batch = 5, .unit = "texts", .seed = 6},
          [&](Random) {
            return 0.0 * sum(line(full({1, 3}, 1, DType::f64))) + 2.5;
          });
    said = printed.text();
  }
  CHECK_THAT(said, Catch::Matchers::ContainsSubstring("  1/2  50 %  loss 2.5000  ") &&
                       Catch::Matchers::ContainsSubstring(" texts/s") &&
                       Catch::Matchers::ContainsSubstring("  2/2 100 %  loss 2.5000  ") &&
                       Catch::Matchers::ContainsSubstring("  line: 2 steps in "));
}

TEST_CASE("the time of a training is that of all its steps, and not of what runs between them", "[kit]") {
  Linear line(3, 1);
  line.initialise(4, DType::f64);
  const auto wait = [](int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  };
  const Printed printed(STDERR_FILENO);
  const auto began = std::chrono::steady_clock::now();
  const double seconds =
      train(line, {.name = "line", .steps = 5, .after_step = [&](Size) { wait(30); }}, [&](Random) {
        wait(20);
        return sum(line(full({1, 3}, 1, DType::f64)));
      });
  const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  CHECK(seconds >= 5 * 0.02);
  CHECK(seconds <= whole - 5 * 0.03);
}

TEST_CASE("training shrinks every weight as its recipe says", "[kit]") {
  constexpr Size kSteps = 30;  // the rate rises for 1 step, and falls for 29
  const auto loss = [](const Linear& line, Random random) {
    const Tensor error = line(random_normal({8, 3}, random.next(), DType::f64)) - 1.0;
    return mean(error * error);
  };
  for (const double decay : {0.0, 0.5}) {
    Linear line(3, 2), by_hand(3, 2);
    for (Linear* each : {&line, &by_hand}) each->initialise(4, DType::f64);
    train(line, {.name = "line", .steps = kSteps, .rate = 0.1, .weight_decay = decay, .seed = 6},
          [&](Random random) { return loss(line, random); });
    AdamByHand adam(by_hand, 0.1, 0.999, decay, [](const std::string&) { return true; });
    for (Size step = 1; step <= kSteps; ++step) {
      {
        Tape tape;
        tape.backward(loss(by_hand, Random(6, static_cast<std::uint64_t>(step))));
      }
      adam.step(step == 1 ? 1 : half_cosine(static_cast<double>(step - 1) / 29, 0));
    }
    CHECK(farthest(line.state(), by_hand.state()) < 1e-12);
  }
}

}  // namespace tapestry::kit
