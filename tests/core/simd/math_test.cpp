// exp, log, tanh, sigmoid, GELU and their kin against long double, in units in the last place; specials;
// every lane alike.
#include "core/simd/math.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/simd/gelu.hpp"
#include "tests/catch.hpp"

using namespace tapestry::simd;
using tapestry::Size;

namespace {

/// |got − want| in units of the last place of the correctly rounded result; 0 where both are the same special
/// value.
template <class T>
double ulps(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  if (got == rounded) return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded)) return 1e30;
  const int exponent = std::max(std::ilogb(rounded == 0 ? std::numeric_limits<T>::denorm_min() : rounded),
                                std::numeric_limits<T>::min_exponent - 1);
  const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

template <class T, class F>
T one(const F& f, T x) {
  std::vector<T> lanes(static_cast<std::size_t>(kLanes<T>));
  store(lanes.data(), f(Lanes<T>(x)));
  return lanes[0];
}

/// The largest error of f over evenly spaced points of [low, high] and over powers of two of both signs
/// within it.
template <class T, class F, class G>
double worst(const F& f, const G& reference, double low, double high, int points = 200000) {
  const Size lanes = kLanes<T>;
  std::vector<T> x;
  for (int i = 0; i < points; ++i) x.push_back(static_cast<T>(low + (high - low) * i / (points - 1)));
  for (int e = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits; e < 12; ++e)
    for (const double m : {1.0, 1.37, -1.0, -1.61})
      if (const double v = std::ldexp(m, e); v >= low && v <= high) x.push_back(static_cast<T>(v));
  while (static_cast<Size>(x.size()) % lanes != 0) x.push_back(x.back());
  double most = 0;
  std::vector<T> y(static_cast<std::size_t>(lanes));
  for (std::size_t i = 0; i < x.size(); i += static_cast<std::size_t>(lanes)) {
    store(y.data(), f(load(&x[i])));
    for (std::size_t j = 0; j < static_cast<std::size_t>(lanes); ++j)
      most = std::max(most, ulps(y[j], reference(static_cast<long double>(x[i + j]))));
  }
  return most;
}

long double sigmoid_reference(long double x) { return 1 / (1 + std::exp(-x)); }
long double softplus_reference(long double x) {
  return std::max(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
}
const long double kRoot = std::sqrt(2 / std::acos(-1.0L));
long double gelu_reference(long double x) {
  return x * sigmoid_reference(2 * kRoot * (x + 0.044715L * x * x * x));
}
long double gelu_slope_reference(long double x) {
  const long double s = sigmoid_reference(2 * kRoot * (x + 0.044715L * x * x * x));
  return s + x * s * (1 - s) * 2 * kRoot * (1 + 3 * 0.044715L * x * x);
}
long double gelu_erf_reference(long double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0L)); }
long double gelu_erf_slope_reference(long double x) {
  return std::erfc(-x / std::sqrt(2.0L)) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L));
}

/// The largest |got − want| in machine epsilons, against max(1, |want|): for functions that lose digits in
/// exp's argument.
template <class T, class F, class G>
double worst_absolute(const F& f, const G& reference, double low, double high) {
  double most = 0;
  for (int i = 0; i < 20000; ++i) {
    const T x = static_cast<T>(low + (high - low) * i / 19999);
    const long double want = reference(static_cast<long double>(x));
    most = std::max(most, static_cast<double>(std::fabs(static_cast<long double>(one(f, x)) - want) /
                                              std::max(1.0L, std::fabs(want))));
  }
  return most / static_cast<double>(std::numeric_limits<T>::epsilon());
}

}  // namespace

#define UNARY(name) [](auto lanes) { return name(lanes); }

/// What the reference may err by: up to a unit of double where long double is no wider, and where musl has the C
/// library, whose functions of long double are those of double.
template <class T>
constexpr double kReferenceError =
#ifdef __EMSCRIPTEN__
    sizeof(T) == 8 ? 1 : 0;
#else
    std::numeric_limits<T>::digits == std::numeric_limits<long double>::digits ? 1 : 0;
#endif

TEMPLATE_TEST_CASE("math: errors in ulp", "[simd][math]", float, double) {
  using T = TestType;
  const bool single = sizeof(T) == 4;
  const double end = single ? 90 : 712, normal = single ? -87 : -708;  // e^normal is a normal number
  const auto check = [](const char* name, double error, double bound) {
    INFO(name << " error " << error << " ulp");
    CHECK(error <= bound + kReferenceError<T>);
  };
  const auto exp_l = [](long double x) { return std::exp(x); };
  check("exp", worst<T>(UNARY(exp), exp_l, single ? -105 : -750, end), 1.2);
  check("exp_nonpositive", worst<T>(UNARY(exp_nonpositive), exp_l, normal, 0), 1.2);
  check("log",
        worst<T>(
            UNARY(log), [](long double x) { return std::log(x); }, 0, 4000),
        1.5);
  check("log near 1",
        worst<T>(
            UNARY(log), [](long double x) { return std::log(x); }, 0.5, 2),
        1.5);
  check("log1p",
        worst<T>(
            UNARY(log1p), [](long double x) { return std::log1p(x); }, -0.9, 10),
        2);
  check("tanh",
        worst<T>(
            UNARY(tanh), [](long double x) { return std::tanh(x); }, -12, 12),
        single ? 5 : 2.5);
  check("tanh far",
        worst<T>(
            UNARY(tanh), [](long double x) { return std::tanh(x); }, -100, 100),
        single ? 5 : 2.5);
  check("sigmoid", worst<T>(UNARY(sigmoid), sigmoid_reference, normal, end), 3);
  check("softplus", worst<T>(UNARY(softplus), softplus_reference, normal, end), 3);
  const auto sin_l = [](long double x) { return std::sin(x); };
  const auto cos_l = [](long double x) { return std::cos(x); };
  check("sin", worst<T>(UNARY(sin), sin_l, -4, 4), 1.5);
  check("cos", worst<T>(UNARY(cos), cos_l, -4, 4), 1.5);
  check("sin far", worst<T>(UNARY(sin), sin_l, -5000, 5000), 1.5);
  check("cos far", worst<T>(UNARY(cos), cos_l, -5000, 5000), 1.5);
  check("sin very far", worst<T>(UNARY(sin), sin_l, 1e6, 1e9, 20000), 1.5);
  check("gelu", worst_absolute<T>(UNARY(gelu), gelu_reference, -12, 8), 2);
  check("gelu_slope", worst_absolute<T>(UNARY(gelu_slope), gelu_slope_reference, -12, 8), 2);
  check("gelu_erf", worst_absolute<T>(UNARY(gelu_erf), gelu_erf_reference, -12, 8), 2);
  check("gelu_erf_slope", worst_absolute<T>(UNARY(gelu_erf_slope), gelu_erf_slope_reference, -12, 8), 2);
}

TEMPLATE_TEST_CASE("math: zeros, infinities, NaN", "[simd][math]", float, double) {
  using T = TestType;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  T full;  // a NaN with all bits set: integer arithmetic on it must not make it a number
  std::memset(&full, 0xff, sizeof full);
  const auto is_nan_one = [&](const auto& f) {
    return std::isnan(one(f, nan)) && std::isnan(one(f, -nan)) && std::isnan(one(f, full));
  };

  CHECK(one(UNARY(exp), T(0)) == 1);
  CHECK(one(UNARY(exp), T(-0.0)) == 1);
  CHECK(one(UNARY(exp), inf) == inf);
  CHECK(one(UNARY(exp), -inf) == 0);
  CHECK(one(UNARY(exp), std::numeric_limits<T>::max()) == inf);
  CHECK(is_nan_one(UNARY(exp)));
  CHECK(one(UNARY(exp_nonpositive), T(0)) == 1);
  CHECK(one(UNARY(exp_nonpositive), -inf) == 0);
  CHECK(one(UNARY(exp_nonpositive), std::numeric_limits<T>::lowest()) == 0);
  CHECK(is_nan_one(UNARY(exp_nonpositive)));

  CHECK(one(UNARY(log), T(1)) == 0);
  CHECK(one(UNARY(log), T(0)) == -inf);
  CHECK(one(UNARY(log), T(-0.0)) == -inf);
  CHECK(one(UNARY(log), inf) == inf);
  CHECK(std::isnan(one(UNARY(log), T(-1))));
  CHECK(is_nan_one(UNARY(log)));

  CHECK(one(UNARY(tanh), inf) == 1);
  CHECK(one(UNARY(tanh), -inf) == -1);
  CHECK(one(UNARY(tanh), T(30)) == 1);
  CHECK(one(UNARY(tanh), T(0)) == 0);
  CHECK(std::signbit(one(UNARY(tanh), T(-0.0))));
  CHECK(is_nan_one(UNARY(tanh)));

  CHECK(one(UNARY(sigmoid), T(0)) == T(0.5));
  CHECK(one(UNARY(sigmoid), inf) == 1);
  CHECK(one(UNARY(sigmoid), -inf) == 0);
  CHECK(one(UNARY(sigmoid), std::log(std::numeric_limits<T>::min()) - 1) == 0);
  CHECK(is_nan_one(UNARY(sigmoid)));

  CHECK(one(UNARY(softplus), inf) == inf);
  CHECK(one(UNARY(softplus), -inf) == 0);
  CHECK(one(UNARY(softplus), std::log(std::numeric_limits<T>::min()) - 1) == 0);
  CHECK(is_nan_one(UNARY(softplus)));

  CHECK(one(UNARY(gelu), inf) == inf);
  CHECK(one(UNARY(gelu), -inf) == 0);
  CHECK(is_nan_one(UNARY(gelu)));
  CHECK(one(UNARY(gelu_slope), inf) == 1);
  CHECK(one(UNARY(gelu_slope), -inf) == 0);
  CHECK(is_nan_one(UNARY(gelu_slope)));
  CHECK(one(UNARY(gelu_erf), inf) == inf);
  CHECK(one(UNARY(gelu_erf), -inf) == 0);
  CHECK(is_nan_one(UNARY(gelu_erf)));
  CHECK(one(UNARY(gelu_erf_slope), inf) == 1);
  CHECK(one(UNARY(gelu_erf_slope), -inf) == 0);
  CHECK(is_nan_one(UNARY(gelu_erf_slope)));
}

TEMPLATE_TEST_CASE("math: fmod is the C library's, bit for bit, and pow and floor are", "[simd][math]", float,
                   double) {
  using T = TestType;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN(),
          most = static_cast<T>(Size(1) << std::numeric_limits<T>::digits);
  std::vector<T> numbers{0, T(-0.0), inf, -inf, nan, most, most - 1, T(1e30), std::numeric_limits<T>::min()};
  for (int i = -40; i <= 40; ++i) numbers.insert(numbers.end(), {T(i), T(i * 0.37), T(i * 1234567)});
  const auto same = [](T a, T b) {
    return std::isnan(b) ? std::isnan(a) : a == b && std::signbit(a) == std::signbit(b);
  };
  int wrong = 0;
  for (const T a : numbers)
    for (const T b : numbers) {
      wrong += !same(one([b](auto x) { return fmod(x, b); }, a), std::fmod(a, b));
      wrong += !same(one([b](auto x) { return x % b; }, a), std::fmod(a, b));
      wrong += !same(one([b](auto x) { return pow(x, Lanes<T>(b)); }, a), std::pow(a, b));
      if (b != 0 && std::abs(a) < 1000 && std::abs(b) < 1000 && std::abs(b) > T(0.1))
        wrong += one([b](auto x) { return trunc_div(x, b); }, a) !=
                 (a - std::fmod(a, b) == 0 ? T(0) : std::round((a - std::fmod(a, b)) / b));
    }
  CHECK(wrong == 0);
  for (const T a : numbers) wrong += !same(one(UNARY(floor), a), std::floor(a));
  CHECK(wrong == 0);
  CHECK(std::isnan(one(UNARY(sin), inf)));
  CHECK(std::isnan(one(UNARY(cos), nan)));
  CHECK(std::signbit(one(UNARY(sin), T(-0.0))));
}

TEMPLATE_TEST_CASE("math: tanh never leaves [-1, 1] and never falls", "[simd][math]", float, double) {
  using T = TestType;
  T last = -1;
  for (T x = T(-10); x < T(10); x += T(1.0 / 4096)) {
    const T y = one(UNARY(tanh), x);
    REQUIRE(std::fabs(y) <= 1);
    REQUIRE(y >= last - 4 * std::numeric_limits<T>::epsilon());
    last = y;
  }
}

TEMPLATE_TEST_CASE("math: exp of a number does not depend on the lanes beside it", "[simd][math]", float,
                   double) {
  using T = TestType;
  const double end = sizeof(T) == 4 ? 92 : 715;
  for (int i = 0; i <= 20000; ++i) {
    const T x = static_cast<T>(end * (i - 10000) / 10000);
    std::vector<T> group(static_cast<std::size_t>(kLanes<T>), T(-1e5));
    group[0] = x;
    store(group.data(), exp(load(static_cast<const T*>(group.data()))));
    REQUIRE(group[0] == one(UNARY(exp), x));
  }
}
