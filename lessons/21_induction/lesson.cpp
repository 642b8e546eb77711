// 21 induction: learning inside the context
//
// A trained model's weights no longer change. Yet show it something that it has never seen, twice, and the
// second time it knows what comes next: it has learned from its own context. How? Elhage et al. (2021) and
// Olsson et al. (2022) found the mechanism in transformers of every size, and it is small enough to be seen
// whole: two attention heads, one above the other. The upper one is called an induction head.
//
// You will: 1 wire an induction head by hand; 2 build a transformer of attention alone, and check it; 3 train
// one layer and two, and see that it takes two; 4 watch the heads form while the loss falls; 5 take heads
// out, to prove which of them are the cause. With --task, other things to learn from a context.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <set>

#include "core/core.hpp"
#include "lessons/21_induction/tasks.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/text/vocabulary.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/attention/multi_head.hpp"
#include "nn/embedding.hpp"
#include "nn/positions/positions.hpp"

using namespace tapestry;
using kit::Ids;

namespace {

constexpr Size kWidth = 64, kHeads = 4, kHeadWidth = kWidth / kHeads;

// ---- The task ---------------------------------------------------------------------------------------------
//
// A sequence has 64 places and is made of 32 symbols: a round of some of them, in random order, then the same
// round again and again. How long a round is (the period) differs from sequence to sequence, from 8 to 24. So
// there is nothing to learn by heart. The first round is noise. From the second symbol of the second round on
// everything can be known, by looking at what came next the last time; the loss counts these places alone,
// "the repeat". Who only knows which symbols the round has, and guesses among 16, pays log 16 nats for each.

constexpr Size kShortest = 8, kLongest = 24;
constexpr std::uint64_t kTestStream = 1'000'000;  // far from the streams of training

using Draw = Sequences (*)(kit::Random random, Size rows);

Sequences draw_repeats(kit::Random random, Size rows) {
  Ids ids;
  std::vector<Size> periods;
  for (Size row = 0; row < rows; ++row) {
    const Size period = random.between(kShortest, kLongest);
    const Ids round = shuffled(random, kSymbols);  // no symbol twice in a round, so that the next is certain
    for (Size t = 0; t < kLength; ++t) ids.push_back(round[static_cast<std::size_t>(t % period)]);
    periods.push_back(period);
  }
  const auto known = [&](Size row, Size t) { return t > periods[static_cast<std::size_t>(row)]; };
  return sequences(ids, known, periods);
}

// ---- 1. An induction head by hand -------------------------------------------------------------------------
//
// "… d a f … d": what comes next? Who could look for the earlier d, and step one to the right, would say a.
// One attention cannot: looking for d finds d, and reads d there. Two can:
//
//   lower   at each place, look one place back, and note which symbol stands there
//   upper   at d, look for the places that noted a d, and read the symbol that stands there
//
// The lower one is a *previous-token head*; it works by place. The upper one, the induction head, works by
// content: its query is a symbol, its keys are the notes of the lower one.

void wire_by_hand(kit::Report& report) {
  const std::string letters = "kdafekdafekdafe";
  const Size time = static_cast<Size>(letters.size()), period = 5;
  Ids ids;
  for (const char letter : letters) ids.push_back(letter - 'a');
  const Tensor symbols = one_hot(Indices(ids, {time}), 26, DType::f64);  // (T, 26)

  const Mask one_back = Mask::from(time, time, [](Size i, Size j) { return j == i - 1; });
  const Tensor lower = masked_softmax(zeros({time, time}, DType::f64), one_back);  // 1 for the place before
  const Tensor notes = matmul(lower, symbols);
  const Tensor scores = 50 * matmul(symbols, transpose(notes));  // 50 where they agree: nearly all the weight
  const Tensor upper = masked_softmax(scores, Mask::causal(time, time));
  const Ids answers = argmax(matmul(upper, symbols)).to_vector();

  std::string seen, said;
  bool right = true;
  for (Size t = 0; t + 1 < time; ++t) {
    const char answer = static_cast<char>('a' + answers[static_cast<std::size_t>(t)]);
    const bool known = t >= period;
    seen += fmt::format(" {}", letters[static_cast<std::size_t>(t)]);
    said += fmt::format(" {}", known ? answer : '.');
    right = right && (!known || answer == letters[static_cast<std::size_t>(t + 1)]);
  }
  fmt::print("  read   {}\n  next   {}     (.: the first round, nobody can know)\n", seen, said);
  report.check("in the second round and after, each next letter is right", right);
}

// ---- 2. Attention alone -----------------------------------------------------------------------------------
//
// To see the mechanism bare, leave out of the transformer all that it does not need: no feed-forward, no
// norms, no biases. What is left is a sum: x begins as the symbols' vectors, and each head h of each layer
// adds what it has to say (x is called the residual stream, since residuals carry it past the layers):
//
//     x ← x + Σ_h A_h x W_V^h W_O^h        A_h = softmax(causal scores of x + p)
//
// The places p (sinusoids, lesson 17) enter queries and keys, and never the values (Press, Smith and Lewis
// 2021): where to look may depend on places, and what is carried is content alone. A sum has another charm. A
// head can be taken out of it, and nothing else has to be changed.

struct AttentionOnly : Module {
  explicit AttentionOnly(Size depth)
      : words{{*this, "words"}, kSymbols, kWidth},
        layers{
            {*this, "layers"}, depth, MultiHeadOptions{.width = kWidth, .heads = kHeads, .bias = Bias::no}},
        output{{*this, "output"}, kWidth, kSymbols, Bias::no} {}

  Tensor operator()(const Indices& ids) const {
    const Size time = ids.shape()[1];
    Tensor x = words(ids);
    const Tensor places = sinusoids(0, time, kWidth, x.dtype());
    for (const MultiHeadAttention& heads : layers)
      x = x + heads(x + places, x + places, x, Mask::causal(time, time)).context;
    return output(x);
  }

  Embedding words;
  List<MultiHeadAttention> layers;
  Linear output;
};

/// The same from plain ops. The heads listed say their mean over all sequences and places. Head h of layer l is
/// number 4 l + h.
Tensor by_hand(const AttentionOnly& model, const Indices& ids, const std::set<Size>& without = {}) {
  const Size time = ids.shape()[1];
  Tensor x = embedding(model.words.weight, ids);
  const Tensor places = sinusoids(0, time, kWidth, x.dtype());
  for (Size layer = 0; layer < model.layers.size(); ++layer) {
    const MultiHeadAttention& weights = model.layers[layer];
    const Tensor placed = x + places;
    Tensor sum = x;
    for (Size h = 0; h < kHeads; ++h) {
      const auto own = [&](const Linear& all, int axis) {
        return transpose(slice(all.weight, axis, h * kHeadWidth, (h + 1) * kHeadWidth));
      };
      const Tensor q = matmul(placed, own(weights.query, 0)), k = matmul(placed, own(weights.key, 0));
      const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(kHeadWidth));
      const Tensor look = masked_softmax(scores, Mask::causal(time, time));  // A_h (B, T, T)
      const Tensor said = matmul(matmul(look, matmul(x, own(weights.value, 0))), own(weights.output, 1));
      sum = sum + (without.count(layer * kHeads + h) == 0 ? said : mean(said, {0, 1}));
    }
    x = sum;
  }
  return matmul(x, transpose(model.output.weight));
}

void show_model(std::uint64_t seed, kit::Report& report) {
  AttentionOnly model(2);
  model.initialise(seed, DType::f64);
  const Indices ids = draw_repeats(kit::Random(seed), 2).inputs.columns(0, 12);
  const std::vector<Tensor> leaves = model.parameters();
  kit::check_by_hand(
      report, "two layers", [&] { return by_hand(model, ids); }, [&] { return model(ids); }, leaves, seed);
}

// ---- 3. One layer against two -----------------------------------------------------------------------------
//
// One layer has heads of both kinds, too, but none above another: no head can read another's notes. What it
// can learn is that the next symbol is one of this round's. Two layers know which.

double loss_of(const Tensor& logits, const Sequences& test) {
  return cross_entropy(logits, test.targets).item();
}

/// With weight decay every weight shrinks a little at each step, so that a job is worth doing once only:
/// heads compete for it. Section 4 shows four that begin alike, and what becomes of them.
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

// ---- 4. The heads form ------------------------------------------------------------------------------------
//
// Two numbers tell what a head does. Its *induction score* is the weight that it puts, in the repeat, on
// places that come right after an earlier copy of the present symbol. Its *previous-token score* is the
// weight on the place before. Nobody asked for either; they come when the loss falls, and not before.
//
// Compare both scores with those of even weights. Does a head that looks at the place before only a few times
// as much write a good enough note? And do heads share the job, or has one of them all of it? No score can
// say; section 5 can.

struct HeadScore {
  double induction = 0, previous = 0;
};

/// Of a head that gives weight(row, query, key).
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

HeadScore score_of_even_weights(const Sequences& test) {
  return score(test, [](Size, Size query, Size) { return 1 / static_cast<double>(query + 1); });
}

/// Head h of layer l is number 4 l + h.
std::vector<HeadScore> scores_of(const AttentionOnly& model, const Sequences& test) {
  std::deque<WeightRecorder> recorders;  // while they live, they keep the weights
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

/// Both models' loss on the repeat, and the two-layer model's heads, over training.
struct History {
  kit::Chart loss{"Repeated sequences: it takes two layers", "step", "loss on the repeat, nats"};
  kit::Chart heads{"The heads of the two-layer model", "step", "score"};
};

void train_both(AttentionOnly& one, AttentionOnly& two, const Sequences& test, const kit::Options& options,
                History& history) {
  const Size every = std::max<Size>(1, options.steps / 20);
  history.loss.series = {{"one layer"}, {"two layers"}};
  const auto watch = [&](const AttentionOnly& model, std::size_t series, Size step) {
    history.loss.series[series].x.push_back(static_cast<double>(step));
    history.loss.series[series].y.push_back(loss_of(model(test.inputs), test));
  };
  train(one, "one layer", draw_repeats, options, [&](Size step) {
    if (step % every == 0) watch(one, 0, step);
  });
  history.heads.series = {{"lower layer: previous token, strongest head"}};
  history.heads.levels = {{score_of_even_weights(test).previous, "even"}};
  for (Size h = 0; h < kHeads; ++h)
    history.heads.series.push_back({fmt::format("upper layer: induction, head {}", h + 1)});
  train(two, "two layers", draw_repeats, options, [&](Size step) {
    if (step % every != 0) return;
    watch(two, 1, step);
    const std::vector<HeadScore> scores = scores_of(two, test);
    const auto add = [&](std::size_t series, double score) {
      history.heads.series[series].x.push_back(static_cast<double>(step));
      history.heads.series[series].y.push_back(score);
    };
    double strongest = 0;
    for (std::size_t h = 0; h < kHeads; ++h) {
      strongest = std::max(strongest, scores[h].previous);
      add(1 + h, scores[kHeads + h].induction);
    }
    add(0, strongest);
  });
}

/// What an induction head looks at: stripes, one place right of the symbol's copies one period and two back.
void show_stripes(const AttentionOnly& model, Size head, const kit::Options& options) {
  constexpr Size kShown = 40;
  const Sequences some = draw_repeats(kit::Random(options.seed, 2 * kTestStream), 30);
  const auto shortest = std::min_element(some.periods.begin(), some.periods.end()) - some.periods.begin();
  const WeightRecorder recorder(model.layers[1].attention);
  model(some.inputs);
  const Tensor weights = select(select(recorder.weights().front(), 0, shortest), 0, head);
  kit::Heatmap map;
  map.title = fmt::format("Upper layer, head {}: each row's symbol looks at columns; period {}", head + 1,
                          some.periods[static_cast<std::size_t>(shortest)]);
  const Ids ids = some.inputs.to_vector();
  for (Size t = 0; t < kShown; ++t) {
    const std::int64_t id = ids[static_cast<std::size_t>(shortest * (kLength - 1) + t)];
    map.columns.push_back(std::string(1, static_cast<char>(id < 26 ? 'a' + id : 'A' + id - 26)));
  }
  map.rows = map.columns;
  map.values = slice(slice(weights, 0, 0, kShown), 1, 0, kShown).to_vector();
  kit::show(map, options.out / "stripes.svg");
}

// ---- 5. Proof: take heads out -----------------------------------------------------------------------------
//
// A picture of weights shows what a head looks at. It does not show that the answer depends on it (lesson 11:
// weights say where a model read, and it may have read for nothing). To know the cause, take it away and see
// whether the effect goes: take away what a head knows, change nothing else, train nothing. The head then says
// its mean over all sequences and places, so that the sum keeps what this head usually adds, and nothing of
// this sequence is left in it. If the induction heads are what makes the loss small, then without them it must
// be large, and without other heads it must stay.

void ablate(const AttentionOnly& model, const Sequences& test, const kit::Options& options,
            kit::Report& report) {
  const std::vector<HeadScore> scores = scores_of(model, test);
  const HeadScore even = score_of_even_weights(test);
  const auto loss_without = [&](const std::set<Size>& heads) {
    return loss_of(by_hand(model, test.inputs, heads), test);
  };
  double most = 0;
  for (const HeadScore& each : scores) most = std::max(most, each.induction);
  std::set<Size> induction, lower, others;
  kit::Bars bars{
      "Loss on the repeat without one head", "nats", {{"nothing taken out", loss_without({})}}, {}};
  fmt::print("  layer  head   induction   previous token   loss without it\n");
  fmt::print("  even weights {:>9.2f} {:>16.2f}\n", even.induction, even.previous);
  for (Size head = 0; head < 2 * kHeads; ++head) {
    const auto [inducing, previous] = scores[static_cast<std::size_t>(head)];
    const bool inducts = inducing > most / 2;
    (head < kHeads ? lower : inducts ? induction : others).insert(head);
    const double loss = loss_without({head});
    const char* layer = head < kHeads ? "lower" : "upper";
    fmt::print("  {}  {:>4} {:>11.2f} {:>16.2f} {:>17.3f}{}\n", layer, head % kHeads + 1, inducing, previous,
               loss, inducts ? "   an induction head" : "");
    bars.bars.push_back(
        {fmt::format("{} {}{}", layer, head % kHeads + 1, inducts ? " (induction)" : ""), loss});
  }
  report.figure("induction heads", static_cast<double>(induction.size()));
  report.at_least("loss without the induction heads", loss_without(induction), 2, "nats");
  report.at_most("loss without the upper layer's other heads", loss_without(others), 0.3, "nats");
  report.at_least("loss without the lower layer: they have no notes to read", loss_without(lower), 2, "nats");
  kit::show(bars, options.out / "ablation.svg");
}

// ---- --task: other things to learn from a context ---------------------------------------------------------
//
// tasks.cpp says what they are: bigram and pairs want heads above heads as well; gcd is there for contrast,
// since nothing in its context helps.

void other_task(const std::string& task, const kit::Options& options, kit::Report& report) {
  const Draw draw = task == "bigram" ? draw_bigram : task == "pairs" ? draw_pairs : draw_gcd;
  const Sequences test = draw(kit::Random(options.seed, kTestStream), options.smoke ? 20 : 500);
  for (const Size depth : {1, 2}) {
    AttentionOnly model(depth);
    const char* name = depth == 1 ? "one layer" : "two layers";
    train(model, name, draw, options);
    report.figure(fmt::format("loss with {}", name), loss_of(model(test.inputs), test), "nats");
  }
  if (task == "bigram") report.figure("the best that counting can do", loss_of_counting(test, 8), "nats");
  if (task == "gcd") report.figure("knowing how often each divisor comes", loss_of_shares(test), "nats");
}

void lesson(const std::string& task, const kit::Options& options, kit::Report& report) {
  report.section("An induction head by hand");
  wire_by_hand(report);
  report.section("Attention alone");
  show_model(options.seed, report);
  if (task != "repeat") {
    report.part_of_lesson();
    report.section("Another task: " + task);
    return other_task(task, options, report);
  }
  report.section("One layer against two");
  const Sequences test = draw_repeats(kit::Random(options.seed, kTestStream), options.smoke ? 4 : 64);
  AttentionOnly one(1), two(2);
  History history;
  train_both(one, two, test, options, history);
  report.at_least("loss on the repeat, one layer", loss_of(one(test.inputs), test), 2, "nats");
  report.at_most("loss on the repeat, two layers", loss_of(two(test.inputs), test), 0.3, "nats");
  kit::show(history.loss, options.out / "loss.svg");

  report.section("The heads form");
  kit::show(history.heads, options.out / "heads.svg");
  const std::vector<HeadScore> scores = scores_of(two, test);
  const auto upper = scores.begin() + kHeads;
  const auto less = [](const HeadScore& a, const HeadScore& b) { return a.induction < b.induction; };
  show_stripes(two, std::max_element(upper, scores.end(), less) - upper, options);

  report.section("Proof: take heads out");
  ablate(two, test, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("21_induction", "learning inside the context");
  program.steps(800, 8);
  std::string task = "repeat";
  program.add("--task", task, "what is to be learned from the context", {"repeat", "bigram", "pairs", "gcd"});
  return program.run(
      argc, argv, [&](const kit::Options& options, kit::Report& report) { lesson(task, options, report); });
}
