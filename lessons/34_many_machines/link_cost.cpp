// Measures the cost of a ring, fits α and β, and plots both.
#include "lessons/34_many_machines/link_cost.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "lessons/34_many_machines/speed.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "optim/parallel/collectives.hpp"
#include "optim/parallel/thread_ranks.hpp"

namespace tapestry::lesson34 {
namespace {

/// Returns the time of the fastest of several rings, from rank 0.
double time_ring(Communicator& ranks, std::size_t numbers, int runs, bool native) {
  std::vector<float> x(numbers, 0.0F);
  double best = 1e9;
  for (int run = 0; run < runs; ++run) {
    barrier(ranks);
    best = std::min(best, kit::seconds([&] {
                      if (!native)
                        ring_all_reduce(ranks, std::span(x));
                      else if (!ranks.native_all_reduce(x))
                        fail("this communicator must have a native all-reduce, but has none");
                    }));
  }
  broadcast(ranks, std::as_writable_bytes(std::span(&best, 1)));
  return best;
}

}  // namespace

Link fit(const Measured& measured, Cost cost, int ranks) {
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (std::size_t i = 0; i < measured.numbers.size(); ++i) {
    const double bytes = 4 * measured.numbers[i];
    const double a = cost({1, 0}, ranks, bytes) / measured.seconds[i],
                 b = cost({0, 1}, ranks, bytes) / measured.seconds[i];
    aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
  }
  const double det = aa * bb - ab * ab;
  return {std::max(1e-9, (a1 * bb - b1 * ab) / det), std::max(1e-13, (b1 * aa - a1 * ab) / det)};
}

Measured measure(Communicator& ranks, Cost cost, bool smoke, bool native) {
  Measured measured;
  for (std::size_t numbers = 64; numbers <= (smoke ? 4096U : 1U << 20); numbers *= 4) {
    const double seconds = time_ring(ranks, numbers, numbers > 100'000 ? 7 : 30, native);
    measured.numbers.push_back(static_cast<double>(numbers));
    measured.seconds.push_back(seconds);
  }
  measured.link = fit(measured, cost, ranks.size());
  return measured;
}

Link given_or_measured(Link given, Cost cost, const kit::Options& options) {
  Measured measured;
  run_on_threads({.ranks = 2}, [&](Communicator& ranks) {
    const Measured mine = measure(ranks, cost, options.smoke);
    if (ranks.rank() == 0) measured = mine;
  });
  draw(measured, cost, 2, options);
  return {given.latency > 0 ? given.latency : measured.link.latency,
          given.per_byte > 0 ? given.per_byte : measured.link.per_byte};
}

void draw(const Measured& measured, Cost cost, int ranks, const kit::Options& options) {
  kit::Chart chart{fmt::format("A ring of {} ranks", ranks), "numbers", "seconds", {}, {}};
  chart.x_scale = chart.y_scale = kit::Scale::log;
  kit::Series model{"fitted α and β", {}, {}};
  for (const double numbers : measured.numbers) {
    model.x.push_back(numbers);
    model.y.push_back(cost(measured.link, ranks, 4 * numbers));
  }
  chart.series = {{"measured", measured.numbers, measured.seconds, kit::Mark::points}, model};
  kit::show(chart, options.out / "ring.svg");
}

double waiting_share(bool overlap, const kit::Options& options) {
  double seconds = 0, all_reduce_seconds = 0, wait_seconds = 0;
  Size buckets = 1;
  const auto run = [&](double latency, int steps) {
    seconds = all_reduce_seconds = wait_seconds = 0;
    run_on_threads({.ranks = 2, .latency = latency}, [&](Communicator& ranks) {
      const std::unique_ptr<LanguageModel> model =
          sorting_model(options.seed, DType::f32, options.smoke ? 16 : 128);
      DataParallel all(ranks, model->parameters(),
                       {.parts = 2, .sum = {.bucket = 60'000, .overlap = overlap}});
      for (int i = 0; i < steps; ++i) {
        const double took = kit::seconds([&] {
          const auto number = static_cast<std::uint64_t>(i);
          all.gradients(options.seed, number,
                        [&](const Part&) { return loss_of(*model, options.seed, number, {}); });
        });
        for (const Tensor& weight : model->parameters()) weight.clear_grad();
        if (ranks.rank() != 0 || i == 0) continue;  // the first step is slow
        seconds += took / (steps - 1);
        all_reduce_seconds += all.sum()->all_reduce_seconds();
        wait_seconds += all.sum()->wait_seconds();
      }
      if (ranks.rank() == 0) buckets = all.sum()->buckets();
    });
  };
  run(0, options.smoke ? 2 : 5);
  run(seconds / 2 / static_cast<double>(2 * buckets), options.smoke ? 2 : 13);
  return wait_seconds / all_reduce_seconds;
}

void run_over_mpi(Communicator& ranks, Ring by_hand, Cost cost, const kit::Options& options,
                  kit::Report& report) {
  report.part_of_lesson();
  std::vector<double> x;
  for (int i = 0; i < 6 * ranks.size(); ++i) x.push_back(std::sin(i * (ranks.rank() + 1.0)));
  std::vector<double> y = x;
  by_hand(ranks, x);
  ring_all_reduce(ranks, std::span(y));
  report.check("over MPI: the ring by hand gives the bits of optim/'s ring", x == y);
  std::vector<float> ours(10'000), theirs;
  for (std::size_t i = 0; i < ours.size(); ++i)
    ours[i] = static_cast<float>(std::sin(static_cast<double>(i) * (ranks.rank() + 1.0)));
  theirs = ours;
  ring_all_reduce(ranks, std::span(ours));
  if (ranks.size() > 1 && ranks.native_all_reduce(theirs)) {
    double independent = 0;
    for (std::size_t i = 0; i < ours.size(); ++i)
      independent = std::max(independent, std::abs(double{ours[i]} - theirs[i]));
    report.at_most("largest difference of the ring's sums and MPI's", independent, 1e-5);
    const Measured ring = measure(ranks, cost, options.smoke),
                   native = measure(ranks, cost, options.smoke, true);
    fmt::print("  {:>9} numbers    {:>9}    {:>9}\n", "", "ring, µs", "MPI's, µs");
    for (std::size_t i = 0; i < ring.numbers.size(); ++i)
      fmt::print("  {:>9.0f} numbers    {:>9.1f}    {:>9.1f}\n", ring.numbers[i], 1e6 * ring.seconds[i],
                 1e6 * native.seconds[i]);
    report.figure("latency of a message", 1e6 * ring.link.latency, "µs");
    report.figure("bandwidth", 1e-9 / ring.link.per_byte, "GB/s");
    const Speeds speeds = measure_speeds(ranks, options);
    if (ranks.rank() == 0) {
      draw(ring, cost, ranks.size(), options);
      draw_speeds(ring.link, speeds, cost, options);
      bool same = true;
      double max_difference = 0;
      for (const Speed& speed : speeds.measured) {
        same = same && speed.same_bits;
        max_difference = std::max(max_difference, speed.max_difference);
      }
      report.check("for each number of ranks, all ranks have the same weights", same);
      report.at_most("largest difference from one rank's weights", max_difference, kRounding);
    }
  }
  const std::unique_ptr<LanguageModel> model = sorting_model(options.seed, DType::f32);
  const std::filesystem::path file = options.smoke ? "" : options.out / "checkpoint.safetensors";
  const double sorted = train_over_mpi(ranks, options, *model, file);
  report.check("all ranks have the same weights", same_on_all_ranks(ranks, model->state()));
  if (ranks.rank() != 0) return;
  report.at_least("strings sorted", sorted, 95, "%");
  if (!file.empty()) std::filesystem::remove(file);
}

}  // namespace tapestry::lesson34
