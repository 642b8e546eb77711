// The formulas of the schedules, which all check that t is at least 1.
#include "optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/tensor/error.hpp"

namespace tapestry {

namespace {

void check_steps(Size steps, const char* name) {
  if (steps < 1) fail("[{}] the number of steps must be 1 or more, got {}", name, steps);
}

template <class F>
Schedule of_step(F f) {
  return [f](Size t) -> double {
    if (t < 1) fail("[schedule] the update must be 1 or more, got {}", t);
    return f(t);
  };
}

double ratio(Size a, Size b) { return static_cast<double>(a) / static_cast<double>(b); }

}  // namespace

Schedule constant_rate() {
  return of_step([](Size) { return 1.0; });
}

Schedule step_decay(Size period, double gamma) {
  check_steps(period, "step_decay");
  return of_step([=](Size t) { return std::pow(gamma, static_cast<double>((t - 1) / period)); });
}

Schedule warm_up(Size steps) {
  check_steps(steps, "warm_up");
  return of_step([=](Size t) { return std::min(1.0, ratio(t, steps)); });
}

Schedule cosine_decay(Size steps, double floor) {
  check_steps(steps, "cosine_decay");
  return of_step([=](Size t) {
    const double part = std::min(1.0, ratio(t, steps));
    return floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * part));
  });
}

Schedule inverse_square_root(Size warm_up_steps) {
  check_steps(warm_up_steps, "inverse_square_root");
  return of_step(
      [=](Size t) { return std::min(ratio(t, warm_up_steps), std::sqrt(ratio(warm_up_steps, t))); });
}

Schedule then(Schedule first, Size steps, Schedule second) {
  check_steps(steps, "then");
  return of_step([first = std::move(first), steps, second = std::move(second)](Size t) {
    return t <= steps ? first(t) : second(t - steps);
  });
}

}  // namespace tapestry
