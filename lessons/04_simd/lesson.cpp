// 04 simd: one instruction, many lanes
//
// 30 minutes to read, 10 seconds to run. Needs lesson 01 (the product of two matrices). Afterwards you can
// say what a loop waits for, write a product of matrices that is nearly as fast as the processor, and read a
// roofline.
//
// Lesson 03 spent its time in matrix products, and so does all that follows. The textbook computes one with
// three loops, in five lines. How much of the processor do they use, and what is the rest waiting for?
//
// Here the figures are times, which differ between runs and machines. What is compared takes turns, and of
// each the fastest run counts: other programs can make a run slower, and never faster.

#include <algorithm>

#include "lessons/04_simd/packing.hpp"
#include "lessons/04_simd/race.hpp"
#include "lessons/04_simd/registers.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson04;  // registers.hpp has load(), store(), multiply_add() and each()

namespace {

// ---- 1. Lanes ---------------------------------------------------------------------------------------------
// A vector register holds several numbers beside each other, each in a *lane*: four floats with SSE, eight
// with AVX2, sixteen with AVX-512. One instruction works on all lanes at once (SIMD: single instruction,
// multiple data). The library xsimd gives such a register a C++ type, here called Vector. The instruction
// that matters is the *fused multiply-add*, a·b + c in one go and rounded once (FMA). It counts as two
// operations in each lane. Speeds are in GFLOP/s, billions of floating-point operations a second.

// ---- 2. The peak of one core ------------------------------------------------------------------------------
// How many multiply-adds can one core do in a second? Take numbers that never leave their registers. If each
// needs the result of the one before, s = s·f + t again and again, they form a *chain*. Take a processor with
// eight lanes, where a multiply-add takes four *cycles* (ticks of its clock) until its result is there, but
// two can be *started* in every cycle. With a pencil:
//
//     chains   multiply-adds a cycle     operations a cycle, 2 · 8 for each
//        1     1/4: one every four               4
//        8     8/4: two in every cycle          32
//       12     12/4 would be three: 2           32
//
// Chains that do not need each other, s = s·f + t and u = u·f + t, fill the gaps (race.cpp). A processor that
// starts one multiply-add in a cycle, and not two, needs half as many.

double operations_a_cycle(double chains) { return 2 * 8 * std::min(chains / 4, 2.0); }

void peak_of_one_core(Race& race, const kit::Options& options, kit::Report& report) {
  kit::check_worked_example(
      report, "operations a cycle",
      {{operations_a_cycle(1), 4}, {operations_a_cycle(8), 32}, {operations_a_cycle(12), 32}});
  const kit::Question more = report.ask(
      "lanes and chains",
      "One chain in one lane, against the best number of chains in all lanes. How much faster is the second?",
      {"less than the number of lanes: they share the work", "as many times as there are lanes",
       "twice as many times as there are lanes, or more"});
  race.run(options.steps);  // everything that this lesson compares
  const double peak = show_chains(race, options, report);
  report.answer(more, 'c', peak >= 2 * kLanes * race.one_lane.timed.best,
                "Lanes multiply the speed, and chains multiply it again. A loop that adds everything to one "
                "number uses neither.");
}

// ---- 3. A matrix product, four times ----------------------------------------------------------------------
// c = a·b for square matrices of n × n floats, row after row in memory: 2n³ operations on 3n² numbers.
// *Caches* are small fast memories that keep what was used last. At n = 256 the second one (L2) of most
// processors holds a matrix, the first (L1), faster still, a part of it.
//
// *Three loops.* c_ij = Σ_p a_ip b_pj is one chain, in one lane. The compiler may not help: to use lanes it
// would have to add in another order, and floats then round differently. (It is timed on a few `rows` only.)
[[gnu::noinline]] void three_loops(const float* a, const float* b, float* c, Size n, Size rows) {
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < n; ++j) {
      float sum = 0;
      for (Size p = 0; p < n; ++p) sum += a[i * n + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
}

// *Reordered.* With j innermost, neighbours in memory are neighbours in time, and the n sums of a row do not
// wait for each other. Does the compiler use the lanes now? (race.cpp has the same with Vector, to compare.)
// But the sums live in memory: each multiply-add loads from b, loads from c and stores to c.
[[gnu::noinline]] void reordered(const float* a, const float* b, float* c, Size n) {
  for (Size i = 0; i < n; ++i) {
    for (Size j = 0; j < n; ++j) c[i * n + j] = 0;
    for (Size p = 0; p < n; ++p)
      for (Size j = 0; j < n; ++j) c[i * n + j] += a[i * n + p] * b[p * n + j];
  }
}

// *Batches* (in race.cpp) keep eight vectors of a row of c in registers, eight chains, while p runs through.
// Each multiply-add loads a vector of b, uses it once, and all of b passes by for each row.
//
// *Blocked.* What was loaded must be used more than once. The *register tile* is 4 rows × 2 vectors of c:
//
//                 ┌─────┐
//               b │     │ 2 vectors      Again eight sums. For each p the tile loads 2 vectors of b
//                 └─────┘                and 4 numbers of a, and does 8 multiply-adds with them: each
//         a ┌───┐ ┌─────┐                vector of b is used four times, each number of a twice. A
//    4 rows │   │ │  c  │                larger tile would load less, but its sums, and what it loads,
//           └───┘ └─────┘                must fit into the registers: 16 of them, 32 with AVX-512.
//
// The tiles below each other read the same columns of b, a *panel*, which stays in the first cache while all
// rows of a pass by. *Packing* first copies a and b into the order in which tiles read them, since rows that
// lie a power of two apart share a few places of the cache. The copies take n² steps, the product n³.
constexpr int kRows = 4, kVectors = 2;
constexpr Size kWide = kVectors * kLanes;

/// c (kRows × kWide, in rows of n) = a panel of a times a panel of b.
void tile(const float* a, const float* b, float* c, Size n) {
  Vector sum[kRows][kVectors];
  each<kRows>([&](int r) { each<kVectors>([&](int v) { sum[r][v] = Vector(0.0F); }); });
  for (Size p = 0; p < n; ++p, a += kRows, b += kWide) {
    Vector right[kVectors];
    each<kVectors>([&](int v) { keep(right[v] = load(b + v * kLanes)); });  // keep: in a register
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
  const kit::Question order = report.ask(
      "another order", "three_loops and reordered do the same work in another order. How fast is reordered?",
      {"as fast: the work is the same", "clearly faster",
       "slower: it loads and stores a sum for each multiply-add"});
  show_products(race, report);
  report.answer(
      order, 'b', race.of("reordered") >= 1.3 * race.of("three loops"),
      "It moves more, but neighbouring sums need not wait for each other, and may share a register.");
}

// ---- 4. What each waits for -------------------------------------------------------------------------------
// Williams, Waterman and Patterson (2009) put it in one picture. Across: the *arithmetic intensity*, how many
// operations a program does with each byte that it loads or stores (Ilic, Pratas and Sousa 2014). Up: how
// many it does a second. Two things limit that; *bandwidth* is how many bytes a second come:
//
//     speed ≤ min(peak, intensity × bandwidth)       a slope for each level of memory, and a flat roof
//
// On a slope no faster arithmetic helps: each byte must be used more often. With a pencil: for a multiply-add
// three_loops loads 8 bytes, 1/4 operation a byte; reordered loads two floats and stores one, 1/6. With eight
// lanes one step of batches does 2 · 8 · 8 = 128 operations with 8 vectors of b and one number of a, 4 (64 +
// 1) = 260 bytes: 0.492. The tile does as many with 2 vectors and 4 numbers, 4 (16 + 4) = 80 bytes: 1.6. In
// letters: r rows × v vectors of l lanes are 2 r v l operations with 4 (v l + r) bytes.

void what_each_waits_for(Race& race, const kit::Options& options, kit::Report& report) {
  kit::check_worked_example(report, "operations a byte",
                            {{tile_intensity(1, 8, 8), 0.492}, {tile_intensity(kRows, kVectors, 8), 1.6}});
  const kit::Question memory =
      report.ask("a long vector", "y ← y + f·x on long vectors, in all lanes. What share of the peak is it?",
                 {"less than a sixth", "about a third: three floats for two operations", "more than half"});
  const double share = 100 * race.memory.long_update() / race.peak().speed;
  report.figure("y + f x in memory, of the peak", share, "%");
  report.answer(memory, 'a', share < 100 / 6.0,
                "It does 1/6 operation a byte, each byte comes from memory, and too few come. So do sums and "
                "activations of tensors: core does several in one pass where it can.");
  show_limits(race, report);
  show_roofline(race, options);
}

// Near 100 % of a row, a program waits for what the row stands for. three_loops is on no slope: it waits for
// its chain of additions. (Its products do not wait, so a chain of multiply-adds may be slower than it is.)
//
// What to remember. A core is fast if all lanes are full and enough chains do not wait for each other. What
// was loaded must be used often. Intensity times bandwidth says beforehand what is possible.
//
// Exercises: lessons/practise 4 (the inner tile; operations a byte; a fair race; your engine's product).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Lanes");
  report.check("each lane has 10 x + 1 of its own x", show_lanes());
  Race race({three_loops, reordered, blocked}, tile_intensity(kRows, kVectors, kLanes), options);
  report.section("The peak of one core");
  peak_of_one_core(race, options, report);
  report.section("A matrix product, four times");
  four_products(race, report);
  report.section("What each waits for");
  what_each_waits_for(race, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("04_simd", "one instruction, many lanes");
  program.steps(500, 2);
  return program.run(argc, argv, lesson);
}
