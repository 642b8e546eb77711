// Optimisers, clipping and schedules against PyTorch, over 20 steps in f64.
#include <functional>

#include "core/ops/views.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"
#include "optim/sgd.hpp"
#include "tests/golden/golden.hpp"

using namespace tapestry;
using test::Golden;

namespace {

constexpr Size kGoldenSteps = 20;
constexpr double kTolerance = 1e-13;

std::string numbered(const char* name, int k) { return fmt::format("{}.{}", name, k); }

/// The two weights of the file at their start.
std::vector<Tensor> weights_of(const Golden& golden) {
  std::vector<Tensor> weights;
  for (int k = 0; k < 2; ++k) {
    Tensor start = zeros(golden["start/" + numbered("weight", k)].shape(), DType::f64);
    assign(start, golden["start/" + numbered("weight", k)]);
    weights.push_back(variable(start, numbered("weight", k)));
  }
  return weights;
}

/// Gives both weights their gradients of step i, as backward would.
void give_gradients(const Golden& golden, const std::vector<Tensor>& weights, Size i) {
  for (int k = 0; k < 2; ++k)
    weights[static_cast<std::size_t>(k)].impl().leaf->grad =
        select(golden["gradients/" + numbered("weight", k)], 0, i).detach();
}

/// Runs all steps and compares the weights after each.
void follow(const Golden& golden, const std::string& name, const std::vector<Tensor>& weights,
            const std::function<void(Size t)>& step) {
  for (Size i = 0; i < kGoldenSteps; ++i) {
    give_gradients(golden, weights, i);
    step(i + 1);
    for (int k = 0; k < 2; ++k) {
      const Tensor& weight = weights[static_cast<std::size_t>(k)];
      test::check_close(weight, select(golden[name + "/" + numbered("weight", k)], 0, i), kTolerance,
                        fmt::format("{}, weight {} after step {}", name, k, i + 1));
      CHECK_FALSE(weight.has_grad());
    }
  }
}

template <class Options>
Options settings(const Golden& golden, const std::string& prefix) {
  Options options;
  options.learning_rate = golden.number(prefix + "/lr");
  options.weight_decay = golden.number(prefix + "/weight_decay", 0);
  if constexpr (std::is_same_v<Options, SGDOptions>) {
    options.momentum = golden.number(prefix + "/momentum", 0);
    options.nesterov = golden.number(prefix + "/nesterov", 0) != 0;
  } else {
    options.beta1 = golden.number(prefix + "/beta1");
    options.beta2 = golden.number(prefix + "/beta2");
    options.epsilon = golden.number(prefix + "/eps");
  }
  return options;
}

}  // namespace

TEST_CASE("optimisers follow PyTorch") {
  const Golden golden("optim");
  int followed = 0;
  for (const std::string& name : golden.cases()) {
    const std::vector<Tensor> weights = weights_of(golden);
    const auto run = [&](Optimiser& optimiser) {
      follow(golden, name, weights, [&](Size) { optimiser.step(); });
      ++followed;
    };
    if (name == "adamw_groups") {
      AdamW adamw;
      for (int k = 0; k < 2; ++k)
        adamw.add_group({weights[static_cast<std::size_t>(k)]},
                        settings<AdamWOptions>(golden, name + "/" + numbered("group", k)));
      run(adamw);
    } else if (name.rfind("adamw", 0) == 0) {
      AdamW adamw(weights, settings<AdamWOptions>(golden, name));
      run(adamw);
    } else if (name.rfind("adam", 0) == 0) {
      Adam adam(weights, settings<AdamOptions>(golden, name));
      run(adam);
    } else if (name.rfind("sgd", 0) == 0) {
      SGD sgd(weights, settings<SGDOptions>(golden, name));
      run(sgd);
    }
  }
  CHECK(followed == 10);  // every optimiser of the file
}

TEST_CASE("clipping follows PyTorch, apart or within the step") {
  const Golden golden("optim");
  const double limit = golden.number("clip/max_norm");
  for (const bool within : {false, true}) {
    const std::vector<Tensor> weights = weights_of(golden);
    SGD sgd(weights, {.learning_rate = golden.number("clip/lr")});
    follow(golden, "clip", weights, [&](Size t) {
      const double expected = golden["clip/norm"].at({t - 1});
      if (within) {
        const double norm = gradient_norm(weights);
        CHECK(norm == Approx(expected).epsilon(1e-14));
        sgd.step(1, std::min(1.0, limit / (norm + 1e-6)));
      } else {
        CHECK(clip_gradients(weights, limit) == Approx(expected).epsilon(1e-14));
        sgd.step();
      }
    });
  }
}

TEST_CASE("schedules follow their formulas, and PyTorch with them") {
  const Golden golden("optim");
  const double base = golden.number("schedule/base"), floor = golden.number("schedule/floor");
  const auto whole = [&](const char* name) {
    return static_cast<Size>(golden.number(std::string("schedule/") + name));
  };
  const Size warm = whole("warm_up");
  const std::pair<std::string, Schedule> schedules[] = {
      {"constant", constant_rate()},
      {"step", step_decay(whole("period"), golden.number("schedule/gamma"))},
      {"warm_up", warm_up(warm)},
      {"cosine", then(warm_up(warm), warm, cosine_decay(whole("total") - warm, floor))},
      {"inverse_square_root", inverse_square_root(warm)}};
  for (const auto& [kind, schedule] : schedules) {
    const std::string name = "schedule_" + kind;
    const std::vector<Tensor> weights = weights_of(golden);
    SGD sgd(weights, {.learning_rate = base, .momentum = 0.9});
    for (Size t = 1; t <= kGoldenSteps; ++t) {
      INFO(name << " at " << t);
      CHECK(base * schedule(t) == Approx(golden[name + "/rates"].at({t - 1})).epsilon(1e-14).margin(1e-17));
    }
    follow(golden, name, weights, [&, &rate = schedule](Size t) { sgd.step(rate(t)); });
  }
}
