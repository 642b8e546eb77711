// The matmul against three plain loops in f64: tails, transposes, strides, batches, starts, thin shapes,
// IEEE, threads.
#include "core/simd/matmul/matmul.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/simd/runtime/memory.hpp"
#include "core/simd/runtime/threads.hpp"
#include "tests/catch.hpp"
#include "tests/core/simd/guarded.hpp"
#include "tests/threads.hpp"

using namespace tapestry;
using namespace tapestry::simd;
using test::Threads;

namespace {

/// What the product's c starts from.
enum class From { kZero, kBias, kOld };

/// How an operand lies in memory: rows of it, columns of it, or neither contiguous.
enum class Lie { kRows, kColumns, kScattered };

struct Case {
  Size m, n, k;
  Lie a = Lie::kRows, b = Lie::kRows;
  From from = From::kZero;
  Size gap = 0;  // added to every leading dimension
  Dims batch = {};
  bool share_b = false, share_a = false;  // batch stride 0
};

std::size_t at(Size index) { return static_cast<std::size_t>(index); }

/// Memory for `count` values with room on both sides that must survive, at the pool's alignment plus one
/// element.
template <class T>
std::vector<T> noise(Size count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values(at(count));
  for (T& value : values) value = static_cast<T>(uniform(random));
  return values;
}

struct Strides {
  Size row, col, span;
};
Strides strides_of(Lie lie, Size rows, Size cols, Size gap) {
  if (lie == Lie::kRows) return {cols + gap, 1, rows * (cols + gap)};
  if (lie == Lie::kColumns) return {1, rows + gap, cols * (rows + gap)};
  return {3 * cols + gap, 3, rows * (3 * cols + gap)};
}

/// Runs the product and the plain loops; the largest |error| / (k + 1) over c, and infinity if anything else
/// changed.
template <class T>
struct Run {
  explicit Run(const Case& x) : test(x) {
    const Strides a_at = strides_of(x.a, x.m, x.k, x.gap), b_at = strides_of(x.b, x.k, x.n, x.gap);
    const Size items = x.batch.count();
    c_row = x.n + x.gap;
    a = noise<T>(1 + a_at.span * (x.share_a ? 1 : items), 1);
    b = noise<T>(1 + b_at.span * (x.share_b ? 1 : items), 2);
    c = noise<T>(2 + x.m * c_row * items, 3);
    bias = noise<T>(x.n, 4);
    old = c;
    product.m = x.m, product.n = x.n, product.k = x.k;
    product.a = a.data() + 1, product.a_row = a_at.row, product.a_col = a_at.col;
    product.b = b.data() + 1, product.b_row = b_at.row, product.b_col = b_at.col;
    product.c = c.data() + 1, product.c_row = c_row;
    product.bias = x.from == From::kBias ? bias.data() : nullptr;
    product.accumulate = x.from == From::kOld;
    product.batch = x.batch;
    product.a_batch = product.b_batch = product.c_batch = dense_strides(x.batch);
    for (int axis = 0; axis < x.batch.rank(); ++axis) {
      product.a_batch[axis] *= x.share_a ? 0 : a_at.span;
      product.b_batch[axis] *= x.share_b ? 0 : b_at.span;
      product.c_batch[axis] *= x.m * c_row;
    }
    a_span = x.share_a ? 0 : a_at.span;
    b_span = x.share_b ? 0 : b_at.span;
    matmul(product);
  }

  double error() const {
    std::vector<double> expected(old.begin(), old.end());
    double worst = 0;
    for (Size item = 0; item < test.batch.count(); ++item) {
      for (Size i = 0; i < test.m; ++i) {
        for (Size j = 0; j < test.n; ++j) {
          double& sum = expected[at(1 + (item * test.m + i) * c_row + j)];
          if (test.from == From::kZero) sum = 0;
          if (test.from == From::kBias) sum = static_cast<double>(bias[at(j)]);
          for (Size p = 0; p < test.k; ++p) {
            sum += static_cast<double>(a[at(1 + item * a_span + i * product.a_row + p * product.a_col)]) *
                   static_cast<double>(b[at(1 + item * b_span + p * product.b_row + j * product.b_col)]);
          }
          const double error =
              std::abs(sum - static_cast<double>(c[at(1 + (item * test.m + i) * c_row + j)]));
          worst = std::max(worst, std::isnan(error) ? 1e9 : error / static_cast<double>(test.k + 4));
          sum = static_cast<double>(c[at(1 + (item * test.m + i) * c_row + j)]);
        }
      }
    }
    // Gaps between rows and the element on either side are as they were.
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (static_cast<double>(c[i]) != expected[i]) return 1e9;
    }
    return worst;
  }

  Case test;
  Matmul<T> product;
  std::vector<T> a, b, c, old, bias;
  Size c_row, a_span, b_span;
};

template <class T>
void check(const Case& x) {
  INFO("m " << x.m << " n " << x.n << " k " << x.k << " a " << int(x.a) << " b " << int(x.b) << " from "
            << int(x.from) << " gap " << x.gap << " batch " << x.batch.count());
  const double error = Run<T>(x).error();
  CHECK(error < static_cast<double>(std::numeric_limits<T>::epsilon()));
}

constexpr std::array<Lie, 3> kLies = {Lie::kRows, Lie::kColumns, Lie::kScattered};
constexpr std::array<From, 3> kStarts = {From::kZero, From::kBias, From::kOld};

}  // namespace

TEMPLATE_TEST_CASE("matmul: every row and column tail", "[matmul]", float, double) {
  for (Size m = 1; m <= 27; ++m) {
    for (Size n = 1; n <= 70; n += n < 35 ? 1 : 5) {
      for (Size k : {1, 5, 17}) {
        check<TestType>({.m = m, .n = n, .k = k, .from = kStarts[at((m + n + k) % 3)], .gap = n % 2});
      }
    }
  }
}

TEMPLATE_TEST_CASE("matmul: every layout, start and thin shape", "[matmul]", float, double) {
  for (Lie a : kLies) {
    for (Lie b : kLies) {
      for (From from : kStarts) {
        for (Size m : {1, 2, 3, 4, 7, 12, 13, 40}) {
          for (Size n : {1, 2, 4, 5, 12, 13, 33}) {
            for (Size k : {2, 15, 16, 33}) {
              check<TestType>({.m = m, .n = n, .k = k, .a = a, .b = b, .from = from, .gap = (m + n) % 3});
            }
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("matmul: one row, wider than a tile, in every layout", "[matmul]", float, double) {
  const Threads scope(1);
  for (Lie a : kLies) {
    for (From from : kStarts) {
      for (Size n : {31, 65, 128, 131, 300, 4200}) {
        for (Size k : {1, 3, 4, 7, 270})
          check<TestType>({.m = 1, .n = n, .k = k, .a = a, .from = from, .gap = 2});
      }
    }
  }
}

TEMPLATE_TEST_CASE("matmul: more than one block in each direction", "[matmul][unsanitized]", float, double) {
  for (int threads : {1, 2}) {
    const Threads scope(threads);
    check<TestType>({.m = 200, .n = 70, .k = 1000, .from = From::kBias});
    check<TestType>({.m = 65, .n = 1100, .k = 400, .b = Lie::kColumns, .from = From::kOld});
    check<TestType>({.m = 70, .n = 1030, .k = 390, .a = Lie::kColumns, .gap = 1});
    check<TestType>({.m = 5, .n = 4200, .k = 40, .from = From::kBias});
    check<TestType>({.m = 30, .n = 4111, .k = 20, .b = Lie::kColumns, .from = From::kBias});
    check<TestType>({.m = 30, .n = 4111, .k = 20, .from = From::kOld});
    check<TestType>({.m = 3000, .n = 9, .k = 50, .b = Lie::kColumns, .from = From::kBias});
    check<TestType>({.m = 3000, .n = 1, .k = 300, .a = Lie::kColumns});
    check<TestType>({.m = 128, .n = 512, .k = 128});  // strides that are multiples of 2 KiB
  }
}

TEMPLATE_TEST_CASE("matmul: batches", "[matmul]", float, double) {
  for (int threads : {1, 2}) {
    const Threads scope(threads);
    for (bool share_a : {false, true}) {
      for (bool share_b : {false, true}) {
        for (Size m : {1, 9}) {
          for (const Dims& batch : {Dims{3}, Dims{2, 3}, Dims{1, 2, 1, 2}, Dims{40, 5}}) {
            Case x{.m = m, .n = 21, .k = 18, .batch = batch, .share_b = share_b, .share_a = share_a};
            for (Lie b : kLies) {
              x.b = b;
              x.from = kStarts[at(batch.count() % 3)];
              check<TestType>(x);
            }
          }
        }
      }
    }
    check<TestType>({.m = 64, .n = 64, .k = 64, .batch = {9}});
    check<TestType>({.m = 128, .n = 130, .k = 128, .b = Lie::kColumns, .batch = {3}});
  }
}

TEST_CASE("matmul: axes of a batch may each repeat an operand", "[matmul]") {
  const Size p = 2, q = 3, m = 4, n = 17, k = 5;
  const auto a = noise<float>(p * m * k, 1), b = noise<float>(q * k * n, 2);
  std::vector<float> c(at(p * q * m * n));
  Matmul<float> product{
      .m = m, .n = n, .k = k, .a = a.data(), .a_row = k, .b = b.data(), .b_row = n, .c = c.data()};
  product.c_row = n;
  product.batch = {p, q};
  product.a_batch = {m * k, 0};
  product.b_batch = {0, k * n};
  product.c_batch = {q * m * n, m * n};
  matmul(product);
  for (Size x = 0; x < p; ++x) {
    for (Size y = 0; y < q; ++y) {
      for (Size i = 0; i < m; ++i) {
        for (Size j = 0; j < n; ++j) {
          float sum = 0;
          for (Size s = 0; s < k; ++s) sum += a[at(x * m * k + i * k + s)] * b[at(y * k * n + s * n + j)];
          CHECK(c[at(((x * q + y) * m + i) * n + j)] == Approx(sum).margin(1e-5));
        }
      }
    }
  }
}

TEST_CASE("matmul: sizes of zero", "[matmul]") {
  for (From from : kStarts) {
    check<float>({.m = 0, .n = 5, .k = 3, .from = from});
    check<float>({.m = 5, .n = 0, .k = 3, .from = from});
    check<float>({.m = 5, .n = 3, .k = 0, .from = from, .gap = 1});
    check<float>({.m = 1, .n = 40, .k = 0, .b = Lie::kColumns, .from = from, .batch = {2}});
    check<float>({.m = 5, .n = 3, .k = 2, .from = from, .batch = {0}});
  }
  Matmul<double> empty;
  matmul(empty);
}

TEST_CASE("matmul: NaN and infinity reach exactly their row and column", "[matmul]") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  for (Lie lie : kLies) {
    for (const auto& [m, n, k] :
         {std::array<Size, 3>{3, 21, 19}, {20, 35, 9}, {30, 2, 40}, {1, 9, 100}, {8, 5, 3}}) {
      Run<float> run({.m = m, .n = n, .k = k, .b = lie});
      CAPTURE(m, n, k, int(lie));
      const auto b_at = [&](Size p, Size j) -> float& {
        return run.b[at(1 + p * run.product.b_row + j * run.product.b_col)];
      };
      // 0 · inf is NaN; a skipped zero would hide it.
      for (Size p = 0; p < k; ++p) run.a[at(1 + p)] = p == k - 1 ? 0.0f : 1.0f;
      b_at(k - 1, n - 1) = kInf;
      b_at(0, 0) = kNan;
      matmul(run.product);
      const auto c_at = [&](Size i, Size j) { return run.c[at(1 + i * run.c_row + j)]; };
      Size nans = 0, infinities = 0;
      for (Size i = 0; i < m; ++i) {
        for (Size j = 0; j < n; ++j) {
          nans += std::isnan(c_at(i, j));
          infinities += std::isinf(c_at(i, j));
        }
      }
      CHECK(std::isnan(c_at(0, n - 1)));
      CHECK(std::isnan(c_at(m - 1, 0)));
      CHECK(nans == m + 1);
      CHECK(infinities == m - 1);
    }
  }
}

TEMPLATE_TEST_CASE("matmul: the same bits with 1, 2 and 4 threads", "[matmul][threads]", float, double) {
  std::vector<Case> cases = {{.m = 150, .n = 140, .k = 500},
                             {.m = 33, .n = 900, .k = 257, .b = Lie::kColumns, .from = From::kBias},
                             {.m = 2000, .n = 40, .k = 77, .a = Lie::kColumns, .from = From::kOld},
                             {.m = 1, .n = 3000, .k = 300},
                             {.m = 5, .n = 3001, .k = 303, .b = Lie::kColumns, .from = From::kBias},
                             {.m = 3001, .n = 3, .k = 303},
                             {.m = 100, .n = 1500, .k = 400, .b = Lie::kColumns},
                             {.m = 50, .n = 60, .k = 70, .batch = {7}},
                             {.m = 200, .n = 150, .k = 170, .batch = {3}},
                             {.m = 9, .n = 20, .k = 30, .batch = {200}, .share_b = true}};
  for (const Case& x : cases) {
    CAPTURE(x.m, x.n, x.k, x.batch.count());
    std::vector<std::vector<TestType>> results;
    for (int threads : {1, 2, 4}) {
      const Threads scope(threads);
      results.push_back(Run<TestType>(x).c);
    }
    const std::size_t bytes = results[0].size() * sizeof(TestType);
    CHECK(std::memcmp(results[0].data(), results[1].data(), bytes) == 0);
    CHECK(std::memcmp(results[0].data(), results[2].data(), bytes) == 0);
  }
}

TEST_CASE("matmul: scratch memory goes back to the pool", "[matmul]") {
  const Size before = pool_stats().in_use;
  check<float>({.m = 100, .n = 1500, .k = 400, .b = Lie::kColumns});
  check<float>({.m = 3, .n = 100, .k = 100, .a = Lie::kColumns, .b = Lie::kColumns});
  CHECK(pool_stats().in_use == before);
}

TEMPLATE_TEST_CASE("matmul: no memory beside its operands is read or written", "[matmul][unsanitized]", float,
                   double) {
  using T = TestType;
  const auto check_edges = [](const Case& x) {
    CAPTURE(x.m, x.n, x.k, int(x.a), int(x.b), int(x.from));
    const Run<T> run(x);
    const auto extent = [](Size rows, Size row, Size columns, Size column) {
      return (rows - 1) * row + (columns - 1) * column + 1;
    };
    for (const Edge edge : {Edge::first, Edge::last}) {
      Matmul<T> product = run.product;
      const Guarded<T> a(product.a, extent(x.m, product.a_row, x.k, product.a_col), edge),
          b(product.b, extent(x.k, product.b_row, x.n, product.b_col), edge),
          bias(run.bias.data(), x.n, edge), c(run.old.data() + 1, extent(x.m, run.c_row, x.n, 1), edge);
      product.a = a.data(), product.b = b.data(), product.c = c.data();
      if (product.bias != nullptr) product.bias = bias.data();
      matmul(product);
      bool same = true;
      for (Size i = 0; i < x.m; ++i)
        same = same && std::memcmp(c.data() + i * run.c_row, run.c.data() + 1 + i * run.c_row,
                                   at(x.n) * sizeof(T)) == 0;
      CHECK(same);
    }
  };
  for (Lie a : kLies) {
    // From 64 rows on and with strides of 2 KiB, rows of a are packed: as many as remain after the tiles.
    for (Size m = 64; m <= 76; ++m) check_edges({.m = m, .n = 210, .k = 512, .a = a});
    for (Lie b : kLies) {
      for (const auto& [m, n, k] :
           {std::array<Size, 3>{200, 210, 1000}, {13, 17, 19}, {1, 70, 33}, {5, 1, 40}}) {
        for (From from : kStarts)
          check_edges({.m = m, .n = n, .k = k, .a = a, .b = b, .from = from, .gap = n % 2});
      }
    }
  }
}
