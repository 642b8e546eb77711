// Checks lesson 30's forms of linear attention against nn/'s, and trains a model with each write rule.
#include "lessons/30_memory/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/loss.hpp"

namespace tapestry::lesson30 {
namespace {

constexpr Size kWidth = 32;
constexpr double kAllowed = 1e-5;       // largest relative difference of two forms in f32
constexpr Size kFewest = 2, kMost = 8;  // pairs

struct Rule {
  const char* name;
  WriteRule write;
  Gate gate;
};
constexpr std::array<Rule, 4> kRules = {{{"sum", WriteRule::sum, Gate::no},
                                         {"sum, gate", WriteRule::sum, Gate::yes},
                                         {"delta", WriteRule::delta, Gate::no},
                                         {"delta, gate", WriteRule::delta, Gate::yes}}};

/// Returns the learning rate. On the updates, the sum rule with a gate learns far less at 0.01 than at 0.03. The sum
/// rule without a gate gets stuck at 0.03, and the delta rule learns at both rates. So the sum rule with a gate is
/// trained there at 0.03, which favours it in the comparison.
double rate_of(const Rule& rule, bool sections) {
  return rule.write == WriteRule::sum && rule.gate == Gate::yes && !sections ? 0.03 : 0.01;
}

using Draw = Texts (*)(kit::Random random, Size rows, Size pairs);

double accuracy(const MemoryModel& model, Draw draw, Size pairs, const kit::Options& options) {
  constexpr std::uint64_t kTestStreams = 1'000'000;  // streams that training does not use
  const kit::Random random(options.seed, kTestStreams + static_cast<std::uint64_t>(pairs));
  const Texts texts = draw(random, options.smoke ? 10 : 500, pairs);
  return kit::percent_equal(argmax(model(texts)), texts.answers);
}

/// Returns the largest difference between the reads of whole texts and the reads word by word, relative to the largest
/// read.
double difference_by_word(const MemoryModel& model, const kit::Options& options) {
  const Texts texts = draw_updates(kit::Random(options.seed, 2'000'000), 5, kMost);
  const Tensor x = model.names(texts.names) + model.symbols(texts.symbols);
  const Tensor whole = model.memory(x).output;
  Tensor state;
  std::vector<Tensor> reads;
  for (Size t = 0; t < x.size(1); ++t) {
    const LinearAttendResult now = model.memory(slice(x, 1, t, t + 1), state);
    reads.push_back(now.output), state = now.final_state;
  }
  return kit::largest(concat(reads, 1) - whole) / kit::largest(whole);
}

}  // namespace

QKV random_qkv(Size count, std::uint64_t seed, DType dtype) {
  const auto positive = [&](std::uint64_t stream) {
    return variable(exp(0.5 * random_normal({count, 8}, 10 * seed + stream, dtype)).detach());
  };
  return {positive(1), positive(2), variable(random_normal({count, 6}, 10 * seed + 3, dtype))};
}

void check_form(const char* name, const Form& form, std::uint64_t seed, kit::Report& report) {
  const QKV x = random_qkv(500, seed, DType::f32);
  const auto by_form = [&] { return form(x); };
  const auto by_word = [&] { return linear_attend_by_token(x.q, x.k, x.v).output; };
  const Tensor expected = by_word();
  double difference = kit::largest(by_form() - expected) / kit::largest(expected);
  const auto of_form = kit::gradients(by_form, x.leaves(), seed),
             of_word = kit::gradients(by_word, x.leaves(), seed);
  for (std::size_t i = 0; i < of_form.size(); ++i)
    difference = std::max(difference, kit::largest(of_form[i] - of_word[i]) / kit::largest(of_word[i]));
  report.check(fmt::format("f32, 500 words, {}: differs from word by word by {:.0e} (at most {:.0e})", name,
                           difference, kAllowed),
               difference <= kAllowed);
}

void check_delta(ByWord by_word, std::uint64_t seed, kit::Report& report) {
  constexpr Size kWords = 7;
  const QKV drawn = random_qkv(kWords, seed);
  const QKV x{drawn.q, variable((drawn.k / sqrt(sum(drawn.k * drawn.k, {-1}, Keep::yes))).detach()), drawn.v};
  const Tensor alpha = variable(random_uniform({kWords}, seed, 0.5, 1, DType::f64)),
               beta = variable(random_uniform({kWords}, seed + 1, 0.2, 1, DType::f64));
  const auto by_nn = [&] {
    return linear_attend(x.q, x.k, x.v, {.rule = WriteRule::delta, .log_decay = log(alpha), .beta = beta}, 3)
        .output;
  };
  kit::check_by_hand(
      report, "delta rule with gates", [&] { return by_word(x, WriteRule::delta, alpha, beta); }, by_nn,
      {x.q, x.k, x.v, alpha, beta}, seed);
}

void check_layer(Tensor (*by_hand)(const Tensor& x, const LinearAttention& layer), std::uint64_t seed,
                 kit::Report& report) {
  LinearAttention layer({.width = 4});
  layer.initialise(seed, DType::f64);
  const Tensor x = variable(random_normal({7, 4}, seed, DType::f64), "x");
  std::vector<Tensor> leaves = layer.parameters();
  leaves.push_back(x);
  const auto by_nn = [&] { return squeeze(layer(unsqueeze(x, 0)).output, 0); };
  kit::check_by_hand(
      report, "linear attention", [&] { return by_hand(x, layer); }, by_nn, leaves, seed);
}

std::array<double, 4> train_rules(Size rows, const kit::Options& options, kit::Report& report) {
  constexpr Size kBatch = 64;
  std::array<double, 4> update_accuracy = {}, section_accuracy = {};  // by rule, with kMost pairs
  double largest_difference = 0;
  kit::Bars bars{"Right answers of each rule, eight names", "right in %"};
  for (const bool sections : {false, true}) {
    const char* task = sections ? "sections" : "updates";
    const Draw draw = sections ? draw_sections : draw_updates;
    fmt::print("  {:<9} pairs:", task);
    for (Size pairs = kFewest; pairs <= kMost; pairs += 2) fmt::print("  {:>6}", pairs);
    fmt::print("\n");
    for (std::size_t r = 0; r < kRules.size(); ++r) {
      const Rule& rule = kRules[r];
      MemoryModel model({.width = kWidth,
                         .head_width = rows,
                         .value_head_width = kWidth,
                         .rule = rule.write,
                         .features = KeyFeatures::unit,
                         .gate = rule.gate});
      model.initialise(options.seed);
      const std::string name = fmt::format("{}: {}", task, rule.name);
      kit::train(model,
                 {.name = name,
                  .steps = options.steps,
                  .rate = rate_of(rule, sections),
                  .batch = kBatch,
                  .unit = "texts",
                  .seed = options.seed},
                 [&](kit::Random random) {
                   const Size pairs = random.between(kFewest, kMost);
                   const Texts texts = draw(random, kBatch, pairs);
                   return cross_entropy(model(texts), texts.answers);
                 });
      fmt::print("  {:<16}", rule.name);
      double percent = 0;
      for (Size pairs = kFewest; pairs <= kMost; pairs += 2) {
        percent = accuracy(model, draw, pairs, options);
        fmt::print("  {:>6.1f}", percent);
      }
      fmt::print("\n");
      (sections ? section_accuracy : update_accuracy)[r] = percent;
      bars.bars.push_back({name, percent});
      if (r == kBoth) largest_difference = std::max(largest_difference, difference_by_word(model, options));
    }
  }
  kit::show(bars, options.out / "rules.svg");
  report.at_least("updates, 8 names: delta rule", update_accuracy[kDelta], 93, "%");
  report.at_least("updates, 8 names: delta rule with a gate", update_accuracy[kBoth], 93, "%");
  report.at_most("updates, 8 names: sum rule", update_accuracy[kSum], 45, "%");
  report.at_most("updates, 8 names: sum rule with a gate", update_accuracy[kGate], 88, "%");
  report.at_least("sections, 8 names: sum rule with a gate", section_accuracy[kGate], 65, "%");
  report.at_least("sections, 8 names: delta rule with a gate", section_accuracy[kBoth], 95, "%");
  report.at_most("sections, 8 names: sum rule", section_accuracy[kSum], 60, "%");
  report.at_most("sections, 8 names: delta rule", section_accuracy[kDelta], 92, "%");
  report.check(fmt::format("word by word through its state: differs by {:.0e} (at most {:.0e})",
                           largest_difference, kAllowed),
               largest_difference <= kAllowed);
  return update_accuracy;
}

}  // namespace tapestry::lesson30
