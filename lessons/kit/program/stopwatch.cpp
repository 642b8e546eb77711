// Timing of functions that are compared with each other.
#include "lessons/kit/program/stopwatch.hpp"

#include <algorithm>
#include <chrono>

namespace tapestry::kit {

double seconds(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - began).count();
}

double fastest(int runs, const std::function<void()>& run) {
  double best = seconds(run);
  for (int i = 1; i < runs; ++i) best = std::min(best, seconds(run));
  return best;
}

void take_turns(const std::vector<Timed*>& all, Size rounds) {
  constexpr int kRuns = 3;
  for (Size round = 0; round < rounds; ++round)
    for (Timed* one : all)
      for (int run = 0; run < kRuns && round % one->every == 0; ++run)
        one->best = std::max(one->best, one->amount / seconds(one->run));
}

}  // namespace tapestry::kit
