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

kit::Question ask_about_chains(kit::Report& report) {
  return report.ask(
      "lanes and chains",
      "Compare one chain in one lane with the best number of chains in all lanes. How much faster is the second?",
      {"by a factor smaller than the number of lanes, because the lanes share the work",
       "by the number of lanes", "by at least twice the number of lanes"});
}

// Suppose that a processor has eight lanes. The result of a multiply-add is ready after four *cycles* (ticks of the
// clock). In every cycle, the processor can *start* at most two multiply-adds, if their inputs are ready. Then we can
// compute its speed by hand. One multiply-add in eight lanes is 2 · 8 = 16 operations:
//
//     chains   multiply-adds per cycle              operations per cycle
//        1     1/4: one every four cycles             4
//        8     8/4 = 2: two in every cycle           32
//       12     12/4 = 3, but at most 2 can start     32
//
// So independent chains fill the time in which a single chain waits. On a processor that starts one multiply-add per
// cycle instead of two, half as many chains are enough. benchmark.cpp measures the speed for 1 to 12 chains.

double operations_per_cycle(double chains) { return 2 * 8 * std::min(chains / 4, 2.0); }

void peak_of_one_core(Benchmark& benchmark, const kit::Options& options, kit::Report& report) {
  const kit::Question more = ask_about_chains(report);
  kit::check_worked_example(
      report, "operations per cycle",
      {{operations_per_cycle(1), 4}, {operations_per_cycle(8), 32}, {operations_per_cycle(12), 32}});
  benchmark.run(options.steps);  // times everything that this lesson compares
  const double peak = show_chains(benchmark, options, report);
  report.answer(
      more, 'c', peak >= 2 * kLanes * benchmark.one_lane.timed.best,
      "The lanes multiply the speed, and independent chains multiply it again. A loop that adds every number "
      "to a single sum uses neither.");
}

// At seed 1, the recorded run reaches 12.9 GFLOP/s with 1 chain and 102.9 GFLOP/s with 12 chains. With all lanes and
// chains, it is 64.02 times as fast as with one chain in one lane.
//
// These speeds agree with the table. If we divide them by the 4 and the 32 operations per cycle, both give the same
// clock: a little more than 3 billion cycles per second. And 8 lanes times 8 chains are 64.

// ---- 3. Four versions of a matrix product -----------------------------------------------------------------
// We compute c = a·b for square matrices of n × n floats, which are stored row by row. The product takes 2n³
// operations on only 3n² numbers. So a fast product must use each number many times while the number is in a register
// or in a fast memory.
//
// *Caches* are small, fast memories that hold recently used data. We use n = 256, so a matrix has 256 KiB. The second
// cache (L2) of most processors can hold a whole matrix. The first cache (L1) is faster still, but it can hold only a
// part of a matrix.
//
// *Three loops.* The sum c_ij = Σ_p a_ip b_pj is a single chain in a single lane. The compiler must not use more
// lanes, because it would have to change the order of the additions. Then the sum would be rounded differently. (This
// version is slow, so we time only eight `rows`. The table gives the time of all rows, computed from these.)
[[gnu::noinline]] void three_loops(const float* a, const float* b, float* c, Size n, Size rows) {
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < n; ++j) {
      float sum = 0;
      for (Size p = 0; p < n; ++p) sum += a[i * n + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
}

kit::Question ask_about_order(kit::Report& report) {
  return report.ask(
      "another order",
      "The next version, reordered, does the same work as three_loops, but its innermost loop is over j. How "
      "fast is it?",
      {"as fast as three_loops, because the work is the same", "clearly faster than three_loops",
       "slower than three_loops, because it loads and stores a sum for each multiply-add"});
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

// *Row strips* (in benchmark.cpp) keeps eight vectors of a row of c in registers while p goes from 0 to n − 1. The
// eight vectors are eight chains, and they are stored only once. But each multiply-add loads a vector of b and uses it
// only once, and the whole of b is loaded again for each row of c.
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
// The tile has eight sums, each a vector. They are eight independent chains, as many as part 2 needs for the peak. For
// each p, the tile loads 2 vectors of b and 4 numbers of a, and computes 8 multiply-adds. So it uses each vector of b
// four times, and each number of a twice.
//
// A larger tile would load less for each multiply-add. But its sums and the loaded vectors must fit into the vector
// registers. There are 16 of them, or 32 with AVX-512. Our tile uses 11: 8 sums, 2 vectors of b, and 1 vector for the
// current number of a.
//
// All tiles in the same columns of c use the same columns of b, called a *panel* of b. In the same way, a panel of a
// has the 4 rows of a tile. With eight lanes, a panel of b has 256 · 16 floats, which are 16 KiB. Most first caches
// have 32 KiB or more. So the panel of b stays in the first cache while the tiles go through all rows of a.
//
// Before all this, *packing* copies a and b into the order in which the tiles read them:
//
//     packed a    for each panel, the 4 numbers of column 0, then the 4 numbers of column 1, …
//     packed b    for each panel, the 16 numbers of row 0, then the 16 numbers of row 1, …
//
// A panel of a has 4 n numbers. So the panel that starts at row i of a begins at the number i · n of packed a. The
// panel that starts at column j of b begins at j · n of packed b.
//
// Why do we pack? A row has 256 floats, so in the same column, the numbers of two neighbouring rows are 1024 bytes
// apart. A cache maps addresses at such a distance, a power of two, to the same few places. So without packing, the
// rows would push each other out of the cache. Packing is cheap: the copies take n² steps, and the product n³.
//
// In the code, Vector(x) copies the number x into every lane. each<n>(f) calls f(0) … f(n − 1). It is a loop that the
// compiler unrolls completely. Only then can the array `sum` stay in registers, because a register has no index that
// changes while the program runs.
constexpr int kRows = 4, kVectors = 2;
constexpr Size kWide = kVectors * kLanes;

/// Computes a tile of c (kRows × kWide, with rows n floats apart) = a packed panel of a times a packed panel of b.
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
  const kit::Question order = ask_about_order(report);
  show_products(benchmark, report);
  report.answer(
      order, 'b', benchmark.speed_of("reordered") >= 1.3 * benchmark.speed_of("three loops"),
      "Reordered moves more data. But its neighbouring sums do not wait for each other, and they can share a register.");
}

// ---- 4. The roofline model --------------------------------------------------------------------------------
// The *roofline* of Williams, Waterman and Patterson (2009) is a plot that shows what limits the speed of a program.
// Two things limit it. One is the peak. The other is the *bandwidth*, the number of bytes per second that a level of
// memory can move. A level is a cache or the main memory.
//
// The horizontal axis of the plot is the *arithmetic intensity*: the number of operations for each byte that the
// program loads or stores (Ilic, Pratas and Sousa 2014). (Williams et al. count only the bytes that move to and from
// the main memory, so their intensities are different.) The vertical axis is the speed, in operations per second. If a
// program computes two operations per byte, and the memory moves ten billion bytes per second, then the speed is at
// most twenty billion operations per second. In general:
//
//     speed ≤ min(peak, intensity × bandwidth)
//
// In the plot, intensity × bandwidth is a rising line, called a slope, for each level of memory. The peak is a
// horizontal line, the roof. The lower of the two limits the speed.
//
// For a program on a slope, faster arithmetic does not help. The program must do more operations with each byte.
//
// Let us compute the intensities of the four products. A float has 4 bytes, and a multiply-add is two operations.
//
// - For each multiply-add, three_loops loads 2 floats: 2/8 = 1/4 operation per byte.
// - For each multiply-add, reordered loads 2 floats and stores 1: 2/12 = 1/6 operation per byte.
// - With eight lanes, one step of row strips computes 2 · 8 · 8 = 128 operations. It loads 8 vectors of b and one
//   number of a, which are 4 (64 + 1) = 260 bytes: 0.492 operations per byte.
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
      "low. The same holds for sums of tensors and for relu, so the library computes several such operations in "
      "one pass where it can.");
  show_limits(benchmark, report);
  show_roofline(benchmark, options);
}

// At seed 1, the recorded run has the bandwidths 204.3, 153.7 and 25.08 GB/s. The last four lines of the output divide
// the speed of a product by one limit: 93.58, 70.19, 94.14 and 61.79 %.
//
// A result near 100 % means that this limit explains the speed. Let us read this roofline by hand. These are the limits
// and the measured speeds in GFLOP/s, rounded to integers:
//
//                    intensity × bandwidth            peak    measured
//     reordered      204 / 6     = 34, first cache     103       32
//     row strips     0.492 · 154 = 76, second cache    103       47
//     blocked        1.6 · 204   = 326, first cache    103       86
//     y + f·x        25 / 6      = 4, memory           103        4
//
// So the first cache limits reordered, and the memory limits y + f·x. The slope of blocked is far above the peak, so
// only the peak limits it. Row strips is well below both of its limits, so the second cache alone does not explain its
// speed.
//
// No slope limits three_loops: it waits for its chain of additions. A compiler may use a multiply-add for each step,
// or a product and a sum. The products do not wait for each other. So we compare three_loops with a chain of
// multiply-adds and with a chain of additions. The chain that is nearer to 100 % is probably the one that the compiler
// used. Here, it is the chain of multiply-adds. The picture roofline.svg shows this chain.
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
