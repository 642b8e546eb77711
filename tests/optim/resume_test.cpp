// A run that stops, is saved and goes on in a new process, compared with plain loops that never stop:
// weights, the optimiser's moments and counts, the average and its count, the random state. Each of what a
// file holds is then damaged in turn, and the end must be another one: no part of the state is there for
// show.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/dropout.hpp"
#include "core/ops/reduce.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "optim/adam.hpp"
#include "optim/average.hpp"
#include "optim/schedule.hpp"
#include "optim/sgd.hpp"
#include "optim/training_state.hpp"
#include "tests/catch.hpp"
#include "tests/core/ops/philox.hpp"
#include "tests/temporary.hpp"

using namespace tapestry;

namespace {

using List = std::vector<double>;

constexpr int kSteps = 12, kStop = 5;
constexpr Size kWidth = 37;
constexpr double kRate = 0.05, kDecay = 0.9, kDropped = 0.25;

/// What one step's dropout draws: the words of this key and site. The run has one seed and step for all, so
/// that the site, which each draw moves on, is what tells the steps apart.
std::uint64_t key_of(const RandomState& state) {
  const RandomState before = random_state();
  random_state() = state;
  const Stream stream = next_stream();
  random_state() = before;
  return stream.key();
}

/// What is left at the end.
struct End {
  List weight, average;
};

/// d/dw Σ (w ⊙ kept / 0.75)² / 2, Adam's step with a schedule, and the average, from the papers.
End by_loops(const List& start) {
  List w = start, m(w.size(), 0.0), v(w.size(), 0.0), average(w.size(), 0.0);
  const std::uint64_t key = key_of({9, 0, 0});
  for (int t = 1; t <= kSteps; ++t) {
    const double rate = kRate * std::min(1.0, t / 8.0), keep = std::min(kDecay, (t - 1) / (t + 8.0));
    for (std::size_t i = 0; i < w.size(); ++i) {
      const bool kept =
          test::philox_word(key, static_cast<std::uint64_t>(t - 1), i) >= kDropped * 4294967296.0;
      const double g = kept ? w[i] / ((1 - kDropped) * (1 - kDropped)) : 0;
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      w[i] -= rate * m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
      average[i] = keep * average[i] + (1 - keep) * w[i];
    }
  }
  return {w, average};
}

struct Run {
  Tensor weight = variable(random_normal({kWidth}, 3, DType::f64), "w");
  Adam optimiser{{weight}, {.learning_rate = kRate}};
  WeightAverage average{{{"w", weight}}, kDecay};
  Schedule rate = warm_up(8);
  std::uint64_t step = 0;

  Run() { set_random(9); }
  void train(std::uint64_t until) {
    while (step < until) {
      Tape tape;
      const Tensor x = dropout(weight, kDropped);
      tape.backward(sum(x * x * 0.5));
      optimiser.step(rate(static_cast<Size>(++step)));
      average.update();
    }
  }
  std::map<std::string, State> living() {
    return {{"model", {{"w", weight}}}, {"optimiser", optimiser.state()}, {"average", average.state()}};
  }
  void save(const std::filesystem::path& path) {
    TrainingState state;
    state.sections = living();
    state.set_integer("step", step);
    state.set_integer("averaged", static_cast<std::uint64_t>(average.updates()));
    state.set_random("random", random_state());
    state.save(path);
  }
  void load(const std::filesystem::path& path) {
    const TrainingState state = TrainingState::load(path);
    state.restore(living());
    step = state.integer("step");
    average.resume(static_cast<Size>(state.integer("averaged")));
    random_state() = state.random("random");
  }
  End end() { return {weight.to_vector(), average.state().at("w").to_vector()}; }
};

double distance(const List& a, const List& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

/// A run from the file, in an object that has lived before, after `damage` was done to what it loaded.
template <class F>
End resumed(const std::filesystem::path& path, const F& damage) {
  Run run;
  run.train(3);
  random_state() = {77, 88, 99};
  run.load(path);
  damage(run);
  run.train(kSteps);
  return run.end();
}

}  // namespace

TEST_CASE("a run that was stopped ends where plain loops end that never stop") {
  const test::TemporaryFolder folder;
  Run first;
  const End truth = by_loops(first.weight.to_vector());
  first.train(kStop);
  first.save(folder / "state");
  first.train(kSteps);
  const auto is_true = [&](const End& end) {
    return distance(end.weight, truth.weight) < 1e-12 && distance(end.average, truth.average) < 1e-12;
  };
  CHECK(is_true(first.end()));
  CHECK(is_true(resumed(folder / "state", [](Run&) {})));

  // Each part of the state, damaged, shows.
  std::set<std::string> parts;
  for (const auto& [section, state] : Run().living())
    for (const auto& [name, x] : state) {
      CAPTURE(section, name);
      parts.insert(section + "/" + name);
      CHECK_FALSE(is_true(resumed(folder / "state", [&, part = section, of = name](Run& run) {
        Tensor living = run.living().at(part).at(of);
        assign(living, zeros(living.shape(), living.dtype()));
      })));
    }
  CHECK(parts ==
        std::set<std::string>{"average/w", "model/w", "optimiser/w/m", "optimiser/w/v", "optimiser/w/steps"});
  CHECK_FALSE(is_true(resumed(folder / "state", [](Run& run) { run.average.resume(0); })));
  CHECK_FALSE(is_true(resumed(folder / "state", [](Run& run) { run.step = 1; })));
  CHECK_FALSE(is_true(resumed(folder / "state", [](Run&) { random_state().seed = 1; })));
  CHECK_FALSE(is_true(resumed(folder / "state", [](Run&) { random_state().step = 1; })));
  CHECK_FALSE(is_true(resumed(folder / "state", [](Run&) { random_state().site = 0; })));
}

TEST_CASE("a stopped run of SGD keeps its momentum") {
  const test::TemporaryFolder folder;
  const auto gradient = [](int t) { return tensor({1.0 / t, -2.0 + t}, DType::f64); };
  const auto run = [&](const Tensor& w, SGD& sgd, int from, int to) {
    for (int t = from; t <= to; ++t) {
      w.impl().leaf->grad = gradient(t);
      sgd.step();
    }
  };
  const SGDOptions options{.learning_rate = 0.1, .momentum = 0.8, .nesterov = true};
  const auto start = [] { return variable(tensor({1, 2}, DType::f64), "w"); };
  const Tensor first = start(), second = start();
  SGD before({first}, options), after({second}, options);
  run(first, before, 1, 4);
  TrainingState saved;
  saved.sections = {{"model", {{"w", first}}}, {"optimiser", before.state()}};
  saved.save(folder / "state");
  TrainingState::load(folder / "state").restore({{"model", {{"w", second}}}, {"optimiser", after.state()}});
  run(second, after, 5, 9);
  List w{1, 2}, b{0, 0};
  for (int t = 1; t <= 9; ++t)
    for (std::size_t i = 0; i < 2; ++i) {
      const double g = i == 0 ? 1.0 / t : -2.0 + t;
      b[i] = 0.8 * b[i] + g;
      w[i] -= 0.1 * (g + 0.8 * b[i]);
    }
  CHECK(distance(second.to_vector(), w) < 1e-13);
}
