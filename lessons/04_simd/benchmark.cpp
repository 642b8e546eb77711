#include "lessons/04_simd/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/core.hpp"
#include "core/simd/matmul/tiles.hpp"
#include "core/simd/runtime/arch.hpp"
#include "core/simd/runtime/threads.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace tapestry::lesson04 {

namespace {

constexpr Size kFewRows = 8;  // the rows on which three_loops is timed

/// The same as reordered, written with Vector.
[[gnu::noinline]] void lanes_by_hand(const float* a, const float* b, float* c, Size n) {
  for (Size i = 0; i < n; ++i) {
    for (Size j = 0; j < n; ++j) c[i * n + j] = 0;
    for (Size p = 0; p < n; ++p) {
      const Vector factor(a[i * n + p]);
      for (Size j = 0; j < n; j += kLanes)
        store(c + i * n + j, multiply_add(factor, load(b + p * n + j), load(c + i * n + j)));
    }
  }
}

constexpr int kStrip = 8;

/// Keeps eight vectors of a row of c in registers as eight sums while p goes from 0 to n − 1, and stores them once.
[[gnu::noinline]] void row_strips(const float* a, const float* b, float* c, Size n) {
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

/// Runs kChains independent chains of `steps` multiply-adds each. V is float (one lane) or Vector.
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

/// Returns multiply-adds in `count` chains. V is float or Vector.
template <class V, int count>
Chains chains_of() {
  constexpr Size kSteps = 20'000, kWidth = static_cast<Size>(sizeof(V) / sizeof(float));
  return {count, {2e-9 * static_cast<double>(kSteps * count * kWidth), [] {
                    seen = run_chains<V, count>(kSteps, half, 1.0F);
                  }}};
}

template <int... counts>
std::vector<Chains> chains_in_all_lanes() {
  return {chains_of<Vector, counts>()...};
}

[[gnu::noinline]] float add_up(Size steps, float term) {
  float sum = 0;
  for (Size step = 0; step < steps; ++step) sum += term;
  return sum;
}

Timed chain_of_additions() {
  constexpr Size kSteps = 20'000;
  return {2e-9 * kSteps, [] { seen = add_up(kSteps, half); }};
}

double share_of_allowed_error(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor a64 = a.to(DType::f64), b64 = b.to(DType::f64);
  const Tensor allowed = static_cast<double>(a.size(0)) * 0x1p-24 * matmul(abs(a64), abs(b64));
  return kit::largest((c.to(DType::f64) - matmul(a64, b64)) / allowed);
}

}  // namespace

Benchmark::Benchmark(const ProductFunctions& functions, double intensity, const kit::Options& options)
    : one_lane(chains_of<float, 1>()),
      chains(chains_in_all_lanes<1, 2, 3, 4, 6, 8, 10, 12>()),
      additions(chain_of_additions()),
      memory(options.smoke),
      three_loops_(functions.three_loops) {
  simd::set_thread_count(1);
  const Size n = options.smoke ? 128 : 256;
  a = random_normal({n, n}, options.seed);
  b = random_normal({n, n}, options.seed + 1);
  for (int i = 0; i < 6; ++i) c.push_back(zeros({n, n}));
  const float *pa = a.data<float>(), *pb = b.data<float>();
  const auto into = [this](std::size_t i) { return c[i].mutable_data<float>(); };
  const auto billions = [n](Size rows) { return 2e-9 * static_cast<double>(rows * n * n); };
  products = {
      {"three loops",
       1.0 / 4,
       {billions(kFewRows), [=] { functions.three_loops(pa, pb, into(0), n, kFewRows); }}},
      {"reordered", 1.0 / 6, {billions(n), [=] { functions.reordered(pa, pb, into(1), n); }}},
      {"lanes by hand", 1.0 / 6, {billions(n), [=] { lanes_by_hand(pa, pb, into(2), n); }}},
      {"row strips",
       tile_intensity(1, kStrip, kLanes),
       {billions(n), [=] { row_strips(pa, pb, into(3), n); }}},
      {"blocked", intensity, {billions(n), [=, this] { functions.blocked(pa, pb, into(4), n, packed_); }}},
      {"library", tile_intensity(simd::kTileRows<float>, simd::kTileVectors, kLanes), {billions(n), [this] {
                                                                                         c[5] = matmul(a, b);
                                                                                       }}}};
}

void Benchmark::run(Size rounds) {
  std::vector<Timed*> all = {&one_lane.timed, &additions};
  for (Chains& one : chains) all.push_back(&one.timed);
  for (Product& one : products) all.push_back(&one.timed);
  for (Level& one : memory.levels()) all.insert(all.end(), {&one.read, &one.update});
  kit::take_turns(all, rounds);
  const Size n = a.size(0);
  three_loops_(a.data<float>(), b.data<float>(), c[0].mutable_data<float>(), n, n);
}

Peak Benchmark::peak() const {
  double speed = 0;
  for (const Chains& one : chains) speed = std::max(speed, one.timed.best);
  for (const Chains& one : chains)
    if (one.timed.best >= 0.95 * speed) return {speed, one.count};
  return {speed, 0};
}

double Benchmark::speed_of(std::string_view name) const {
  for (const Product& one : products)
    if (name == one.name) return one.timed.best;
  throw std::logic_error("[benchmark] name must be that of a product, got " + std::string(name));
}

bool show_lanes() {
  std::vector<float> x(kLanes), y(kLanes);
  std::iota(x.begin(), x.end(), 0.0F);                                         // 0, 1, 2, …
  store(y.data(), multiply_add(load(x.data()), Vector(10.0F), Vector(1.0F)));  // Vector(1.0F): 1 in each lane
  fmt::print("  {}: {} floats in a register\n  x         ", simd::arch_name(), x.size());
  for (const float value : x) fmt::print("{:>5}", value);
  fmt::print("\n  10 x + 1  ");
  for (const float value : y) fmt::print("{:>5}", value);
  fmt::print("   in one instruction\n");
  return y.front() == 1 && y.back() == 10 * x.back() + 1;
}

double show_chains(const Benchmark& benchmark, const kit::Options& options, kit::Report& report) {
  const auto [peak, fewest] = benchmark.peak();
  kit::Chart chart{"Independent chains of multiply-adds", "chains", "billion operations per second"};
  kit::Series series{"all lanes", {0}, {0}};  // no chains, no operations
  for (const Chains& one : benchmark.chains) {
    fmt::print("  {:>2} chains  {:6.1f} GFLOP/s\n", one.count, one.timed.best);
    series.x.push_back(one.count);
    series.y.push_back(one.timed.best);
  }
  chart.series.push_back(series);
  chart.levels.push_back({peak, "peak"});
  kit::show(chart, options.out / "chains.svg");
  report.figure("peak", peak, "GFLOP/s");
  report.figure("the fewest chains within 5 % of the peak", fewest);
  report.figure("one chain in one lane", benchmark.one_lane.timed.best, "GFLOP/s");
  report.figure("gain in speed from lanes and chains together", peak / benchmark.one_lane.timed.best,
                "times as fast");
  return peak;
}

void show_products(const Benchmark& benchmark, kit::Report& report) {
  const auto n = static_cast<double>(benchmark.a.size(0));
  const double peak = benchmark.peak().speed;
  fmt::print("  {0} × {0} floats on one thread; library is the product of core/, for comparison\n", n);
  fmt::print(
      "  an error of 1 is the largest that rounding can cause in a sum of {0} products: {0} · 2⁻²⁴ · Σ |a| |b|\n",
      n);
  fmt::print("                       ms   GFLOP/s   of the peak   error ÷ largest rounding error\n");
  bool right = true;
  for (std::size_t i = 0; i < benchmark.products.size(); ++i) {
    const Product& one = benchmark.products[i];
    const double speed = one.timed.best,
                 error = share_of_allowed_error(benchmark.a, benchmark.b, benchmark.c[i]);
    fmt::print("  {:<15} {:8.3f}  {:8.1f}  {:10.1f} %   {:.2f}\n", one.name, 2e-6 * n * n * n / speed, speed,
               100 * speed / peak, error);
    right &= error <= 1;
  }
  const double alone = benchmark.speed_of("reordered"), by_hand = benchmark.speed_of("lanes by hand");
  report.note(
      alone >= 0.6 * by_hand
          ? "The compiler used the lanes for reordered by itself."
          : fmt::format(
                "The compiler did not use all lanes for reordered: by hand it is {:.1f} times as fast.",
                by_hand / alone));
  report.check("all products are right, up to rounding", right);
  report.at_least("speed of lanes by hand ÷ speed of three loops",
                  by_hand / benchmark.speed_of("three loops"), 3, "times as fast");
  report.at_least("speed of blocked, share of the peak", 100 * benchmark.speed_of("blocked") / peak, 50, "%");
  report.at_least("speed of the library's product, share of the peak",
                  100 * benchmark.speed_of("library") / peak, 85, "%");
}

void show_limits(Benchmark& benchmark, kit::Report& report) {
  const std::vector<Level>& levels = benchmark.memory.levels();
  for (const Level& one : levels) report.figure(one.name, one.bandwidth(), "GB/s");
  const double loops = benchmark.speed_of("three loops"), chain = benchmark.one_lane.timed.best;
  report.figure("speed of three loops ÷ one chain of multiply-adds", 100 * loops / chain, "%");
  report.figure("speed of three loops ÷ one chain of additions", 100 * loops / benchmark.additions.best, "%");
  const Product &reordered = benchmark.products[1], &strips = benchmark.products[3];
  report.figure("speed of reordered ÷ slope of the first cache",
                100 * reordered.timed.best / (levels[0].bandwidth() * reordered.intensity), "%");
  report.figure("speed of row strips ÷ slope of the second cache",
                100 * strips.timed.best / (levels[1].bandwidth() * strips.intensity), "%");
}

void show_roofline(Benchmark& benchmark, const kit::Options& options) {
  const double peak = benchmark.peak().speed;
  kit::Chart roofline{"Roofline of one core", "operations per byte loaded or stored",
                      "billion operations per second"};
  roofline.x_scale = roofline.y_scale = kit::Scale::log;
  for (const Level& one : benchmark.memory.levels()) {
    kit::Series roof{one.name, {}, {}};
    for (int point = 0; point <= 60; ++point) {
      roof.x.push_back(0.1 * std::pow(50.0, point / 60.0));
      roof.y.push_back(std::min(peak, roof.x.back() * one.bandwidth()));
    }
    roofline.series.push_back(roof);
  }
  for (const Product& one : benchmark.products)
    if (one.name != std::string_view("lanes by hand"))  // its point would hide the point of reordered
      roofline.series.push_back({one.name, {one.intensity}, {one.timed.best}, kit::Mark::points});
  // Show the chain whose speed is nearer to that of three_loops.
  const double loops = benchmark.speed_of("three loops"), chain = benchmark.one_lane.timed.best,
               adds = benchmark.additions.best;
  if (std::abs(std::log(loops / adds)) < std::abs(std::log(loops / chain)))
    roofline.levels.push_back({adds, "one lane, one chain of additions"});
  else
    roofline.levels.push_back({chain, "one lane, one chain of multiply-adds"});
  kit::show(roofline, options.out / "roofline.svg");
}

}  // namespace tapestry::lesson04
