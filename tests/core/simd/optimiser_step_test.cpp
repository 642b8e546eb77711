// The optimisers' inner loops against their formulas, element by element in f64, and beside memory that they may not
// touch.
#include "core/simd/optimiser_step.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.hpp"
#include "tests/core/simd/guarded.hpp"

using namespace tapestry;
using namespace tapestry::simd;

namespace {

/// Around the widths of all registers, and beyond a few of them.
constexpr Size kCounts[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100};

template <class T>
std::vector<T> numbers(Size count, unsigned seed, double least = -1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(least, 1);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(uniform(random));
  return values;
}

template <class T>
void check_near(T got, double expected) {
  CHECK(static_cast<double>(got) ==
        Approx(expected).margin(0).epsilon(30 * static_cast<double>(std::numeric_limits<T>::epsilon())));
}

}  // namespace

TEMPLATE_TEST_CASE("update: Adam's formula, and nothing beside it", "[update]", float, double) {
  using T = TestType;
  for (const Size n : kCounts) {
    for (const bool decoupled : {false, true}) {
      for (const Edge edge : {Edge::first, Edge::last}) {
        CAPTURE(n, decoupled, edge == Edge::last);
        const AdamStep step{.learning_rate = 0.25,
                            .beta1 = 0.75,
                            .beta2 = 0.875,
                            .epsilon = 0.125,
                            .weight_decay = 0.5,
                            .decoupled = decoupled,
                            .correction1 = 0.5,
                            .correction2 = 0.25,
                            .scale = 2};
        const auto w0 = numbers<T>(n, 1, 0.5), g0 = numbers<T>(n, 2, 0.5), m0 = numbers<T>(n, 3, 0.5),
                   v0 = numbers<T>(n, 4, 0.5);
        const Guarded<T> w(w0.data(), n, edge), g(g0.data(), n, edge), m(m0.data(), n, edge),
            v(v0.data(), n, edge);
        adam(w.data(), static_cast<const T*>(g.data()), m.data(), v.data(), n, step);
        for (std::size_t i = 0; i < w0.size(); ++i) {
          const double weight = w0[i], d = 2 * static_cast<double>(g0[i]) + (decoupled ? 0 : 0.5 * weight);
          const double mean = 0.75 * static_cast<double>(m0[i]) + 0.25 * d;
          const double square = 0.875 * static_cast<double>(v0[i]) + 0.125 * d * d;
          check_near(m.data()[i], mean);
          check_near(v.data()[i], square);
          // Terms of one size are subtracted: what is left has their rounding.
          const double decayed = decoupled ? weight * (1 - 0.25 * 0.5) : weight;
          const double moved = 0.25 * (mean / 0.5) / (std::sqrt(square / 0.25) + 0.125);
          CHECK(std::abs(static_cast<double>(w.data()[i]) - (decayed - moved)) <=
                30 * static_cast<double>(std::numeric_limits<T>::epsilon()));
          CHECK(g.data()[i] == g0[i]);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("update: SGD's formula, and nothing beside it", "[update]", float, double) {
  using T = TestType;
  for (const Size n : kCounts) {
    for (const int momentum : {0, 1, 2}) {  // none, plain, Nesterov's
      for (const Edge edge : {Edge::first, Edge::last}) {
        CAPTURE(n, momentum, edge == Edge::last);
        const SgdStep step{.learning_rate = 0.25,
                           .momentum = momentum == 0 ? 0 : 0.75,
                           .weight_decay = 0.5,
                           .nesterov = momentum == 2,
                           .scale = 2};
        const auto w0 = numbers<T>(n, 1, 0.5), g0 = numbers<T>(n, 2, 0.5), b0 = numbers<T>(n, 3, 0.5);
        const Guarded<T> w(w0.data(), n, edge), g(g0.data(), n, edge), b(b0.data(), n, edge);
        sgd(w.data(), static_cast<const T*>(g.data()), momentum == 0 ? nullptr : b.data(), n, step);
        for (std::size_t i = 0; i < w0.size(); ++i) {
          const double weight = w0[i], d = 2 * static_cast<double>(g0[i]) + 0.5 * weight;
          const double running = 0.75 * static_cast<double>(b0[i]) + d;
          check_near(b.data()[i], momentum == 0 ? static_cast<double>(b0[i]) : running);
          const double by = momentum == 0 ? d : momentum == 1 ? running : d + 0.75 * running;
          CHECK(std::abs(static_cast<double>(w.data()[i]) - (weight - 0.25 * by)) <=
                30 * static_cast<double>(std::numeric_limits<T>::epsilon()));
          CHECK(g.data()[i] == g0[i]);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("update: a norm's squares and a scale, and nothing beside them", "[update]", float,
                   double) {
  using T = TestType;
  for (const Size n : kCounts) {
    for (const Edge edge : {Edge::first, Edge::last}) {
      CAPTURE(n, edge == Edge::last);
      const auto x0 = numbers<T>(n, 5);
      const Guarded<T> x(x0.data(), n, edge);
      double squares = 0;
      for (const T value : x0) squares += static_cast<double>(value) * static_cast<double>(value);
      CHECK(sum_of_squares(static_cast<const T*>(x.data()), n) == Approx(squares).margin(0).epsilon(1e-14));
      scale(x.data(), n, -0.5);
      for (std::size_t i = 0; i < x0.size(); ++i) CHECK(x.data()[i] == T(-0.5) * x0[i]);
    }
  }
}
