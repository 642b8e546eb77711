// 4.4 engine_kernel: A faster matrix product for your engine
// speed, 30 minutes, fast, piece kernel.hpp
//
// Your engine computes matrix products row by row: for each number of a, it loads and stores a whole row of c. Write a
// kernel that keeps a tile of c in registers, 6 rows × 2 vectors, and stores the tile only after the last l:
//
//     c (n, m) += a (n, k) · b (k, m)        c_rj ← c_rj + Σ_l a_rl b_lj
//
// For each 2 vectors of columns, first *pack* b: copy k · 2 vectors into a panel, one after the other, so that the tile
// reads memory in order. The rows that are left after the last six need their own loop.
//
// The kernel must be at least 2.2 times as fast as the row-by-row version. Vector, load, store and multiply_add are
// those of exercise 4.1, but for double.
#include "core/simd/lanes.hpp"
#include "engine/matmul.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

using Vector = simd::registers::batch<double>;
constexpr int kLanes = static_cast<int>(Vector::size),
              kWide = 2 * kLanes;  // doubles in a register, in a row of a tile

inline Vector load(const double* from) { return Vector::load_unaligned(from); }
inline void store(double* to, Vector x) { x.store_unaligned(to); }
inline Vector multiply_add(Vector x, Vector y, Vector z) { return simd::registers::fma(x, y, z); }  // x y + z

/// Adds to 6 rows of c, kWide numbers each. The rows of a are k numbers apart, and the rows of c are m numbers apart.
/// The panel contains kWide numbers for each of the k values of l.
inline void six_rows(const double* a, const double* panel, double* c, int k, int m) {
  //[ the tile, about twelve lines
  //: (void)a, (void)panel, (void)c, (void)k, (void)m;
  //: not_written_yet();
  Vector sum[6][2];
  for (int r = 0; r < 6; ++r)
    for (int v = 0; v < 2; ++v) sum[r][v] = load(c + r * m + v * kLanes);  // the old values
  for (int l = 0; l < k; ++l) {
    const Vector b0 = load(panel + l * kWide), b1 = load(panel + l * kWide + kLanes);
    for (int r = 0; r < 6; ++r) {
      const Vector left(a[r * k + l]);  // one number, in all lanes
      sum[r][0] = multiply_add(left, b0, sum[r][0]);
      sum[r][1] = multiply_add(left, b1, sum[r][1]);
    }
  }
  for (int r = 0; r < 6; ++r)
    for (int v = 0; v < 2; ++v) store(c + r * m + v * kLanes, sum[r][v]);  // once, after the last l
  //]
}

inline void multiply_blocked(const double* a, const double* b, double* c, int n, int k, int m) {
  std::vector<double> packed(static_cast<std::size_t>(k * kWide));
  double* panel = packed.data();
  int j = 0;
  for (; j + kWide <= m; j += kWide) {
    //[ pack columns j … j + kWide − 1 of b; then six rows at a time; then the rows that are left
    //: (void)a, (void)b, (void)c, (void)n, (void)panel;
    //: not_written_yet();
    for (int l = 0; l < k; ++l)
      for (int v = 0; v < kWide; ++v)
        panel[l * kWide + v] = b[l * m + j + v];  // read once, used for all rows
    int i = 0;
    for (; i + 6 <= n; i += 6) six_rows(a + i * k, panel, c + i * m + j, k, m);
    for (; i < n; ++i)  // at most five rows
      for (int l = 0; l < k; ++l)
        for (int v = 0; v < kWide; ++v) c[i * m + j + v] += a[i * k + l] * panel[l * kWide + v];
    //]
  }
  for (int i = 0; i < n; ++i)  // the remaining columns, fewer than kWide
    for (int l = 0; l < k; ++l)
      for (int last = j; last < m; ++last) c[i * m + last] += a[i * k + l] * b[l * m + last];
}

/// Makes all products of the engine use this kernel.
inline const bool blocked = (kernel = &multiply_blocked, true);

}  // namespace engine

// hint: In exercise 4.1, six sums were kept from one p to the next. How many sums are there now, and which numbers
//   does a single l need?
// hint: six_rows() is the tile of 4.1 with six rows. a is not packed, so row r has its number at a[r * ____ + l]. b
//   is at panel + l * ____. Packing copies b[l * m + ____] to panel[l * kWide + v].
// hint: As long as six rows are left, call six_rows() with a + i * ____ and c + i * ____ + j. Then write three
//   loops: over the last n − i rows, over l, and over the kWide numbers of a row of the panel.
//
// wrong: Your sums start with 0, so the old values of c are lost. A kernel adds to c.
// - for (int v = 0; v < 2; ++v) sum[r][v] = load(c + r * m + v * kLanes);
// + for (int v = 0; v < 2; ++v) sum[r][v] = Vector(0.0);
// wrong: You use m as the distance of two rows of a. It is k. The mistake is invisible if k = m.
// - const Vector left(a[r * k + l]);
// + const Vector left(a[r * m + l]);
// wrong: The last rows are missing. n may be any number, not only a multiple of 6.
// - for (; i < n; ++i)
// + for (; i < n - 5; ++i)
// wrong: Your last tile has six rows even if fewer are left, so it changes numbers below c.
// - for (; i + 6 <= n; i += 6) six_rows(a + i * k, panel, c + i * m + j, k, m);
// + for (; i < n; i += 6) six_rows(a + i * k, panel, c + i * m + j, k, m);
// wrong: Every panel contains the first columns of b. The panel for column j must start at b[l * m + j].
// - panel[l * kWide + v] = b[l * m + j + v];
// + panel[l * kWide + v] = b[l * m + v];
// wrong: Both vectors of a row use the same half of the panel. The second vector starts kLanes numbers after the first.
// - const Vector b0 = load(panel + l * kWide), b1 = load(panel + l * kWide + kLanes);
// + const Vector b0 = load(panel + l * kWide), b1 = load(panel + l * kWide);
// wrong: The result is right, but too slow. Each multiply-add must use a whole register, and twelve sums must stay in
//   registers until the last l. With fewer sums, each multiply-add waits for the result of the previous one.
// - for (; i + 6 <= n; i += 6) six_rows(a + i * k, panel, c + i * m + j, k, m);
// + if (n < 0) six_rows(a, panel, c, k, m);

//= judge
#include <fmt/format.h>

#include <chrono>

#include "lessons/grader/judge/engine.hpp"

namespace {

/// Returns small integers, whose sums are exact in any order.
std::vector<double> whole(Judge& judge, int count) {
  std::vector<double> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(static_cast<double>(judge.random().below(19) - 9));
  return numbers;
}

/// Returns the seconds of the fastest round of each kernel. The kernels take turns, so that a busy machine slows down
/// both.
struct Seconds {
  double rows = 1, blocked = 1;
};

Seconds race(int size) {
  const std::vector<double> a(static_cast<std::size_t>(size * size), 0.5), b = a;
  std::vector<double> c = a;
  const auto seconds = [&](auto* kernel) {
    const auto start = std::chrono::steady_clock::now();
    kernel(a.data(), b.data(), c.data(), size, size, size);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Seconds best;
  for (int round = 0; round < 40; ++round) {
    best.rows = std::min(best.rows, seconds(&engine::multiply_rows));
    best.blocked = std::min(best.blocked, seconds(&engine::multiply_blocked));
  }
  return best;
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](int n, int k, int m) {
    // Six rows below a and c make a tile at the bottom edge a wrong number instead of a crash.
    const std::vector<double> a = whole(judge, (n + 6) * k), b = whole(judge, k * m);
    std::vector<double> came = whole(judge, (n + 6) * m), expected = came;
    engine::multiply_blocked(a.data(), b.data(), came.data(), n, k, m);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < m; ++j)
        for (int l = 0; l < k; ++l)
          expected[static_cast<std::size_t>(i * m + j)] +=
              a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * m + j)];
    judge.same(came, expected, "c, row by row, and the numbers below it");
  };
  judge.claim("adds the products of one tile", [&] {
    judge.example("n = 6, m = the width of a tile, k = that width + 1");
    compare(6, engine::kWide + 1, engine::kWide);
  });
  judge.claim("adds products of any size, and changes only c", [&] {
    judge.each_size({{"n", 1, 20}, {"k", 1, 9}, {"m", 1, 2 * engine::kWide + 3}}, [&](const Sizes& n) {
      compare(static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>(n[2]));
    });
  });
  judge.claim("computes the engine's products and their gradients", [&] {
    judge.each_size({{"n", 1, 8}, {"k", 1, 7}, {"m", 1, 2 * engine::kWide}}, [&](const Sizes& n) {
      grader::agree<engine::Tape>(
          judge, {judge.normal({n[0], n[1]}), judge.normal({n[1], n[2]})},
          [](const std::vector<engine::Value>& in) { return engine::matmul(in[0], in[1]); },
          [](const std::vector<Tensor>& in) { return tapestry::matmul(in[0], in[1]); });
    });
  });
  judge.claim("is at least 2.2 times as fast as row by row", [&] {
    constexpr int kSize = 192;
    const Seconds best = race(kSize);
    judge.example(fmt::format("n = k = m = {}", kSize));
    fmt::print("{:.1f} times as fast as row by row.\n", best.rows / best.blocked);
    judge.that(best.rows / best.blocked >= 2.2,
               "the kernel must be at least 2.2 times as fast as row by row");
  });
}
