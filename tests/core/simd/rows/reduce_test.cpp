// Reductions over every set of axes and every storage order against f64; specials; the same bits for any
// threads.
#include "core/simd/rows/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "core/simd/runtime/threads.hpp"
#include "tests/catch.hpp"
#include "tests/core/simd/each_index.hpp"

using namespace tapestry;
using namespace tapestry::simd;

namespace {

Dims permuted_strides(const Dims& shape, const std::vector<int>& order, Size gap) {
  Dims stride = shape;
  Size step = gap;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    stride[*axis] = step;
    step *= shape[*axis];
  }
  return stride;
}
template <class T>
T extreme(Reduction r) {
  return r == Reduction::sum ? T(0) : (r == Reduction::max ? -1 : 1) * std::numeric_limits<T>::infinity();
}

/// Neighbours join, then pairs of them, then fours: what the carries of a binary counter join, and at the
/// end the latest first.
template <class T>
T in_pairs(const T* x, std::size_t n) {
  if (n == 1) return x[0];
  std::size_t half = 1;
  while (2 * half < n) half *= 2;
  const T first = in_pairs(x, half);
  return first + in_pairs(x + half, n - half);
}

}  // namespace

TEMPLATE_TEST_CASE("reduce: every set of axes and storage order", "[simd][reduce]", float, double) {
  using T = TestType;
  const double eps = std::numeric_limits<T>::epsilon();
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  const std::vector<Dims> shapes = {{},         {1},       {0},        {5},      {3, 0},     {0, 3},
                                    {17, 33},   {2, 3, 4}, {700, 3},   {3, 700}, {4, 1, 65}, {2, 3, 4, 5, 2},
                                    {130, 514}, {1, 3000}, {6, 5, 130}};
  for (const Dims& shape : shapes)
    for (unsigned axes = 0; axes < 1U << shape.rank(); ++axes)
      for (int trial = 0; trial < 3; ++trial) {
        std::vector<int> order(static_cast<std::size_t>(shape.rank()));
        std::iota(order.begin(), order.end(), 0);
        if (trial) std::shuffle(order.begin(), order.end(), random);
        const Size gap = trial == 2 ? 2 : 1;
        std::vector<T> in(static_cast<std::size_t>(shape.count() * gap + 1));
        for (auto& v : in) v = static_cast<T>(normal(random));
        const View<const T> view{in.data(), shape, permuted_strides(shape, order, gap)};
        Dims small = shape;
        for (int axis = 0; axis < shape.rank(); ++axis)
          if (axes >> axis & 1U) small[axis] = 1;
        const Dims out_stride = permuted_strides(small, order, gap);
        std::vector<T> out(static_cast<std::size_t>(small.count() * gap + 1));
        for (const Reduction r : {Reduction::sum, Reduction::max, Reduction::min}) {
          std::vector<double> want(out.size(), extreme<double>(r)), size(out.size(), 0.0);
          each(shape, [&](Dims index) {
            const double x = static_cast<double>(view.data[offset_of(view.stride, index)]);
            for (int axis = 0; axis < shape.rank(); ++axis)
              if (small[axis] == 1) index[axis] = 0;
            const auto to = static_cast<std::size_t>(offset_of(out_stride, index));
            want[to] = r == Reduction::sum   ? want[to] + x
                       : r == Reduction::max ? std::max(want[to], x)
                                             : std::min(want[to], x);
            size[to] += std::fabs(x);
          });
          std::fill(out.begin(), out.end(), T(-99));
          reduce<T>(r, {out.data(), small, out_stride}, view);
          each(small, [&](const Dims& index) {
            const auto at = static_cast<std::size_t>(offset_of(out_stride, index));
            if (r == Reduction::sum)
              REQUIRE(std::fabs(static_cast<double>(out[at]) - want[at]) <= 4 * eps * size[at]);
            else
              REQUIRE(static_cast<double>(out[at]) == want[at]);
          });
          REQUIRE(out.back() == T(-99));
        }
      }
}

TEMPLATE_TEST_CASE("reduce: a NaN anywhere reaches its result", "[simd][reduce]", float, double) {
  using T = TestType;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const Size n : {1, 3, 8, 31, 1030})
    for (const Size at : {Size{0}, n / 2, n - 1})
      for (const Reduction r : {Reduction::sum, Reduction::max, Reduction::min}) {
        std::vector<T> in(static_cast<std::size_t>(2 * n), T(1));
        in[static_cast<std::size_t>(n + at)] = nan;
        T out[2];
        reduce<T>(r, {out, {2, 1}, {1, 1}}, {in.data(), {2, n}, {n, 1}});
        CHECK(out[0] == (r == Reduction::sum ? static_cast<T>(n) : T(1)));
        CHECK(std::isnan(out[1]));
        std::vector<T> columns(static_cast<std::size_t>(n));
        reduce<T>(r, {columns.data(), {1, n}, {n, 1}}, {in.data(), {2, n}, {n, 1}});
        for (Size i = 0; i < n; ++i) CHECK(std::isnan(columns[static_cast<std::size_t>(i)]) == (i == at));
      }
}

TEST_CASE("reduce: a long float sum keeps its digits, and its bits with any threads",
          "[simd][reduce][threads]") {
  const Size rows = 3000, columns = 700;
  std::vector<float> in(static_cast<std::size_t>(rows * columns));
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(0, 1);
  double exact = 0;
  for (auto& v : in) exact += static_cast<double>(v = uniform(random));
  const View<const float> view{in.data(), {rows, columns}, {columns, 1}};
  const int threads = thread_count();
  std::vector<std::vector<float>> results;
  for (const int count : {1, 2, 4}) {
    set_thread_count(count);
    std::vector<float> result(static_cast<std::size_t>(1 + rows + columns));
    reduce<float>(Reduction::sum, {result.data(), {1, 1}, {1, 1}}, view);
    reduce<float>(Reduction::sum, {result.data() + 1, {rows, 1}, {1, 1}}, view);
    reduce<float>(Reduction::sum, {result.data() + 1 + rows, {1, columns}, {columns, 1}}, view);
    results.push_back(result);
  }
  set_thread_count(threads);
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
  CHECK(std::fabs(static_cast<double>(results[0][0]) / exact - 1) < 3e-7);
}

TEMPLATE_TEST_CASE("argmax: first of equals, NaN largest", "[simd][reduce]", float, double) {
  using T = TestType;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::mt19937 random(2);
  for (const Size n : {1, 2, 7, 40, 1500})
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<T> x(static_cast<std::size_t>(3 * n));
      for (auto& v : x) v = static_cast<T>(random() % 50);
      if (trial % 3 == 1) x[static_cast<std::size_t>(n + static_cast<Size>(random()) % n)] = nan;
      if (trial % 3 == 2) std::fill(x.begin(), x.end(), -std::numeric_limits<T>::infinity());
      for (const bool transposed : {false, true}) {
        std::vector<T> y(x.size());
        for (Size r = 0; r < 3; ++r)
          for (Size c = 0; c < n; ++c)
            y[static_cast<std::size_t>(transposed ? c * 3 + r : r * n + c)] =
                x[static_cast<std::size_t>(r * n + c)];
        std::int64_t got[3];
        argmax<T>({got, {3}, {1}}, {y.data(), {3, n}, transposed ? Dims{1, 3} : Dims{n, 1}});
        for (Size r = 0; r < 3; ++r) {
          Size best = 0;
          for (Size c = 1; c < n; ++c) {
            const T v = x[static_cast<std::size_t>(r * n + c)], b = x[static_cast<std::size_t>(r * n + best)];
            if (!std::isnan(b) && (std::isnan(v) || v > b)) best = c;
          }
          REQUIRE(got[r] == best);
        }
      }
    }
}

TEMPLATE_TEST_CASE("cumsum: every axis, both ways, in place", "[simd][reduce]", float, double) {
  using T = TestType;
  const Dims shape{3, 70, 5};
  std::vector<T> in(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(i % 13) - T(5);
  const View<const T> view{in.data(), shape, dense_strides(shape)};
  for (int axis = 0; axis < 3; ++axis)
    for (const bool reverse : {false, true}) {
      std::vector<T> out(in.size()), same = in;
      cumsum<T>({out.data(), shape, dense_strides(shape)}, view, axis, reverse);
      cumsum<T>({same.data(), shape, dense_strides(shape)}, {same.data(), shape, dense_strides(shape)}, axis,
                reverse);
      CHECK(same == out);
      each(shape, [&](const Dims& index) {
        T want = 0;
        for (Dims i = index; i[axis] >= 0 && i[axis] < shape[axis]; i[axis] += reverse ? 1 : -1)
          want += in[static_cast<std::size_t>(offset_of(view.stride, i))];
        REQUIRE(out[static_cast<std::size_t>(offset_of(view.stride, index))] == want);
      });
    }
  cumsum<T>({nullptr, {0, 2}, {2, 1}}, {nullptr, {0, 2}, {2, 1}}, 1, false);
}

// The same sums in every version: what a seed and a step gave before, they give again.
TEMPLATE_TEST_CASE("reduce: the order of a sum down the columns follows from the shape", "[simd][reduce]",
                   float, double) {
  using T = TestType;
  struct Case {
    Size rows, columns,
        part;  // rows of a part: 65,536 elements in whole blocks of 64 rows and of 512 columns
  };
  for (const auto& [rows, columns, part] : {Case{1000, 1030, 128},
                                            {1000, 512, 128},
                                            {999, 513, 128},
                                            {900, 511, 128},
                                            {300, 130, 448},
                                            {1500, 130, 448},
                                            {50'000, 3, 21'824}}) {
    CAPTURE(rows, columns);
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    std::vector<T> in(static_cast<std::size_t>(rows * columns)), out(static_cast<std::size_t>(columns));
    for (T& v : in) v = static_cast<T>(normal(random));
    reduce<T>(Reduction::sum, {out.data(), {1, columns}, {columns, 1}},
              {in.data(), {rows, columns}, {columns, 1}});
    Size wrong = 0;
    for (Size column = 0; column < columns; ++column) {
      const auto at = [&, width = columns](Size row) {
        return in[static_cast<std::size_t>(row * width + column)];
      };
      std::vector<T> parts;
      for (Size first = 0; first < rows; first += part) {
        const Size last = std::min(first + part, rows);
        T total = 0;
        for (Size begin = first; begin < last; begin += 64) {
          T block = 0;
          for (Size row = begin; row < std::min(begin + 64, last); row += 4) {
            if (row + 4 <= std::min(begin + 64, last)) {
              block += (at(row) + at(row + 1)) + (at(row + 2) + at(row + 3));
            } else {
              T rest = at(row);
              for (Size r = row + 1; r < last; ++r) rest += at(r);
              block += rest;
            }
          }
          total += block;
        }
        parts.push_back(total);
      }
      wrong += out[static_cast<std::size_t>(column)] != in_pairs(parts.data(), parts.size());
    }
    CHECK(wrong == 0);
  }
}

TEMPLATE_TEST_CASE("reduce: the order of a sum along the rows follows from the shape", "[simd][reduce]",
                   float, double) {
  using T = TestType;
  constexpr Size kRows = 3, kBlockLength = 1024, kBlocksInPart = 64;
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (const Size blocks : {1, 2, 3, 4, 7, 13, 63, 64, 65, 151, 400}) {
    CAPTURE(blocks);
    const Size columns = blocks * kBlockLength - 7;
    // One number in each block: how a block is added up depends on the processor's lanes.
    std::vector<T> in(static_cast<std::size_t>(kRows * columns), T(0)), out(kRows);
    Size wrong = 0;
    for (int trial = 0; trial < 5; ++trial) {
      std::vector<T> want;
      for (Size row = 0; row < kRows; ++row) {
        std::vector<T> values, parts;
        for (Size block = 0; block < blocks; ++block) {
          T* const first = &in[static_cast<std::size_t>(row * columns + block * kBlockLength)];
          const Size length = std::min(kBlockLength, columns - block * kBlockLength);
          std::fill_n(first, length, T(0));
          values.push_back(static_cast<T>(normal(random)));
          first[static_cast<Size>(random()) % length] = values.back();
        }
        for (std::size_t i = 0; i < values.size(); i += kBlocksInPart)
          parts.push_back(in_pairs(&values[i], std::min<std::size_t>(kBlocksInPart, values.size() - i)));
        want.push_back(in_pairs(parts.data(), parts.size()));
      }
      reduce<T>(Reduction::sum, {out.data(), {kRows, 1}, {1, 1}},
                {in.data(), {kRows, columns}, {columns, 1}});
      wrong += out != want;
    }
    CHECK(wrong == 0);
  }
}
