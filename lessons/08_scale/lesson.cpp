// 08 scale: why √d
//
// Lesson 6 divided q·k by √d and went on. Nothing in the idea asks for it: a constant factor could be learned
// by W_Q. So why is it there? This lesson takes it away and watches what happens as vectors grow wider:
// scores grow, the softmax turns into a switch, its derivative vanishes, and training crawls: two
// thousand steps are not enough. (One often reads that √d keeps gradients from growing too large. It is the
// other way round.)
//
// You will: 1 write the three scores and check them; 2 see how large q·k is; 3 see what the softmax's
// derivative makes of that; 4 train a retrieval at widths from 16 to 1024 with each score; 5 see what
// additive attention, which needs no √d, costs instead.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/08_scale/lookup_questions.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "nn/attention/attention.hpp"
#include "nn/embedding.hpp"
#include "optim/adam.hpp"

using namespace tapestry;
using kit::largest, kit::gradients;

namespace {

constexpr DType f64 = DType::f64;
constexpr std::array<Size, 4> kWidths = {16, 64, 256, 1024};
constexpr Size kKeys = 10;    // among which a query chooses
constexpr Size kHidden = 64;  // U, hidden units of the additive score

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// ---- 1. Three scores --------------------------------------------------------------------------------------
//
//     dot       q · k                           Luong, Pham and Manning 2015
//     scaled    q · k / √d                      Vaswani et al. 2017
//     additive  v · tanh(W_q q + W_k k)         Bahdanau, Cho and Bengio 2015; v, W_q, W_k are learned
//
// The first two multiply query and key; d numbers are summed. The third is a small network with U hidden
// units, and tanh keeps each of its U terms between −|v_u| and |v_u|, however wide q and k are.

Tensor dot_scores(const Tensor& q, const Tensor& k) { return matmul(q, transpose(k)); }

Tensor scaled_scores(const Tensor& q, const Tensor& k) {
  return matmul(q, transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
}

/// Every query meets every key, unit for unit: (…, Tq, 1, U) + (…, 1, Tk, U).
Tensor additive_scores(const Tensor& q, const Tensor& k, const Tensor& w_q, const Tensor& w_k,
                       const Tensor& v) {
  const Tensor query = matmul(q, transpose(w_q)), key = matmul(k, transpose(w_k));
  return sum(tanh(unsqueeze(query, -2) + unsqueeze(key, -3)) * v, {-1});
}

Tensor read(const Tensor& scores, const Tensor& values) { return matmul(softmax(scores, -1), values); }

using Scores = std::function<Tensor(const Tensor& q, const Tensor& k)>;

/// The additive score of an attention, by hand: with the weights that are in there.
Scores by_hand_with(const Attention& attention) {
  const AdditiveScore& score = dynamic_cast<const AdditiveScore&>(attention.score());
  const Tensor w_q = score.query.weight, w_k = score.key.weight, v = score.vector;
  return [=](const Tensor& q, const Tensor& k) { return additive_scores(q, k, w_q, w_k, v); };
}

void check_one(const char* name, Attention& attention, const Scores& scores, std::uint64_t seed,
               kit::Report& report) {
  const Tensor q = variable(random_normal({2, 3, 4}, seed, f64), "q"),
               k = variable(random_normal({2, 5, 4}, seed + 1, f64), "k"),
               v = variable(random_normal({2, 5, 2}, seed + 2, f64), "v");
  const auto by_hand = [&](const Tensor& queries, const Tensor& keys, const Tensor& values) {
    return read(scores(queries, keys), values);
  };
  std::vector<Tensor> leaves = attention.parameters();
  const GradcheckResult check = gradcheck(by_hand, {q.detach(), k.detach(), v.detach()}, leaves,
                                          GradcheckOptions{.tolerance = 1e-6, .seed = seed});
  if (!check.ok()) fmt::print("{}", check.report());
  leaves.insert(leaves.end(), {q, k, v});
  const std::vector<Tensor> a = gradients([&] { return by_hand(q, k, v); }, leaves, seed + 3);
  const std::vector<Tensor> b = gradients([&] { return attention(q, k, v).context; }, leaves, seed + 3);
  const double apart = std::max(largest(by_hand(q, k, v) - attention(q, k, v).context), kit::farthest(a, b));
  report.check(
      fmt::format("{:<8}  gradcheck, {} derivatives; nn/ gives the same to 1e-12", name, check.compared),
      check.ok() && apart < 1e-12);
}

void check_all(std::uint64_t seed, kit::Report& report) {
  Attention plain{dot()}, scaled{scaled_dot()}, tanh_scored{additive(4, 4, 6)};
  tanh_scored.initialise(seed, f64);
  check_one("dot", plain, dot_scores, seed, report);
  check_one("scaled", scaled, scaled_scores, seed, report);
  check_one("additive", tanh_scored, by_hand_with(tanh_scored), seed, report);
}

// ---- 2. How large is q·k? ---------------------------------------------------------------------------------
//
// Let all numbers in q and k be independent, with mean 0 and variance 1. Then each product q_i k_i has mean
// E q_i · E k_i = 0, and variance E q_i² · E k_i² − 0 = 1. A sum of d independent ones has
//
//     mean 0     and     variance d,
//
// so that the deviation of q·k is √d. (One popular page gives it mean 1. That is wrong; mean 0 it is.)
// Divided by √d, the score has variance 1 at any width. That is the whole derivation of the factor.

/// The additive score at its first weights.
Scores fresh_additive(Size width, std::uint64_t seed) {
  Attention attention{additive(width, width, kHidden)};
  attention.initialise(seed, f64);
  return by_hand_with(attention);
}

void how_large(std::uint64_t seed, kit::Report& report) {
  fmt::print("      d   mean of q·k   variance   deviation: dot   scaled   additive\n");
  double worst_mean = 0, worst_variance = 0;
  for (const Size d : kWidths) {
    const Tensor q = random_normal({400, d}, seed + 10, f64), k = random_normal({400, d}, seed + 11, f64);
    const Tensor dot = dot_scores(q, k), scaled = scaled_scores(q, k);  // 160,000 pairs
    const Tensor additive = fresh_additive(d, seed)(slice(q, 0, 0, 100), slice(k, 0, 0, 100));
    const double width = static_cast<double>(d), variance = var(dot).item();
    fmt::print("  {:>5}   {:>11.3f}   {:>8.1f}   {:>14.2f}   {:>6.2f}   {:>8.2f}\n", d, mean(dot).item(),
               variance, std::sqrt(variance), std::sqrt(var(scaled).item()), std::sqrt(var(additive).item()));
    worst_mean = std::max(worst_mean, std::abs(mean(dot).item()) / std::sqrt(width));
    worst_variance = std::max(worst_variance, std::abs(variance / width - 1));
  }
  report.at_most("furthest mean of q·k from 0, in deviations", worst_mean, 0.02);
  report.at_most("furthest variance of q·k from d, as a share", worst_variance, 0.05);
}

// ---- 3. What a softmax's derivative makes of it -----------------------------------------------------------
//
// For weights α the softmax's derivative is the matrix J = diag(α) − α αᵀ: ∂α_i/∂s_j = α_i (δ_ij − α_j). If
// one α is nearly 1 and the others nearly 0, every entry is nearly 0. Whatever the loss has to say, a score
// hears only J times it. Let ten keys compete for one query. The *median* size of J (Frobenius norm, the root
// of the sum of all squares) at d = 16, 64, 256 and 1024 is
//
//     dot        0.302    0.080    0.0028    3.6e-6
//     scaled     0.347    0.347    0.347     0.347
//
// The mean falls far slower, and would hide it: among many draws there are always a few where two keys happen
// to be close. But a gradient that arrives at one question in a hundred is no way to learn.

/// ‖J‖² = Σ (α_i − α_i²)² + Σ_{i≠j} α_i² α_j² = Σ α_i² − 2 Σ α_i³ + (Σ α_i²)², for weights (n, keys) → (n).
Tensor jacobian_norm(const Tensor& weights) {
  const Tensor squares = weights * weights;
  const Tensor sum2 = sum(squares, {-1}), sum3 = sum(squares * weights, {-1});
  return sqrt(maximum(sum2 - 2 * sum3 + sum2 * sum2, zeros(sum2.shape(), f64)));
}

struct Sizes {
  double median, mean;
};

/// Over `queries` · `groups` draws: every query meets every group of ten keys.
Sizes jacobian_sizes(const Scores& scores, Size width, Size queries, Size groups, std::uint64_t seed) {
  constexpr Size kBlock = 100;
  const Tensor keys = random_normal({groups * kKeys, width}, seed + 21, f64);
  std::vector<double> norms;
  double total = 0;
  for (Size block = 0; block < queries / kBlock; ++block) {
    const Tensor q = random_normal({kBlock, width}, seed + 1000 + static_cast<std::uint64_t>(block), f64);
    const Tensor weights = softmax(reshape(scores(q, keys), {kBlock * groups, kKeys}), -1);
    for (const double norm : jacobian_norm(weights).to_vector()) {
      norms.push_back(norm);
      total += norm;
    }
  }
  return {median(norms), total / static_cast<double>(norms.size())};
}

/// One curve for each score, over the widths.
std::array<kit::Series, 3> three_curves() { return {{{"dot"}, {"scaled dot"}, {"additive"}}}; }

kit::Chart chart_of(const char* title, const char* up, const std::array<kit::Series, 3>& curves) {
  return {title, "width d", up, {curves.begin(), curves.end()}, {}, kit::Scale::log, kit::Scale::log};
}

void what_a_softmax_makes_of_it(const kit::Options& options, kit::Report& report) {
  const Tensor some = random_normal({1, kKeys}, options.seed, f64);
  const Tensor j =
      jacobian([](const Tensor& x) { return softmax(x, -1); }, some);  // from the tape, row by row
  report.check("the formula for ‖J‖ agrees with the tape",
               std::abs(jacobian_norm(softmax(some, -1)).item() - std::sqrt(sum(j * j).item())) < 1e-12);
  const Size queries = options.smoke ? 100 : 4000, groups = options.smoke ? 20 : 200;
  std::array<kit::Series, 3> curves = three_curves();
  std::array<Sizes, 4> dot, scaled;
  fmt::print("      d   median of ‖J‖: dot     scaled   additive        mean: dot   scaled\n");
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    const Size d = kWidths[i];
    dot[i] = jacobian_sizes(dot_scores, d, queries, groups, options.seed);
    scaled[i] = jacobian_sizes(scaled_scores, d, queries, groups, options.seed);
    const Sizes additive = jacobian_sizes(fresh_additive(d, options.seed), d, std::min<Size>(queries, 1000),
                                          groups / 5, options.seed);
    fmt::print("  {:>5}   {:>18.3g}   {:>8.3f}   {:>8.3f}   {:>14.3f}   {:>6.3f}\n", d, dot[i].median,
               scaled[i].median, additive.median, dot[i].mean, scaled[i].mean);
    const double medians[] = {dot[i].median, scaled[i].median, additive.median};
    for (std::size_t score = 0; score < 3; ++score) {
      curves[score].x.push_back(static_cast<double>(d));
      curves[score].y.push_back(medians[score]);
    }
  }
  constexpr double kTolerance = 0.1;
  report.quoted("median ‖J‖ of dot at d = 16", dot[0].median, 0.302, kTolerance);
  report.quoted("median ‖J‖ of dot at d = 64", dot[1].median, 0.080, kTolerance);
  report.quoted("median ‖J‖ of dot at d = 256", dot[2].median, 0.0028, kTolerance);
  report.quoted("median ‖J‖ of dot at d = 1024", dot[3].median, 3.6e-6, kTolerance);
  for (std::size_t i = 0; i < kWidths.size(); ++i)
    report.quoted(fmt::format("median ‖J‖ of scaled at d = {}", kWidths[i]), scaled[i].median, 0.347,
                  kTolerance);
  kit::show(chart_of("What the softmax lets through: median size of its derivative", "median ‖J‖", curves),
            options.out / "gradient.svg");
}

// ---- 4. Training at every width ---------------------------------------------------------------------------
//
// A retrieval with 32 symbols. Ten of them, all different, are the keys of a question, and behind each stands
// one of ten answers. The query is one of these symbols again: what stands behind it? A symbol has one vector
// as a query and another as a key, of width d, and both are learned, from standard normal first values: just
// the vectors of which section 2 spoke. (They are lesson 6's W_Q and W_K for one-hot words.)

constexpr Size kSymbols = 32, kAnswers = 10;

using Questions =
    kit::LookupQuestions;  // query (B), keys (B, 10), the answers behind them (B, 10), answer (B)

Questions draw_questions(Size batch, std::uint64_t seed, std::uint64_t stream) {
  return kit::draw_lookup_questions(kit::Random(seed, stream), batch, {kSymbols, kKeys, kAnswers});
}

struct Lookup : Module {
  Lookup(Size width, const ScoreMaker& score)
      : as_query{{*this, "as_query"}, kSymbols, width},
        as_key{{*this, "as_key"}, kSymbols, width},
        value{{*this, "value"}, kAnswers, kAnswers},
        attention{{*this, "attention"}, score} {}

  /// Logits of the answers, (B, answers): the context itself.
  Tensor operator()(const Questions& questions) const {
    const Tensor query = unsqueeze(as_query(questions.query), 1);  // (B, 1, d)
    return squeeze(attention(query, as_key(questions.keys), value(questions.behind)).context, 1);
  }
  /// The scores before the softmax (B, 1, 10), and the loss that they lead to. (A score of nn/ has two steps,
  /// prepare(keys) and score(query, prepared, state); the state is for scores that remember, as these do
  /// not.)
  std::pair<Tensor, Tensor> scores_and_loss(const Questions& questions) const {
    ScoreState state;
    const Tensor scores = attention.score().score(unsqueeze(as_query(questions.query), 1),
                                                  attention.score().prepare(as_key(questions.keys)), state);
    const Tensor logits = squeeze(read(scores, value(questions.behind)), 1);
    return {scores, cross_entropy(logits, questions.answer, {}) * static_cast<double>(logits.size(0))};
  }

  Embedding as_query, as_key, value;
  Attention attention;
};

double accuracy(const Lookup& model, const Questions& questions) {
  return kit::percent_equal(argmax(model(questions)), questions.answer);
}

struct Outcome {
  double first_gradient;  // median over questions of ‖∂loss/∂scores‖ before the first step
  Size steps_to_99;       // or, if it never got there, 0
  double accuracy;        // at the end, on fresh questions, in per cent
};

Outcome train(Size width, const ScoreMaker& score, const kit::Options& options) {
  constexpr Size kBatch = 64, kEvery = 20;
  Lookup model(width, score);
  model.initialise(options.seed);
  Outcome outcome{};
  {
    Tape tape;
    const auto [scores, loss] =
        model.scores_and_loss(draw_questions(options.smoke ? 100 : 1000, options.seed, 1));
    const Tensor gradient = tape.gradients(loss, {scores})[0];
    outcome.first_gradient = median(sqrt(sum(gradient * gradient, {-1, -2})).to_vector());
  }
  const Questions watched = draw_questions(500, options.seed, 2);
  Adam adam(model.parameters(), {.learning_rate = 1e-2});
  kit::Progress progress(options.steps);
  for (Size step = 1; step <= options.steps; ++step) {
    const Questions questions = draw_questions(kBatch, options.seed, static_cast<std::uint64_t>(100 + step));
    Tape tape;
    const Tensor loss = cross_entropy(model(questions), questions.answer);
    tape.backward(loss);
    adam.step();
    progress.step(loss.item());
    if (outcome.steps_to_99 == 0 && step % kEvery == 0 && accuracy(model, watched) >= 99)
      outcome.steps_to_99 = step;
    if (outcome.steps_to_99 != 0 && step == 2 * outcome.steps_to_99) break;  // once more as long is enough
  }
  progress.finish();
  outcome.accuracy = accuracy(model, draw_questions(options.smoke ? 200 : 4000, options.seed, 3));
  return outcome;
}

// What will it be? At d = 1024 the weights of dot are one-hot before the first step, and on the wrong key
// nine times in ten. To mend that, a gradient must reach the scores, and for the median question it is as
// good as zero. Adam divides gradients by their usual size, so smallness alone would not stop it. But what it
// blows up is the voice of the few questions that are undecided; the many that are wrong, and sure of it, are
// silent.
//
// (Smaller first vectors would mend the start, and only the start: dot sums over d numbers, each step moves
// all of them, and so its scores also leap further the wider it is. √d tames that too.)
//
// What you should see: scaled and additive take about as many steps at every width. Dot takes far more when
// it is narrow, and else never arrives. (How near it comes at the widths between is chance: it depends on
// which questions were undecided at the start.)

void train_all(const kit::Options& options, kit::Report& report) {
  std::array<kit::Series, 3> curves = three_curves();
  std::array<double, 3> worst = {100, 100, 100}, last{};
  fmt::print("      d   score        gradient at the start   steps to 99 %   right at the end\n");
  for (const Size d : kWidths) {
    const ScoreMaker scores[] = {dot(), scaled_dot(), additive(d, d, kHidden)};
    for (std::size_t i = 0; i < 3; ++i) {
      const Outcome outcome = train(d, scores[i], options);
      fmt::print("  {:>5}   {:<10}   {:>21.2g}   {:>13}   {:>14.1f} %\n", d, curves[i].name,
                 outcome.first_gradient, outcome.steps_to_99 ? std::to_string(outcome.steps_to_99) : "never",
                 outcome.accuracy);
      curves[i].x.push_back(static_cast<double>(d));
      curves[i].y.push_back(static_cast<double>(outcome.steps_to_99 ? outcome.steps_to_99 : options.steps));
      worst[i] = std::min(worst[i], outcome.accuracy);
      last[i] = outcome.accuracy;
    }
  }
  report.at_least("scaled: right at the worst of all widths", worst[1], 99, "%");
  report.at_least("additive: right at the worst of all widths", worst[2], 99, "%");
  report.at_most("dot: right at d = 1024", last[0], 95, "%");
  kit::Chart chart = chart_of("Steps to 99 % right", "steps", curves);
  chart.levels.push_back({static_cast<double>(options.steps), "gave up"});
  kit::show(chart, options.out / "steps.svg");
}

// ---- 5. What additive attention costs ---------------------------------------------------------------------
//
// An additive score stays small at any width, with no factor at all. Why then did the world go over to dot?
// For Tq queries and Tk keys of width d, dot is one matrix product: 2 Tq Tk d operations of the kind that
// lesson 4 made fast. Additive with d hidden units is a tanh for each of the Tq · Tk · d meetings, and
// written with plain ops it keeps them all for backward: memory that grows as Tq · Tk · d, where dot's grows
// as Tq · Tk. (nn/'s additive score computes the tanh again in backward, and keeps nothing that large. That
// saves the memory: what it keeps at large d is mostly W_q and W_k themselves. The time remains.)

struct Cost {
  double microseconds;  // per query, forward and backward, the fastest of three
  double kilobytes;     // that the tape keeps for backward, per query
};

constexpr Size kCostBatch = 2, kCostLength = 64;

Cost cost_of(const std::function<Tensor()>& f) {
  constexpr double kQueries = kCostBatch * kCostLength;
  Cost cost{HUGE_VAL, 0};
  for (int turn = 0; turn < 3; ++turn) {
    Tape tape;
    double bytes = 0;
    const double seconds = kit::seconds([&] {
      const Tensor y = f();
      for (std::size_t i = 0; i < tape.size(); ++i) bytes += static_cast<double>(tape.node(i).saved_bytes);
      tape.backward(sum(y));
    });
    cost.microseconds = std::min(cost.microseconds, 1e6 * seconds / kQueries);
    cost.kilobytes = bytes / 1024 / kQueries;
  }
  return cost;
}

void what_it_costs(const kit::Options& options, kit::Report& report) {
  fmt::print("  {} queries on {} keys, forward and backward, per query:\n", kCostLength, kCostLength);
  fmt::print("                  time in µs                        kept for backward in KB\n");
  fmt::print("      d      dot   additive   nn/'s additive        dot   additive   nn/'s additive\n");
  Cost dot_cost{}, plain_cost{}, nn_cost{};
  for (const Size d : kWidths) {
    if (options.smoke && d > 64) break;
    Attention layer{additive(d, d, d)};
    layer.initialise(options.seed);
    const Tensor q = variable(random_normal({kCostBatch, kCostLength, d}, options.seed + 31)),
                 k = variable(random_normal({kCostBatch, kCostLength, d}, options.seed + 32)),
                 v = variable(random_normal({kCostBatch, kCostLength, d}, options.seed + 33));
    dot_cost = cost_of([&] { return read(dot_scores(q, k), v); });
    plain_cost = cost_of([&] { return read(by_hand_with(layer)(q, k), v); });
    nn_cost = cost_of([&] { return layer(q, k, v).context; });
    fmt::print("  {:>5}   {:>6.1f}   {:>8.1f}   {:>14.1f}   {:>8.1f}   {:>8.1f}   {:>14.1f}\n", d,
               dot_cost.microseconds, plain_cost.microseconds, nn_cost.microseconds, dot_cost.kilobytes,
               plain_cost.kilobytes, nn_cost.kilobytes);
  }
  report.figure("time at d = 1024: nn/'s additive ÷ dot", nn_cost.microseconds / dot_cost.microseconds);
  report.figure("memory at d = 1024: additive, plain ops ÷ dot", plain_cost.kilobytes / dot_cost.kilobytes);
  report.at_most("nn/'s additive keeps, as a share of plain ops'",
                 100 * nn_cost.kilobytes / plain_cost.kilobytes, 25, "%");
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Three scores");
  check_all(options.seed, report);

  report.section("How large is q·k?");
  how_large(options.seed, report);

  report.section("What a softmax's derivative makes of it");
  what_a_softmax_makes_of_it(options, report);

  report.section("Training at every width");
  train_all(options, report);

  report.section("What additive attention costs");
  what_it_costs(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("08_scale", "why √d");
  program.steps(2000, 10);
  return program.run(argc, argv, lesson);
}
