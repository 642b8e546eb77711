// 25 tiled: never write the whole matrix
//
// 20 minutes to read, 15 seconds to run. Needs lessons 06 (softmax, attention), 02 (ops with rules of their
// own) and 07 (masks). Afterwards you can compute a softmax from pieces, put partial results together, and
// write attention, both ways, in memory that grows with the length and not with its square.
//
// Every attention so far wrote a weight for each pair of query and key, T² numbers for a text of T words, and
// kept them for backward. Yet each query wants one vector. Nothing is approximated here: it is the same
// attention in another order. Can a softmax start before it has seen all of its scores?

#include <algorithm>
#include <array>
#include <cmath>

#include "core/attention/attend.hpp"
#include "core/simd/runtime/threads.hpp"
#include "lessons/25_tiled/backward.hpp"
#include "lessons/25_tiled/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"

using namespace tapestry;
using namespace tapestry::lesson25;

namespace {

// ---- 1. A softmax that may stop anywhere ------------------------------------------------------------------
// A query's context is Σ_j exp(s_j) v_j / Σ_j exp(s_j). exp(s) overflows (f32 at s = 89), so softmax takes the
// largest score off first, for which it has to see all. Unless it may correct itself. With a pencil: scores 2
// and 5, values 10 and 20. After the first the top is 2, the sum exp(2 − 2) = 1, the weighted sum 10. Then 5
// comes, and both shrink by exp(2 − 5) = 0.0498:
//
//     sum = 0.0498 + 1 = 1.0498     weighted = 0.498 + 20 = 20.498     context = 20.498 / 1.0498 = 19.526
//
// This is the *online* softmax (Milakov & Gimelshein 2018). A score is forgotten as soon as it was taken.
// With the *log-sum-exp* L kept, and s made again from q and k, its weight is exp(s − L).

struct Running {
  double top = kNever;  // the largest score so far: −∞
  double sum = 0;       // Σ exp(s − top)
  double weighted = 0;  // Σ exp(s − top)·v

  void take(double s, double v) {
    const double new_top = std::max(top, s);
    const double shrink = std::exp(top - new_top), weight = std::exp(s - new_top);
    sum = sum * shrink + weight;
    weighted = weighted * shrink + weight * v;
    top = new_top;
  }
  double context() const { return weighted / sum; }
  double log_sum_exp() const { return top + std::log(sum); }  // L = ln Σ exp(s)
};

void one_by_one(std::uint64_t seed, kit::Report& report) {
  Running two;
  two.take(2, 10), two.take(5, 20);
  kit::check_worked_example(report, "the first, shrunk",
                            {{std::exp(-3), 0.0498}, {10 * std::exp(-3), 0.498}});
  kit::check_worked_example(report, "two scores",
                            {{two.sum, 1.0498}, {two.weighted, 20.498}, {two.context(), 19.526}});
  check_online<Running>(seed, report);  // a thousand scores near 1000, from either end
}

// ---- 2. Two halves ----------------------------------------------------------------------------------------
// If one score can be added, so can many. One of us attends to the first keys, another to the rest. Each has
// a context and a log-sum-exp L, and that is all that we need to tell each other:
//
//     whole = (e^L₁ context₁ + e^L₂ context₂) / (e^L₁ + e^L₂)          L = ln(e^L₁ + e^L₂)
//
// So the shares of the two are a softmax of L₁ and L₂. A part without any key has L = −∞ and a share of 0.

struct Part {
  Tensor context, log_sum_exp;  // (Tq, d), (Tq)
};

Part attend_to(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor scores = scores_of(q, k);
  return {matmul(softmax(scores, -1), v), logsumexp(scores, {-1})};
}
Tensor together(const Part& a, const Part& b) {
  const Tensor shares = softmax(stack({a.log_sum_exp, b.log_sum_exp}, -1), -1);  // (Tq, 2)
  return a.context * slice(shares, -1, 0, 1) + b.context * slice(shares, -1, 1, 2);
}

void two_halves(std::uint64_t seed, kit::Report& report) {
  const kit::Question share = report.ask(
      "8 of 20 keys", "The first part has 8 of 20 keys. What is its share of a query's context?",
      {"8 of 20, for every query", "as much as its scores say: another one for each query", "a half"});
  const Inputs x = draw({7, 6}, {20, 6}, seed);
  const auto part = [&](Size begin, Size end) {
    return attend_to(x.q, rows(x.k, begin, end), rows(x.v, begin, end));
  };
  const auto halves = [&] { return together(part(0, 8), part(8, 20)); };
  const auto whole = [&] { return plain(x.q, x.k, x.v); };
  equal(report, "two halves put together, and the whole", apart(halves, whole, x, seed), 1e-12);
  check_merge(seed, report);  // core's attend_partial() and merge() do the same, masked too
  const Tensor first = exp(part(0, 8).log_sum_exp - part(0, 20).log_sum_exp);  // its share of e^L
  report.figure("the share, smallest of seven queries", 100 * min(first).item(), "%");
  report.figure("the share, largest", 100 * max(first).item(), "%");
  report.answer(share, 'b', max(first).item() - min(first).item() > 0.02,
                "One key with a large score outweighs many. Counting keys is right if all scores are equal.");
}

// ---- 3. Tile by tile --------------------------------------------------------------------------------------
// Now many queries go through the keys a *tile* at a time (Dao et al. 2022, algorithm 1), as in take().

Tiled forward(const Tensor& q, const Tensor& k, const Tensor& v, Size tile) {
  Tensor top = full({q.size(0), 1}, kNever, q.dtype()), sums = zeros({q.size(0), 1}, q.dtype()),
         out = zeros({q.size(0), v.size(1)}, q.dtype());
  for (Size first = 0; first < k.size(0); first += tile) {
    const Size last = std::min(first + tile, k.size(0));
    const Tensor s = scores_of(q, rows(k, first, last));  // (Tq, tile)
    const Tensor new_top = maximum(top, max(s, {-1}, Keep::yes));
    const Tensor shrink = exp(top - new_top), p = exp(s - new_top);
    sums = sums * shrink + sum(p, {-1}, Keep::yes);
    out = out * shrink + matmul(p, rows(v, first, last));
    top = new_top;
  }
  return {out / sums, top + log(sums)};
}

// Backward seems to need what was thrown away. With weights P, O = P V, dO what arrives, and lesson 02's rule:
//
//     dV = Pᵀ dO         dP = dO Vᵀ         dS_ij = P_ij (dP_ij − D_i),  D_i = Σ_j P_ij dP_ij
//     dQ = scale · dS K                     dK = scale · dSᵀ Q
//
// With L kept, any tile of P is made again from Q and K. D is the trouble, a sum over all keys. But dP_ij is
// dO_i · v_j, so D_i = Σ_j P_ij (dO_i · v_j) = dO_i · Σ_j P_ij v_j = dO_i · O_i, and O has seen all keys.
//
// backward.cpp has it in twenty lines. The tape must not record the loop, or it would keep every tile: so it
// is an op of its own (lesson 02), a value from detached inputs and one rule for all three gradients.

Tensor tiled(const Tensor& q, const Tensor& k, const Tensor& v, Size tile) {
  const Tensor q0 = q.detach(), k0 = k.detach(), v0 = v.detach();
  const Tiled kept = forward(q0, k0, v0, tile);
  const auto rule = [=](const Tensor& d_out) { return backward(q0, k0, v0, kept, d_out, tile); };
  return op<"tiled_by_hand">({}, kept.out, wrt_all(std::array{&q, &k, &v}, rule));
}

// ---- 4. One kernel ----------------------------------------------------------------------------------------
// attend() is the same as one kernel, both ways (core/simd/attention/). Its tile, 48 queries × 96 keys, stays
// in the caches. Its mask is a BlockMask: it knows for each tile whether any pair counts, or skips it.

void one_kernel(const kit::Options& options, kit::Report& report) {
  const kit::Question left =
      report.ask("a causal mask", "How many of the tiles of 4096 words does a causal mask leave?",
                 {"all: masking comes after the scores", "exactly half", "a little more than half"});
  check_attend(options.seed, report);
  const double causal = 100 * BlockMask::causal(4096, 4096).share();
  report.check_quoted("tiles left by a causal mask at 4096", causal, 51.2, 0.01, "%");
  const double window = 100 * BlockMask::window(4096, 4096, 255, 0).share();
  report.check_quoted("tiles left by a window of 256", window, 9, 0.01, "%");
  count_tiles(300, options, report);
  report.answer(left, 'c', causal > 50 && causal < 55,
                "Tiles on the diagonal are cut through and count whole. A window of 256 words leaves 9 %.");
}

// ---- 5. Memory and time -----------------------------------------------------------------------------------
// One head of width 64 attends from T words to themselves, both ways. watch.hpp looks at each op, gradient
// and tile: how much memory was taken beyond the inputs, at the worst moment? (At T = 4096 plain ops took
// 194 MiB and attend() 12. Of 4096 × 4096 pairs a causal mask left 51.2 % of the tiles.)

void memory_and_time(const kit::Options& options, kit::Report& report) {
  const kit::Question doubled = report.ask(
      "twice the words", "The text becomes twice as long. What becomes of attend()'s memory, and its work?",
      {"memory doubles, work grows fourfold", "both double", "both grow fourfold"});
  const Costs costs = measure(options, report);
  report.check_quoted("plain ops at T = 4096", costs.ops.memory.y.back(), 194, 0.05, "MiB");
  report.check_quoted("attend() at T = 4096", costs.kernel.memory.y.back(), 12, 0.1, "MiB");
  report.at_least("memory of plain ops grows as T to the power", power(costs.ops.memory), 1.9);
  report.at_most("memory of attend() grows as T to the power", power(costs.kernel.memory), 1.1);
  report.answer(doubled, 'a', power(costs.kernel.memory) <= 1.1 && power(costs.kernel.tiles) >= 1.9,
                "Exact attention computes T² scores, whoever does it. Only what is kept of them differs.");
}

// What to remember. A softmax may start early, if it shrinks what it has. Parts count by their log-sum-exp.
// Memory grows as T, work as T²; what a mask leaves out is not computed.
//
// Exercises: lessons/practise 25 (one score more; many parts; figures of tiles; attention in little memory).

void lesson(const kit::Options& options, kit::Report& report) {
  simd::set_thread_count(1);  // what the pool holds at any moment is then the same in every run
  report.section("A softmax that may stop anywhere");
  one_by_one(options.seed, report);
  report.section("Two halves");
  two_halves(options.seed, report);
  report.section("Tile by tile");
  check_tiled(tiled, options.seed, report);
  report.section("One kernel");
  one_kernel(options, report);
  report.section("Memory and time");
  memory_and_time(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("25_tiled", "never write the whole matrix");
  program.steps(5, 1);  // of each time, the fastest of so many runs
  return program.run(argc, argv, lesson);
}
