// Dual numbers: each operation's value is that of plain lanes, and its slope that of differences.
#include "core/simd/attention/dual.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/catch.hpp"

using namespace tapestry::simd;
using tapestry::Size;

namespace {

template <class T>
std::vector<T> lanes_of(Lanes<T> x) {
  std::vector<T> lanes(static_cast<std::size_t>(kLanes<T>));
  store(lanes.data(), x);
  return lanes;
}

/// f′ at x, from differences of f on plain lanes of f64, with a step that halves the error's order
/// (Richardson).
template <class F>
double slope_of(const F& f, double x) {
  const auto at = [&](double point) { return lanes_of(Lanes<double>(f(Lanes<double>(point))))[0]; };
  const auto difference = [&](double h) { return (at(x + h) - at(x - h)) / (2 * h); };
  return (4 * difference(5e-4) - difference(1e-3)) / 3;
}

/// f on duals, at the points; `truth` is the value as the library of C++ has it.
template <class T, class F, class G>
void check_one(const F& f, const G& truth, const std::vector<double>& points, double tolerance) {
  for (const double point : points) {
    CAPTURE(point, sizeof(T));
    // Each lane has a point of its own, and a slope: the chain rule.
    std::vector<T> x, seed;
    for (Size lane = 0; lane < kLanes<T>; ++lane) {
      x.push_back(static_cast<T>(point + 0.01 * static_cast<double>(lane)));
      seed.push_back(static_cast<T>(1 - 0.3 * static_cast<double>(lane)));
    }
    const Lanes<T> at = load(static_cast<const T*>(x.data()));
    const Dual<T> y = f(Dual<T>(at, load(static_cast<const T*>(seed.data()))));
    const std::vector<T> value = lanes_of(y.value), slope = lanes_of(y.slope),
                         plain = lanes_of(Lanes<T>(f(at)));
    for (std::size_t lane = 0; lane < x.size(); ++lane) {
      const double where = static_cast<double>(x[lane]), want = truth(where),
                   steep = slope_of(f, where) * static_cast<double>(seed[lane]);
      CHECK(std::abs(static_cast<double>(value[lane]) - want) <= tolerance * std::max(1.0, std::abs(want)));
      CHECK(std::abs(static_cast<double>(slope[lane]) - steep) <= tolerance * std::max(1.0, std::abs(steep)));
      CHECK(std::abs(static_cast<double>(value[lane] - plain[lane])) <=
            tolerance * std::max(1.0, std::abs(want)));
    }
    // A constant stays one.
    for (const T flat : lanes_of(f(Dual<T>(at)).slope)) CHECK(flat == T(0));
  }
}

template <class F, class G>
void check(const F& f, const G& truth, const std::vector<double>& points) {
  check_one<double>(f, truth, points, 1e-8);
  check_one<float>(f, truth, points, 1e-5);
}

const std::vector<double> kAll{-3.3, -0.7, 0.2, 0.9, 2.6}, kPositive{0.2, 0.7, 1.5, 4.1};

}  // namespace

TEST_CASE("the slope of each operation on duals is that of differences", "[dual]") {
  SECTION("arithmetic, with itself and with numbers on either side") {
    check([](auto x) { return x + x; }, [](double x) { return 2 * x; }, kAll);
    check([](auto x) { return x * x - x; }, [](double x) { return x * x - x; }, kAll);
    check([](auto x) { return (x * x + 1) / (5 + x); }, [](double x) { return (x * x + 1) / (5 + x); }, kAll);
    check([](auto x) { return 3 / (x + 9); }, [](double x) { return 3 / (x + 9); }, kAll);
    check([](auto x) { return 2 - x / 4; }, [](double x) { return 2 - x / 4; }, kAll);
    check([](auto x) { return -x * 1.5 - 0.25; }, [](double x) { return -x * 1.5 - 0.25; }, kAll);
  }
  SECTION("functions") {
    check([](auto x) { return exp(x * x / 4); }, [](double x) { return std::exp(x * x / 4); }, kAll);
    check([](auto x) { return log(2 * x); }, [](double x) { return std::log(2 * x); }, kPositive);
    check([](auto x) { return sqrt(x + 1); }, [](double x) { return std::sqrt(x + 1); }, kPositive);
    check([](auto x) { return tanh(x / 2); }, [](double x) { return std::tanh(x / 2); }, kAll);
    check([](auto x) { return sigmoid(2 * x); }, [](double x) { return 1 / (1 + std::exp(-2 * x)); }, kAll);
    check([](auto x) { return abs(x) * 3; }, [](double x) { return std::abs(x) * 3; }, kAll);
    check([](auto x) { return sin(x * x); }, [](double x) { return std::sin(x * x); }, kAll);
    check([](auto x) { return cos(2 * x); }, [](double x) { return std::cos(2 * x); }, kAll);
    check([](auto x) { return floor(2 * x); }, [](double x) { return std::floor(2 * x); },
          {-3.3, -0.7, 0.2, 0.6, 2.6});
    check([](auto x) { return fmod(x * x, 1.5); }, [](double x) { return std::fmod(x * x, 1.5); },
          {-0.7, 0.2, 1.5});
    check([](auto x) { return 5 % (x + 4); }, [](double x) { return std::fmod(5, x + 4); },
          {-1.9, -0.7, 0.2, 1.5});
    check([](auto x) { return (x * 3 + 1.3) % x % 0.7; },
          [](double x) { return std::fmod(std::fmod(x * 3 + 1.3, x), 0.7); }, {-3.3, -0.6, 0.9, 2.6});
    for (const double n : {-2.0, -1.0, 1.0, 2.0, 3.0, 4.0})
      check([n](auto x) { return pow(x, n) / 50; }, [n](double x) { return std::pow(x, n) / 50; },
            {-3.3, -0.7, 0.9, 2.6});
    check([](auto x) { return pow(x, 2.5); }, [](double x) { return std::pow(x, 2.5); }, kPositive);
    check([](auto x) { return pow(x, x / 2); }, [](double x) { return std::pow(x, x / 2); }, kPositive);
    check([](auto x) { return pow(2, -x); }, [](double x) { return std::pow(2, -x); }, kAll);
  }
  SECTION("one or the other") {
    check([](auto x) { return min(x, 0.5 * x + 0.2); }, [](double x) { return std::min(x, 0.5 * x + 0.2); },
          kAll);
    check([](auto x) { return max(x * x, 1 - x); }, [](double x) { return std::max(x * x, 1 - x); }, kAll);
    check([](auto x) { return min(x, 0.5); }, [](double x) { return std::min(x, 0.5); }, kAll);
    check([](auto x) { return max(x, -0.5); }, [](double x) { return std::max(x, -0.5); }, kAll);
    check([](auto x) { return select(x < 0.5, x * x, x - 1); },
          [](double x) { return x < 0.5 ? x * x : x - 1; }, kAll);
    check([](auto x) { return select(x > 0.5, x * x, x - 1); },
          [](double x) { return x > 0.5 ? x * x : x - 1; }, kAll);
    check([](auto x) { return select((x >= 0.5) & !(x <= 2), x * x, x - 1); },
          [](double x) { return x >= 0.5 && !(x <= 2) ? x * x : x - 1; }, kAll);
    check([](auto x) { return select((x >= 2) | (x == x * 2), x * x, x - 1); },
          [](double x) { return x >= 2 ? x * x : x - 1; }, kAll);
  }
}

TEST_CASE("where a slope jumps, duals follow the rule of ops: halves at ties, 0 for abs at 0", "[dual]") {
  const auto slope_at = [](auto f, double x) {
    return lanes_of(f(Dual<double>(Lanes<double>(x), Lanes<double>(1.0))).slope)[0];
  };
  for (const double zero : {0.0, -0.0}) {
    CHECK(slope_at([](auto x) { return abs(x); }, zero) == 0);
    CHECK(slope_at([](auto x) { return min(x, 2 * x); }, zero) == 1.5);
    CHECK(slope_at([](auto x) { return min(2 * x, x); }, zero) == 1.5);
    CHECK(slope_at([](auto x) { return max(x, 0); }, zero) == 0.5);
    CHECK(slope_at([](auto x) { return max(0, x); }, zero) == 0.5);
  }
  CHECK(slope_at([](auto x) { return max(x, 2 * x); }, 1) == 2);
  CHECK(slope_at([](auto x) { return min(2 * x, x); }, 1) == 1);
  // pow where a factor of its derivative is 0 and another infinite.
  CHECK(slope_at([](auto x) { return pow(x, 0); }, 0) == 0);
  CHECK(slope_at([](auto x) { return pow(x, 0 * x); }, 0) == 0);
  CHECK(slope_at([](auto x) { return pow(x, 2); }, 0) == 0);
  CHECK(slope_at([](auto x) { return pow(0, x); }, 2) == 0);
}
