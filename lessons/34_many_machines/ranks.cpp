// Trains lesson 20's model, which sorts digits, on several ranks.
#include "lessons/34_many_machines/ranks.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>

#include "lessons/20_gpt/train_on_text.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/progress.hpp"
#include "lessons/kit/tasks/sorting.hpp"
#include "lessons/kit/tensors.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/parallel/collectives.hpp"
#include "optim/parallel/thread_ranks.hpp"
#include "optim/schedule.hpp"
#include "optim/sgd.hpp"
#include "optim/training_state.hpp"

namespace tapestry::lesson34 {
namespace {

using kit::kFewestDigits, kit::kMostDigits;
constexpr std::uint64_t kFewSteps = 4;
constexpr double kRate = 0.1;     // learning rate of plain gradient descent
constexpr Size kSmallWidth = 16;  // width of models whose weights are compared

double counted(const Indices& targets) {
  double count = 0;
  for (const std::int64_t id : targets.to_vector()) count += id >= 0;
  return count;
}

/// Runs `step(ranks, model)` on `count` ranks and returns rank 0's weights.
template <class F>
std::vector<Tensor> few_steps(int count, std::uint64_t seed, const F& step) {
  std::vector<Tensor> weights;
  run_on_threads({.ranks = count}, [&](Communicator& ranks) {
    const std::unique_ptr<LanguageModel> model = sorting_model(seed, DType::f64, kSmallWidth);
    step(ranks, *model);
    if (!same_on_all_ranks(ranks, model->state()))
      fail("all ranks must have the same weights, but they differ");
    if (ranks.rank() == 0)
      for (const Tensor& weight : model->parameters()) weights.push_back(weight.detach());
  });
  return weights;
}

void average_weights(Communicator& ranks, const LanguageModel& model) {
  for (Tensor weight : model.parameters()) {
    std::vector<double> values = weight.to_vector();
    ring_all_reduce(ranks, std::span(values));
    assign(weight, tensor(values, weight.shape(), weight.dtype()) / static_cast<double>(ranks.size()));
  }
}

/// Trains the model on this rank. Every rank must call it.
void train_rank(Communicator& ranks, LanguageModel& model, const Training& how, const kit::Options& options,
                bool show_progress) {
  const std::string run = fmt::format("seed {}, {} steps", options.seed, options.steps);
  AdamW adam(model.parameters(), {.learning_rate = 3e-3});
  std::uint64_t step = 0;
  if (ranks.rank() == 0 && !how.file.empty() && std::filesystem::exists(how.file)) {
    const TrainingState saved = TrainingState::load(how.file);
    if (saved.text("run") == run) {
      saved.restore({{"model", model.state()}, {"optimiser", adam.state()}});
      step = saved.integer("step");
    }
  }
  step = broadcast(ranks, step);
  const auto steps = static_cast<std::uint64_t>(options.steps);
  OneRank alone;
  DataParallel all(how.independent ? alone : ranks, model.parameters(), {.sum = {.bucket = 20'000}});
  if (!how.different_initial_weights) broadcast(ranks, model.state());
  broadcast(ranks, adam.state());
  const Size rise = std::max<Size>(1, options.steps / 25);
  const Schedule rate = then(warm_up(rise), rise, cosine_decay(std::max<Size>(1, options.steps - rise)));
  std::optional<kit::Progress> progress;
  if (show_progress) {
    progress.emplace(options.steps, kit::Progress::Settings{static_cast<std::int64_t>(step), "strings"});
    progress->note(how.independent ? how.different_initial_weights
                                         ? "each rank alone, different initial weights; loss of rank 0:"
                                         : "each rank alone, same initial weights; loss of rank 0:"
                                   : "gradients shared at every step:");
  }
  while (++step <= steps) {
    if (step == how.fails_at && ranks.rank() + 1 == ranks.size())
      throw RankFailure(fmt::format("rank {} has died", ranks.rank()));
    const double loss = all.gradients(options.seed, step, [&](const Part& part) {
      return loss_of(model, options.seed, step, how.independent ? Part{ranks.rank(), ranks.size()} : part);
    });
    clip_gradients(model.parameters(), 1.0);
    adam.step(rate(static_cast<std::int64_t>(step)));
    if (progress) progress->step(loss, static_cast<double>(kBatch));
    if (!how.file.empty() && ranks.rank() == 0 && (step % 10 == 0 || step == steps)) {
      TrainingState saved;
      saved.sections = {{"model", model.state()}, {"optimiser", adam.state()}};
      saved.set_integer("step", step);
      saved.set_text("run", run);
      saved.save(how.file);
    }
  }
  if (how.independent) average_weights(ranks, model);
}

}  // namespace

std::unique_ptr<LanguageModel> sorting_model(std::uint64_t seed, DType dtype, Size width) {
  lesson20::LanguageRecipe recipe{.layers = 2, .heads = 4, .width = width, .context = 2 * kMostDigits};
  auto model = std::make_unique<LanguageModel>(lesson20::language_model_options(recipe, kit::kSortSymbols));
  model->initialise(seed, dtype);
  return model;
}

PartLoss loss_of(const LanguageModel& model, std::uint64_t seed, std::uint64_t step, const Part& part) {
  const kit::NextTokens batch =
      kit::draw_sorting(kit::Random(seed, step), kBatch, kFewestDigits, kMostDigits, false);
  const Size begin = part.begin(kBatch), end = part.end(kBatch);
  const Indices targets = kit::rows_of(batch.targets, begin, end);
  return {cross_entropy(model(kit::rows_of(batch.inputs, begin, end)), targets), counted(targets)};
}

double percent_sorted(LanguageModel& model, const kit::Options& options) {
  model.eval();
  double right = 0;
  constexpr Size kLengths = kMostDigits - kFewestDigits + 1;
  for (Size digits = kFewestDigits; digits <= kMostDigits; ++digits) {
    const kit::NextTokens test = kit::draw_sorting(kit::Random(options.seed, 2'000'000),
                                                   options.smoke ? 10 : 400, digits, digits, true);
    // The argmax after correct digits is right everywhere exactly if the digits are also right in free
    // decoding.
    const Indices written = argmax(model(test.inputs));
    right += kit::percent_rows_equal(written.columns(digits, 2 * digits),
                                     test.targets.columns(digits, 2 * digits));
  }
  model.train();
  return right / kLengths;
}

std::vector<double> sums_of(Ring ring, const std::vector<std::vector<double>>& all) {
  std::vector<double> sums;
  run_on_threads({.ranks = static_cast<int>(all.size())}, [&](Communicator& ranks) {
    std::vector<double> x = all[static_cast<std::size_t>(ranks.rank())];
    ring(ranks, x);
    if (ranks.rank() == 0) sums = x;
  });
  return sums;
}

bool same_ring(Ring by_hand, std::uint64_t seed) {
  bool same = true;
  for (const int size : {1, 2, 3, 5, 8}) {
    const auto numbers = static_cast<std::size_t>(6 * size);
    std::vector<double> sums(numbers);
    for (int r = 0; r < size; ++r)
      for (std::size_t i = 0; i < numbers; ++i)
        sums[i] += Stream(seed, static_cast<std::uint64_t>(r)).normal(i);
    std::vector<char> right(static_cast<std::size_t>(size));
    run_on_threads({.ranks = size}, [&](Communicator& ranks) {
      std::vector<double> x;
      for (std::size_t i = 0; i < numbers; ++i)
        x.push_back(Stream(seed, static_cast<std::uint64_t>(ranks.rank())).normal(i));
      std::vector<double> y = x;
      by_hand(ranks, x);
      ring_all_reduce(ranks, std::span(y));
      bool near = x == y;
      for (std::size_t i = 0; i < numbers; ++i) near = near && std::abs(x[i] - sums[i]) < 1e-12;
      right[static_cast<std::size_t>(ranks.rank())] = near;
    });
    for (const char one : right) same = same && one;
  }
  return same;
}

double bytes_sent(Ring ring, int count, std::size_t numbers) {
  double share = 0;
  run_on_threads({.ranks = count}, [&](Communicator& ranks) {
    std::vector<double> x(numbers, 1.0);
    ring(ranks, x);
    if (ranks.rank() == 0)
      share = static_cast<double>(ranks.bytes_sent()) / static_cast<double>(numbers * sizeof(double));
  });
  return share;
}

std::vector<Tensor> after_steps_by_hand(Step by_hand, int count, std::uint64_t seed) {
  return few_steps(count, seed, [&](Communicator& ranks, LanguageModel& model) {
    for (std::uint64_t step = 1; step <= kFewSteps; ++step) {
      Tape tape;
      const PartLoss mine = loss_of(model, seed, step, {ranks.rank(), ranks.size()});
      by_hand(ranks, tape, model.parameters(), mine.mean, mine.count, kRate);
    }
  });
}

std::vector<Tensor> after_steps(int count, std::uint64_t seed) {
  return few_steps(count, seed, [&](Communicator& ranks, LanguageModel& model) {
    SGD sgd(model.parameters(), {.learning_rate = kRate});
    DataParallel all(ranks, model.parameters(), {.sum = {.bucket = 500}});
    for (std::uint64_t step = 1; step <= kFewSteps; ++step) {
      all.gradients(seed, step, [&](const Part& part) { return loss_of(model, seed, step, part); });
      sgd.step();
    }
  });
}

std::vector<Tensor> after_steps_alone(std::uint64_t seed) {
  const std::unique_ptr<LanguageModel> model = sorting_model(seed, DType::f64, kSmallWidth);
  SGD sgd(model->parameters(), {.learning_rate = kRate});
  for (std::uint64_t step = 1; step <= kFewSteps; ++step) {
    Tape tape;
    tape.backward(loss_of(*model, seed, step, {}).mean);
    sgd.step();
  }
  return model->parameters();
}

std::unique_ptr<LanguageModel> train(const Training& how, const kit::Options& options) {
  std::unique_ptr<LanguageModel> first;
  run_on_threads({.ranks = how.ranks}, [&](Communicator& ranks) {
    const auto own = how.different_initial_weights ? static_cast<std::uint64_t>(ranks.rank()) : 0;
    std::unique_ptr<LanguageModel> model = sorting_model(options.seed + 1000 * own, DType::f32);
    train_rank(ranks, *model, how, options, ranks.rank() == 0 && how.show_progress);
    if (!how.different_initial_weights && !same_on_all_ranks(ranks, model->state()))
      fail("all ranks must have the same weights, but they differ");
    if (ranks.rank() == 0) first = std::move(model);
  });
  return first;
}

FailureResult fail_and_resume(kit::Options options) {
  options.steps = 30;
  const std::filesystem::path file = options.out / "lost.safetensors";
  std::filesystem::remove(file);
  const auto whole = train({.ranks = 2, .show_progress = false}, options);
  FailureResult loss;
  try {
    train({.ranks = 2, .fails_at = 25, .file = file, .show_progress = false}, options);
  } catch (const RankFailure& recovery) {
    loss.error = recovery.what();
  }
  const auto rest = train({.ranks = 2, .file = file, .show_progress = false}, options);
  loss.same_bits = !loss.error.empty() && kit::farthest(rest->parameters(), whole->parameters()) == 0;
  std::filesystem::remove(file);
  return loss;
}

double train_over_mpi(Communicator& ranks, const kit::Options& options, LanguageModel& model,
                      const std::filesystem::path& file) {
  const auto begun = std::chrono::steady_clock::now();
  train_rank(ranks, model, {.ranks = ranks.size(), .file = file}, options, ranks.rank() == 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (ranks.rank() != 0) return 0;
  fmt::print("  {} ranks: {} steps in {:.1f} s\n", ranks.size(), options.steps, seconds);
  return percent_sorted(model, options);
}

}  // namespace tapestry::lesson34
