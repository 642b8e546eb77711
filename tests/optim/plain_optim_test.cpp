// Optimisers, clipping and averages against loops that one writes from the papers, in f64: at sizes beyond
// every chunk that the work is cut into, with each option counted, and on several threads.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/views.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/tensor/create.hpp"
#include "optim/adam.hpp"
#include "optim/average.hpp"
#include "optim/clip.hpp"
#include "optim/sgd.hpp"
#include "tests/catch.hpp"
#include "tests/threads.hpp"

using namespace tapestry;
using test::Threads;

namespace {

using List = std::vector<double>;

/// Around the chunks of 16,384, several of them, and many small ones.
const std::vector<Size> kSizes{1, 63, 16'383, 5, 16'385, 0, 21'001, 100'007, 9};

/// Numbers in ±2 that f32 holds exactly, of which none is near 0.
List numbers(Size n, std::uint64_t seed) {
  List list;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (Size i = 0; i < n; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double x = static_cast<double>(state >> 44) * 0x1p-19 - 1;
    list.push_back(static_cast<double>(static_cast<float>(x + (x < 0 ? -0.1 : 0.1))));
  }
  return list;
}

struct Settings {
  double rate, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-3, decay = 0, momentum = 0;
  bool nesterov = false;
};

enum class Method { adam, adamw, sgd };

/// One weight, as the papers have it: PyTorch's order of decay and momentum.
struct PlainWeight {
  List w, m = List(w.size(), 0.0), v = List(w.size(), 0.0);
  int t = 0;

  void step(Method method, const Settings& s, const List& gradient, double rate_factor,
            double gradient_scale) {
    const double rate = s.rate * rate_factor;
    ++t;
    for (std::size_t i = 0; i < w.size(); ++i) {
      double g = gradient_scale * gradient[i];
      if (method == Method::sgd) {
        g += s.decay * w[i];
        m[i] = s.momentum * m[i] + g;
        w[i] -= rate * (s.nesterov ? g + s.momentum * m[i] : m[i]);
        continue;
      }
      if (method == Method::adam) g += s.decay * w[i];
      if (method == Method::adamw) w[i] -= rate * s.decay * w[i];
      m[i] = s.beta1 * m[i] + (1 - s.beta1) * g;
      v[i] = s.beta2 * v[i] + (1 - s.beta2) * g * g;
      const double mean = m[i] / (1 - std::pow(s.beta1, t)), square = v[i] / (1 - std::pow(s.beta2, t));
      w[i] -= rate * mean / (std::sqrt(square) + s.epsilon);
    }
  }
};

/// The largest |a − b|, relative to 1 or b.
double relative_distance(const List& a, const List& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
    if (!(d <= worst)) worst = std::isnan(d) ? HUGE_VAL : d;
  }
  return worst;
}

std::unique_ptr<Optimiser> make(Method method, const std::vector<std::vector<Tensor>>& groups,
                                const std::vector<Settings>& settings) {
  const auto adam = [&](auto optimiser, auto options) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Settings& s = settings[g];
      options.learning_rate = s.rate, options.beta1 = s.beta1, options.beta2 = s.beta2;
      options.epsilon = s.epsilon, options.weight_decay = s.decay;
      optimiser->add_group(groups[g], options);
    }
    return std::unique_ptr<Optimiser>(std::move(optimiser));
  };
  if (method == Method::adam) return adam(std::make_unique<Adam>(), AdamOptions{});
  if (method == Method::adamw) return adam(std::make_unique<AdamW>(), AdamWOptions{});
  auto sgd = std::make_unique<SGD>();
  for (std::size_t g = 0; g < groups.size(); ++g)
    sgd->add_group(groups[g], {.learning_rate = settings[g].rate,
                               .momentum = settings[g].momentum,
                               .weight_decay = settings[g].decay,
                               .nesterov = settings[g].nesterov});
  return sgd;
}

void check_follows(Method method, const std::vector<Settings>& settings, const std::vector<Size>& sizes,
                   DType dtype, int threads) {
  const Threads scope(threads);
  CAPTURE(static_cast<int>(method), settings[0].decay, settings[0].momentum, settings[0].nesterov,
          name_of(dtype), threads);
  std::vector<std::vector<Tensor>> groups(settings.size());
  std::vector<PlainWeight> plain;
  std::vector<Tensor> weights;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    plain.push_back({numbers(sizes[k], k + 1)});
    weights.push_back(variable(tensor(plain.back().w, {sizes[k]}, dtype)));
    groups[k % groups.size()].push_back(weights.back());
  }
  const auto optimiser = make(method, groups, settings);
  // A schedule, and a scale that is not 1: what they touch, and what they don't, is in the loops above.
  for (const auto& [rate_factor, gradient_scale] :
       std::vector<std::pair<double, double>>{{1, 1}, {0.25, 1}, {1, 0.125}, {0.5, 3}, {0, 1}}) {
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const List gradient = numbers(sizes[k], 100 * k + static_cast<std::uint64_t>(plain[k].t));
      plain[k].step(method, settings[k % groups.size()], gradient, rate_factor, gradient_scale);
      weights[k].impl().leaf->grad = tensor(gradient, {sizes[k]}, dtype);
    }
    optimiser->step(rate_factor, gradient_scale);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      CAPTURE(rate_factor, gradient_scale, k, sizes[k]);
      CHECK(relative_distance(weights[k].to_vector(), plain[k].w) <= (dtype == DType::f64 ? 1e-13 : 4e-6));
    }
  }
}

}  // namespace

TEST_CASE("optimisers do what plain loops do, whatever the size, the schedule, the scale and the decay") {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const double decay : {0.0, 0.3}) {
      const int threads = decay == 0 ? 1 : 3;
      check_follows(Method::adam, {{.rate = 0.05, .decay = decay}}, kSizes, dtype, threads);
      check_follows(Method::adamw, {{.rate = 0.05, .decay = decay}}, kSizes, dtype, threads);
      check_follows(Method::sgd, {{.rate = 0.1, .decay = decay}}, kSizes, dtype, threads);
      for (const bool nesterov : {false, true})
        check_follows(Method::sgd, {{.rate = 0.1, .decay = decay, .momentum = 0.8, .nesterov = nesterov}},
                      kSizes, dtype, threads);
    }
}

TEST_CASE("each group of weights has its own settings") {
  const std::vector<Size> sizes{4, 3, 20'000, 17'000, 5, 9};
  for (const Method method : {Method::adam, Method::adamw}) {
    // Norms and biases without decay, and three groups that differ in everything.
    check_follows(method, {{.rate = 0.05, .decay = 0.4}, {.rate = 0.05}}, sizes, DType::f64, 2);
    check_follows(method,
                  {{.rate = 0.05, .beta1 = 0.5, .decay = 0.4},
                   {.rate = 0.01, .beta2 = 0.9, .epsilon = 0.1},
                   {.rate = 0.2, .beta1 = 0, .decay = 0.1}},
                  sizes, DType::f64, 2);
  }
  check_follows(Method::sgd,
                {{.rate = 0.1, .decay = 0.4}, {.rate = 0.02, .momentum = 0.9}, {.rate = 0.3, .decay = 0.01}},
                sizes, DType::f64, 2);
}

TEST_CASE("the norm is that of all elements, and clipping scales each of them once") {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const int threads : {1, 3}) {
      const Threads scope(threads);
      CAPTURE(name_of(dtype), threads);
      std::vector<Tensor> weights;
      std::vector<List> gradients;
      double squares = 0;
      for (std::size_t k = 0; k < kSizes.size(); ++k) {
        gradients.push_back(numbers(kSizes[k], k + 50));
        for (const double g : gradients.back()) squares += g * g;
        weights.push_back(variable(zeros({kSizes[k]}, dtype)));
        weights.back().impl().leaf->grad = tensor(gradients.back(), {kSizes[k]}, dtype);
      }
      const double norm = std::sqrt(squares);
      CHECK(gradient_norm(weights) == Approx(norm).epsilon(1e-12));
      CHECK(clip_gradients(weights, 2 * norm) == Approx(norm).epsilon(1e-12));
      for (std::size_t k = 0; k < kSizes.size(); ++k) {
        const bool untouched = weights[k].grad().to_vector() == gradients[k];
        CHECK(untouched);
      }
      const double limit = norm / 8;
      CHECK(clip_gradients(weights, limit) == Approx(norm).epsilon(1e-12));
      for (std::size_t k = 0; k < kSizes.size(); ++k) {
        for (double& g : gradients[k]) g *= limit / (norm + 1e-6);
        CHECK(relative_distance(weights[k].grad().to_vector(), gradients[k]) <=
              (dtype == DType::f64 ? 1e-12 : 1e-7));
      }
      CHECK(gradient_norm(weights) == Approx(limit).epsilon(1e-6));
    }
}

TEST_CASE("a clipped gradient counts as written, one below the limit does not") {
  const Tensor weight = variable(zeros({3}), "weight");
  weight.impl().leaf->grad = tensor({3, 4, 12});
  const auto version = [&] { return weight.impl().leaf->grad.impl().buffer->version.load(); };
  const auto before = version();
  clip_gradients({weight}, 20);
  CHECK(version() == before);
  clip_gradients({weight}, 1);
  CHECK(version() > before);
}

TEST_CASE("averages of large weights follow the formula for long") {
  const Size n = 30'011;
  List weight = numbers(n, 1), average(weight.size(), 0.0);
  Tensor living = variable(tensor(weight, {n}, DType::f64), "w");
  WeightAverage averaged({{"w", living}}, 0.9);
  for (int t = 0; t < 120; ++t) {
    for (std::size_t i = 0; i < weight.size(); ++i)
      weight[i] = weight[i] * 0.99 + 0.001 * static_cast<double>(i % 7);
    assign(living, tensor(weight, {n}, DType::f64));
    averaged.update();
    const double keep = std::min(0.9, t / (t + 9.0));
    for (std::size_t i = 0; i < weight.size(); ++i) average[i] = keep * average[i] + (1 - keep) * weight[i];
    if (t % 40 == 0 || t == 119)
      CHECK(relative_distance(averaged.state().at("w").to_vector(), average) <= 1e-13);
  }
  {
    const WeightAverage::InUse use(averaged);
    CHECK(relative_distance(living.to_vector(), average) <= 1e-13);
  }
  CHECK(relative_distance(living.to_vector(), weight) == 0);
}
