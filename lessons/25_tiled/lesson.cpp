// 25 tiled: attention without storing the whole score matrix
//
// 20 minutes to read, 10 seconds to run. Needs lessons 06 (softmax, attention), 02 (ops with their own rules)
// and 07 (masks). Afterwards you can compute a softmax in pieces, merge partial results, and write attention,
// forward and backward, whose memory grows with the length of the text and not with its square.
//
// In every lesson so far, attention computed a weight for each pair of a query and a key, and kept all
// weights for the backward pass. For a text of T words these are T² numbers. But the result for each query is
// a single vector. Do we have to keep all T² numbers?
//
// This lesson computes exactly the same attention, but in another order: key after key. So the softmax must
// start before all of its scores are known. How is this possible?

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

// ---- 1. The online softmax --------------------------------------------------------------------------------
// The context of a query is Σ_j exp(s_j) v_j / Σ_j exp(s_j), where s_j are its scores. For large scores
// exp(s) overflows: in f32, at s = 89. Softmax avoids this by subtracting the largest score first, but then
// it must know all scores before it starts.
//
// Instead, we can subtract the largest score *so far*, called top, and correct our sums when a larger score
// comes. Here is an example with the scores 2 and 5 and the values 10 and 20.
//
// After the first score, top is 2. The sum is exp(2 − 2) = 1, and the weighted sum of the values is 1 · 10.
//
// Then the score 5 comes, and the top becomes 5. The old terms contain exp(2 − 2), but now they must contain
// exp(2 − 5). So we multiply both sums by exp(2 − 5) = 0.0498. Then we add the new terms, exp(5 − 5) = 1 and
// 1 · 20:
//
//     sum = 0.0498 + 1 = 1.0498     weighted = 0.498 + 20 = 20.498     context = 20.498 / 1.0498 = 19.526
//
// This is the *online* softmax (Milakov & Gimelshein 2018). It discards each score after adding it to the
// sums.
//
// At the end, we keep one more number for the query, the *log-sum-exp* L = ln Σ exp(s). If we need the weight of
// a key later, we compute its score s again from q and k. Then the weight is exp(s − L), because e^L is the sum
// by which softmax divides.

struct OnlineSoftmax {
  double top = kMinusInfinity;  // the largest score so far; −∞ at the start
  double sum = 0;               // Σ exp(s − top)
  double weighted = 0;          // Σ exp(s − top)·v

  void add(double s, double v) {
    const double new_top = std::max(top, s);
    const double rescale = std::exp(top - new_top), weight = std::exp(s - new_top);
    sum = sum * rescale + weight;
    weighted = weighted * rescale + weight * v;
    top = new_top;
  }
  double context() const { return weighted / sum; }
  double log_sum_exp() const { return top + std::log(sum); }  // L = ln Σ exp(s)
};

void one_by_one(std::uint64_t seed, kit::Report& report) {
  OnlineSoftmax two;
  two.add(2, 10), two.add(5, 20);
  kit::check_worked_example(report, "factor of the old sums, and the old weighted sum",
                            {{std::exp(-3), 0.0498}, {10 * std::exp(-3), 0.498}});
  kit::check_worked_example(report, "two scores",
                            {{two.sum, 1.0498}, {two.weighted, 20.498}, {two.context(), 19.526}});
  check_online<OnlineSoftmax>(seed, report);  // a thousand scores near 1000, in both orders
}

// ---- 2. Merging partial results ---------------------------------------------------------------------------
// We can add many scores at a time in the same way. Suppose that one thread attends to the first keys, and
// another thread to the remaining keys. Each of them computes a context and a log-sum-exp L for every query.
// These are enough to compute the context for all keys. e^L is the sum of a part's exp(s), so e^L · context is its
// weighted sum of the values. We add both over the two parts:
//
//     whole = (e^L₁ context₁ + e^L₂ context₂) / (e^L₁ + e^L₂)          L = ln(e^L₁ + e^L₂)
//
// In the example of section 1, let each part have one key. Then L₁ = 2 and L₂ = 5, and the contexts are 10 and 20.
// The formula gives (10 e² + 20 e⁵) / (e² + e⁵). Divide numerator and denominator by e⁵, and you get the result of
// section 1.
//
// So the weights of the two parts are the softmax of L₁ and L₂. A part without any key has L = −∞, and its
// weight is 0.

struct Part {
  Tensor context, log_sum_exp;  // (Tq, d), (Tq)
};

Part attend_to(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor scores = scores_of(q, k);
  return {matmul(softmax(scores, -1), v), logsumexp(scores, {-1})};
}
Tensor merged(const Part& a, const Part& b) {
  const Tensor weights = softmax(stack({a.log_sum_exp, b.log_sum_exp}, -1), -1);  // (Tq, 2)
  return a.context * slice(weights, -1, 0, 1) + b.context * slice(weights, -1, 1, 2);
}

void two_halves(std::uint64_t seed, kit::Report& report) {
  const kit::Question share = report.ask(
      "8 of 20 keys", "The first part has 8 of the 20 keys. What is its weight in the context of a query?",
      {"8/20 for every query", "a number that depends on the scores and differs between queries",
       "1/2 for every query"});
  const Inputs x = draw({7, 6}, {20, 6}, seed);
  const auto part = [&](Size begin, Size end) {
    return attend_to(x.q, rows(x.k, begin, end), rows(x.v, begin, end));
  };
  const auto halves = [&] { return merged(part(0, 8), part(8, 20)); };
  const auto whole = [&] { return plain_attention(x.q, x.k, x.v); };
  check_equal(report, "two parts merged, and all keys at once", largest_difference(halves, whole, x, seed),
              1e-12);
  check_merge(seed, report);  // core's attend_partial() and merge() do the same, masked too
  const Tensor first = exp(part(0, 8).log_sum_exp - part(0, 20).log_sum_exp);  // the weight of the first part
  report.figure("weight of the first part, smallest of seven queries", 100 * min(first).item(), "%");
  report.figure("weight of the first part, largest of seven queries", 100 * max(first).item(), "%");
  report.answer(
      share, 'b', max(first).item() - min(first).item() > 0.02,
      "A key with a large score can have more weight than many other keys. The weight of the first part "
      "is 8/20 if all scores are equal.");
}

// ---- 3. Attention tile by tile ----------------------------------------------------------------------------
// Now we compute the attention of many queries at once. The matrix of scores has a row for each query and a column
// for each key. We cut it into *tiles* of a fixed number of columns, and only one tile is in memory at a time (Dao
// et al. 2022, algorithm 1). As in add(), we correct the sums when a tile contains a larger score.

Tiled forward(const Tensor& q, const Tensor& k, const Tensor& v, Size tile) {
  Tensor top = full({q.size(0), 1}, kMinusInfinity, q.dtype()), sums = zeros({q.size(0), 1}, q.dtype()),
         out = zeros({q.size(0), v.size(1)}, q.dtype());
  for (Size first = 0; first < k.size(0); first += tile) {
    const Size last = std::min(first + tile, k.size(0));
    const Tensor s = scores_of(q, rows(k, first, last));  // (Tq, tile)
    const Tensor new_top = maximum(top, max(s, {-1}, Keep::yes));
    const Tensor rescale = exp(top - new_top), p = exp(s - new_top);
    sums = sums * rescale + sum(p, {-1}, Keep::yes);
    out = out * rescale + matmul(p, rows(v, first, last));
    top = new_top;
  }
  return {out / sums, top + log(sums)};
}

// For backward, we need the weights, which we did not keep. Let S = Q Kᵀ / √d be the scores, P the weights, O = P V
// the output, and dO the gradient of the loss with respect to O. With the rule of softmax from lesson 02, the
// gradients are:
//
//     dV = Pᵀ dO         dP = dO Vᵀ         dS_ij = P_ij (dP_ij − D_i),  D_i = Σ_j P_ij dP_ij
//     dQ = dS K / √d                        dK = dSᵀ Q / √d
//
// Because we kept L, we can compute each tile of P again from Q and K: P_ij = exp(s_ij − L_i). Only D needs another
// idea. It is a sum over all keys, so a single tile does not contain it. But dP_ij is dO_i · v_j. Therefore
//
//     D_i = Σ_j P_ij (dO_i · v_j) = dO_i · Σ_j P_ij v_j = dO_i · O_i
//
// O_i is the output of query i, which the forward pass has already computed and kept. So D needs no sum over keys.
//
// backward.cpp implements this in about twenty lines. There is one more difficulty. If the tape recorded the loop
// of forward(), it would keep every tile. So we define an op (lesson 02): its value comes from detached inputs, and
// one rule returns all three gradients.

Tensor tiled(const Tensor& q, const Tensor& k, const Tensor& v, Size tile) {
  const Tensor q0 = q.detach(), k0 = k.detach(), v0 = v.detach();
  const Tiled kept = forward(q0, k0, v0, tile);
  const auto rule = [=](const Tensor& d_out) { return backward(q0, k0, v0, kept, d_out, tile); };
  return op<"tiled_by_hand">({}, kept.out, wrt_all(std::array{&q, &k, &v}, rule));
}

// ---- 4. The fused kernel ----------------------------------------------------------------------------------
// attend() does the same computation in one *kernel*, a function that works on the numbers directly and without a
// tape (core/simd/attention/). It computes forward and backward. Its tiles of 48 queries × 96 keys fit into the
// processor's caches. Its mask is a BlockMask, which knows for each tile whether any pair in it is visible. Tiles
// without a visible pair are skipped.

void one_kernel(const kit::Options& options, kit::Report& report) {
  const kit::Question left =
      report.ask("a causal mask",
                 "A text has 4096 words. What part of all tiles does attend() compute under a causal mask?",
                 {"all tiles, because masking comes after the scores", "exactly half of the tiles",
                  "a little more than half of the tiles"});
  check_attend(options.seed, report);
  const double causal = 100 * BlockMask::causal(4096, 4096).density();
  report.check_quoted("tiles computed under a causal mask at 4096", causal, 51.2, 0.01, "%");
  const double window = 100 * BlockMask::window(4096, 4096, 255, 0).density();
  report.check_quoted("tiles computed with a window of 256", window, 9, 0.01, "%");
  count_tiles(300, options, report);
  report.answer(
      left, 'c', causal > 50 && causal < 55,
      "Some pairs of a tile on the diagonal are visible, so the kernel computes the whole tile. With a "
      "window of 256 words, 9 % of the tiles are computed.");
}

// ---- 5. Memory and time -----------------------------------------------------------------------------------
// One head of width 64 attends from T words to the same T words, forward and backward. memory_profiler.hpp
// measures the memory after each op, gradient and tile. We report the peak: the largest amount of memory in use
// beyond the inputs. At T = 4096, the peak was 194 MiB with plain ops and 12 MiB with attend().

void memory_and_time(const kit::Options& options, kit::Report& report) {
  const kit::Question doubled = report.ask(
      "twice the words",
      "If the text becomes twice as long, by which factors do the peak memory and the work of attend() grow?",
      {"memory by 2, work by 4", "memory by 2, work by 2", "memory by 4, work by 4"});
  const Costs costs = measure(options, report);
  report.check_quoted("peak memory of plain ops at T = 4096", costs.ops.memory.y.back(), 194, 0.05, "MiB");
  report.check_quoted("peak memory of attend() at T = 4096", costs.kernel.memory.y.back(), 12, 0.1, "MiB");
  report.at_least("exponent p of the memory of plain ops, Tᵖ", growth_exponent(costs.ops.memory), 1.9);
  report.at_most("exponent p of the memory of attend(), Tᵖ", growth_exponent(costs.kernel.memory), 1.1);
  report.answer(
      doubled, 'a', growth_exponent(costs.kernel.memory) <= 1.1 && growth_exponent(costs.kernel.tiles) >= 1.9,
      "Without a mask, exact attention computes T² scores in every implementation. attend() stores only a "
      "few of them at a time.");
}

// The work still grows with T². Without a mask, attend() computes all T² scores in the forward pass, as plain ops
// do, and a second time in the backward pass. A causal mask nearly halves the work: of the tiles for these
// 4096 × 4096 pairs, 51.2 % are computed.

// What to remember. A softmax can start before all scores are known, if it corrects its sums when a larger
// score comes. To merge partial results, weight them with the softmax of their log-sum-exps. The memory of
// tiled attention grows in proportion to T, and its work to T². Tiles without a visible pair are not
// computed.
//
// Exercises: lessons/practise 25 (one step of the online softmax; merging many parts; memory and work of
// tiled attention; attention whose tape uses little memory).

void lesson(const kit::Options& options, kit::Report& report) {
  simd::set_thread_count(1);  // so the memory in use is the same in every run
  report.section("The online softmax");
  one_by_one(options.seed, report);
  report.section("Merging partial results");
  two_halves(options.seed, report);
  report.section("Attention tile by tile");
  check_tiled(tiled, options.seed, report);
  report.section("The fused kernel");
  one_kernel(options, report);
  report.section("Memory and time");
  memory_and_time(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("25_tiled", "attention without storing the whole score matrix");
  program.steps(5, 1);  // each time is the fastest of this number of runs
  return program.run(argc, argv, lesson);
}
