// Measures how fast several ranks train, compares that with the predicted cost of a ring, and plots both.
#include "lessons/34_many_machines/speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/simd/runtime/threads.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/parallel/collectives.hpp"
#include "optim/parallel/thread_ranks.hpp"

namespace tapestry::lesson34 {
namespace {

/// The first `size` ranks of a communicator.
class FirstRanks : public Communicator {
 public:
  FirstRanks(Communicator& all, int size) : Communicator(all.rank(), size), all_(all) {}

 private:
  void do_exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in) override {
    all_.exchange(to, out, from, in);
  }
  Communicator& all_;
};

/// Limits each rank to one thread, so that one more rank is one more thread.
class OneThread {
 public:
  OneThread() : before_(simd::thread_count()) { simd::set_thread_count(1); }
  ~OneThread() { simd::set_thread_count(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

struct Trained {
  double seconds = 0;  // per step
  double answers = 0;  // of all ranks in the last step
  bool same_bits = false;
  std::vector<Tensor> weights;
};

Trained train_some(Communicator& ranks, bool shared, const kit::Options& options) {
  const std::unique_ptr<LanguageModel> model = sorting_model(options.seed, DType::f32);
  AdamW adam(model->parameters(), {.learning_rate = 1e-3});
  DataParallel all(ranks, model->parameters(), {.sum = {.bucket = 20'000}});
  std::uint64_t step = 0;
  Trained trained;
  const auto train = [&](int steps) {
    for (const std::uint64_t end = step + static_cast<std::uint64_t>(steps); step < end;) {
      ++step;
      all.gradients(options.seed, step, [&](const Part& part) {
        const PartLoss mine =
            shared ? loss_of(*model, options.seed, step, part)
                   : loss_of(*model, options.seed + static_cast<std::uint64_t>(part.index), step, {});
        trained.answers = mine.count;
        return mine;
      });
      clip_gradients(model->parameters(), 1.0);
      adam.step();
    }
  };
  train(1);  // the first step is slow
  const int steps = options.smoke ? 1 : 5;
  for (int round = 0; round < (options.smoke ? 1 : 8); ++round) {
    barrier(ranks);
    const double seconds = kit::seconds([&] { train(steps); }) / steps;
    if (round == 0 || seconds < trained.seconds) trained.seconds = seconds;
  }
  ring_all_reduce(ranks, std::span(&trained.answers, 1));
  trained.same_bits = same_on_all_ranks(ranks, model->state());
  for (const Tensor& weight : model->parameters()) trained.weights.push_back(weight.detach());
  return trained;
}

}  // namespace

Speeds measure_speeds(Communicator& ranks, const kit::Options& options) {
  Speeds speeds;
  std::vector<Tensor> alone;
  for (int count = 1; count <= ranks.size();) {
    if (ranks.rank() < count) {
      FirstRanks some(ranks, count);
      const Trained one = train_some(some, true, options);
      const Trained each = count > 1 ? train_some(some, false, options) : one;  // the same for one rank
      if (count == 1) alone = one.weights;
      if (ranks.rank() == 0)
        speeds.measured.push_back({count, kBatch / one.seconds, count * kBatch / each.seconds, one.answers,
                                   kit::farthest(one.weights, alone), one.same_bits && each.same_bits});
    }
    barrier(ranks);
    count = count < ranks.size() ? std::min(2 * count, ranks.size()) : count + 1;
  }
  const std::unique_ptr<LanguageModel> model = sorting_model(options.seed, DType::f32);
  speeds.bytes = 4.0 * static_cast<double>(kit::weights_of(*model));
  return speeds;
}

Speeds speeds_on_threads(int count, const kit::Options& options) {
  const OneThread each;
  Speeds speeds;
  run_on_threads({.ranks = count}, [&](Communicator& ranks) {
    const Speeds mine = measure_speeds(ranks, options);
    if (ranks.rank() == 0) speeds = mine;
  });
  return speeds;
}

SpeedUp predicted_speed_up(const Link& link, int ranks, double step, double bytes, Cost cost) {
  const double communication = cost(link, ranks, bytes), all = ranks;
  // Forward is a third of a step. Nothing can be sent during forward.
  const auto overlapped = [&](double own) { return std::max(own, own / 3 + communication); };
  return {all * step / overlapped(step), all * step / (step + communication), step / overlapped(step / all)};
}

void draw_speeds(const Link& link, const Speeds& speeds, Cost cost, const kit::Options& options) {
  const Speed& alone = speeds.measured.front();
  const double step = kBatch / alone.shared_batch;
  kit::Chart chart{"Speed-up over one rank", "ranks", "speed-up", {}, {}};
  chart.x_scale = chart.y_scale = kit::Scale::log;
  chart.series = {{"if communication were free"},
                  {"a batch for each rank, overlapped"},
                  {"a batch for each rank, sent after backward"},
                  {"one batch for all, overlapped"},
                  {"measured: a batch for each rank", {}, {}, kit::Mark::points},
                  {"measured: one batch for all", {}, {}, kit::Mark::points}};
  const auto add = [&](std::size_t series, double x, double y) {
    chart.series[series].x.push_back(x);
    chart.series[series].y.push_back(y);
  };
  fmt::print("  ranks    ring, ms   speed-up: one batch for each rank   one batch for all\n");
  for (int ranks = 1; ranks <= 1024; ranks *= 2) {
    const SpeedUp times = predicted_speed_up(link, ranks, step, speeds.bytes, cost);
    add(0, ranks, ranks);
    add(1, ranks, times.own_batch);
    add(2, ranks, times.after);
    add(3, ranks, times.shared_batch);
    if (ranks == 1 || ranks == 8 || ranks == 64 || ranks == 1024)
      fmt::print("  {:>5}  {:>10.3f}  {:>34.1f}  {:>18.1f}\n", ranks, 1000 * cost(link, ranks, speeds.bytes),
                 times.own_batch, times.shared_batch);
  }
  fmt::print(
      "\n  ranks strings per second: a batch for each rank,  predicted   one batch for all,  "
      "predicted\n");
  for (const Speed& speed : speeds.measured) {
    const SpeedUp times = predicted_speed_up(link, speed.ranks, step, speeds.bytes, cost);
    add(4, speed.ranks, speed.own_batch / alone.own_batch);
    add(5, speed.ranks, speed.shared_batch / alone.shared_batch);
    fmt::print("  {:>5}  {:>41.0f}  {:>9.0f}  {:>19.0f}  {:>9.0f}\n", speed.ranks, speed.own_batch,
               times.own_batch * alone.own_batch, speed.shared_batch,
               times.shared_batch * alone.shared_batch);
  }
  kit::show(chart, options.out / "ranks.svg");
}

}  // namespace tapestry::lesson34
