// What a backend of registers must give, lane by lane against plain arithmetic: whichever the build has chosen.
#include "core/simd/lanes.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/simd/horizontal.hpp"
#include "tests/catch.hpp"

using namespace tapestry::simd;
using tapestry::Size;

namespace {

template <class T>
std::vector<T> values(Lanes<T> x) {
  std::vector<T> lanes(static_cast<std::size_t>(kLanes<T>));
  store(lanes.data(), x);
  return lanes;
}

/// Every number beside every other: zeros of both signs, halves, numbers without a fraction, infinities, NaN.
template <class T>
const std::vector<T> kNumbers{T(0),
                              T(-0.0),
                              T(1),
                              T(-1),
                              T(0.5),
                              T(-0.5),
                              T(2.5),
                              T(-2.5),
                              T(1e-30),
                              T(-7.75),
                              T(123456.75),
                              static_cast<T>(Size(1) << (std::numeric_limits<T>::digits - 1)),
                              std::numeric_limits<T>::max(),
                              std::numeric_limits<T>::denorm_min(),
                              std::numeric_limits<T>::infinity(),
                              -std::numeric_limits<T>::infinity(),
                              std::numeric_limits<T>::quiet_NaN()};

template <class T>
bool same(T a, T b) {
  return std::isnan(b) ? std::isnan(a) : a == b && std::signbit(a) == std::signbit(b);
}

/// f(a, b) in each lane is g of its numbers, for all pairs, each pair in each lane.
template <class T, class F, class G>
int wrong_pairs(const F& f, const G& g) {
  int wrong = 0;
  const std::vector<T>& numbers = kNumbers<T>;
  const std::size_t lanes = static_cast<std::size_t>(kLanes<T>), count = numbers.size();
  std::vector<T> a(lanes), b(lanes);
  for (std::size_t i = 0; i < count * count; ++i) {
    for (std::size_t l = 0; l < lanes; ++l) {
      a[l] = numbers[(i + l) / count % count];
      b[l] = numbers[(i + l) % count];
    }
    const std::vector<T> got = values<T>(f(load(a.data()), load(b.data())));
    for (std::size_t l = 0; l < lanes; ++l) wrong += !same<T>(got[l], g(a[l], b[l]));
  }
  return wrong;
}

/// 1 where f holds, as numbers.
template <class T>
Lanes<T> ones(LanesBool<T> f) {
  return select(f, Lanes<T>(T(1)), T(0));
}

}  // namespace

#define PAIRS(lanes, plain) \
  CHECK(wrong_pairs<T>([](auto a, auto b) { return lanes; }, [](T a, T b) -> T { return plain; }) == 0)
#define EACH(lanes, plain) \
  CHECK(wrong_pairs<T>([](auto a, auto) { return lanes; }, [](T a, T) -> T { return plain; }) == 0)

TEMPLATE_TEST_CASE("lanes: arithmetic and comparisons are those of plain numbers", "[simd][lanes]", float,
                   double) {
  using T = TestType;
  PAIRS(a + b, a + b);
  PAIRS(a - b, a - b);
  PAIRS(a * b, a * b);
  PAIRS(a / b, a / b);
  EACH(-a + T(0), -a + T(0));  // the sign of −0 is the backend's: xsimd has 0 − a
  PAIRS(ones<T>(a < b), a < b);
  PAIRS(ones<T>(a <= b), a <= b);
  PAIRS(ones<T>(a > b), a > b);
  PAIRS(ones<T>(a >= b), a >= b);
  PAIRS(ones<T>(a == b), a == b);
  PAIRS(ones<T>(a != b), a != b);
  PAIRS(ones<T>(!(a < b)), !(a < b));
  PAIRS(ones<T>((a < b) | (a == b)), a <= b);
  PAIRS(ones<T>((a <= b) & (a >= b)), a == b);
  EACH(ones<T>(is_nan(a)), std::isnan(a));
}

TEMPLATE_TEST_CASE("lanes: min and max take the second where one is NaN or both are equal, as x86 does",
                   "[simd][lanes]", float, double) {
  using T = TestType;
  PAIRS(min(a, b), a < b ? a : b);
  PAIRS(max(a, b), a > b ? a : b);
  PAIRS(min_nan(a, b), std::isnan(a) ? a : a < b ? a : b);
  PAIRS(max_nan(a, b), std::isnan(a) ? a : a > b ? a : b);
}

TEMPLATE_TEST_CASE("lanes: roots, signs and whole parts", "[simd][lanes]", float, double) {
  using T = TestType;
  EACH(abs(a), std::fabs(a));
  EACH(sqrt(a), std::sqrt(a));
  EACH(floor(a), std::floor(a));
  EACH(trunc(a), std::trunc(a));
  EACH(minus_abs(a), -std::fabs(a));
  PAIRS(copysign(a, b), std::copysign(a, b));
  EACH(from_bits<T>(to_bits(a)), a);
  PAIRS(select(a < b, a, b), a < b ? a : b);
}

TEMPLATE_TEST_CASE("lanes: division and roots are rounded correctly", "[simd][lanes]", float, double) {
  using T = TestType;
  std::vector<T> a(static_cast<std::size_t>(kLanes<T>)), b(a.size());
  int wrong = 0;
  for (int i = 1; i < 20000; ++i) {
    for (std::size_t l = 0; l < a.size(); ++l) {
      a[l] = T(1) + static_cast<T>(i * 7919 % 65537) / T(65537) + static_cast<T>(l);
      b[l] = T(1) + static_cast<T>(i) / T(20011);
    }
    const std::vector<T> ratio = values<T>(load(a.data()) / load(b.data())),
                         root = values<T>(sqrt(load(a.data())));
    for (std::size_t l = 0; l < a.size(); ++l)
      wrong += (ratio[l] != a[l] / b[l]) + (root[l] != std::sqrt(a[l]));
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("lanes: a multiply-add of small whole numbers is exact, whether or not it is fused",
                   "[simd][lanes]", float, double) {
  using T = TestType;
  for (int i = -20; i <= 20; ++i) {
    const std::vector<T> got = values<T>(fma(iota<T>() + T(i), Lanes<T>(T(3)), Lanes<T>(T(0.5)) * iota<T>()));
    for (std::size_t l = 0; l < got.size(); ++l)
      REQUIRE(got[l] == static_cast<T>(3 * (static_cast<int>(l) + i)) + T(0.5) * static_cast<T>(l));
  }
}

TEMPLATE_TEST_CASE("lanes: bits of integers, signed and unsigned shifts", "[simd][lanes]", std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t) {
  using T = TestType;
  const T patterns[] = {T(0), T(1), static_cast<T>(~T(0)), static_cast<T>(0x123456789abcdef7), T(77)};
  for (const T x : patterns)
    for (const T y : patterns) {
      const Lanes<T> a(x), b(y);
      CHECK(lane(a & b, 0) == (x & y));
      CHECK(lane(a | b, 0) == (x | y));
      CHECK(lane(a ^ b, 0) == (x ^ y));
      for (const int count : {0, 1, 7, 23, 31}) {
        CHECK(lane(a << count, 0) == static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << count));
        CHECK(lane(a >> count, static_cast<int>(kLanes<T>) - 1) == static_cast<T>(x >> count));
      }
    }
}

TEMPLATE_TEST_CASE("lanes: any and all look at each lane", "[simd][lanes]", float, double) {
  using T = TestType;
  const Lanes<T> count = iota<T>(), top(static_cast<T>(kLanes<T>));
  CHECK(all(count < top));
  CHECK_FALSE(any(count >= top));
  for (Size l = 0; l < kLanes<T>; ++l) {
    CAPTURE(l);
    CHECK(any(count == Lanes<T>(static_cast<T>(l))));
    CHECK_FALSE(all(count == Lanes<T>(static_cast<T>(l))));
    CHECK_FALSE(all(count != Lanes<T>(static_cast<T>(l))));
    CHECK(any(count != Lanes<T>(static_cast<T>(l))));
  }
}

TEMPLATE_TEST_CASE("lanes: sums, extremes, order", "[simd][lanes]", float, double) {
  using T = TestType;
  const Size n = kLanes<T>;
  CHECK(reduce_add(iota<T>()) == static_cast<T>(n * (n - 1) / 2));
  const std::vector<T> turned = values<T>(reverse(iota<T>()));
  for (Size l = 0; l < n; ++l) {
    std::vector<T> lanes(static_cast<std::size_t>(n), T(-2));
    lanes[static_cast<std::size_t>(l)] = T(5);
    CHECK(reduce_max(load(static_cast<const T*>(lanes.data()))) == 5);
    CHECK(reduce_min(-load(static_cast<const T*>(lanes.data()))) == -5);
    CHECK(reduce_add(load(static_cast<const T*>(lanes.data()))) == static_cast<T>(5 - 2 * (n - 1)));
    lanes[static_cast<std::size_t>(l)] = std::numeric_limits<T>::quiet_NaN();
    CHECK(std::isnan(reduce_max(load(static_cast<const T*>(lanes.data())))));
    CHECK(std::isnan(reduce_min(load(static_cast<const T*>(lanes.data())))));
    CHECK(lane(iota<T>(), static_cast<int>(l)) == static_cast<T>(l));
    CHECK(turned[static_cast<std::size_t>(l)] == static_cast<T>(n - 1 - l));
  }
}

TEMPLATE_TEST_CASE("lanes: short loads and stores touch their numbers alone", "[simd][lanes]", float,
                   double) {
  using T = TestType;
  std::vector<T> from(static_cast<std::size_t>(kLanes<T>));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
  for (Size n = 0; n <= kLanes<T>; ++n) {
    CAPTURE(n);
    const std::vector<T> got = values<T>(load_n(static_cast<const T*>(from.data()), n, T(9)));
    std::vector<T> to(from.size(), T(-1));
    store_n(to.data(), load(static_cast<const T*>(from.data())), n);
    for (std::size_t i = 0; i < from.size(); ++i) {
      CHECK(got[i] == (static_cast<Size>(i) < n ? from[i] : T(9)));
      CHECK(to[i] == (static_cast<Size>(i) < n ? from[i] : T(-1)));
    }
  }
}
