// 04 simd: one instruction, many lanes
//
// Lesson 03 spent its time in matrix products, and so does everything that follows. The textbook's three
// loops compute one in five lines, and leave all but a fiftieth of the processor idle. This lesson finds the
// rest, in four steps, and after each it asks the same question: what is the processor waiting for now?
//
// You will: 1 meet lanes; 2 measure how fast this processor can multiply at all; 3 write a matrix product
// four times, each time faster, and check each; 4 put everything in one picture, the roofline, which tells
// what a program waits for without looking at its code.
//
// This is the one lesson whose figures differ from run to run: they are times. Everything takes turns in many
// short rounds, and of each only the fastest run counts, since another program can make us slower, and never
// faster.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/core.hpp"
#include "core/simd/lanes.hpp"  // brings xsimd
#include "core/simd/matmul/tiles.hpp"
#include "core/simd/runtime/arch.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/simd/runtime/threads.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/program/stopwatch.hpp"

using namespace tapestry;
using kit::Timed;  // what one run does (in billions), the run, and its best speed so far (in billions a
                   // second)

namespace {

// ---- 1. Lanes ---------------------------------------------------------------------------------------------
//
// A vector register holds several numbers beside each other, each in a *lane*: four floats with SSE, eight
// with AVX2, sixteen with AVX-512. One instruction works on all lanes at once (SIMD: single instruction,
// multiple data), in the time that it takes for one. xsimd gives such a register a C++ type, and picks the
// instruction set that the program was compiled for.

using Vector = xsimd::batch<float>;
constexpr Size kLanes = static_cast<Size>(Vector::size);

Vector load(const float* from) { return Vector::load_unaligned(from); }  // kLanes neighbours in memory
void store(float* to, Vector x) { x.store_unaligned(to); }

// The instruction that matters is the *fused multiply-add*, a·b + c in one go and rounded once (FMA). A
// matrix product is nothing else. It counts as two operations per lane, a product and a sum.

float multiply_add(float a, float b, float c) { return a * b + c; }
Vector multiply_add(Vector a, Vector b, Vector c) { return xsimd::fma(a, b, c); }

void show_lanes() {
  float x[kLanes], y[kLanes];
  for (Size lane = 0; lane < kLanes; ++lane) x[lane] = static_cast<float>(lane);
  store(y, multiply_add(load(x), Vector(10.0F), Vector(1.0F)));  // a number becomes equal lanes
  fmt::print("  {}: {} floats in a register\n  x         ", simd::arch_name(), kLanes);
  for (const float value : x) fmt::print("{:>5}", value);
  fmt::print("\n  10 x + 1  ");
  for (const float value : y) fmt::print("{:>5}", value);
  fmt::print("   in one instruction\n");
}

// ---- 2. The peak of one core ------------------------------------------------------------------------------
//
// How many can it do in a second? Take numbers that never leave their registers, and do nothing else. There
// is a trap: an FMA takes about four cycles from its arguments to its result, but the processor can *start*
// one or two in every cycle. A chain, in which each needs the result of the one before, leaves it idle most
// of the time. Several chains that do not need each other fill the gaps, until nothing more can be started:
// as many as the cycles that one takes, times those that start in a cycle.

/// body(0) … body(n − 1), written out one after the other: an array that is only used so can live in
/// registers.
template <int n, class Body>
[[gnu::always_inline]] inline void each(const Body& body) {
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) body(i);
}

float first_lane(float x) { return x; }
float first_lane(Vector x) {
  float lanes[kLanes];
  store(lanes, x);
  return lanes[0];
}

/// kChains independent sums of `steps` multiply-adds each; V is float (one lane) or Vector.
template <class V, int kChains>
[[gnu::noinline]] float run_chains(Size steps, float factor, float term) {
  V sum[kChains];
  each<kChains>([&](int i) { sum[i] = V(static_cast<float>(i)); });
  const V f(factor), t(term);
  for (Size step = 0; step < steps; ++step)
    each<kChains>([&](int i) { sum[i] = multiply_add(sum[i], f, t); });
  V total(0.0F);
  each<kChains>([&](int i) { total = total + sum[i]; });
  return first_lane(total);
}

// ---- 3. A matrix product, four times ----------------------------------------------------------------------
//
// c = a·b for square matrices of n × n floats, row after row in memory: c_ij = Σ_p a_ip b_pj. That is 2n³
// operations on 3n² numbers. At n = 256 a matrix has 256 KiB: it fits into the processor's second cache
// (L2). The first one (L1), smaller and faster, holds 32 KiB or a little more: an eighth of it. Speeds are in
// GFLOP/s, billions of floating-point operations a second.

// *Three loops.* The sum over p is one chain, in one lane: every addition waits for the one before. The
// compiler may not help: to use lanes it would have to add in another order, and floats then round
// differently. (It does the first `rows` of a; the others do all n. It is so slow that it is timed on a few.)
[[gnu::noinline]] void three_loops(const float* a, const float* b, float* c, Size n, Size rows) {
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < n; ++j) {
      float sum = 0;
      for (Size p = 0; p < n; ++p) sum += a[i * n + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
}

// *Another order.* With j innermost, neighbours in memory are neighbours in time, and the n sums of a row do
// not wait for each other. Now the compiler can use the lanes by itself. (GCC 12 does so at -O3, and at -O2
// leaves this loop as it is; so this lesson is compiled with -O3, and the report asks whether it was done.)
// But the sums live in memory: each multiply-add loads from b, loads from c and stores to c. It is these that
// the processor waits for.
[[gnu::noinline]] void reordered(const float* a, const float* b, float* c, Size n) {
  for (Size i = 0; i < n; ++i) {
    for (Size j = 0; j < n; ++j) c[i * n + j] = 0;
    for (Size p = 0; p < n; ++p)
      for (Size j = 0; j < n; ++j) c[i * n + j] += a[i * n + p] * b[p * n + j];
  }
}

// *Batches.* So keep the sums in registers. Eight vectors of a row of c are eight chains; p runs through for
// them, then they are stored, once. A multiply-add now costs one load, that of b. But b is used up at once:
// for each row of c all of b passes by again, and it is larger than the first cache. It comes from the
// second.
constexpr int kStrip = 8;

[[gnu::noinline]] void batches(const float* a, const float* b, float* c, Size n) {
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; j += kStrip * kLanes) {
      Vector sum[kStrip];
      each<kStrip>([&](int v) { sum[v] = Vector(0.0F); });
      for (Size p = 0; p < n; ++p) {
        const Vector factor(a[i * n + p]);
        each<kStrip>([&](int v) { sum[v] = multiply_add(factor, load(b + p * n + j + v * kLanes), sum[v]); });
      }
      each<kStrip>([&](int v) { store(c + i * n + j + v * kLanes, sum[v]); });
    }
}

// *Blocked.* A number that was loaded must be used more than once while it is there. Two blocks do that, one
// in the registers and one in the first cache. The *register tile* is 4 rows × 2 vectors of c:
//
//                 ┌─────┐
//               b │     │ 2 vectors      Again eight sums. For each p the tile loads 2 vectors of b
//                 └─────┘                and 4 numbers of a, and does 8 multiply-adds with them: each
//         a ┌───┐ ┌─────┐                vector of b is used four times, each number of a twice. A
//    4 rows │   │ │  c  │                larger tile would load less, but its sums, and what it loads,
//           └───┘ └─────┘                must fit into 16 registers (32 with AVX-512).
//
// All tiles that stand below each other read the same columns of b, a *panel*: 16 KiB at n = 256 with AVX2.
// It stays in the first cache while all rows of a pass by; then comes the next panel. (Where p is longer, it
// is cut, too.)
//
// *Packing* copies a and b first, into the order in which the tile reads them. Left where they are, the rows
// of a panel lie n floats apart. Caches keep addresses that are a power of two apart in the same few places,
// so at n = 256 these rows would push each other out. The copying takes some n² steps, and the product n³.
constexpr int kRows = 4, kVectors = 2;
constexpr Size kWide = kVectors * kLanes;

using Floats = std::vector<float, simd::PoolAllocator<float>>;  // starts where a cache line does

/// Says that x is changed here, by an instruction that is not there: x has to be in a register, and to stay
/// in it. An FMA can also take an argument from memory, and GCC 12, to save an instruction, would load each
/// vector of b again for each row. Who counts on what a compiler does looks at what it did (objdump -d).
void keep(Vector& x) { asm("" : "+v"(x.data)); }

/// c (kRows × kWide, in rows of n) = a panel of a times a panel of b.
void tile(const float* a, const float* b, float* c, Size n) {
  Vector sum[kRows][kVectors];
  each<kRows>([&](int r) { each<kVectors>([&](int v) { sum[r][v] = Vector(0.0F); }); });
  for (Size p = 0; p < n; ++p, a += kRows, b += kWide) {
    Vector right[kVectors];
    each<kVectors>([&](int v) { keep(right[v] = load(b + v * kLanes)); });
    each<kRows>([&](int r) {
      const Vector left(a[r]);
      each<kVectors>([&](int v) { sum[r][v] = multiply_add(left, right[v], sum[r][v]); });
    });
  }
  each<kRows>([&](int r) { each<kVectors>([&](int v) { store(c + r * n + v * kLanes, sum[r][v]); }); });
}

struct Packed {
  Floats a, b;
};

[[gnu::noinline]] void blocked(const float* a, const float* b, float* c, Size n, Packed& packed) {
  packed.a.resize(static_cast<std::size_t>(n * n));
  packed.b.resize(static_cast<std::size_t>(n * n));
  float* to = packed.a.data();
  for (Size i = 0; i < n; i += kRows)  // panels of a: kRows numbers for p = 0, for p = 1, …
    for (Size p = 0; p < n; ++p)
      for (Size r = 0; r < kRows; ++r) *to++ = a[(i + r) * n + p];
  to = packed.b.data();
  for (Size j = 0; j < n; j += kWide)  // panels of b: kVectors vectors for p = 0, for p = 1, …
    for (Size p = 0; p < n; ++p, to += kWide)
      for (int v = 0; v < kVectors; ++v) store(to + v * kLanes, load(b + p * n + j + v * kLanes));
  for (Size j = 0; j < n; j += kWide)
    for (Size i = 0; i < n; i += kRows)
      tile(packed.a.data() + i * n, packed.b.data() + j * n, c + i * n + j, n);
}

// core/simd/matmul/matmul.hpp does the same with a larger tile, for any shape and storage order, on all
// threads (here it gets one). On the one shape that the lesson's tile was made for the two are close, and
// either may win.

/// The largest error of any element of c against f64, as a share of what rounding alone may do: each of the n
/// sums rounds once, so the error is at most n·2⁻²⁴·Σ|a||b| (Higham 2002, section 3.1).
double share_of_allowed_error(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor a64 = a.to(DType::f64), b64 = b.to(DType::f64);
  const Tensor allowed = static_cast<double>(a.size(0)) * 0x1p-24 * matmul(abs(a64), abs(b64));
  return kit::largest((c.to(DType::f64) - matmul(a64, b64)) / allowed);
}

// ---- 4. What each waits for -------------------------------------------------------------------------------
//
// Williams, Waterman and Patterson (2009) put it in one picture. Across: the *arithmetic intensity*, how many
// operations a program does with each byte that it moves. Up: how many operations a second it does. Two
// things limit it, and the lower one wins:
//
//     speed ≤ min(peak, intensity × bandwidth)
//
// On double logarithmic axes that is a slope and a flat roof. A program below the slope cannot be sped up by
// arithmetic: it must use each byte more often, and move to the right. Here the bytes are those that the
// instructions load and store (Ilic, Pratas and Sousa 2014), and each level of memory has a slope of its own.
//
// For one multiply-add, three_loops loads 8 bytes: 1/4 operation a byte. reordered loads two floats and
// stores one: 1/6. A tile of R rows and V vectors of L lanes does 2RVL operations for the 4(VL + R) bytes
// that it loads: the larger R and V, the more operations a byte.
//
// What you should see: three_loops on no slope at all, but near the dashed line: it waits for its own chain.
// (A little above it, where the compiler multiplies first: then additions alone are chained, and on some
// processors one takes less time than a multiply-add.)
// reordered at or below the slope of the first cache. batches below that of the second: the slopes are
// measured on numbers that lie in one row, and batches leaps to another row of b after every eight vectors.
// blocked and core's are far to the right, where the roof is flat: there only the multiplying counts.

double tile_intensity(Size rows, Size vectors) {
  return static_cast<double>(2 * rows * vectors * kLanes) /
         static_cast<double>(4 * (vectors * kLanes + rows));
}

/// Reads everything once, with nothing else to do than to add it up; in four places at once, as the hardware
/// that fetches ahead follows several streams better than one.
[[gnu::noinline]] float read_all(const float* from, Size count) {
  constexpr int kStreams = 4, kWidth = kStrip / kStreams;
  Vector sum[kStrip];
  each<kStrip>([&](int v) { sum[v] = Vector(0.0F); });
  for (Size i = 0; i < count / kStreams; i += kWidth * kLanes)
    each<kStrip>([&](int v) {
      sum[v] = sum[v] + load(from + (v / kWidth) * (count / kStreams) + i + (v % kWidth) * kLanes);
    });
  Vector total(0.0F);
  each<kStrip>([&](int v) { total = total + sum[v]; });
  return first_lane(total);
}

// For comparison, something that no block can help: y ← y + f·x, on vectors too long for any cache. It is the
// innermost loop of reordered, with the same 1/6 operation a byte, but every byte comes from memory, and each
// is used once. Adding tensors is of this kind, and so is any activation. That is why core/ does several such
// ops in one pass where it can: softmax with its cross-entropy, Adam with its two means.
[[gnu::noinline]] void add_to(float* y, const float* x, float f, Size count) {
#pragma GCC unroll 4
  for (Size i = 0; i < count; ++i) y[i] += f * x[i];
}

// A volatile is read and written as it stands: what goes into it was computed, what comes out is unknown.
volatile float seen, half = 0.5F;

template <class V, int kChains>
Timed chains() {
  constexpr Size kSteps = 20'000;
  constexpr auto kWidth = static_cast<Size>(sizeof(V) / sizeof(float));
  return {2e-9 * kSteps * kChains * kWidth, [] { seen = run_chains<V, kChains>(kSteps, half, 1.0F); }};
}

/// One level of memory, measured on `count` floats: those fit into it, and not into the level above. It moves
/// more when it is also written to, so the better of both is what it can do.
struct Level {
  const char* name;
  Timed read, update;  // bytes
  double bandwidth() const { return std::max(read.best, update.best); }
};

Level level(const char* name, float* y, const float* x, Size count, Size times, Size every) {
  const double floats = 1e-9 * static_cast<double>(count * times);
  const auto read = [=] {
    for (Size i = 0; i < times; ++i) seen = read_all(x, count);
  };
  const auto update = [=] {
    for (Size i = 0; i < times; ++i) add_to(y, x, half, count / 2);
  };
  return {name, {4 * floats, read, every}, {12 * floats / 2, update, every}};  // two floats in, one out
}

struct Product {
  const char* name;
  double intensity;
  Timed timed;
};

void show_roofline(const std::vector<Level>& levels, const std::vector<Product>& products, double peak,
                   double one_chain, const kit::Options& options) {
  kit::Chart roofline{"Roofline of one core", "operations per byte loaded or stored",
                      "billion operations a second"};
  roofline.x_scale = roofline.y_scale = kit::Scale::log;
  for (const Level& one : levels) {
    kit::Series roof{one.name, {}, {}};
    for (int point = 0; point <= 60; ++point) {
      roof.x.push_back(0.1 * std::pow(50.0, point / 60.0));
      roof.y.push_back(std::min(peak, roof.x.back() * one.bandwidth()));
    }
    roofline.series.push_back(roof);
  }
  for (const Product& one : products)
    roofline.series.push_back({one.name, {one.intensity}, {one.timed.best}, kit::Mark::points});
  roofline.levels.push_back({one_chain, "one chain in one lane"});
  kit::show(roofline, options.out / "roofline.svg");
}

void lesson(const kit::Options& options, kit::Report& report) {
  simd::set_thread_count(1);
  report.section("Lanes");
  show_lanes();

  const Size n = options.smoke ? 128 : 256;
  const Tensor a = random_normal({n, n}, options.seed), b = random_normal({n, n}, options.seed + 1);
  const float *pa = a.data<float>(), *pb = b.data<float>();
  std::vector<Tensor> c(5);
  for (Tensor& one : c) one = zeros({n, n});
  const auto into = [&](std::size_t i) { return c[i].mutable_data<float>(); };
  Packed packed;
  const auto billions = [n](Size rows) { return 2e-9 * static_cast<double>(rows * n * n); };
  const double strip = tile_intensity(1, kStrip), ours = tile_intensity(kRows, kVectors),
               theirs = tile_intensity(simd::kTileRows<float>, simd::kTileVectors);
  std::vector<Product> products = {
      {"three loops", 1.0 / 4, {billions(8), [&] { three_loops(pa, pb, into(0), n, 8); }}},
      {"reordered", 1.0 / 6, {billions(n), [&] { reordered(pa, pb, into(1), n); }}},
      {"batches", strip, {billions(n), [&] { batches(pa, pb, into(2), n); }}},
      {"blocked", ours, {billions(n), [&] { blocked(pa, pb, into(3), n, packed); }}},
      {"core's", theirs, {billions(n), [&] { c[4] = matmul(a, b); }}}};

  const std::vector<int> counts = {1, 2, 3, 4, 6, 8, 10, 12};
  std::vector<Timed> peaks = {chains<Vector, 1>(),  chains<Vector, 2>(), chains<Vector, 3>(),
                              chains<Vector, 4>(),  chains<Vector, 6>(), chains<Vector, 8>(),
                              chains<Vector, 10>(), chains<Vector, 12>()};
  Timed one_lane = chains<float, 1>();

  const Size long_count = options.smoke ? Size{1} << 20 : Size{1} << 25;  // 128 MiB, more than the caches
  // y starts half a page off x: a load may be held up by a store whose address has the same last 12 bits.
  Floats xs(static_cast<std::size_t>(long_count), 1.0F), ys(static_cast<std::size_t>(long_count), 1.0F);
  float *const x = xs.data(), *const y = ys.data() + 512;
  std::vector<Level> levels = {level("first cache", y, x, 4096, 100, 1),   // 16 KiB
                               level("second cache", y, x, 65536, 10, 1),  // 256 KiB: as large as b
                               level("memory", y, x, long_count, 1, 50)};  // in every fiftieth round

  std::vector<Timed*> all = {&one_lane};
  for (Timed& one : peaks) all.push_back(&one);
  for (Product& one : products) all.push_back(&one.timed);
  for (Level& one : levels) all.insert(all.end(), {&one.read, &one.update});
  kit::take_turns(all, options.steps);
  three_loops(pa, pb, into(0), n, n);  // all of it, once, to check it

  report.section("The peak of one core");
  kit::Chart chart{"Independent chains of multiply-adds", "chains", "billion operations a second"};
  kit::Series series{"all lanes", {}, {}};
  double peak = 0;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    fmt::print("  {:>2} chains  {:6.1f} GFLOP/s\n", counts[i], peaks[i].best);
    series.x.push_back(counts[i]);
    series.y.push_back(peaks[i].best);
    peak = std::max(peak, peaks[i].best);
  }
  report.figure("peak", peak, "GFLOP/s");
  report.figure("one chain in one lane", one_lane.best, "GFLOP/s");
  report.figure("lanes and chains together", peak / one_lane.best, "times as fast");
  chart.series.push_back(series);
  chart.levels.push_back({peak, "peak"});
  kit::show(chart, options.out / "chains.svg");

  report.section("A matrix product, four times");
  fmt::print("  {0} × {0} floats, on one thread, and core's for comparison\n", n);
  fmt::print("                   ms   GFLOP/s   of the peak   error, of what rounding allows\n");
  bool right = true;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const double speed = products[i].timed.best, error = share_of_allowed_error(a, b, c[i]);
    fmt::print("  {:<11} {:8.3f}  {:8.1f}  {:10.1f} %   {:.2f}\n", products[i].name,
               1e3 * billions(n) / speed, speed, 100 * speed / peak, error);
    right &= error <= 1;
  }
  report.check("all five are right, but for rounding", right);
  report.at_least("reordered, beside three loops", products[1].timed.best / products[0].timed.best, 3,
                  "times as fast");
  report.at_least("blocked, share of the peak", 100 * products[3].timed.best / peak, 50, "%");
  report.at_least("core's, share of the peak", 100 * products[4].timed.best / peak, 85, "%");

  report.section("What each waits for");
  for (const Level& one : levels) report.figure(one.name, one.bandwidth(), "GB/s");
  const auto share = [&](const char* what, double speed, double limit) {
    report.figure(what, 100 * speed / limit, "%");
  };
  share("three loops, of one chain in one lane", products[0].timed.best, one_lane.best);
  share("reordered, of the first cache's slope", products[1].timed.best, levels[0].bandwidth() / 6);
  share("batches, of the second cache's slope", products[2].timed.best, levels[1].bandwidth() * strip);
  share("y + f x in memory, of the peak", levels[2].update.best / 6, peak);
  show_roofline(levels, products, peak, one_lane.best, options);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("04_simd", "one instruction, many lanes");
  program.steps(500, 2);
  return program.run(argc, argv, lesson);
}
