// The chapter's GPT compared with nn/'s, its training on sorting, the speed of the cache, and counted draws.
#include "lessons/20_gpt/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "core/core.hpp"
#include "lessons/20_gpt/maps.hpp"
#include "lessons/20_gpt/train_on_text.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "lessons/kit/tasks/sorting.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/embedding.hpp"

namespace tapestry::lesson20 {
namespace {

using kit::kFewestDigits, kit::kMostDigits;
using kit::largest;

Indices random_ids(kit::Random random, Size rows, Size time, Size vocabulary) {
  kit::Ids ids;
  for (Size i = 0; i < rows * time; ++i) ids.push_back(random.below(vocabulary));
  return Indices(ids, {rows, time});
}

/// A task's sizes, batches and test for the table of losses.
struct Task {
  Size vocabulary, longest, rows;  // rows in a batch
  std::function<kit::NextTokens(kit::Random)> draw;
  kit::NextTokens test;
};

Task sorting_task(const kit::Options& options) {
  const Size rows = options.smoke ? 4 : 64;
  const auto draw = [rows](kit::Random random) {
    return kit::draw_sorting(random, rows, kFewestDigits, kMostDigits, false);
  };
  Task task{kit::kSortSymbols, 2 * kMostDigits, rows, draw, {}};
  task.test = kit::draw_sorting(kit::Random(options.seed, 1'000'000), options.smoke ? 4 : 1000, kFewestDigits,
                                kMostDigits, true);
  return task;
}

struct Bigram : Module {
  explicit Bigram(Size vocabulary) : next{{*this, "next"}, vocabulary, vocabulary, {}, zeros} {}
  Tensor operator()(const Indices& ids) const { return next(ids); }
  Embedding next;
};

struct ModelPart {
  const char* name;
  Size layers, heads;
  bool feed_forward, residual;
  NormPosition norm;
};
constexpr ModelPart kParts[] = {{"one head", 1, 1, false, false, NormPosition::none},
                                {"four heads", 1, 4, false, false, NormPosition::none},
                                {"+ feed-forward", 1, 4, true, false, NormPosition::none},
                                {"three such blocks", 3, 4, true, false, NormPosition::none},
                                {"+ residuals", 3, 4, true, true, NormPosition::none},
                                {"+ norms: a GPT", 3, 4, true, true, NormPosition::pre}};

struct Losses {
  double early = 0, end = 0;  // per token of the test, after a tenth of the steps and after all steps
};

/// Trains a model. `after_step` runs before the first step, as step 0, and after each step.
template <class Model>
Losses train(Model& model, const std::string& name, const Task& task, double rate,
             const kit::Options& options, const std::function<void(Size step)>& after_step = {}) {
  Losses losses;
  const auto test = [&] {
    const Evaluating evaluating(model);
    return cross_entropy(model(task.test.inputs), task.test.targets).item();
  };
  model.initialise(options.seed);
  if (after_step) after_step(0);
  kit::train(model,
             {.name = name,
              .steps = options.steps,
              .rate = rate,
              .batch = task.rows,
              .unit = "rows",
              .seed = options.seed,
              .after_step =
                  [&](Size step) {
                    if (after_step) after_step(step);
                    if (step == std::max<Size>(1, options.steps / 10)) losses.early = test();
                  }},
             [&](kit::Random random) {
               const kit::NextTokens batch = task.draw(random);
               return cross_entropy(model(batch.inputs), batch.targets);
             });
  losses.end = test();
  return losses;
}

/// Returns the digits that the model writes after "=", for rows of `digits` digits.
Indices sort_freely(const LanguageModel& gpt, const Indices& inputs, Size digits) {
  const Indices prompt = inputs.columns(0, digits + 1);
  const auto model =
      gpt.begin(prompt, 2 * digits);  // has processed all tokens but "=", the first input of greedy()
  kit::Ids written;
  // No token ends a row (−1), so the model writes max_length digits.
  for (const Decoded& row :
       greedy(*model, {.first = prompt.column(digits).to_vector(), .end = -1, .max_length = digits}))
    written.insert(written.end(), row.ids.begin(), row.ids.end());
  return Indices(written, {inputs.shape()[0], digits});
}

/// Applies top-p to probabilities in descending order.
Probabilities cut_tail(Probabilities probabilities, double top_p) {
  double before = 0;
  for (double& p : probabilities) before += std::exchange(p, before >= top_p ? 0 : p);
  const double kept = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  for (double& p : probabilities) p /= kept;
  return probabilities;
}

/// A model with the same prediction for every input. It serves to count the tokens that nn/'s sample() draws.
class ConstantModel final : public AutoregressiveModel {
 public:
  ConstantModel(Probabilities probabilities, Size rows)
      : probabilities_(std::move(probabilities)), rows_(rows) {}
  Size rows() const override { return rows_; }
  Step step(const Indices&) override {
    const Size count = static_cast<Size>(probabilities_.size());
    return {expand(log(tensor(probabilities_, {1, count}, DType::f64)), {rows_, count}), {}};
  }
  void reorder_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

 private:
  Probabilities probabilities_;
  Size rows_;
};

}  // namespace

void check_gpt(ByHand gpt_by_hand, std::uint64_t seed, kit::Report& report) {
  constexpr Size kVocabulary = 7, kTime = 6, kLayers = 2, kHeads = 2;
  LanguageModel gpt(language_model_options({.layers = kLayers, .heads = kHeads, .width = 8, .context = kTime},
                                           kVocabulary));
  gpt.initialise(seed, DType::f64);
  const std::vector<Tensor> leaves = gpt.parameters();
  Weights w;
  for (const Tensor& leaf : leaves) w[leaf.name()] = leaf;
  const Tensor words = w.at("input.words.weight");
  const Indices ids = random_ids(kit::Random(seed), 2, kTime, kVocabulary);
  const auto by_hand = [&] { return gpt_by_hand(w, words, kLayers, kHeads, ids); };

  kit::check_by_hand(
      report, "a GPT with two blocks", by_hand, [&] { return gpt(ids); }, leaves, seed);

  kit::Ids changed = ids.to_vector();  // other tokens in the first row, from the fourth on
  for (std::size_t i = 3; i < kTime; ++i) changed[i] = (changed[i] + 1) % kVocabulary;
  const Tensor moved = by_hand() - gpt_by_hand(w, words, kLayers, kHeads, Indices(changed, ids.shape()));
  report.check("other tokens from the 4th on: the first 3 logits stay bitwise equal",
               largest(slice(moved, 1, 0, 3)) == 0 && largest(slice(select(moved, 0, 0), 0, 3, kTime)) > 0);

  // E is used twice, so its gradient is the sum of the gradients that two separate matrices would get.
  const Tensor out = variable(words.detach(), "out");
  const auto ends =
      kit::gradients([&] { return gpt_by_hand(w, out, kLayers, kHeads, ids); }, {words, out}, seed);
  report.check("a tied matrix gets gradients from both ends",
               largest(kit::gradients(by_hand, {words}, seed)[0] - ends[0] - ends[1]) < 1e-12);
}

Comparison compare_parts(const kit::Options& options) {
  const Task task = sorting_task(options);
  kit::Bars bars{
      "Loss after a tenth of the training, one more part at a time", "nats per token on the test", {}, {}};
  std::string table =
      fmt::format("\n  {:<20}{:>14}{:>14}\n", "nats per token", "after a tenth", "at the end");
  std::map<std::string, double> early;
  const auto add = [&](const std::string& name, const Losses& losses) {
    bars.bars.push_back({name, losses.early});
    table += fmt::format("  {:<20}{:>14.4f}{:>14.4f}\n", name, losses.early, losses.end);
    early[name] = losses.early;
  };
  Bigram bigram(task.vocabulary);
  add("bigram", train(bigram, "bigram", task, 3e-2, options));
  std::unique_ptr<LanguageModel> gpt;
  std::optional<MapRecorder> recorder;
  for (const ModelPart& part : kParts) {
    TransformerOptions model = language_model_options({.layers = part.layers,
                                                       .heads = part.heads,
                                                       .width = options.smoke ? 16 : 64,
                                                       .context = task.longest},
                                                      task.vocabulary);
    model.block.feed_forward = part.feed_forward;
    model.block.residual = part.residual;
    model.block.norm_position = part.norm;
    gpt = std::make_unique<LanguageModel>(model);
    recorder.emplace(*gpt, options);  // only the last model's recorder remains
    add(part.name,
        train(*gpt, part.name, task, 2e-3, options, [&](Size step) { recorder->after(step, *gpt); }));
  }
  fmt::print("{}", table);
  kit::show(bars, options.out / "ledger.svg");
  return {std::move(gpt), recorder->series(), early["+ feed-forward"], early["three such blocks"],
          early["+ residuals"]};
}

double sort_digits(const Comparison& comparison, const kit::Options& options) {
  LanguageModel& gpt = *comparison.gpt;
  const Evaluating evaluating(gpt);
  const kit::NextTokens pi = kit::sorting({{3, 1, 4, 1, 5, 9, 2, 6}});
  fmt::print("  3 1 4 1 5 9 2 6 = {}\n", fmt::join(sort_freely(gpt, pi.inputs, 8).to_vector(), " "));
  kit::save(comparison.maps, options.out / "sorting_over_training.json");
  constexpr Size kLengths = kMostDigits - kFewestDigits + 1;
  const Size rows = options.smoke ? 4 : 10'000 / kLengths;
  double right = 0;  // in per cent, summed over lengths
  for (Size digits = kFewestDigits; digits <= kMostDigits; ++digits) {
    const kit::NextTokens test =
        kit::draw_sorting(kit::Random(options.seed, 2'000'000), rows, digits, digits, true);
    const Indices answers = test.targets.columns(digits, 2 * digits);
    right += kit::percent_rows_equal(sort_freely(gpt, test.inputs, digits), answers);
  }
  return right / kLengths;
}

void check_cache(Head head, Head with_cache, const kit::Options& options, kit::Report& report) {
  const std::uint64_t seed = options.seed;
  const Tensor x = random_normal({2, 9, 8}, seed, DType::f64);
  const auto weight = [&](std::uint64_t i) { return random_normal({4, 8}, seed + i, DType::f64); };
  report.check("one head: token by token equals all tokens at once",
               largest(head(x, weight(1), weight(2), weight(3)) -
                       with_cache(x, weight(1), weight(2), weight(3))) < 1e-12);

  const Size longest = options.smoke ? 64 : 512;
  const LanguageRecipe sizes = {
      .layers = 4, .heads = 4, .width = options.smoke ? 32 : 128, .context = longest + 16};
  LanguageModel gpt(language_model_options(sizes, 65));
  gpt.initialise(seed);
  gpt.eval();
  const Indices text = random_ids(kit::Random(seed), 1, longest + 16, 65);
  double apart = 0;
  // The same 50 tokens, split into pieces at these places.
  for (const std::vector<Size>& cuts : {std::vector<Size>{1, 2, 3, 30}, {17}, {35, 36}}) {
    StackCache cache = gpt.cache(8);  // room for 8 tokens at first; it grows
    std::vector<Tensor> logits;
    Size from = 0;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
      const Size to = i < cuts.size() ? cuts[i] : 50;
      logits.push_back(gpt(text.columns(from, to), cache));
      from = to;
    }
    apart = std::max(apart, largest(concat(logits, 1) - gpt(text.columns(0, 50))));
  }
  report.at_most("nn/'s cache, 50 tokens in pieces: largest difference of the logits", apart, 1e-5);

  kit::Chart chart{
      "Time for one more token, with and without the cache", "tokens so far", "milliseconds", {}, {}};
  chart.y_scale = kit::Scale::log;
  chart.series = {{"without the cache", {}, {}}, {"with the cache", {}, {}}};
  // Each of the seven runs adds one token to a cache.
  const auto milliseconds = [](const auto& run) { return 1000 * kit::fastest(7, run); };
  for (Size length = 32; length <= longest; length *= 2) {
    StackCache cache = gpt.cache(longest + 16);
    gpt(text.columns(0, length - 1), cache);
    const double times[] = {milliseconds([&] { gpt(text.columns(0, length)); }),
                            milliseconds([&] { gpt(text.columns(length - 1, length), cache); })};
    for (std::size_t i = 0; i < 2; ++i) {
      chart.series[i].x.push_back(static_cast<double>(length));
      chart.series[i].y.push_back(times[i]);
    }
    fmt::print("  {:>4} tokens: {:>7.2f} ms without the cache, {:>6.2f} ms with it\n", length, times[0],
               times[1]);
  }
  report.at_least(fmt::format("speed-up by the cache after {} tokens", longest),
                  chart.series[0].y.back() / chart.series[1].y.back(), 5);
  kit::show(chart, options.out / "cache.svg");
}

double compare_draws(Choose choose, const kit::Options& options) {
  const Probabilities predicted = {0.5, 0.25, 0.15, 0.07, 0.03};
  const Size rows = options.smoke ? 200 : 20'000;
  double apart = 0;
  fmt::print("  {:<18}{:<36}drawn {} times\n", "probabilities", "by hand", rows);
  const auto draw = [&](const char* name, SamplingOptions how) {
    how.max_length = 1;
    how.seed = options.seed;
    ConstantModel model(predicted, rows);
    Probabilities drawn(predicted.size(), 0.0);
    for (const Decoded& row : sample(model, how))
      drawn[static_cast<std::size_t>(row.ids[0])] += 1.0 / static_cast<double>(rows);
    const Probabilities by_hand = cut_tail(choose(predicted, how.temperature, how.top_k), how.top_p);
    fmt::print("  {:<18}{:.3f}   {:.3f}\n", name, fmt::join(by_hand, "  "), fmt::join(drawn, "  "));
    for (std::size_t i = 0; i < drawn.size(); ++i)  // a token that was cut off must never be drawn
      apart = std::max(apart, by_hand[i] == 0 && drawn[i] > 0 ? 1 : std::abs(by_hand[i] - drawn[i]));
  };
  draw("as predicted", {});
  draw("temperature 0.5", {.temperature = 0.5});
  draw("temperature 2", {.temperature = 2});
  draw("top-k 2", {.top_k = 2});
  draw("top-p 0.8", {.top_p = 0.8});
  return apart;
}

}  // namespace tapestry::lesson20
