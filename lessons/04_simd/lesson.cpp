// 04 simd: speed up a matrix product with SIMD
//
// 30 minutes to read, 10 seconds to run. Needs lesson 01 (the product of two matrices). Afterwards you can say what
// limits the speed of a loop, write a matrix product that reaches at least half of a core's peak speed, and read a
// roofline.
//
// Lesson 03 spent its time in matrix products, and so do the lessons that follow. The textbook computes a matrix
// product with three loops, in five lines. How much of the processor do these loops use, and what do they wait for?
//
// The figures in this lesson are times, which differ between runs and machines. Other programs on the machine can
// make a run slower, but never faster. So the programs that we compare take turns, and we use the fastest run of
// each.

#include <algorithm>

#include "lessons/04_simd/benchmark.hpp"
#include "lessons/04_simd/packing.hpp"
#include "lessons/04_simd/registers.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson04;  // registers.hpp has load(), store(), multiply_add() and each()

namespace {

// ---- 1. Vector registers and lanes ------------------------------------------------------------------------
// A *register* is a place inside the processor that holds the numbers of the current instructions. A vector register
// holds several numbers, each in a *lane*. On x86 processors, it holds four floats with the instruction set SSE,
// eight with AVX2, and sixteen with AVX-512. One instruction operates on all lanes at once. This is called SIMD:
// single instruction, multiple data. The library xsimd has a C++ type for such a register, which we call Vector.
//
// The most important instruction is the *fused multiply-add*, or FMA. It computes a·b + c with a single rounding. It
// counts as two operations in each lane, a product and a sum. We give speeds in GFLOP/s: billions of floating-point
// operations per second.

// ---- 2. The peak speed of one core ------------------------------------------------------------------------
// How many multiply-adds can one core compute per second? To find out, we use numbers that never leave their
// registers, so that the core never waits for memory.
//
// If each multiply-add needs the result of the previous one, as in s = s·f + t again and again, the multiply-adds
// form a *chain*. Two multiply-adds of a chain cannot run at the same time. Those of different chains can, for
// example s = s·f + t and u = u·f + t.
//
// Suppose that a processor has eight lanes. The result of a multiply-add is ready after four *cycles* (ticks of the
// clock). In every cycle, the processor can *start* at most two multiply-adds, if their inputs are ready. Then we can
// compute its speed by hand. One multiply-add in eight lanes is 2 · 8 = 16 operations:
//
//     chains   multiply-adds per cycle              operations per cycle
//        1     1/4: one every four cycles             4
//        8     8/4 = 2: two in every cycle           32
//       12     12/4 = 3, but at most 2 can start     32
//
// So independent chains fill the time in which a single chain waits. benchmark.cpp measures them. On a processor that
// starts one multiply-add per cycle instead of two, half as many chains are enough.

double operations_per_cycle(double chains) { return 2 * 8 * std::min(chains / 4, 2.0); }

void peak_of_one_core(Benchmark& benchmark, const kit::Options& options, kit::Report& report) {
  kit::check_worked_example(
      report, "operations per cycle",
      {{operations_per_cycle(1), 4}, {operations_per_cycle(8), 32}, {operations_per_cycle(12), 32}});
  const kit::Question more = report.ask(
      "lanes and chains",
      "Compare one chain in one lane with the best number of chains in all lanes. How much faster is the second?",
      {"by a factor smaller than the number of lanes, because the lanes share the work",
       "by the number of lanes", "by at least twice the number of lanes"});
  benchmark.run(options.steps);  // times everything that this lesson compares
  const double peak = show_chains(benchmark, options, report);
  report.answer(
      more, 'c', peak >= 2 * kLanes * benchmark.one_lane.timed.best,
      "The lanes multiply the speed, and independent chains multiply it again. A loop that adds every number "
      "to a single sum uses neither.");
}

// ---- 3. Four versions of a matrix product -----------------------------------------------------------------
// We compute c = a·b for square matrices of n × n floats, which are stored row by row. The product takes 2n³
// operations on only 3n² numbers. So a fast product must use each number many times while the number is in a register
// or in a fast memory.
//
// *Caches* are small, fast memories that hold recently used data. At n = 256, the second cache (L2) of most
// processors can hold a whole matrix. The first cache (L1) is faster still, but it can hold only a part of a matrix.
//
// *Three loops.* The sum c_ij = Σ_p a_ip b_pj is a single chain in a single lane. The compiler must not use more
// lanes, because it would have to change the order of the additions. Then the sum would be rounded differently. (This
// version is slow, so we time it on a few `rows` only.)
[[gnu::noinline]] void three_loops(const float* a, const float* b, float* c, Size n, Size rows) {
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < n; ++j) {
      float sum = 0;
      for (Size p = 0; p < n; ++p) sum += a[i * n + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
}

// *Reordered.* Here j is the index of the innermost loop. This has two advantages. The loop uses neighbouring numbers
// one after the other, so they fit into the lanes of a register. And the n sums of a row are independent, so none of
// them waits for another one.
//
// It has one disadvantage: the sums are in memory. Each multiply-add loads from b, loads from c and stores to c.
//
// Does the compiler use the lanes by itself? To find out, benchmark.cpp has the same loops written with Vector. They
// are called "lanes by hand" in the output.
[[gnu::noinline]] void reordered(const float* a, const float* b, float* c, Size n) {
  for (Size i = 0; i < n; ++i) {
    for (Size j = 0; j < n; ++j) c[i * n + j] = 0;
    for (Size p = 0; p < n; ++p)
      for (Size j = 0; j < n; ++j) c[i * n + j] += a[i * n + p] * b[p * n + j];
  }
}

// *Batches* (in benchmark.cpp) gets its name from xsimd's type for a register, `batch`. It keeps eight vectors of a
// row of c in registers while p goes from 0 to n − 1. The eight vectors are eight chains, and they are stored only
// once. But each multiply-add loads a vector of b and uses it only once, and the whole of b is loaded again for each
// row of c.
//
// *Blocked* uses everything that it loads more than once. It computes a *register tile* of c, 4 rows × 2 vectors:
//
//                 ┌─────┐
//               b │     │ 2 vectors
//                 └─────┘
//         a ┌───┐ ┌─────┐
//    4 rows │   │ │  c  │
//           └───┘ └─────┘
//
// The tile has eight sums, each a vector. For each p, it loads 2 vectors of b and 4 numbers of a, and computes 8
// multiply-adds. So it uses each vector of b four times, and each number of a twice. A larger tile would load less
// for each multiply-add. But its sums and the loaded vectors must fit into the vector registers. There are 16 of
// them, or 32 with AVX-512.
//
// All tiles in the same columns of c use the same columns of b, called a *panel*. The panel stays in the first cache
// while the tiles go through all rows of a.
//
// Before all this, *packing* copies a and b into the order in which the tiles read them. Without packing, the rows of
// a matrix can have a distance in memory that is a power of two. A cache has only a few places for addresses at such
// distances, so the rows would push each other out. Packing is cheap: the copies take n² steps, and the product n³.
constexpr int kRows = 4, kVectors = 2;
constexpr Size kWide = kVectors * kLanes;

/// Computes c (kRows × kWide, with rows n floats apart) = a panel of a times a panel of b.
void tile(const float* a, const float* b, float* c, Size n) {
  Vector sum[kRows][kVectors];
  each<kRows>([&](int r) { each<kVectors>([&](int v) { sum[r][v] = Vector(0.0F); }); });
  for (Size p = 0; p < n; ++p, a += kRows, b += kWide) {
    Vector right[kVectors];
    each<kVectors>([&](int v) { keep(right[v] = load(b + v * kLanes)); });  // keep() holds it in a register
    each<kRows>([&](int r) {
      const Vector left(a[r]);
      each<kVectors>([&](int v) { sum[r][v] = multiply_add(left, right[v], sum[r][v]); });
    });
  }
  each<kRows>([&](int r) { each<kVectors>([&](int v) { store(c + r * n + v * kLanes, sum[r][v]); }); });
}

[[gnu::noinline]] void blocked(const float* a, const float* b, float* c, Size n, Packed& packed) {
  packed.copy(a, b, n, kRows, kWide);
  for (Size j = 0; j < n; j += kWide)
    for (Size i = 0; i < n; i += kRows)
      tile(packed.a.data() + i * n, packed.b.data() + j * n, c + i * n + j, n);
}

void four_products(const Benchmark& benchmark, kit::Report& report) {
  const kit::Question order =
      report.ask("another order",
                 "three_loops and reordered do the same work in a different order. How fast is reordered?",
                 {"as fast as three_loops, because the work is the same", "clearly faster than three_loops",
                  "slower than three_loops, because it loads and stores a sum for each multiply-add"});
  show_products(benchmark, report);
  report.answer(
      order, 'b', benchmark.speed_of("reordered") >= 1.3 * benchmark.speed_of("three loops"),
      "Reordered moves more data. But its neighbouring sums don't wait for each other, and they can share a register.");
}

// ---- 4. The roofline model --------------------------------------------------------------------------------
// The *roofline* of Williams, Waterman and Patterson (2009) is a plot that shows what limits the speed of a program.
// Two things limit it. One is the peak. The other is the *bandwidth*, the number of bytes per second that a level of
// memory can move. A level is a cache or the main memory.
//
// The horizontal axis of the plot is the *arithmetic intensity*: the number of operations for each byte that the
// program loads or stores (Ilic, Pratas and Sousa 2014). The vertical axis is the speed, in operations per second. If
// a program computes two operations per byte, and the memory moves ten billion bytes per second, then the speed is at
// most twenty billion operations per second. In general:
//
//     speed ≤ min(peak, intensity × bandwidth)       a slope for each level of memory, and a flat roof
//
// For a program on a slope, faster arithmetic does not help. The program must do more operations with each byte.
//
// Let us compute the intensities of the four products. A float has 4 bytes, and a multiply-add is two operations.
//
// - For each multiply-add, three_loops loads 2 floats: 2/8 = 1/4 operation per byte.
// - For each multiply-add, reordered loads 2 floats and stores 1: 2/12 = 1/6 operation per byte.
// - With eight lanes, one step of batches computes 2 · 8 · 8 = 128 operations. It loads 8 vectors of b and one number
//   of a, which are 4 (64 + 1) = 260 bytes: 0.492 operations per byte.
// - One step of the tile computes 128 operations as well. It loads only 2 vectors and 4 numbers, which are 4 (16 + 4)
//   = 80 bytes: 1.6 operations per byte.
//
// In general, r rows × v vectors with l lanes compute 2 r v l operations with 4 (v l + r) bytes.

void limits_of_each_product(Benchmark& benchmark, const kit::Options& options, kit::Report& report) {
  kit::check_worked_example(report, "operations per byte",
                            {{tile_intensity(1, 8, 8), 0.492}, {tile_intensity(kRows, kVectors, 8), 1.6}});
  const kit::Question memory = report.ask(
      "a long vector",
      "We compute y ← y + f·x on long vectors, in all lanes. What share of the peak speed does this reach?",
      {"less than a sixth", "about a third, because it moves three floats for two operations",
       "more than half"});
  const double share = 100 * benchmark.memory.long_update() / benchmark.peak().speed;
  report.figure("y + f x from memory, share of the peak", share, "%");
  report.answer(
      memory, 'a', share < 100 / 6.0,
      "It computes 1/6 operation per byte. Every byte comes from memory, and the bandwidth of memory is too "
      "low. The same holds for sums and activations of tensors, so core computes several of them in one pass "
      "where it can.");
  show_limits(benchmark, report);
  show_roofline(benchmark, options);
}

// Each of the last four rows compares the speed of a product with one limit. If a figure is near 100 %, this limit
// explains the speed.
//
// No slope limits three_loops: it waits for its chain of additions. A compiler may use a multiply-add for each step,
// or a product and a sum. The products do not wait for each other. So we compare three_loops with a chain of
// multiply-adds and with a chain of additions.
//
// What to remember. A core is fast if all lanes are used, and if there are enough chains that do not wait for each
// other. A program must use each loaded number often. The peak, and intensity times bandwidth, tell you in advance
// which speed is possible.
//
// Exercises: lessons/practise 4 (the inner tile of a blocked product; arithmetic intensity; timing on a busy machine;
// a faster matrix product for your engine).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Vector registers and lanes");
  report.check("each lane contains 10 x + 1 for its own x", show_lanes());
  Benchmark benchmark({three_loops, reordered, blocked}, tile_intensity(kRows, kVectors, kLanes), options);
  report.section("The peak speed of one core");
  peak_of_one_core(benchmark, options, report);
  report.section("Four versions of a matrix product");
  four_products(benchmark, report);
  report.section("The roofline model");
  limits_of_each_product(benchmark, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("04_simd", "speed up a matrix product with SIMD");
  program.steps(500, 2);
  return program.run(argc, argv, lesson);
}
