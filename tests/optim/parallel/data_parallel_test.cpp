// Training on ranks, against the same global batch in one process, which knows nothing of ranks.
#include "optim/parallel/data_parallel.hpp"

#include <cmath>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "core/core.hpp"
#include "core/ops/dropout.hpp"
#include "nn/loss.hpp"
#include "nn/transformer/language_model.hpp"
#include "nn/transformer/transformer.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/parallel/collectives.hpp"
#include "optim/parallel/thread_ranks.hpp"
#include "optim/sgd.hpp"
#include "optim/training_state.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"
#include "tests/temporary.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of, test::TemporaryFolder;

namespace {

constexpr Size kRows = 12, kTime = 6, kVocabulary = 7;
constexpr std::uint64_t kSeed = 5;

TransformerOptions options_of(double dropout) {
  TransformerOptions options{.vocabulary = kVocabulary, .layers = 2, .block = {.width = 8, .heads = 2}};
  options.block.dropout = options.dropout = dropout;
  return options;
}

/// ids and answers of rows [begin, end) of a step's global batch; how many answers count differs from row to row.
struct Rows {
  Indices inputs, targets;
  double counted = 0;
};
Rows rows_of(std::uint64_t step, Size begin, Size end) {
  std::vector<std::int64_t> inputs, targets;
  double counted = 0;
  const Stream stream(kSeed, step);
  for (Size i = begin * kTime; i < end * kTime; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    inputs.push_back(static_cast<std::int64_t>(stream.below(kVocabulary, 2 * at)));
    const bool counts = i % kTime >= i / kTime % 5;
    targets.push_back(counts ? static_cast<std::int64_t>(stream.below(kVocabulary, 2 * at + 1)) : -1);
    counted += counts;
  }
  const Dims shape{end - begin, kTime};
  return {Indices(inputs, shape), Indices(targets, shape), counted};
}

PartLoss loss_of(const LanguageModel& model, std::uint64_t step, const Part& part) {
  const Rows rows = rows_of(step, part.begin(kRows), part.end(kRows));
  return {cross_entropy(model(rows.inputs), rows.targets), rows.counted};
}

struct Run {
  std::vector<double> weights, losses;
  Size buckets = 0;
};

std::vector<double> values(Module& model) {
  std::vector<double> all;
  for (const Tensor& weight : model.parameters())
    for (const double value : weight.to_vector()) all.push_back(value);
  return all;
}

std::unique_ptr<Optimiser> optimiser(DType dtype, const std::vector<Tensor>& weights) {
  // Of a gradient that is 0 but for rounding (a key's bias has one) Adam makes a step, up to its ε.
  if (dtype == DType::f32)
    return std::make_unique<SGD>(weights, SGDOptions{.learning_rate = 0.1, .momentum = 0.9});
  return std::make_unique<Adam>(weights, AdamOptions{.learning_rate = 1e-2, .epsilon = 1e-6});
}

/// Without ranks: the whole batch at once.
Run alone(DType dtype, std::uint64_t steps, double dropout = 0) {
  LanguageModel model(options_of(dropout));
  model.initialise(1, dtype);
  const auto update = optimiser(dtype, model.parameters());
  Run run;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    set_random(kSeed, step);
    Tape tape;
    const Tensor loss = loss_of(model, step, {}).mean;
    tape.backward(loss);
    clip_gradients(model.parameters(), 0.5);
    update->step();
    run.losses.push_back(loss.item());
  }
  run.weights = values(model);
  return run;
}

struct How {
  int ranks = 2;
  DataParallelOptions parallel = {};
  DType dtype = DType::f64;
  std::uint64_t steps = 4;
  double dropout = 0;
  std::filesystem::path file = {};  // begins from it if it is there
  std::uint64_t save_at = 0, die_at = 0;
  int dies = -1;
};

Run together(const How& how) {
  Run run;
  std::mutex mutex;
  run_on_threads({.ranks = how.ranks, .timeout = 20}, [&](Communicator& ranks) {
    LanguageModel model(options_of(how.dropout));
    model.initialise(ranks.rank() == 0 ? 1 : 99, how.dtype);  // the others' first weights are not used
    const auto update = optimiser(how.dtype, model.parameters());
    std::uint64_t step = 0;
    if (ranks.rank() == 0 && std::filesystem::exists(how.file)) {
      const TrainingState saved = TrainingState::load(how.file);
      saved.restore({{"model", model.state()}, {"optimiser", update->state()}});
      step = saved.integer("step");
    }
    step = broadcast(ranks, step);
    DataParallel all(ranks, model.parameters(), how.parallel);
    all.start_from(model.state());
    all.start_from(update->state());
    std::vector<double> losses;
    while (++step <= how.steps) {
      if (ranks.rank() == how.dies && step == how.die_at) throw Error("this rank dies");
      losses.push_back(
          all.gradients(kSeed, step, [&](const Part& part) { return loss_of(model, step, part); }));
      clip_gradients(model.parameters(), 0.5);
      update->step();
      if (step == how.save_at && ranks.rank() == 0) {
        TrainingState saved;
        saved.sections = {{"model", model.state()}, {"optimiser", update->state()}};
        saved.set_integer("step", step);
        saved.save(how.file);
      }
    }
    if (!same_on_all_ranks(ranks, model.state())) fail("ranks have different weights");
    if (ranks.rank() == 0) {
      const std::lock_guard lock(mutex);
      run = {values(model), losses, all.sum() == nullptr ? 1 : all.sum()->buckets()};
    }
  });
  return run;
}

double farthest(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

}  // namespace

TEST_CASE("any number of ranks trains as one process with the same global batch does", "[threads]") {
  const Run f64 = alone(DType::f64, 4), f32 = alone(DType::f32, 4);
  for (const int ranks : {1, 2, 3, 4, 8}) {
    CAPTURE(ranks);
    const Run one = together({.ranks = ranks});
    CHECK(farthest(one.weights, f64.weights) <= 1e-12);
    CHECK(farthest(one.losses, f64.losses) <= 1e-12);
    CHECK(farthest(together({.ranks = ranks, .dtype = DType::f32}).weights, f32.weights) <= 1e-6);
  }
}

TEST_CASE("as many ranks give the same bits, whatever arrives when, and however backward and talk overlap",
          "[threads]") {
  const Run first = together({.ranks = 3, .dtype = DType::f32});
  for (int i = 0; i < 3; ++i) CHECK(together({.ranks = 3, .dtype = DType::f32}).weights == first.weights);
  const DataParallelOptions after{.sum = {.overlap = false}};
  CHECK(together({.ranks = 3, .parallel = after, .dtype = DType::f32}).weights == first.weights);
}

TEST_CASE("buckets of any size give the same weights", "[threads]") {
  const Run f64 = alone(DType::f64, 4);
  std::vector<Size> counts;
  for (const Size bucket : {Size{1}, Size{100}, Size{1 << 18}}) {
    CAPTURE(bucket);
    const Run run = together({.ranks = 2, .parallel = {.sum = {.bucket = bucket}}});
    CHECK(farthest(run.weights, f64.weights) <= 1e-12);
    counts.push_back(run.buckets);
  }
  CHECK(counts[0] > counts[1]);
  CHECK(counts[1] > counts[2]);
  CHECK(counts[2] == 1);
}

TEST_CASE("with the same parts, dropout is the same on any number of ranks", "[threads]") {
  const Run one = together({.ranks = 1, .parallel = {.parts = 4}, .dropout = 0.3});
  for (const int ranks : {2, 3, 4}) {
    CAPTURE(ranks);
    const Run run = together({.ranks = ranks, .parallel = {.parts = 4}, .dropout = 0.3});
    CHECK(farthest(run.weights, one.weights) <= 1e-12);
  }
  CHECK(farthest(one.weights, alone(DType::f64, 4).weights) > 1e-3);  // it does drop
  // One part on one rank draws what a process without ranks draws.
  const Run whole = together({.ranks = 1, .dropout = 0.3});
  CHECK(farthest(whole.weights, alone(DType::f64, 4, 0.3).weights) <= 1e-12);
}

TEST_CASE("one rank writes the checkpoint, and any number of ranks goes on from it", "[threads]") {
  const TemporaryFolder folder;
  const Run whole = together({.ranks = 2, .steps = 6}), one = alone(DType::f64, 6);
  const std::filesystem::path file = folder.path() / "run.safetensors";
  const std::string message = message_of(
      [&] { together({.ranks = 2, .steps = 6, .file = file, .save_at = 3, .die_at = 5, .dies = 1}); });
  CHECK(message == "this rank dies");
  for (const int ranks : {2, 1, 3, 4}) {
    CAPTURE(ranks);
    const Run rest = together({.ranks = ranks, .steps = 6, .file = file});
    CHECK(rest.losses.size() == 3);
    CHECK(farthest(rest.weights, one.weights) <= 1e-12);
    if (ranks == 2) CHECK(rest.weights == whole.weights);  // bit for bit
  }
}

TEST_CASE("gradients: what is absent, what was there, what is frozen, a part with nothing in it",
          "[threads]") {
  const Size bucket = GENERATE(Size{1}, Size{1} << 18);  // one for each weight, and one for all
  run_on_threads({.ranks = 2}, [bucket](Communicator& ranks) {
    const double mine = ranks.rank() + 1;
    const Tensor used = variable(tensor({1, 2}, DType::f64), "used"),
                 unused = variable(scalar(3, DType::f64), "unused"),
                 sometimes = variable(scalar(5, DType::f64), "sometimes"),
                 frozen = variable(scalar(7, DType::f64));
    set_frozen(frozen, true);
    DataParallel all(ranks, {used, unused, sometimes, frozen}, {.parts = 4, .sum = {.bucket = bucket}});
    for (int round = 0; round < 2; ++round) {
      const double loss = all.gradients(1, 1, [&](const Part& part) {
        if (part.index == 3) return PartLoss{};  // the last of rank 1
        const Tensor first = sum(used * mine * frozen);
        return PartLoss{ranks.rank() == 0 ? first : first + sometimes, 1.0 + part.index};
      });
      // Parts 0, 1, 2 count 1, 2, 3.
      const auto near = [](double a, double b) { return std::abs(a - b) < 1e-14; };
      if (!near(used.grad().at({1}), (3 * 7 + 3 * 14) / 6.0)) fail("used: {}", used.grad().at({1}));
      if (!near(sometimes.grad().item(), 0.5)) fail("sometimes: {}", sometimes.grad().item());
      if (unused.has_grad() || frozen.has_grad()) fail("a gradient that nobody has");
      if (!near(loss, (3 * 21 + 3 * (42 + 5)) / 6.0)) fail("loss {}", loss);
      for (const Tensor& x : {used, sometimes}) x.clear_grad();
    }
  });
}

TEST_CASE("talk is hidden behind backward", "[threads]") {
  // A slow wire, and a backward that takes its time: 8 layers whose gradients come one after the other.
  for (const bool overlap : {true, false}) {
    std::optional<double> all_reduce_seconds, wait_seconds;
    std::mutex mutex;
    run_on_threads({.ranks = 2, .latency = 0.004}, [&](Communicator& ranks) {
      std::vector<Tensor> weights;
      for (int i = 0; i < 8; ++i) weights.push_back(variable(0.1 * random_normal({4, 4}, kSeed)));
      DataParallel all(ranks, weights, {.sum = {.bucket = 1, .overlap = overlap}});
      all.gradients(1, 1, [&](const Part&) {
        Tensor x = ones({4, 4});
        for (const Tensor& weight : weights) {
          x = matmul(x, weight);
          Tape::active()->on_gradient(x, [](const Tensor&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(12));
            return Tensor();
          });
        }
        return PartLoss{sum(x), 1};
      });
      const std::lock_guard lock(mutex);
      all_reduce_seconds = all.sum()->all_reduce_seconds();
      wait_seconds = all.sum()->wait_seconds();
    });
    CAPTURE(overlap, *all_reduce_seconds, *wait_seconds);
    CHECK(*all_reduce_seconds >= 8 * 0.008);
    if (overlap)
      CHECK(*wait_seconds < 0.5 * *all_reduce_seconds);
    else
      CHECK(*wait_seconds >= 0.9 * *all_reduce_seconds);
  }
}

TEST_CASE("what ranks cannot add is told", "[threads]") {
  OneRank alone_here;
  CHECK_THAT(message_of([&] { GradientSum(alone_here, {}); }),
             ContainsSubstring("weights must not be empty"));
  CHECK_THAT(message_of([&] { GradientSum(alone_here, {scalar(1)}); }),
             ContainsSubstring("weights must be leaves"));
  CHECK_THAT(message_of([&] {
               GradientSum(alone_here, {variable(scalar(1)), variable(scalar(1, DType::f64))});
             }),
             ContainsSubstring("weights must have one type"));
  CHECK_THAT(message_of([] {
               run_on_threads({.ranks = 3}, [](Communicator& ranks) {
                 DataParallel(ranks, {variable(scalar(1))}, {.parts = 2});
               });
             }),
             ContainsSubstring("parts must be at least 3, the number of ranks, got 2"));
}

TEST_CASE("dropout drops others in each part of a batch, and the same again at the same step", "[threads]") {
  const auto masks = [](std::uint64_t step) {
    std::vector<std::vector<double>> kept;
    run_on_threads({.ranks = 1, .timeout = 20}, [&](Communicator& ranks) {
      const Tensor w = variable(ones({64}, DType::f64));
      DataParallel parallel(ranks, {w}, {.parts = 3});
      parallel.gradients(kSeed, step, [&](const Part&) {
        const Tensor dropped = dropout(w, 0.5);
        kept.push_back(dropped.to_vector());
        return PartLoss{sum(dropped), 1};
      });
    });
    return kept;
  };
  const auto first = masks(1);
  REQUIRE(first.size() == 3);
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      // Of 64 places two independent masks agree on 32 ± 4.
      int agree = 0;
      for (std::size_t i = 0; i < 64; ++i) agree += (first[a][i] == 0) == (first[b][i] == 0) ? 1 : 0;
      CHECK(agree > 12);
      CHECK(agree < 52);
    }
  CHECK(masks(1) == first);
  CHECK(masks(2)[0] != first[0]);
}
