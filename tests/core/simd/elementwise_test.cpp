// map, copy, fill, convert, compare and select on every kind of view against plain index loops; the same bits
// for any number of threads and for any way of storing the operands.
#include "core/simd/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "core/simd/functors.hpp"
#include "tests/catch.hpp"
#include "tests/core/simd/each_index.hpp"

using namespace tapestry;
using namespace tapestry::simd;

namespace {

/// A strided array in its own memory, with a guard behind its end.
template <class T>
struct Strided {
  std::vector<T> memory;
  View<T> view;
};

/// `order` lists the axes from the slowest to the fastest in memory; axes in `broadcast` get stride 0; `gap`
/// elements are left between neighbours of the fastest axis.
template <class T>
Strided<T> make(const Dims& shape, const std::vector<int>& order, unsigned broadcast, Size gap,
                std::mt19937& random) {
  Strided<T> s;
  s.view.shape = shape;
  s.view.stride = Dims::filled(shape.rank(), 0);
  Size step = 1 + gap;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    if (broadcast >> *axis & 1U) continue;
    s.view.stride[*axis] = step;
    step *= std::max(Size{1}, shape[*axis]);
  }
  s.memory.resize(static_cast<std::size_t>(step + 1));
  std::uniform_real_distribution<double> uniform(-3, 3);
  for (auto& v : s.memory) v = static_cast<T>(uniform(random));
  s.view.data = s.memory.data() + (gap ? 1 : 0);
  return s;
}

template <class T>
T& at(const View<T>& view, const Dims& index) {
  return view.data[offset_of(view.stride, index)];
}

const std::vector<Dims>& shapes() {
  static const std::vector<Dims> all = {
      {},        {0},      {1},          {3, 0, 2},  {1, 1, 1}, {7},       {64, 3},      {3, 64},
      {5, 6, 7}, {33, 65}, {2, 3, 4, 5}, {130, 129}, {1, 2000}, {2000, 1}, {300, 2, 70}, {2, 2, 2, 2, 2, 3}};
  return all;
}

}  // namespace

TEMPLATE_TEST_CASE("map: every tail length, nothing behind the end is touched", "[simd][elementwise]", float,
                   double) {
  using T = TestType;
  for (Size n = 0; n < 5 * kLanes<T>; ++n)
    for (Size offset = 0; offset < 3; ++offset) {
      std::vector<T> a(static_cast<std::size_t>(n + offset)),
          out(static_cast<std::size_t>(n + offset + 1), T(-77));
      std::iota(a.begin(), a.end(), T(1));
      map(Mul{}, View<T>{out.data() + offset, {n}, {1}}, View<const T>{a.data() + offset, {n}, {1}},
          View<const T>{a.data() + offset, {n}, {1}});
      for (Size i = 0; i < n; ++i) {
        const T x = a[static_cast<std::size_t>(i + offset)];
        REQUIRE(out[static_cast<std::size_t>(i + offset)] == x * x);
      }
      REQUIRE(out.back() == T(-77));
      if (offset > 0) REQUIRE(out[static_cast<std::size_t>(offset - 1)] == T(-77));
    }
}

TEMPLATE_TEST_CASE("element-wise: every storage order, broadcast and gap", "[simd][elementwise]", float,
                   double) {
  using T = TestType;
  using Other = std::conditional_t<sizeof(T) == 4, double, float>;
  std::mt19937 random(7);
  for (const Dims& shape : shapes()) {
    const int rank = shape.rank();
    for (int trial = 0; trial < 12; ++trial) {
      std::vector<int> order(static_cast<std::size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      const auto shuffled = [&] {
        if (random() % 2) std::shuffle(order.begin(), order.end(), random);
        return order;
      };
      const auto some_axes = [&] {
        return random() % 2 ? static_cast<unsigned>(random() % (1U << rank)) : 0U;
      };
      const auto gap = [&] { return random() % 3 == 0 ? Size{2} : Size{0}; };
      const auto a = make<T>(shape, shuffled(), some_axes(), gap(), random);
      const auto b = make<T>(shape, shuffled(), some_axes(), gap(), random);
      const auto which_source = make<T>(shape, shuffled(), some_axes(), gap(), random);
      auto out = make<T>(shape, shuffled(), 0, gap(), random);
      auto truth = make<T>(shape, shuffled(), 0, gap(), random);

      map([](auto x, auto y) { return x * y - x; }, out.view, a.view, b.view);
      each(shape, [&](const Dims& i) {
        const T x = at(a.view, i), y = at(b.view, i);
        REQUIRE(at(out.view, i) == Approx(x * y - x).margin(1e-5));
      });

      copy<T>(out.view, a.view);
      each(shape, [&](const Dims& i) { REQUIRE(at(out.view, i) == at(a.view, i)); });

      auto other = make<Other>(shape, shuffled(), 0, gap(), random);
      convert<Other, T>(other.view, a.view);
      each(shape, [&](const Dims& i) { REQUIRE(at(other.view, i) == static_cast<Other>(at(a.view, i))); });

      const std::unique_ptr<bool[]> bits(new bool[which_source.memory.size()]);
      for (std::size_t i = 0; i < which_source.memory.size(); ++i) bits[i] = which_source.memory[i] > 0;
      const View<bool> which{bits.get() + (which_source.view.data - which_source.memory.data()), shape,
                             which_source.view.stride};
      select<T>(out.view, which, a.view, b.view);
      each(shape, [&](const Dims& i) {
        REQUIRE(at(out.view, i) == (at(which, i) ? at(a.view, i) : at(b.view, i)));
      });

      const std::unique_ptr<bool[]> result(new bool[truth.memory.size()]);
      const View<bool> compared{result.get() + (truth.view.data - truth.memory.data()), shape,
                                truth.view.stride};
      less<T>(compared, a.view, b.view);
      each(shape, [&](const Dims& i) { REQUIRE(at(compared, i) == (at(a.view, i) < at(b.view, i))); });

      const std::vector<T> before = out.memory;
      fill<T>(out.view, T(9));
      std::size_t changed = 0;
      for (std::size_t i = 0; i < before.size(); ++i) changed += before[i] != out.memory[i];
      REQUIRE(changed <= static_cast<std::size_t>(shape.count()));
      each(shape, [&](const Dims& i) { REQUIRE(at(out.view, i) == T(9)); });
    }
  }
}

TEMPLATE_TEST_CASE("map: bits depend neither on threads nor on place", "[simd][elementwise][threads]", float,
                   double) {
  using T = TestType;
  const Size rows = 500, columns = 403;
  std::mt19937 random(3);
  const auto dense = make<T>({rows, columns}, {0, 1}, 0, 0, random);
  const auto transposed = make<T>({rows, columns}, {1, 0}, 0, 0, random);
  copy<T>(transposed.view, dense.view);
  const int threads = thread_count();
  std::vector<T> first(static_cast<std::size_t>(rows * columns)), again(first.size());
  const View<T> out{first.data(), {rows, columns}, {columns, 1}};
  const View<T> out_again{again.data(), {rows, columns}, {columns, 1}};
  set_thread_count(1);
  map(Gelu{}, out, dense.view);
  for (const int count : {1, 2, 4}) {
    set_thread_count(count);
    std::fill(again.begin(), again.end(), T(0));
    map(Gelu{}, out_again, dense.view);
    CHECK(again == first);
    std::fill(again.begin(), again.end(), T(0));
    map(Gelu{}, out_again, transposed.view);
    CHECK(again == first);
  }
  set_thread_count(threads);
  for (Size i = 0; i < 40; ++i) {  // one by one: always a tail
    T one = 0;
    map(Gelu{}, View<T>{&one, {}, {}}, View<const T>{dense.view.data + i, {}, {}});
    CHECK(one == first[static_cast<std::size_t>(i)]);
  }
}

TEMPLATE_TEST_CASE("element-wise: more elements than the pool's ranges have in a grain",
                   "[simd][elementwise]", float, double) {
  using T = TestType;
  const Size n = kMostRanges * kGrain + 12'345;
  std::vector<T> a(static_cast<std::size_t>(n)), b(a.size()), out(a.size() + 1, T(-77));
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<T>((i * 7919) % 1013) / T(8);
    b[i] = static_cast<T>((i * 104'729) % 997) / T(4);
  }
  const View<T> to{out.data(), {n}, {1}};
  const View<const T> x{a.data(), {n}, {1}}, y{b.data(), {n}, {1}};
  std::size_t wrong = 0;
  const auto compare = [&](const auto& want) {
    for (std::size_t i = 0; i < a.size(); ++i) wrong += out[i] != want(i);
    wrong += out.back() != T(-77);
  };
  map(Sub{}, to, x, y);
  compare([&](std::size_t i) { return a[i] - b[i]; });
  map(Sqrt{}, to, x);
  compare([&](std::size_t i) { return std::sqrt(a[i]); });
  copy<T>(to, y);
  compare([&](std::size_t i) { return b[i]; });
  fill<T>(to, T(3));
  compare([&](std::size_t) { return T(3); });
  const std::unique_ptr<bool[]> less_of(new bool[a.size()]);
  const View<bool> which{less_of.get(), {n}, {1}};
  less<T>(which, x, y);
  for (std::size_t i = 0; i < a.size(); ++i) wrong += less_of[i] != (a[i] < b[i]);
  select<T>(to, which, x, y);
  compare([&](std::size_t i) { return std::min(a[i], b[i]); });
  using Other = std::conditional_t<sizeof(T) == 4, double, float>;
  std::vector<Other> other(a.size());
  convert<Other, T>({other.data(), {n}, {1}}, x);
  for (std::size_t i = 0; i < a.size(); ++i) wrong += other[i] != static_cast<Other>(a[i]);
  CHECK(wrong == 0);
  // The same with rows that are not one after the other, and transposed.
  const Size rows = 1031, columns = 1021;
  wrong = 0;
  map(Sub{}, View<T>{out.data(), {rows, columns}, {columns, 1}},
      View<const T>{a.data(), {rows, columns}, {1, rows}}, View<const T>{b.data(), {rows, columns}, {0, 1}});
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < columns; ++j)
      wrong += out[static_cast<std::size_t>(i * columns + j)] !=
               a[static_cast<std::size_t>(j * rows + i)] - b[static_cast<std::size_t>(j)];
  copy<T>({out.data(), {rows, columns}, {columns, 1}}, {a.data(), {rows, columns}, {1, rows}});
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < columns; ++j)
      wrong += out[static_cast<std::size_t>(i * columns + j)] != a[static_cast<std::size_t>(j * rows + i)];
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("functors: kinks, NaN and derivatives", "[simd][elementwise]", float, double) {
  using T = TestType;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const auto one = [](const auto& f, auto... x) {
    T lanes[64];
    store(lanes, f(Lanes<T>(T(x))...));
    return lanes[0];
  };
  CHECK(std::isnan(one(Max{}, nan, 1)));
  CHECK(std::isnan(one(Max{}, 1, nan)));
  CHECK(std::isnan(one(Min{}, nan, 1)));
  CHECK(std::isnan(one(Min{}, 1, nan)));
  CHECK(one(Max{}, 2, 3) == 3);
  CHECK(one(Min{}, 2, 3) == 2);
  CHECK(std::isnan(one(Relu{}, nan)));
  CHECK(one(Relu{}, -2) == 0);
  CHECK(one(Relu{}, 2) == 2);
  CHECK(one(ReluGrad{}, 5, 0) == 0);
  CHECK(one(ReluGrad{}, 5, 1) == 5);
  CHECK(one(Clamp{-1, 1}, 3) == 1);
  CHECK(std::isnan(one(Clamp{-1, 1}, nan)));
  CHECK(one(IsWithin{-1, 1}, 1) == 1);
  CHECK(one(IsWithin{-1, 1}, 1.5) == 0);
  CHECK(one(Sign{}, -3) == -1);
  CHECK(one(Sign{}, 0) == 0);
  CHECK(one(MaxGrad{}, 1, 1) == T(0.5));
  CHECK(one(PowTo{2}, -3) == 9);
  CHECK(one(PowTo{-1}, 4) == T(0.25));
  CHECK(one(PowTo{0.5}, 4) == 2);
  CHECK(one(Pow{}, -2, 3) == -8);
  CHECK(one(TanhGrad{}, 2, 0.5) == T(1.5));
  CHECK(one(SigmoidGrad{}, 2, 0.25) == T(0.375));
}
