// 04 simd: speed up a matrix product with SIMD
//
// 30 minutes to read, 10 seconds to run. Needs lesson 01 (the product of two matrices). Afterwards you can say what
// limits the speed of a loop, write a matrix product that reaches at least half of a core's peak speed, and read a
// roofline.
//
// Lesson 03 spent its time in matrix products, and so do the lessons that follow. The textbook computes a matrix
// product with three loops, in five lines. How much of the processor do these loops use, and what do they wait for?
//
// The figures in this lesson are times, which differ between runs and machines. The programs that we compare take
// turns, and we use the fastest run of each. Other programs can make a run slower, but never faster.

#include <algorithm>

#include "lessons/04_simd/packing.hpp"
#include "lessons/04_simd/race.hpp"
#include "lessons/04_simd/registers.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson04;  // registers.hpp has load(), store(), multiply_add() and each()

namespace {

// ---- 1. Vector registers and lanes ------------------------------------------------------------------------
// A vector register holds several numbers, each in a *lane*: four floats with SSE, eight with AVX2, sixteen with
// AVX-512. One instruction operates on all lanes at once. This is called SIMD: single instruction, multiple data.
// The library xsimd has a C++ type for such a register, which we call Vector.
//
// The most important instruction is the *fused multiply-add*, or FMA. It computes a·b + c with a single rounding, and
// it counts as two operations in each lane. We give speeds in GFLOP/s: billions of floating-point operations per
// second.

// ---- 2. The peak speed of one core ------------------------------------------------------------------------
// How many multiply-adds can one core compute per second? To find out, we use numbers that never leave their
// registers.
//
// If each multiply-add needs the result of the previous one, as in s = s·f + t again and again, the multiply-adds form
// a *chain*. Suppose that a processor has eight lanes. The result of a multiply-add is ready after four *cycles* (ticks
// of the clock), but the processor can *start* two multiply-adds in every cycle. Then we can compute its speed by hand:
//
//     chains   multiply-adds per cycle       operations per cycle, 2 · 8 for each
//        1     1/4: one every four cycles        4
//        8     8/4: two in every cycle          32
//       12     12/4 would be three: 2           32
//
// So independent chains, such as s = s·f + t and u = u·f + t, fill the time in which a single chain waits. race.cpp
// measures them. If a processor starts one multiply-add per cycle instead of two, half as many chains are enough.

double operations_a_cycle(double chains) { return 2 * 8 * std::min(chains / 4, 2.0); }

void peak_of_one_core(Race& race, const kit::Options& options, kit::Report& report) {
  kit::check_worked_example(
      report, "operations per cycle",
      {{operations_a_cycle(1), 4}, {operations_a_cycle(8), 32}, {operations_a_cycle(12), 32}});
  const kit::Question more = report.ask(
      "lanes and chains",
      "Compare one chain in one lane with the best number of chains in all lanes. How much faster is the second?",
      {"by a factor smaller than the number of lanes, because the lanes share the work",
       "by the number of lanes", "by at least twice the number of lanes"});
  race.run(options.steps);  // times everything that this lesson compares
  const double peak = show_chains(race, options, report);
  report.answer(
      more, 'c', peak >= 2 * kLanes * race.one_lane.timed.best,
      "The lanes multiply the speed, and independent chains multiply it again. A loop that adds every number "
      "to a single sum uses neither.");
}

// ---- 3. Four versions of a matrix product -----------------------------------------------------------------
// We compute c = a·b for square matrices of n × n floats, which are stored row by row. The product takes 2n³ operations
// on 3n² numbers.
//
// *Caches* are small, fast memories that hold recently used data. At n = 256, the second cache (L2) of most processors
// can hold a whole matrix. The first cache (L1) is faster still, but it can hold only a part of a matrix.
//
// *Three loops.* The sum c_ij = Σ_p a_ip b_pj is a single chain in a single lane. The compiler must not use more lanes.
// It would have to change the order of the additions, and then floats would be rounded differently. (We time this
// version on a few `rows` only.)
[[gnu::noinline]] void three_loops(const float* a, const float* b, float* c, Size n, Size rows) {
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < n; ++j) {
      float sum = 0;
      for (Size p = 0; p < n; ++p) sum += a[i * n + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
}

// *Reordered.* Here j is the index of the innermost loop. So the loop uses neighbouring numbers one after the other,
// and the n sums of a row do not wait for each other. Does the compiler use the lanes now? (For comparison, race.cpp
// has the same loops written with Vector.) But the sums are in memory: each multiply-add loads from b, loads from c
// and stores to c.
[[gnu::noinline]] void reordered(const float* a, const float* b, float* c, Size n) {
  for (Size i = 0; i < n; ++i) {
    for (Size j = 0; j < n; ++j) c[i * n + j] = 0;
    for (Size p = 0; p < n; ++p)
      for (Size j = 0; j < n; ++j) c[i * n + j] += a[i * n + p] * b[p * n + j];
  }
}

// *Batches* (in race.cpp) keeps eight vectors of a row of c in registers while p goes from 0 to n − 1. The eight
// vectors are eight chains. But each multiply-add loads a vector of b and uses it only once, and the whole of b is
// loaded again for each row.
//
// *Blocked* uses everything that it loads more than once. It computes a *register tile* of c, 4 rows × 2 vectors:
//
//                 ┌─────┐
//               b │     │ 2 vectors      The tile has eight sums. For each p, it loads 2 vectors of b
//                 └─────┘                and 4 numbers of a, and computes 8 multiply-adds. So it uses
//         a ┌───┐ ┌─────┐                each vector of b four times, and each number of a twice. A
//    4 rows │   │ │  c  │                larger tile would load less, but its sums and the loaded vectors
//           └───┘ └─────┘                must fit into the registers: 16, or 32 with AVX-512.
//
// All tiles in the same columns of c use the same columns of b, called a *panel*. The panel stays in the first cache
// while the tiles go through all rows of a.
//
// Before that, *packing* copies a and b into the order in which the tiles read them. Without packing, rows whose
// distance in memory is a power of two would compete for a few places in the cache. The copies take n² steps, and the
// product n³.
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

void four_products(const Race& race, kit::Report& report) {
  const kit::Question order =
      report.ask("another order",
                 "three_loops and reordered do the same work in a different order. How fast is reordered?",
                 {"as fast as three_loops, because the work is the same", "clearly faster than three_loops",
                  "slower than three_loops, because it loads and stores a sum for each multiply-add"});
  show_products(race, report);
  report.answer(
      order, 'b', race.of("reordered") >= 1.3 * race.of("three loops"),
      "Reordered moves more data. But its neighbouring sums don't wait for each other, and they can share a register.");
}

// ---- 4. The roofline model --------------------------------------------------------------------------------
// The *roofline* of Williams, Waterman and Patterson (2009) shows what limits the speed of a program. Its horizontal
// axis is the *arithmetic intensity*: the number of operations for each byte that the program loads or stores (Ilic,
// Pratas and Sousa 2014). Its vertical axis is the speed, in operations per second. Two things limit the speed. One
// is the peak. The other is the *bandwidth*, the number of bytes per second that a level of memory can move:
//
//     speed ≤ min(peak, intensity × bandwidth)       a slope for each level of memory, and a flat roof
//
// For a program on a slope, faster arithmetic does not help. It must use each byte more often.
//
// Let us compute some intensities by hand. A multiply-add is two operations. For each multiply-add, three_loops loads 8
// bytes: 1/4 operation per byte. reordered loads two floats and stores one: 1/6 operation per byte.
//
// With eight lanes, one step of batches computes 2 · 8 · 8 = 128 operations. It loads 8 vectors of b and one number
// of a, which are 4 (64 + 1) = 260 bytes: 0.492 operations per byte. The tile computes 128 operations as well. It
// loads 2 vectors and 4 numbers, which are 4 (16 + 4) = 80 bytes: 1.6 operations per byte.
//
// In general, r rows × v vectors with l lanes compute 2 r v l operations with 4 (v l + r) bytes.

void what_each_waits_for(Race& race, const kit::Options& options, kit::Report& report) {
  kit::check_worked_example(report, "operations per byte",
                            {{tile_intensity(1, 8, 8), 0.492}, {tile_intensity(kRows, kVectors, 8), 1.6}});
  const kit::Question memory = report.ask(
      "a long vector",
      "We compute y ← y + f·x on long vectors, in all lanes. What share of the peak speed does this reach?",
      {"less than a sixth", "about a third, because it moves three floats for two operations",
       "more than half"});
  const double share = 100 * race.memory.long_update() / race.peak().speed;
  report.figure("y + f x from memory, share of the peak", share, "%");
  report.answer(
      memory, 'a', share < 100 / 6.0,
      "It computes 1/6 operation per byte. Every byte comes from memory, and the bandwidth of memory is too "
      "low. The same holds for sums and activations of tensors, so core computes several of them in one pass "
      "where it can.");
  show_limits(race, report);
  show_roofline(race, options);
}

// If a figure in one of the last four rows is near 100 %, the program is limited by the chain or the slope in that row.
// three_loops is on no slope: it waits for its chain of additions. (Its multiplications do not wait for each other,
// so it can be faster than a chain of multiply-adds.)
//
// What to remember. A core is fast if all lanes are used, and if there are enough chains that do not wait for each
// other. A program must use each loaded number often. The peak, and intensity times bandwidth, tell you in advance
// which speed is possible.
//
// Exercises: lessons/practise 4 (the inner tile of a blocked product; arithmetic intensity; timing on a busy machine; a
// faster matrix product for your engine).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Vector registers and lanes");
  report.check("each lane contains 10 x + 1 for its own x", show_lanes());
  Race race({three_loops, reordered, blocked}, tile_intensity(kRows, kVectors, kLanes), options);
  report.section("The peak speed of one core");
  peak_of_one_core(race, options, report);
  report.section("Four versions of a matrix product");
  four_products(race, report);
  report.section("The roofline model");
  what_each_waits_for(race, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("04_simd", "speed up a matrix product with SIMD");
  program.steps(500, 2);
  return program.run(argc, argv, lesson);
}
