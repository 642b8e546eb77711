// 4.1 inner_tile: The inner tile of a blocked product
// implement, 20 minutes, fast
//
// Write the inner tile of a blocked matrix product, 3 rows × 2 vectors: c_rj ← c_rj + Σ_p a_pr b_pj. The function
// *adds* to c, because a large depth is divided into several pieces.
//
// a and b are packed. For each p = 0 … depth − 1, a contains 3 numbers, one for each row, and b contains 2 vectors. The
// rows of c are `stride` floats apart.
//
// load(from), store(to, x), Vector(number) and multiply_add(x, y, z) = x y + z are defined below. Keep the six sums
// in an array Vector sum[3][2], and store them to c once, at the end. Then the loop over p can work entirely in
// registers, without depending on the compiler to discover that.
#include "core/simd/lanes.hpp"
#include "lessons/grader/answer.hpp"

using Vector = simd::registers::batch<float>;
constexpr Size kLanes = static_cast<Size>(Vector::size);  // the number of floats in a register

inline Vector load(const float* from) { return Vector::load_unaligned(from); }
inline void store(float* to, Vector x) { x.store_unaligned(to); }
inline Vector multiply_add(Vector x, Vector y, Vector z) { return simd::registers::fma(x, y, z); }

void add_tile(const float* a, const float* b, float* c, Size depth, Size stride) {
  //[ about fifteen lines
  //: (void)a, (void)b, (void)c, (void)depth, (void)stride;
  //: not_written_yet();
  Vector sum[3][2];
  for (int r = 0; r < 3; ++r)
    for (int v = 0; v < 2; ++v) sum[r][v] = load(c + r * stride + v * kLanes);  // the old values
  for (Size p = 0; p < depth; ++p) {
    const Vector b0 = load(b), b1 = load(b + kLanes);
    for (int r = 0; r < 3; ++r) {
      const Vector left(a[r]);  // one number, in all lanes
      sum[r][0] = multiply_add(left, b0, sum[r][0]);
      sum[r][1] = multiply_add(left, b1, sum[r][1]);
    }
    a += 3;
    b += 2 * kLanes;
  }
  for (int r = 0; r < 3; ++r)
    for (int v = 0; v < 2; ++v) store(c + r * stride + v * kLanes, sum[r][v]);
  //]
}

// hint: How many loads and how many multiply-adds does a single p need? The loop over p is the outer loop. Which
//   sums must be kept from one p to the next?
// hint: There are three parts. First, the six sums start with the old values of c. Then, for each p, load two
//   vectors of b, and for each row one number of a, Vector(a[____]). At the end, store the six sums at c + r * ____ +
//   v * ____.
// hint: In the loop over p: sum[r][v] = multiply_add(left, right, sum[r][v]) for all six sums, then a += 3 and
//   b += 2 * kLanes.
//
// wrong: Your sums start with 0, so the old values of c are lost. A large depth is divided into pieces, and each
//   piece adds its part.
// - for (int v = 0; v < 2; ++v) sum[r][v] = load(c + r * stride + v * kLanes);
// + for (int v = 0; v < 2; ++v) sum[r][v] = Vector(0.0F);
// wrong: Both vectors of a row use the same half of b. The second vector starts kLanes floats after the first.
// - const Vector b0 = load(b), b1 = load(b + kLanes);
// + const Vector b0 = load(b), b1 = load(b);
// wrong: You read a as if it were stored row by row. a is packed: the three numbers of the same p are neighbours.
// - const Vector left(a[r]);  // one number, in all lanes
// - sum[r][0] = multiply_add(left, b0, sum[r][0]);
// - sum[r][1] = multiply_add(left, b1, sum[r][1]);
// - }
// - a += 3;
// + const Vector left(a[r * depth + p]);
// + sum[r][0] = multiply_add(left, b0, sum[r][0]);
// + sum[r][1] = multiply_add(left, b1, sum[r][1]);
// + }
// wrong: After the first p you read the wrong part of b. Each p uses two vectors, but you advance by one.
// - b += 2 * kLanes;
// + b += kLanes;
// wrong: You store the rows of c one directly after the other. c is a part of a wider matrix, and its rows are `stride`
//   floats apart.
// - for (int v = 0; v < 2; ++v) store(c + r * stride + v * kLanes, sum[r][v]);
// + for (int v = 0; v < 2; ++v) store(c + r * 2 * kLanes + v * kLanes, sum[r][v]);
// wrong: You use the first row of a for all rows of c. Each row r has its own number, a[r].
// - const Vector left(a[r]);  // one number, in all lanes
// + const Vector left(a[0]);
// wrong: The result is right, but it is computed one number at a time. Each multiply-add should use all lanes: load two
//   vectors of b, and copy each number of a into all lanes of a vector.
// - Vector sum[3][2];
// - for (int r = 0; r < 3; ++r)
// - for (int v = 0; v < 2; ++v) sum[r][v] = load(c + r * stride + v * kLanes);
// + Vector sum[3][2];
// + for (Size r = 0; r < 3; ++r)
// + for (Size j = 0; j < 2 * kLanes; ++j) {
// + volatile float total = c[r * stride + j];
// + for (Size p = 0; p < depth; ++p) total = total + a[3 * p + r] * b[2 * kLanes * p + j];
// + c[r * stride + j] = total;
// + }
// + if (depth >= 0) return;

//= judge
#include <fmt/format.h>

#include <chrono>

#include "lessons/grader/judge/judge.hpp"

namespace {

constexpr Size kWide = 2 * kLanes;

/// Computes the tile one number at a time, like the textbook.
[[gnu::noinline]] void by_loops(const float* a, const float* b, float* c, Size depth, Size stride) {
  for (Size r = 0; r < 3; ++r)
    for (Size j = 0; j < kWide; ++j) {
      volatile float sum = c[r * stride + j];  // volatile prevents the compiler from using vectors
      for (Size p = 0; p < depth; ++p) sum = sum + a[3 * p + r] * b[kWide * p + j];
      c[r * stride + j] = sum;
    }
}

/// Returns small integers, whose sums are exact in float in any order.
std::vector<float> whole(Judge& judge, Size count) {
  std::vector<float> numbers;
  for (Size i = 0; i < count; ++i) numbers.push_back(static_cast<float>(judge.random().below(19) - 9));
  return numbers;
}

std::vector<double> wider(const std::vector<float>& x) { return {x.begin(), x.end()}; }

template <class Tile>
double fastest(Tile tile) {
  constexpr Size kDepth = 256;
  std::vector<float> a(3 * kDepth, 0.5F), b(static_cast<std::size_t>(kWide * kDepth), 0.5F),
      c(static_cast<std::size_t>(3 * kWide), 0.0F);
  double best = 1;
  for (int round = 0; round < 200; ++round) {
    const auto start = std::chrono::steady_clock::now();
    tile(a.data(), b.data(), c.data(), kDepth, kWide);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("adds the right products, and changes only its tile", [&] {
    judge.each_size({{"depth", 1, 9}, {"floats between rows", 0, 5}}, [&](const Sizes& n) {
      const Size stride = kWide + n[1];
      const std::vector<float> a = whole(judge, 3 * n[0]), b = whole(judge, kWide * n[0]);
      std::vector<float> came = whole(judge, 4 * stride), expected = came;  // with another row below the tile
      add_tile(a.data(), b.data(), came.data(), n[0], stride);
      by_loops(a.data(), b.data(), expected.data(), n[0], stride);
      judge.same(wider(came), wider(expected), "c, and the numbers between its rows and below");
    });
  });
  judge.claim("is as fast as only full lanes can be", [&] {
    const double ratio = fastest(by_loops) / fastest(add_tile);
    judge.that(ratio >= 4, "your tile must be at least 4 times as fast as one number at a time");
    fmt::print("{:.0f} times as fast as one number at a time, with each sum loaded and stored at each p.\n",
               ratio);
  });
}
