// 04 simd: one instruction, many lanes
//
// 15 minutes to read, 10 seconds to run. Needs lesson 01 (the product of two matrices). Afterwards you can
// say what a loop waits for, write a product of matrices that comes near to what the processor can do, and
// read a roofline.
//
// Lesson 03 spent its time in matrix products, and so does everything that follows. The textbook computes one
// with three loops, in five lines. How much of the processor do these five lines use, and what is the rest
// waiting for?
//
// This is the one lesson whose figures differ from run to run and from machine to machine: they are times.
// All that is compared takes turns in many short rounds, and of each only the fastest run counts, since
// another program can make a run slower, and never faster. What the compiler made of a loop is measured, not
// assumed.

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/core.hpp"
#include "core/simd/matmul/tiles.hpp"
#include "lessons/04_simd/memory.hpp"
#include "lessons/04_simd/packing.hpp"
#include "lessons/04_simd/race.hpp"
#include "lessons/04_simd/registers.hpp"
#include "lessons/kit/check/pencil.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson04;  // registers.hpp has load(), store(), multiply_add() and each()

namespace {

// ---- 1. Lanes ---------------------------------------------------------------------------------------------
//
// A vector register holds several numbers beside each other, each in a *lane*: four floats with SSE, eight
// with AVX2, sixteen with AVX-512. One instruction works on all lanes at once (SIMD: single instruction,
// multiple data), in the time that it takes for one. The library xsimd gives such a register a C++ type, here
// called Vector, for the instructions that the program was compiled for.
//
// The instruction that matters is the *fused multiply-add*, a·b + c in one go and rounded once (FMA). A
// product of matrices is nothing else. It counts as two operations in each lane, a product and a sum. Speeds
// are in GFLOP/s, billions of floating-point operations a second.

void show_lanes(kit::Report& report) {
  std::vector<float> x(kLanes), y(kLanes);
  std::iota(x.begin(), x.end(), 0.0F);                                         // 0, 1, 2, …
  store(y.data(), multiply_add(load(x.data()), Vector(10.0F), Vector(1.0F)));  // Vector(1.0F): in all lanes
  print_lanes(x, y);
  report.check("each lane has 10 x + 1 of its own x", y.front() == 1 && y.back() == 10 * x.back() + 1);
}

// ---- 2. The peak of one core ------------------------------------------------------------------------------
//
// How many multiply-adds can one core do in a second? Take numbers that never leave their registers, and do
// nothing else. If each needs the result of the one before, they form a *chain*, and there is a trap. Take a
// processor with eight lanes, where a multiply-add takes four *cycles* (ticks of its clock) from its
// arguments to its result, but two can be *started* in every cycle. With a pencil:
//
//     chains   multiply-adds a cycle     operations a cycle, 2 · 8 for each
//        1     1/4: one every four               4
//        8     8/4: two in every cycle          32
//       12     12/4 would be three: 2           32
//
// One chain leaves most of the core idle. Chains that do not need each other fill the gaps, until nothing
// more can be started: that takes as many as the cycles of one, times those that start in a cycle.

double operations_a_cycle(double chains) { return 2 * 8 * std::min(chains / 4, 2.0); }

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

void peak_of_one_core(Race& race, const kit::Options& options, kit::Report& report) {
  const double one = operations_a_cycle(1), eight = operations_a_cycle(8), twelve = operations_a_cycle(12);
  kit::check_pencil(report, "operations a cycle", {{one, 4}, {eight, 32}, {twelve, 32}});
  const kit::Question more = report.ask(
      "lanes and chains",
      "One chain in one lane, against the best number of chains in all lanes. How much faster is the second?",
      {"less than the number of lanes: they share the work", "as many times as there are lanes",
       "twice as many times as there are lanes, or more"});
  race.run(options.steps);  // everything that this lesson compares
  const auto [peak, chains] = race.peak();
  show_chains(race.chains, peak, options);
  report.figure("peak", peak, "GFLOP/s");
  report.figure("the fewest chains within 5 % of it", chains);
  report.figure("one chain in one lane", race.one_lane.timed.best, "GFLOP/s");
  report.figure("lanes and chains together", peak / race.one_lane.timed.best, "times as fast");
  report.answer(more, 'c', peak >= 2 * kLanes * race.one_lane.timed.best,
                "Lanes multiply the speed, and chains multiply it again. A loop that adds everything to one "
                "number uses neither.");
}

// ---- 3. A matrix product, four times ----------------------------------------------------------------------
//
// c = a·b for square matrices of n × n floats, row after row in memory: c_ij = Σ_p a_ip b_pj. That is 2n³
// operations on 3n² numbers. At n = 256 a matrix has 256 KiB. *Caches* are small fast memories that keep what
// was used last: most processors' second one (L2) holds such a matrix, the first (L1), faster still, a part
// of it.

// *Three loops.* The sum over p is one chain, in one lane. The compiler may not help: to use lanes it would
// have to add in another order, and floats then round differently. (It does the first `rows` of a; the others
// do all. It is so slow that it is timed on a few.)
[[gnu::noinline]] void three_loops(const float* a, const float* b, float* c, Size n, Size rows) {
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < n; ++j) {
      float sum = 0;
      for (Size p = 0; p < n; ++p) sum += a[i * n + p] * b[p * n + j];
      c[i * n + j] = sum;
    }
}

// *Reordered.* With j innermost, neighbours in memory are neighbours in time, and the n sums of a row do not
// wait for each other. Now a compiler may use the lanes by itself. Does it? race.cpp has the same loop with
// Vector, and the report compares them. But the sums live in memory: each multiply-add loads from b, loads
// from c and stores to c.
[[gnu::noinline]] void reordered(const float* a, const float* b, float* c, Size n) {
  for (Size i = 0; i < n; ++i) {
    for (Size j = 0; j < n; ++j) c[i * n + j] = 0;
    for (Size p = 0; p < n; ++p)
      for (Size j = 0; j < n; ++j) c[i * n + j] += a[i * n + p] * b[p * n + j];
  }
}

// *Batches.* So keep the sums in registers. Eight vectors of a row of c are eight chains; p runs through for
// them, then they are stored, once. A multiply-add now costs one load, that of b. But b is used up at once:
// for each row of c all of b passes by again.
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
//           └───┘ └─────┘                must fit into the registers: 16 of them, 32 with AVX-512.
//
// All tiles that stand below each other read the same columns of b, a *panel*. It is small enough to stay in
// the first cache while all rows of a pass by; then comes the next one. *Packing* (packing.cpp) copies a and
// b first, into the order in which the tile reads them: rows that lie a power of two apart share a few places
// of the cache, and would push each other out. The copying takes some n² steps, and the product n³. (core's
// product does the same with a tile of its own, for any shape and storage order.)
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
      "another order",
      "three_loops and reordered do the same work, with two loops exchanged. How fast is reordered?",
      {"as fast: the work is the same", "clearly faster",
       "slower: it loads and stores a sum for each multiply-add"});
  report.check("all are right, but for rounding", show_products(race, report));
  const double loops = race.of("three loops");
  report.answer(
      order, 'b', race.of("reordered") >= 1.3 * loops,
      "It moves more, but neighbouring sums need not wait for each other, and may share a register.");
  report.at_least("lanes by hand, beside three loops", race.of("lanes by hand") / loops, 3, "times as fast");
  const double peak = race.peak().speed;
  report.at_least("blocked, share of the peak", 100 * race.of("blocked") / peak, 50, "%");
  report.at_least("core's, share of the peak", 100 * race.of("core's") / peak, 85, "%");
}

// ---- 4. What each waits for -------------------------------------------------------------------------------
//
// Williams, Waterman and Patterson (2009) put it in one picture. Across: the *arithmetic intensity*, how many
// operations a program does with each byte that it moves. Up: how many operations a second it does. Two
// things limit it, and the lower one wins; *bandwidth* is how many bytes a second come:
//
//     speed ≤ min(peak, intensity × bandwidth)
//
// On double logarithmic axes that is a slope and a flat roof. On the slope no faster arithmetic helps: a
// program must use each byte more often, and move to the right. Here the bytes are those that the
// instructions load and store (Ilic, Pratas and Sousa 2014), and each level of memory has a slope of its own.
//
// With a pencil: for one multiply-add, two operations, three_loops loads 8 bytes, 1/4 operation a byte;
// reordered loads two floats and stores one, 1/6. With eight lanes a strip of batches does 2 · 8 · 8 = 128
// operations with 8 vectors of b and one number of a, 4 (64 + 1) = 260 bytes: 0.492. The tile does as many
// with 2 vectors and 4 numbers, 4 (16 + 4) = 80 bytes: 1.6.

double tile_intensity(Size rows, Size vectors, Size lanes = kLanes) {
  return static_cast<double>(2 * rows * vectors * lanes) / static_cast<double>(4 * (vectors * lanes + rows));
}

// Something that no block can help is y ← y + f·x on vectors too long for any cache. It is the innermost loop
// of reordered, with the same 1/6, but every byte comes from memory and is used once. Adding tensors is of
// this kind, and so is an activation. That is why core/ does several such ops in one pass where it can.

void what_each_waits_for(Race& race, const kit::Options& options, kit::Report& report) {
  kit::check_pencil(report, "operations a byte",
                    {{tile_intensity(1, kStrip, 8), 0.492}, {tile_intensity(kRows, kVectors, 8), 1.6}});
  const kit::Question memory =
      report.ask("a long vector", "y ← y + f·x on long vectors, in all lanes. What share of the peak is it?",
                 {"less than a sixth", "about a third: three floats move for two operations",
                  "more than half: all lanes are full"});
  const double share = 100 * race.memory.long_update() / race.peak().speed;
  report.figure("y + f x in memory, of the peak", share, "%");
  report.answer(memory, 'a', share < 100 / 6.0,
                "It does 1/6 operation a byte, and memory brings too few bytes. No faster arithmetic helps.");
  show_limits(race, report);
  show_roofline(race, options);
}

// Near 100 % of a line, a program waits for what the line stands for; far below all of them, for something
// that is not in the picture. three_loops is on no slope, it waits for its own chain. Of what, the compiler
// chose: of multiply-adds, or of additions, with the products made beforehand. (A little more than 100 % is
// no wonder: the processor may begin the next sum before the last one ends.) The slopes are measured on
// numbers in one row, and batches leaps to another row of b after every strip.
//
// What to remember. A core is fast if all lanes are full, and if enough chains do not wait for each other.
// What was loaded must be used often: first in registers, then in the cache. Operations a byte, times
// bandwidth, say what is possible before a line is written.
//
// Exercises: lessons/practise 4 (the inner tile; operations a byte; a fair race).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Lanes");
  show_lanes(report);
  Race race({three_loops, reordered, batches, blocked},
            {tile_intensity(1, kStrip), tile_intensity(kRows, kVectors),
             tile_intensity(simd::kTileRows<float>, simd::kTileVectors)},
            options);
  race.one_lane = chains<float>(1, run_chains<float, 1>);
  race.chains = {chains<Vector>(1, run_chains<Vector, 1>),   chains<Vector>(2, run_chains<Vector, 2>),
                 chains<Vector>(3, run_chains<Vector, 3>),   chains<Vector>(4, run_chains<Vector, 4>),
                 chains<Vector>(6, run_chains<Vector, 6>),   chains<Vector>(8, run_chains<Vector, 8>),
                 chains<Vector>(10, run_chains<Vector, 10>), chains<Vector>(12, run_chains<Vector, 12>)};
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
