// The comparisons and measurements of lesson 25: attention with its whole matrix, inputs, distances, memory
// and time.
#include "lessons/25_tiled/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/attention/attend.hpp"
#include "core/check/gradcheck.hpp"
#include "lessons/25_tiled/memory_profiler.hpp"
#include "lessons/25_tiled/visits.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/stopwatch.hpp"

namespace tapestry::lesson25 {

using kit::farthest, kit::gradients, kit::largest;

Tensor scores_of(const Tensor& q, const Tensor& k) {
  return matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
}

Tensor plain_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor scores = scores_of(q, k);
  return matmul(mask.defined() ? masked_softmax(scores, mask) : softmax(scores, -1), v);
}

Tensor rows(const Tensor& x, Size begin, Size end) { return slice(x, -2, begin, end); }

Inputs draw(const Dims& queries, const Dims& keys, std::uint64_t seed, DType dtype) {
  const auto normal = [&](const Dims& shape, std::uint64_t stream) {
    return variable(random_normal(shape, 10 * seed + stream, dtype));
  };
  return {normal(queries, 1), normal(keys, 2), normal(keys, 3)};
}

double largest_difference(const Computation& a, const Computation& b, const Inputs& x, std::uint64_t seed) {
  return std::max(largest(a() - b()),
                  farthest(gradients(a, x.leaves(), seed), gradients(b, x.leaves(), seed)));
}

void check_equal(kit::Report& report, std::string_view what, double difference, double allowed) {
  report.check(fmt::format("{}: differ by {:.1e}, allowed {:.0e}", what, difference, allowed),
               difference <= allowed);
}

void compare_online(std::array<double, 2> contexts, double log_sum_exp, const Tensor& scores,
                    const Tensor& values, kit::Report& report) {
  const double expected = sum(softmax(scores, -1) * values).item(), lse = logsumexp(scores).item();
  report.check("a thousand scores near 1000, in both orders: equal to softmax, no overflow",
               std::abs(contexts[0] - expected) < 1e-12 && std::abs(contexts[1] - expected) < 1e-12 &&
                   std::abs(log_sum_exp - lse) < 1e-12 * std::abs(lse));
}

void check_merge(std::uint64_t seed, kit::Report& report) {
  constexpr Size kQueries = 7, kKeys = 20, kHalf = 8;
  const Inputs x = draw({kQueries, 6}, {kKeys, 6}, seed);
  const auto may_attend = [](Size i, Size j) { return j <= 2 * i; };
  const auto masked_part = [&](Size begin, Size end) {
    const auto seen = [&](QueryKey p) { return may_attend(p.i, begin + p.j); };
    return attend_partial(x.q, rows(x.k, begin, end), rows(x.v, begin, end),
                          {.mask = BlockMask::where(kQueries, end - begin, seen)});
  };
  const Computation merged = [&] {
    return merge(std::array{masked_part(0, kHalf), masked_part(kHalf, kKeys)}).context;
  };
  const Mask mask = Mask::from(kQueries, kKeys, may_attend);
  const Computation masked = [&] { return plain_attention(x.q, x.k, x.v, mask); };
  check_equal(report, "attend_partial() and merge() with a mask, and all keys at once",
              largest_difference(merged, masked, x, seed), 1e-12);
}

bool check_tiled(const std::function<Tensor(const Tensor&, const Tensor&, const Tensor&, Size)>& tiled,
                 std::uint64_t seed, kit::Report& report) {
  bool all = true;
  const Inputs x = draw({5, 4}, {11, 4}, seed);
  for (const Size tile : {1, 4, 11}) {
    const auto by_hand = [&tiled, tile](const Tensor& q, const Tensor& k, const Tensor& v) {
      return tiled(q, k, v, tile);
    };
    const GradcheckResult check = gradcheck(by_hand, x.leaves(), {.tolerance = 1e-7, .seed = seed});
    if (!check.ok()) fmt::print("{}", check.report());
    const double difference = largest_difference([&] { return tiled(x.q, x.k, x.v, tile); },
                                                 [&] { return plain_attention(x.q, x.k, x.v); }, x, seed);
    all &= report.check(
        fmt::format("tiles of {:>2} of {} keys: gradcheck, {} derivatives; differs from plain by {:.0e}",
                    tile, x.k.size(0), check.compared, difference),
        check.ok() && difference <= 1e-12);
  }
  return all;
}

void check_attend(std::uint64_t seed, kit::Report& report) {
  constexpr Size kWords = 300, kFewer = 200;  // neither length fills its last tile
  const BlockMask mask = BlockMask::causal(kWords, kWords);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double allowed = dtype == DType::f64 ? 1e-12 : 1e-5;
    const Dims keys = {2, 3, kWords, 40};  // two texts, three heads of width 40
    const Inputs x = draw({2, 3, kFewer, 40}, keys, seed, dtype), self = draw(keys, keys, seed, dtype);
    const double full = largest_difference([&] { return attend(x.q, x.k, x.v); },
                                           [&] { return plain_attention(x.q, x.k, x.v); }, x, seed);
    const double causal = largest_difference(
        [&] { return attend(self.q, self.k, self.v, {.mask = mask}); },
        [&] { return plain_attention(self.q, self.k, self.v, Mask::causal(kWords, kWords)); }, self, seed);
    check_equal(report, fmt::format("attend() and plain ops, forward and backward, {}", name_of(dtype)), full,
                allowed);
    check_equal(report, fmt::format("attend() and plain ops, causal, {}", name_of(dtype)), causal, allowed);
  }
}

void count_tiles(Size words, const kit::Options& options, kit::Report& report) {
  const BlockMask mask = BlockMask::causal(words, words);
  const Inputs x = draw({words, 8}, {words, 8}, options.seed, DType::f32);
  MemoryProfiler all, some;
  attend(x.q, x.k, x.v, {.score_mod = profiled(all)});
  attend(x.q, x.k, x.v, {.mask = mask, .score_mod = profiled(some)});
  fmt::print("  causal, {} words: the kernel computed {} of {} tiles\n", words, some.tiles(), all.tiles());
  report.check("the number of computed tiles equals the mask's",
               some.tiles() == std::llround(mask.density() * static_cast<double>(all.tiles())));
  save_visits(options);
}

namespace {

using Attends = std::function<Tensor(const Inputs& x, const ScoreMod& score)>;

void add_costs(MethodCosts& result, const Attends& attends, Size length, const kit::Options& options) {
  const Inputs x = draw({length, 64}, {length, 64}, options.seed, DType::f32);
  const Tensor d_out = random_normal(x.q.shape(), options.seed);
  MemoryProfiler profiler;
  {
    Tape tape;
    profiler.follow(tape);
    const std::vector<Tensor> found = tape.gradients(attends(x, profiled(profiler)), d_out, x.leaves());
    profiler.sample();
  }
  MemoryProfiler counting;
  attends({x.q.detach(), x.k.detach(), x.v.detach()}, profiled(counting));
  const double seconds = kit::fastest(static_cast<int>(options.steps), [&] {
    Tape tape;
    tape.gradients(attends(x, {}), d_out, x.leaves());
  });
  for (kit::Series* one : {&result.memory, &result.time, &result.tiles})
    one->x.push_back(static_cast<double>(length));
  result.memory.y.push_back(profiler.peak_mebibytes());
  result.time.y.push_back(1e6 * seconds);
  result.tiles.y.push_back(static_cast<double>(counting.tiles()));
}

}  // namespace

double growth_exponent(const kit::Series& curve) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = curve.x.size() < 3 ? 0 : curve.x.size() - 3; i < curve.x.size(); ++i) {
    const double x = std::log(curve.x[i]), y = std::log(curve.y[i]);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

Costs measure(const kit::Options& options, kit::Report& report) {
  Costs costs;
  for (MethodCosts* result : {&costs.ops, &costs.kernel, &costs.causal})
    for (kit::Series* one : {&result->memory, &result->time})
      one->name = result == &costs.ops      ? "plain ops"
                  : result == &costs.kernel ? "attend()"
                                            : "attend(), causal";
  const auto ops = [](const Inputs& x, const ScoreMod&) { return plain_attention(x.q, x.k, x.v); };
  const auto kernel = [](const Inputs& x, const ScoreMod& score) {
    return attend(x.q, x.k, x.v, {.score_mod = score});
  };
  const auto causal = [](const Inputs& x, const ScoreMod& score) {
    const Size words = x.q.size(0);
    return attend(x.q, x.k, x.v, {.mask = BlockMask::causal(words, words), .score_mod = score});
  };
  fmt::print("          memory in MiB              time in ms\n");
  fmt::print("      T   plain ops   attend()       plain ops   attend()   attend(), causal\n");
  const Size longest = options.smoke ? 256 : 4096;
  for (Size length = 64; length <= longest; length *= 2) {
    add_costs(costs.ops, ops, length, options);
    add_costs(costs.kernel, kernel, length, options);
    add_costs(costs.causal, causal, length, options);
    fmt::print("  {:>5}   {:>9.2f}   {:>8.2f}       {:>9.2f}   {:>8.2f}   {:>16.2f}\n", length,
               costs.ops.memory.y.back(), costs.kernel.memory.y.back(), 1e-3 * costs.ops.time.y.back(),
               1e-3 * costs.kernel.time.y.back(), 1e-3 * costs.causal.time.y.back());
  }
  kit::Chart memory{"Peak memory of one head, forward and backward", "words T", "MiB"};
  memory.series = {costs.ops.memory, costs.kernel.memory};
  kit::Chart time{"Time of one head, forward and backward", "words T", "µs"};
  time.series = {costs.ops.time, costs.kernel.time, costs.causal.time};
  for (kit::Chart* chart : {&memory, &time}) chart->x_scale = chart->y_scale = kit::Scale::log;
  kit::show(memory, options.out / "memory.svg");
  kit::show(time, options.out / "time.svg");
  report.figure("exponent p of the number of tiles of attend(), Tᵖ", growth_exponent(costs.kernel.tiles));
  report.figure("exponent p of the time of plain ops, Tᵖ", growth_exponent(costs.ops.time));
  report.figure("exponent p of the time of attend(), Tᵖ", growth_exponent(costs.kernel.time));
  report.figure("time of causal attend(), in per cent of attend() without a mask",
                100 * costs.causal.time.y.back() / costs.kernel.time.y.back(), "%");
  return costs;
}

}  // namespace tapestry::lesson25
