// Lesson 21's model from nn/'s layers, its training on repeated sequences, the scores of its heads, and the effects of
// ablating and patching heads.
#include "lessons/21_induction/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>

#include "core/core.hpp"
#include "lessons/21_induction/maps.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/text/vocabulary.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/attention/weight_recorder.hpp"
#include "nn/positions/positions.hpp"

namespace tapestry::lesson21 {
namespace {

using kit::Ids;
using Draw = Sequences (*)(kit::Random random, Size rows);
constexpr Size kShortest = 8, kLongest = 24;
constexpr std::uint64_t kTestStream = 1'000'000;  // far from the random streams of training

double loss_of(const Tensor& logits, const Sequences& test) {
  return cross_entropy(logits, test.targets).item();
}

/// With weight decay, every weight shrinks a little at each step. So it costs less to learn a function in one head
/// than in several, and the heads compete for it.
void train(AttentionOnly& model, const char* name, Draw draw, const kit::Options& options,
           const std::function<void(Size)>& after_step = {}) {
  constexpr Size kBatch = 32;
  model.initialise(options.seed);
  kit::train(model,
             {.name = name,
              .steps = options.steps,
              .rate = 1e-2,
              .weight_decay = 1,
              .batch = kBatch,
              .unit = "sequences",
              .seed = options.seed,
              .after_step = after_step},
             [&](kit::Random random) {
               const Sequences batch = draw(random, kBatch);
               return cross_entropy(model(batch.inputs), batch.targets);
             });
}

/// Returns the scores of a head with the weights weight(row, query, key).
template <class Weight>
HeadScore score(const Sequences& test, const Weight& weight) {
  const Size rows = test.inputs.shape()[0], time = test.inputs.shape()[1];
  double induction = 0, previous = 0, repeated = 0;
  for (Size row = 0; row < rows; ++row) {
    const Size period = test.periods[static_cast<std::size_t>(row)];
    for (Size t = 1; t < time; ++t) {
      previous += weight(row, t, t - 1);
      if (t < period) continue;
      repeated += 1;
      for (Size key = t - period + 1; key >= 0; key -= period) induction += weight(row, t, key);
    }
  }
  return {induction / repeated, previous / static_cast<double>(rows * (time - 1))};
}

HeadScore score_of_uniform_weights(const Sequences& test) {
  return score(test, [](Size, Size query, Size) { return 1 / static_cast<double>(query + 1); });
}

/// Returns the scores by head number.
std::vector<HeadScore> scores_of(const AttentionOnly& model, const Sequences& test) {
  std::deque<WeightRecorder> recorders;  // they record the weights while they exist
  for (const MultiHeadAttention& heads : model.layers) recorders.emplace_back(heads.attention);
  model(test.inputs);
  const Size time = test.inputs.shape()[1];
  std::vector<HeadScore> scores;
  for (const WeightRecorder& recorder : recorders) {
    const std::vector<double> weights = recorder.weights().front().to_vector();  // (B, heads, T, T)
    for (Size head = 0; head < kHeads; ++head)
      scores.push_back(score(test, [&](Size row, Size query, Size key) {
        return weights[static_cast<std::size_t>(((row * kHeads + head) * time + query) * time + key)];
      }));
  }
  return scores;
}

/// Returns the percentage of the places with a target at which the model predicts it.
double percent_predicted(const Ids& said, const Ids& targets) {
  double right = 0, asked = 0;
  for (std::size_t i = 0; i < said.size(); ++i)
    if (targets[i] >= 0) right += said[i] == targets[i], asked += 1;
  return 100 * right / asked;
}

}  // namespace

AttentionOnly::AttentionOnly(Size depth)
    : words{{*this, "words"}, kSymbols, kWidth},
      layers{{*this, "layers"}, depth, MultiHeadOptions{.width = kWidth, .heads = kHeads, .bias = Bias::no}},
      output{{*this, "output"}, kWidth, kSymbols, Bias::no} {}

Tensor AttentionOnly::operator()(const Indices& ids) const {
  const Size time = ids.shape()[1];
  Tensor x = words(ids);
  const Tensor places = sinusoids(0, time, kWidth, x.dtype());
  for (const MultiHeadAttention& heads : layers)
    x = x + heads(x + places, x + places, x, Mask::causal(time, time)).context;
  return output(x);
}

Sequences draw_repeats(kit::Random random, Size rows) {
  Ids ids;
  std::vector<Size> periods;
  for (Size row = 0; row < rows; ++row) {
    const Size period = random.between(kShortest, kLongest);
    const Ids round =
        shuffled(random, kSymbols);  // no symbol occurs twice in a round, so the next one is certain
    for (Size t = 0; t < kLength; ++t) ids.push_back(round[static_cast<std::size_t>(t % period)]);
    periods.push_back(period);
  }
  const auto known = [&](Size row, Size t) { return t > periods[static_cast<std::size_t>(row)]; };
  return sequences(ids, known, periods);
}

void check_model(ByHand by_hand, std::uint64_t seed, kit::Report& report) {
  AttentionOnly model(2);
  model.initialise(seed, DType::f64);
  const Indices ids = draw_repeats(kit::Random(seed), 2).inputs.columns(0, 12);
  kit::check_by_hand(
      report, "two layers", [&] { return by_hand(model, ids, {}); }, [&] { return model(ids); },
      model.parameters(), seed);
}

void train_both(Trained& trained, const kit::Options& options) {
  trained.test = draw_repeats(kit::Random(options.seed, kTestStream), options.smoke ? 4 : 64);
  const Sequences& test = trained.test;
  const Size every = std::max<Size>(1, options.steps / 20);
  kit::Chart loss{"Repeated sequences: loss with one layer and with two", "step", "loss on the repeat, nats"};
  loss.series = {{"one layer"}, {"two layers"}};
  const auto watch = [&](const AttentionOnly& model, std::size_t series, Size step) {
    loss.series[series].x.push_back(static_cast<double>(step));
    loss.series[series].y.push_back(loss_of(model(test.inputs), test));
  };
  train(trained.one, "one layer", draw_repeats, options, [&](Size step) {
    if (step % every == 0) watch(trained.one, 0, step);
  });
  trained.heads = {"Scores of the heads in the two-layer model", "step", "score"};
  std::vector<kit::Series>& heads = trained.heads.series;
  heads = {{"lower layer: previous token, strongest head"}};
  trained.heads.levels = {{score_of_uniform_weights(test).previous, "even"}};
  for (Size h = 0; h < kHeads; ++h) heads.push_back({fmt::format("upper layer: induction, head {}", h + 1)});
  MapRecorder recorder(options);
  train(trained.two, "two layers", draw_repeats, options, [&](Size step) {
    recorder.after(step, trained.two);
    if (step % every != 0) return;
    watch(trained.two, 1, step);
    const std::vector<HeadScore> scores = scores_of(trained.two, test);
    const auto add = [&](std::size_t series, double score) {
      heads[series].x.push_back(static_cast<double>(step));
      heads[series].y.push_back(score);
    };
    double strongest = 0;
    for (std::size_t h = 0; h < kHeads; ++h) {
      strongest = std::max(strongest, scores[h].previous);
      add(1 + h, scores[kHeads + h].induction);
    }
    add(0, strongest);
  });
  trained.loss_of_one = loss_of(trained.one(test.inputs), test);
  trained.loss_of_two = loss_of(trained.two(test.inputs), test);
  trained.maps = recorder.series();
  kit::show(loss, options.out / "loss.svg");
}

HeadScores show_heads(const Trained& trained, const kit::Options& options) {
  kit::show(trained.heads, options.out / "heads.svg");
  HeadScores scores{scores_of(trained.two, trained.test), 0};
  Size strongest = kHeads;
  for (Size head = kHeads; head < 2 * kHeads; ++head)
    if (const double score = scores.by_head[static_cast<std::size_t>(head)].induction;
        score > scores.largest_induction)
      scores.largest_induction = score, strongest = head;
  kit::save(trained.maps, options.out / "heads_over_training.json");
  show_map(trained, strongest, "stripes", options);
  return scores;
}

AblationLosses ablate_heads(const Trained& trained, const HeadScores& scores, ByHand by_hand,
                            const kit::Options& options) {
  const auto loss_without = [&](const std::set<Size>& heads) {
    return loss_of(by_hand(trained.two, trained.test.inputs, {.mean_ablated = heads}), trained.test);
  };
  AblationLosses result;
  double largest = 0;
  std::set<Size> induction, lower, others;
  kit::Bars bars{"Loss on the repeat without one head", "nats", {{"all heads", loss_without({})}}, {}};
  const HeadScore even = score_of_uniform_weights(trained.test);
  fmt::print("  {:<14} {:>9} {:>16} {:>17}\n", "head", "induction", "previous token", "loss without it");
  fmt::print("  {:<14} {:>9.2f} {:>16.2f}\n", "even weights", even.induction, even.previous);
  for (Size head = 0; head < 2 * kHeads; ++head) {
    const auto [inducing, previous] = scores.by_head[static_cast<std::size_t>(head)];
    const bool is_induction = head >= kHeads && inducing > scores.largest_induction / 2;
    (head < kHeads ? lower : is_induction ? induction : others).insert(head);
    const double loss = loss_without({head});
    if (head < kHeads && loss > largest) {
      largest = loss;
      result.note_taker = head;
      result.previous = previous;
    }
    const std::string name = name_of(head) + (is_induction ? " (induction)" : "");
    fmt::print("  {:<19} {:>4.2f} {:>16.2f} {:>17.3f}\n", name, inducing, previous, loss);
    bars.bars.push_back({name, loss});
  }
  kit::show(bars, options.out / "ablation.svg");
  show_map(trained, result.note_taker, "previous", options);
  result.induction = loss_without(induction);
  result.others = loss_without(others);
  result.lower = loss_without(lower);
  return result;
}

Patched patch(const Trained& trained, Size head, Size back, ByHand by_hand) {
  const Tensor logits = by_hand(trained.two, trained.test.inputs, {.places_back = {{head, back}}});
  const Ids said = argmax(logits).to_vector(), next = trained.test.targets.to_vector();
  Ids after = next;  // the target one place later, where it counts as well
  const std::size_t time = kLength - 1;
  for (std::size_t i = 0; i < after.size(); ++i)
    after[i] = next[i] >= 0 && i % time + 1 < time ? next[i + 1] : -1;
  return {loss_of(logits, trained.test), percent_predicted(said, next), percent_predicted(said, after)};
}

void other_task(const std::string& task, const kit::Options& options, kit::Report& report) {
  const Draw draw = task == "bigram" ? draw_bigram : task == "pairs" ? draw_pairs : draw_gcd;
  const Sequences test = draw(kit::Random(options.seed, kTestStream), options.smoke ? 20 : 500);
  for (const Size depth : {1, 2}) {
    AttentionOnly model(depth);
    const char* name = depth == 1 ? "one layer" : "two layers";
    train(model, name, draw, options);
    report.figure(fmt::format("loss with {}", name), loss_of(model(test.inputs), test), "nats");
  }
  if (task == "bigram")
    report.figure("loss of the best prediction by counting", loss_of_counting(test, 8), "nats");
  if (task == "gcd")
    report.figure("loss when only the frequency of each divisor is known", loss_of_frequencies(test), "nats");
}

}  // namespace tapestry::lesson21
