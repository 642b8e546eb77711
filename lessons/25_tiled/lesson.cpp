// 25 tiled: never write the whole matrix
//
// Every attention so far wrote a weight for each pair of query and key: T² numbers for a text of T words, and
// kept them for backward. At a few thousand words they outgrow everything else. Yet each query wants but one
// vector in the end. This lesson computes that vector, and all gradients, from pieces of the matrix that are
// forgotten as soon as they have been used. Nothing is approximated: it is the same attention in another
// order.
//
// You will: 1 take a softmax of scores that come one by one; 2 put two halves of an attention together; 3 do
// attention tile by tile, with plain ops, and find a backward that needs no weights; 4 meet attend(), which
// is the same as one kernel, and give it masks; 5 see what both cost in memory and in time.
//
// It runs on one thread, so that what the pool of buffers holds at any moment is the same in every run.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "core/attention/attend.hpp"
#include "core/core.hpp"
#include "core/simd/runtime/threads.hpp"
#include "lessons/25_tiled/watch.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/program/stopwatch.hpp"

using namespace tapestry;
using kit::farthest, kit::gradients, kit::largest;
using lesson25::Watch, lesson25::watched;

namespace {

constexpr DType f64 = DType::f64;
constexpr double kNever = -std::numeric_limits<double>::infinity();  // a score below all scores

/// scale · Q Kᵀ
Tensor scores_of(const Tensor& q, const Tensor& k) {
  return matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
}

/// Attention as all lessons had it, its (Tq, Tk) matrix written out: what the rest is compared with.
Tensor plain(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {}) {
  const Tensor scores = scores_of(q, k);
  return matmul(mask.defined() ? masked_softmax(scores, mask) : softmax(scores, -1), v);
}

Tensor rows(const Tensor& x, Size begin, Size end) { return slice(x, -2, begin, end); }

struct Inputs {
  Tensor q, k, v;  // (Tq, d), (Tk, d), (Tk, d), with heads in front or without
  std::vector<Tensor> leaves() const { return {q, k, v}; }
};

Inputs draw(const Dims& queries, const Dims& keys, std::uint64_t seed, DType dtype) {
  const auto normal = [&](const Dims& shape, std::uint64_t stream) {
    return variable(random_normal(shape, 10 * seed + stream, dtype));
  };
  return {normal(queries, 1), normal(keys, 2), normal(keys, 3)};
}

using Computed = std::function<Tensor()>;

/// How far two computations are apart, in their values and in their gradients for a random cotangent.
double apart(const Computed& a, const Computed& b, const Inputs& x, std::uint64_t seed) {
  return std::max(largest(a() - b()),
                  farthest(gradients(a, x.leaves(), seed), gradients(b, x.leaves(), seed)));
}

void equal(kit::Report& report, std::string_view what, double off, double allowed) {
  report.check(fmt::format("{}: apart by {:.1e}, allowed {:.0e}", what, off, allowed), off <= allowed);
}

// ---- 1. A softmax that may stop anywhere ------------------------------------------------------------------
//
// A query's context is Σ_j exp(s_j) v_j / Σ_j exp(s_j). Two running sums would do, if exp(s) did not overflow
// as soon as a score is large (f32 at s = 89). So every softmax takes the largest score off first, which
// changes nothing: it cancels. But to know the largest, it has to see all scores before it starts.
//
// Unless it may correct itself. Begin with two scores, 2 and then 5. After the first, the largest is 2 and
// the sum exp(2 − 2) = 1. Then 5 comes. The old sum was made with the wrong top, but it is wrong by a factor
// that is known, since exp(s − 2) · exp(2 − 5) = exp(s − 5): the sum is 1 · exp(−3) + exp(5 − 5) = 1.05. So
// it goes on. A score that is no new top is just added; a larger one first shrinks what is there, be it one
// term or a million. This is the *online* softmax (Milakov & Gimelshein 2018, arXiv 1805.02867). The sum of
// weighted values shrinks by the same factor, so a score can be forgotten as soon as it has been taken.

struct Running {
  double top = kNever;  // the largest score so far
  double sum = 0;       // Σ exp(s − top)
  double weighted = 0;  // Σ exp(s − top)·v

  void take(double s, double v) {
    const double new_top = std::max(top, s);
    const double shrink = std::exp(top - new_top), weight = std::exp(s - new_top);
    sum = sum * shrink + weight;
    weighted = weighted * shrink + weight * v;
    top = new_top;
  }
  /// The softmax's average of the values, if nothing more comes.
  double context() const { return weighted / sum; }
  /// ln Σ exp(s): the top put back.
  double log_sum_exp() const { return top + std::log(sum); }
};

// Top and sum are needed in one combination only, the *log-sum-exp*. Whoever keeps this one number can make
// every weight again: exp(s − log-sum-exp) is the softmax's weight of s. It will be needed twice.

void one_by_one(std::uint64_t seed, kit::Report& report) {
  const std::array<double, 6> scores = {2, 5, 3, 9, 8, 1}, values = {10, 20, 30, 40, 50, 60};
  Running running;
  double second_sum = 0;
  fmt::print("  score   value   top   shrink by      sum   context so far\n");
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double before = running.top;
    running.take(scores[j], values[j]);
    if (j == 1) second_sum = running.sum;
    fmt::print("  {:>5}   {:>5}   {:>3}   {:>9.4f}   {:>6.4f}   {:>14.4f}\n", scores[j], values[j],
               running.top, std::exp(before - running.top), running.sum, running.context());
  }
  report.quoted("the sum after 2 and 5", second_sum, 1.05, 0.01);

  const Tensor s = 1000 + 3 * random_normal({1000}, seed, f64), v = random_normal({1000}, seed + 1, f64);
  Running forwards, backwards;
  for (Size j = 0; j < 1000; ++j) {
    forwards.take(s.at({j}), v.at({j}));
    backwards.take(s.at({999 - j}), v.at({999 - j}));
  }
  const double expected = sum(softmax(s, -1) * v).item(), lse = logsumexp(s).item();
  report.check("a thousand scores near 1000, from either end: softmax's result, no overflow",
               std::abs(forwards.context() - expected) < 1e-12 &&
                   std::abs(backwards.context() - expected) < 1e-12 &&
                   std::abs(forwards.log_sum_exp() - lse) < 1e-12 * std::abs(lse));
}

// ---- 2. Two halves ----------------------------------------------------------------------------------------
//
// If one score can be added, so can many. Let one of us attend to the first half of the keys, and another to
// the second. Each has a context and a log-sum-exp L, and that is all that we need to tell each other:
//
//     whole = (e^L₁ context₁ + e^L₂ context₂) / (e^L₁ + e^L₂)          L = ln(e^L₁ + e^L₂)
//
// So each half counts by its share of the sum, and the shares are a softmax of L₁ and L₂. The halves may have
// any sizes, and there may be more than two. This is how keys can lie on several machines, or on both sides
// of a page of a cache. A half in which a query may look at nothing has L = −∞ and a share of exactly 0.

struct Part {
  Tensor context;      // (Tq, d)
  Tensor log_sum_exp;  // (Tq)
};

Part attend_to(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor scores = scores_of(q, k);
  return {matmul(softmax(scores, -1), v), logsumexp(scores, {-1})};
}

/// How much of the sum each part has: (Tq, 2).
Tensor shares_of(const Part& a, const Part& b) {
  return softmax(stack({a.log_sum_exp, b.log_sum_exp}, -1), -1);
}

Tensor together(const Part& a, const Part& b) {
  const Tensor shares = shares_of(a, b);
  return a.context * slice(shares, -1, 0, 1) + b.context * slice(shares, -1, 1, 2);
}

// The kernel of section 4 can do this too: attend_partial() gives context and log-sum-exp, merge() puts parts
// together, and gradients pass through both. Below it gets a mask, by which query i sees keys 0 … 2i: the
// first four queries see nothing of the second half.

void two_halves(std::uint64_t seed, kit::Report& report) {
  constexpr Size kQueries = 7, kKeys = 20, kHalf = 8;
  const Inputs x = draw({kQueries, 6}, {kKeys, 6}, seed, f64);
  const auto part = [&](Size begin, Size end) {
    return attend_to(x.q, rows(x.k, begin, end), rows(x.v, begin, end));
  };
  const Tensor shares = shares_of(part(0, kHalf), part(kHalf, kKeys));
  fmt::print("  the share of the first {} of {} keys, for each query:", kHalf, kKeys);
  for (Size i = 0; i < kQueries; ++i) fmt::print("  {:.2f}", shares.at({i, 0}));
  fmt::print("\n");
  const Computed whole = [&] { return plain(x.q, x.k, x.v); };
  const Computed ours = [&] { return together(part(0, kHalf), part(kHalf, kKeys)); };
  equal(report, "two halves put together, and the whole", apart(ours, whole, x, seed), 1e-12);

  const auto may_attend = [](Size i, Size j) { return j <= 2 * i; };
  const auto masked_part = [&](Size begin, Size end) {
    const auto seen = [&](QueryKey p) { return may_attend(p.i, begin + p.j); };
    return attend_partial(x.q, rows(x.k, begin, end), rows(x.v, begin, end),
                          {.mask = BlockMask::where(kQueries, end - begin, seen)});
  };
  const Computed merged = [&] {
    return merge(std::array{masked_part(0, kHalf), masked_part(kHalf, kKeys)}).context;
  };
  const Mask mask = Mask::from(kQueries, kKeys, may_attend);
  const Computed masked = [&] { return plain(x.q, x.k, x.v, mask); };
  equal(report, "attend_partial() and merge(), masked, and the whole", apart(merged, masked, x, seed), 1e-12);
}

// ---- 3. Tile by tile --------------------------------------------------------------------------------------
//
// Now the two together: go through the keys a *tile* at a time, and let every query keep its running top, sum
// and weighted values (Dao et al. 2022, arXiv 2205.14135, algorithm 1). This is section 1's take(), with
// matrices for numbers. Of the scores only (Tq, tile) exist at a time, however many keys there are.

struct Tiled {
  Tensor out;          // (Tq, d_v)
  Tensor log_sum_exp;  // (Tq, 1)
};

Tiled forward(const Tensor& q, const Tensor& k, const Tensor& v, Size tile) {
  const Size queries = q.size(0), keys = k.size(0);
  Tensor top = full({queries, 1}, kNever, q.dtype()), sums = zeros({queries, 1}, q.dtype()),
         out = zeros({queries, v.size(1)}, q.dtype());
  for (Size first = 0; first < keys; first += tile) {
    const Size last = std::min(first + tile, keys);
    const Tensor s = scores_of(q, rows(k, first, last));  // (Tq, tile)
    const Tensor new_top = maximum(top, max(s, {-1}, Keep::yes));
    const Tensor shrink = exp(top - new_top), p = exp(s - new_top);
    sums = sums * shrink + sum(p, {-1}, Keep::yes);
    out = out * shrink + matmul(p, rows(v, first, last));
    top = new_top;
  }
  return {out / sums, top + log(sums)};
}

// Backward seems to need what was thrown away. With S the scores, P the weights, O = P V and dO what arrives:
//
//     dV = Pᵀ dO         dP = dO Vᵀ         dS_ij = P_ij (dP_ij − D_i),  D_i = Σ_j P_ij dP_ij
//     dQ = scale · dS K                     dK = scale · dSᵀ Q
//
// P is no trouble: with the log-sum-exp kept, any tile of it is made again from Q and K. That is one product
// more than plain attention does, against writing P down and fetching it back. D is the trouble: a sum over
// all keys, to be known before the first tile's dS. But look again: dP_ij is dO_i · v_j, so (Dao et al. 2022,
// appendix B.2)
//
//     D_i = Σ_j P_ij (dO_i · v_j) = dO_i · Σ_j P_ij v_j = dO_i · O_i
//
// and O, which is there anyhow, has seen all keys. Everything else in the four lines stays within a tile.

std::array<Tensor, 3> backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tiled& kept,
                               const Tensor& d_out, Size tile) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  const Tensor compared = sum(d_out * kept.out, {-1}, Keep::yes);  // D (Tq, 1)
  Tensor dq = zeros(q.shape(), q.dtype());
  std::vector<Tensor> dk, dv;
  for (Size first = 0; first < k.size(0); first += tile) {
    const Size last = std::min(first + tile, k.size(0));
    const Tensor keys = rows(k, first, last), values = rows(v, first, last);
    const Tensor p = exp(scores_of(q, keys) - kept.log_sum_exp);
    const Tensor ds = p * (matmul(d_out, transpose(values)) - compared);
    dv.push_back(matmul(transpose(p), d_out));
    dk.push_back(scale * matmul(transpose(ds), q));
    dq = dq + scale * matmul(ds, keys);
  }
  return {dq, concat(dk, -2), concat(dv, -2)};
}

// The tape must not record the loop, or it would keep every tile. So it becomes an op of its own, as in
// lesson 2: a value, computed from detached inputs, and one rule for all three. What the rule captures is
// kept for backward: inputs, output, and one number a query. (Such a rule cannot be differentiated again: its
// inputs are detached. An op that is to have second derivatives names a twin of plain ops, too; see
// core/tape/op.hpp.)

Tensor tiled(const Tensor& q, const Tensor& k, const Tensor& v, Size tile) {
  const Tensor q0 = q.detach(), k0 = k.detach(), v0 = v.detach();
  const Tiled kept = forward(q0, k0, v0, tile);
  const auto rule = [=](const Tensor& d_out) { return backward(q0, k0, v0, kept, d_out, tile); };
  return op<"tiled_by_hand">({}, kept.out, wrt_all(std::array{&q, &k, &v}, rule));
}

void tile_by_tile(std::uint64_t seed, kit::Report& report) {
  const Inputs x = draw({5, 4}, {11, 4}, seed, f64);
  for (const Size tile : {1, 4, 11}) {
    const auto by_hand = [tile](const Tensor& q, const Tensor& k, const Tensor& v) {
      return tiled(q, k, v, tile);
    };
    const GradcheckResult check = gradcheck(by_hand, x.leaves(), {.tolerance = 1e-7, .seed = seed});
    if (!check.ok()) fmt::print("{}", check.report());
    const double off =
        apart([&] { return tiled(x.q, x.k, x.v, tile); }, [&] { return plain(x.q, x.k, x.v); }, x, seed);
    report.check(fmt::format("{:>2} of {} keys a tile: gradcheck, {} derivatives; apart from plain by {:.0e}",
                             tile, x.k.size(0), check.compared, off),
                 check.ok() && off <= 1e-12);
  }
}

// ---- 4. One kernel ----------------------------------------------------------------------------------------
//
// In plain ops each tile still travels through memory several times, once for each op. attend() is the same
// computation as one kernel, forward and backward. It cuts the queries too, so a tile is 48 × 96 scores, 18
// KiB in f32: from the product to the weighted values it does not leave the processor's caches.
//
// Tiles bring another gift. A mask such as lesson 7's is applied to scores that have been computed. A
// BlockMask knows for each *tile* whether any pair of it counts, and a tile without one is not computed at
// all. What is left of a causal mask is a little more than half, as tiles on the diagonal are cut through:
// 51.2 % at 4096 words. A window of the last 256 words leaves 9 %.
//
// To see it from inside, we give the kernel a *score*: something of ours that it calls on each tile before
// the softmax. What one can do with that is the next lesson. Ours, in watch.hpp, changes nothing. It counts
// tiles, and looks at how many bytes the pool has handed out, which section 5 will want.

void one_kernel(const kit::Options& options, kit::Report& report) {
  const std::uint64_t seed = options.seed;
  constexpr Size kWords = 300, kFewer = 200;  // neither fills its last tile
  const BlockMask mask = BlockMask::causal(kWords, kWords);
  for (const DType dtype : {DType::f32, f64}) {
    const double allowed = dtype == f64 ? 1e-12 : 1e-5;
    const Dims keys = {2, 3, kWords, 40};  // two texts, three heads of width 40
    const Inputs x = draw({2, 3, kFewer, 40}, keys, seed, dtype), self = draw(keys, keys, seed, dtype);
    const double full =
        apart([&] { return attend(x.q, x.k, x.v); }, [&] { return plain(x.q, x.k, x.v); }, x, seed);
    const double causal =
        apart([&] { return attend(self.q, self.k, self.v, {.mask = mask}); },
              [&] { return plain(self.q, self.k, self.v, Mask::causal(kWords, kWords)); }, self, seed);
    equal(report, fmt::format("attend() and plain, both ways, {}", name_of(dtype)), full, allowed);
    equal(report, fmt::format("the same, causal, {}", name_of(dtype)), causal, allowed);
  }
  const double causal = BlockMask::causal(4096, 4096).share(),
               window = BlockMask::window(4096, 4096, 255, 0).share();
  report.quoted("tiles left by a causal mask at 4096", 100 * causal, 51.2, 0.01, "%");
  report.quoted("tiles left by a window of 256", 100 * window, 9, 0.01, "%");
  const Inputs x = draw({kWords, 8}, {kWords, 8}, seed, DType::f32);
  Watch all, some;
  attend(x.q, x.k, x.v, {.score = watched(all)});
  attend(x.q, x.k, x.v, {.mask = mask, .score = watched(some)});
  fmt::print("  causal, {} words: the kernel did {} tiles of {}\n", kWords, some.tiles, all.tiles);
  report.check("as many as the mask says",
               some.tiles == std::llround(mask.share() * static_cast<double>(all.tiles)));
}

// ---- 5. Memory and time -----------------------------------------------------------------------------------
//
// One head of width 64 attends from T words to the same T words, and its three gradients are computed. How
// much memory did it take beyond its inputs, at the worst moment? We look after each op and when a gradient
// arrives, and inside of attend() at every tile. (What an op of plain attention holds only while it runs
// escapes us: it needs somewhat more than is shown.)
//
// At T = 4096 plain ops take 194 MiB and attend() 12. At each doubling one grows fourfold, the other doubles.
// (Below T = 256 the few tiles that the kernel works on are larger than the matrix would be.)
//
// Time is another matter. Both compute T² scores; exact attention has no way around them, so the time grows
// fourfold at each doubling. Backward, attend() even does five products where plain ops do four. On one
// thread that about balances what it saves by never sending the matrix to memory and back. What it does not
// compute is pure gain: a causal mask halves the time.

using Attends = std::function<Tensor(const Inputs& x, const ScoreMod& score)>;

struct Way {
  Attends attends;
  kit::Series memory, time;  // over T; in MiB and in µs
};

void add_costs(Way& way, Size length, const kit::Options& options) {
  const Inputs x = draw({length, 64}, {length, 64}, options.seed, DType::f32);
  const Tensor d_out = random_normal(x.q.shape(), options.seed);
  Watch watch;
  {
    Tape tape;
    watch.follow(tape);
    const std::vector<Tensor> found = tape.gradients(way.attends(x, watched(watch)), d_out, x.leaves());
    watch.look();
  }
  const double seconds = kit::fastest(static_cast<int>(options.steps), [&] {
    Tape tape;
    tape.gradients(way.attends(x, {}), d_out, x.leaves());
  });
  for (kit::Series* one : {&way.memory, &way.time}) one->x.push_back(static_cast<double>(length));
  way.memory.y.push_back(watch.mebibytes());
  way.time.y.push_back(1e6 * seconds);
}

/// The slope on logarithmic axes from x = `from` on, by least squares: p, if y ~ xᵖ.
double power(const kit::Series& curve, double from) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (curve.x[i] < from) continue;
    const double x = std::log(curve.x[i]), y = std::log(curve.y[i]);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

void memory_and_time(const kit::Options& options, kit::Report& report) {
  Way ops{[](const Inputs& x, const ScoreMod&) { return plain(x.q, x.k, x.v); },
          {"memory, plain ops"},
          {"time, plain ops"}};
  Way kernel{[](const Inputs& x, const ScoreMod& score) { return attend(x.q, x.k, x.v, {.score = score}); },
             {"memory, attend()"},
             {"time, attend()"}};
  Way causal{[](const Inputs& x, const ScoreMod& score) {
               const Size words = x.q.size(0);
               return attend(x.q, x.k, x.v, {.mask = BlockMask::causal(words, words), .score = score});
             },
             {},
             {}};
  fmt::print("          memory in MiB              time in ms\n");
  fmt::print("      T   plain ops   attend()       plain ops   attend()   attend(), causal\n");
  const Size longest = options.smoke ? 256 : 4096;
  for (Size length = 64; length <= longest; length *= 2) {
    for (Way* way : {&ops, &kernel, &causal}) add_costs(*way, length, options);
    fmt::print("  {:>5}   {:>9.2f}   {:>8.2f}       {:>9.2f}   {:>8.2f}   {:>16.2f}\n", length,
               ops.memory.y.back(), kernel.memory.y.back(), 1e-3 * ops.time.y.back(),
               1e-3 * kernel.time.y.back(), 1e-3 * causal.time.y.back());
  }
  const double from = options.smoke ? 64 : 1024;
  const auto memory_at_end = [&](const char* what, const Way& way, double text_says, double tolerance) {
    const std::string name = fmt::format("{} at T = {}", what, longest);
    if (options.smoke) return report.figure(name, way.memory.y.back(), "MiB");  // the text says it of 4096
    report.quoted(name, way.memory.y.back(), text_says, tolerance, "MiB");
  };
  memory_at_end("plain ops", ops, 194, 0.05);
  memory_at_end("attend()", kernel, 12, 0.1);
  report.at_least("memory of plain ops grows as T to the power", power(ops.memory, from), 1.9);
  report.at_most("memory of attend() grows as T to the power", power(kernel.memory, from), 1.1);
  report.figure("time of plain ops, the power", power(ops.time, from));
  report.figure("time of attend(), the power", power(kernel.time, from));
  report.figure("time of causal attend(), of the full one's",
                100 * causal.time.y.back() / kernel.time.y.back(), "%");
  kit::Chart chart{"What a head takes, forward and backward", "words T", "time in µs, memory in MiB"};
  chart.series = {ops.time, kernel.time, ops.memory, kernel.memory};
  chart.x_scale = chart.y_scale = kit::Scale::log;
  kit::show(chart, options.out / "memory_and_time.svg");
}

// Read on in core/simd/attention/forward.cpp. You know its steps:
//
//     Online::take       section 1's take(), for the 48 queries of a tile: top, shrink, weights, sum
//     Chunk::see         the loop of forward(), one tile of keys: multiply_turned makes S, the score is
//                        called, hide() puts −∞ where the mask says no, Online::take makes P,
//                        Chunk::shrink corrects what was summed, add_product adds P V; Strips, which
//                        keys of a tile that the mask cuts are worth the work
//     Chunk::copy_keys   keys as columns, padded to whole vectors, once for eight tiles of queries
//     Chunk::finish      the division by the sum, and the log-sum-exp
//
// then in core/simd/attention/backward.cpp: compare_with is D, KeyPart::see the loop of backward(), and weigh, within
// it, makes P and dS. The products are lesson 4's register tile. merge(), section 2, is in
// core/attention/attend.cpp.

void lesson(const kit::Options& options, kit::Report& report) {
  simd::set_thread_count(1);
  report.section("A softmax that may stop anywhere");
  one_by_one(options.seed, report);

  report.section("Two halves");
  two_halves(options.seed, report);

  report.section("Tile by tile");
  tile_by_tile(options.seed, report);

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
