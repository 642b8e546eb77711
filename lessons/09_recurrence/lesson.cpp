// 09 recurrence: a state carries the past, and forgets
//
// A sentence has any length, a network has a fixed number of inputs. The oldest way out: read one symbol at a
// time, and keep a *state*, a vector that each step makes anew from the symbol and from the state before. The
// last state has then seen everything. Whether it still knows it is another matter, and this lesson is about
// that.
//
// You will: 1 build the three cells that everybody uses from plain ops, and check them; 2 keep padding out of
// the state; 3 see how much of a symbol far back is left in the state, before any training; 4 train the cells
// to name the first symbol after forty more; 5 see what is left after training.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/core.hpp"
#include "lessons/09_recurrence/recall.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"

using namespace tapestry;
using kit::largest, kit::gradients, kit::farthest;

namespace {

// ---- 1. Three cells ---------------------------------------------------------------------------------------
//
// x is the symbol's vector (B, in), h the state (B, H). Every cell has two matrices, W for x and U for h,
// each with a bias; nn/ keeps them in PyTorch's layout, the parts of a cell one below the other.

struct Weights {
  Tensor w, u, b_w, b_u;  // (G·H, in), (G·H, H), (G·H), (G·H): G = 1, 3 or 4 parts

  static Weights of(const Module& layer) {
    const std::vector<Tensor> all = layer.parameters();  // in this order
    return {all[0], all[1], all[2], all[3]};
  }
  Tensor from_x(const Tensor& x) const { return matmul(x, transpose(w)) + b_w; }
  Tensor from_h(const Tensor& h) const { return matmul(h, transpose(u)) + b_u; }
};

Tensor part(const Tensor& gates, Size index, Size width) {
  return slice(gates, -1, index * width, (index + 1) * width);
}

// The plain cell (Elman 1990) mixes and squashes:
//
//     h' = tanh(W x + b_w + U h + b_u)
//
// What h knew must pass through U and tanh at every step, whether this step matters or not. (nn/'s
// RecurrentState holds h as .hidden. Its .cell is empty here; the next one has use for it.)

RecurrentState plain_step(const Tensor& x, const RecurrentState& state, const Weights& m) {
  return tanh(m.from_x(x) + m.from_h(state.hidden));
}

// The long short-term memory (Hochreiter & Schmidhuber 1997; forget gate by Gers et al. 2000) has a second
// vector, the cell c, on a road without a matrix and without a squash. A *gate* is a sigmoid, a number
// between 0 and 1 for each unit: the input gate i says how much of the proposal g is written, the forget gate
// f how much of c stays, the output gate o how much of it is shown:
//
//     c' = f ⊙ c + i ⊙ g        h' = o ⊙ tanh(c')
//     i, f, o = σ(…), g = tanh(…), each of its own part of W x + b_w + U h + b_u

RecurrentState lstm_step(const Tensor& x, const RecurrentState& state, const Weights& m) {
  const Size width = state.hidden.size(1);
  const Tensor all = m.from_x(x) + m.from_h(state.hidden);  // (B, 4H): input, forget, proposal, output
  const Tensor i = sigmoid(part(all, 0, width)), f = sigmoid(part(all, 1, width));
  const Tensor g = tanh(part(all, 2, width)), o = sigmoid(part(all, 3, width));
  const Tensor cell = f * state.cell + i * g;
  return {o * tanh(cell), cell};
}

// The gated recurrent unit (Cho et al. 2014) does it with one vector: the update gate z says how much of h
// stays, and what goes makes room for the proposal n; the reset gate r says how much of h the proposal sees:
//
//     h' = z ⊙ h + (1 − z) ⊙ n        z, r = σ(…) as above, n = tanh(W x + b_w + r ⊙ (U h + b_u))
//
// (In some books z and 1 − z are exchanged. Look before you touch a bias.)

RecurrentState gru_step(const Tensor& x, const RecurrentState& state, const Weights& m) {
  const Tensor& h = state.hidden;
  const Size width = h.size(1);
  const Tensor from_x = m.from_x(x), from_h = m.from_h(h);  // (B, 3H): reset, update, proposal
  const Tensor r = sigmoid(part(from_x, 0, width) + part(from_h, 0, width));
  const Tensor z = sigmoid(part(from_x, 1, width) + part(from_h, 1, width));
  const Tensor n = tanh(part(from_x, 2, width) + r * part(from_h, 2, width));
  return z * h + (1 - z) * n;
}

struct Cell {
  const char* name;
  CellKind kind;
  RecurrentState (*step)(const Tensor& x, const RecurrentState& state, const Weights& m);  // by hand
};
constexpr Cell kPlain = {"plain RNN", CellKind::rnn, plain_step}, kLstm = {"LSTM", CellKind::lstm, lstm_step},
               kGru = {"GRU", CellKind::gru, gru_step};

/// Hidden and cell side by side, so that a check sees both.
Tensor whole(const RecurrentState& state) {
  return state.cell.defined() ? concat({state.hidden, state.cell}, -1) : state.hidden;
}

void show_cells(std::uint64_t seed, kit::Report& report) {
  constexpr Size kBatch = 2, kIn = 3, kWidth = 4;
  for (const Cell& each : {kPlain, kLstm, kGru}) {
    RecurrentCell cell({}, each.kind, kIn, kWidth);  // {}: it stands alone, in no model
    cell.initialise(seed, DType::f64);
    const Weights weights = Weights::of(cell);
    std::vector<Tensor> inputs = {random_normal({kBatch, kIn}, seed, DType::f64),
                                  random_normal({kBatch, kWidth}, seed + 1, DType::f64)};  // x, h
    if (each.kind == CellKind::lstm)
      inputs.push_back(random_normal({kBatch, kWidth}, seed + 2, DType::f64));  // c
    const auto state = [](const std::vector<Tensor>& in) {
      return RecurrentState(in[1], in.size() == 3 ? in[2] : Tensor());
    };
    const auto by_hand = [&](const std::vector<Tensor>& in) {
      return whole(each.step(in[0], state(in), weights));
    };
    const GradcheckResult check = gradcheck(by_hand, inputs, cell.parameters());
    if (!check.ok()) fmt::print("{}", check.report());
    const double apart = largest(by_hand(inputs) - whole(cell(inputs[0], state(inputs))));
    report.check(fmt::format("{:<9}  gradcheck, {:3} derivatives; nn/ the same", each.name, check.compared),
                 check.ok() && apart < 1e-12);
  }
}

// ---- 2. Padding -------------------------------------------------------------------------------------------
//
// Strings of different lengths stand in one tensor, the short ones filled up. A cell knows nothing of that
// and would go on stepping through the filling. So past a string's end the old state is taken over. Two
// things are masked, and both are needed: the state, so that it stops; and the input, since in the gradient
// of W a padded x is multiplied by a 0, and 0 · NaN is NaN.

/// x (B, T, in) → the state after each of T steps.
std::vector<RecurrentState> run_by_hand(const Cell& cell, const Tensor& x, const ValidLengths& lengths,
                                        const Weights& m) {
  const Size batch = x.size(0), time = x.size(1), width = m.u.size(1);
  const Tensor none = zeros({batch, width}, x.dtype()), zero = scalar(0, x.dtype());
  std::vector<RecurrentState> states;
  RecurrentState state(none, cell.kind == CellKind::lstm ? none : Tensor());
  for (Size t = 0; t < time; ++t) {
    const Mask inside = Mask::from(batch, 1, [&](Size row, Size) { return t < lengths[row]; });
    const RecurrentState next = cell.step(where(inside, select(x, 1, t), zero), state, m);
    state.hidden = where(inside, next.hidden, state.hidden);
    if (state.cell.defined()) state.cell = where(inside, next.cell, state.cell);
    states.push_back(state);
  }
  return states;
}

// nn/'s Recurrent runs a cell over a whole string. It returns all states, and in `final` the one after each
// row's last symbol, for each layer and direction that it has; here that is one, final[0].

void show_padding(std::uint64_t seed, kit::Report& report) {
  const ValidLengths lengths = {5, 3};
  const Tensor x = random_normal({2, 5, 3}, seed, DType::f64);
  const Tensor outside = scalar(std::numeric_limits<double>::quiet_NaN(), DType::f64);
  const Tensor poisoned = where(lengths.mask(5).reshape({2, 5, 1}), x, outside);
  for (const Cell& cell : {kPlain, kLstm, kGru}) {
    Recurrent layer({}, cell.kind, 3, 4);
    layer.initialise(seed, DType::f64);
    const Weights weights = Weights::of(layer);
    const auto by_hand = [&](const Tensor& in) {
      return run_by_hand(cell, in, lengths, weights).back().hidden;
    };
    const auto by_nn = [&](const Tensor& in) { return layer(in, lengths).final[0].hidden; };
    const auto slopes = [&](const auto& f, const Tensor& in) {
      return gradients([&] { return f(in); }, layer.parameters(), seed);
    };
    if (cell.kind == CellKind::gru) {
      const std::vector<RecurrentState> states = run_by_hand(cell, x, lengths, weights);
      fmt::print("  the first unit of the GRU's state, string by string; the second one has 3 symbols:\n");
      for (Size row = 0; row < 2; ++row) {
        fmt::print("   ");
        for (const RecurrentState& state : states) fmt::print("  {:7.4f}", state.hidden.at({row, 0}));
        fmt::print("\n");
      }
      const Tensor still = select(states[4].hidden, 0, 1) - select(states[2].hidden, 0, 1);
      report.check("the short string's state stands still", largest(still) == 0);
    }
    report.check(
        fmt::format("{}: nn/'s layer the same, gradients too", cell.name),
        largest(by_hand(x) - by_nn(x)) < 1e-12 && farthest(slopes(by_hand, x), slopes(by_nn, x)) < 1e-12);
    report.check(fmt::format("{}: NaN in the padding changes no gradient", cell.name),
                 farthest(slopes(by_hand, x), slopes(by_hand, poisoned)) == 0 &&
                     farthest(slopes(by_nn, x), slopes(by_nn, poisoned)) == 0);
  }
}

// ---- 3. What is left of a symbol before training ----------------------------------------------------------
//
// The task: forty-one symbols come in, ten kinds, all random, and at the end the model must name the first.
// Everything after it is noise. The gradient that the first symbol gets is a product of forty Jacobians
// ∂h_{t+1}/∂h_t. If each shrinks a vector a little, the product is nothing; if each stretches it, the product
// explodes (Bengio, Simard & Frasconi 1994): clip_gradients() then shortens the gradient to length 1.
//
// The usual start of a plain cell is of the first sort. U's numbers are uniform on ±1/√H, which is a variance
// of 1/3H; a row of U h sums H of them, so its size is √(1/3) = 0.58 of h's; and tanh takes its share too.
//
// An LSTM's road c' = f ⊙ c + … is multiplied by f alone, a GRU's by z. With a bias of 0 these gates stand
// near one half, and after forty steps that is nothing as well. This is what a gate's bias is for: with
// bias + 3 the gate stands at σ(3) = 0.95, and 0.14 of c is left after forty steps. (Gers et al. 2000
// proposed a positive bias of the forget gate; Jozefowicz et al. 2015 found that it matters more than most
// inventions. In the picture the line of the LSTM with bias 3 even rises again: c acts on the later gates
// through h as well, and in some directions that and f together are more than 1.)
//
// A plain cell has no gate to open, but U can start as a rotation: *orthogonal*, it changes no length, and
// only tanh shrinks. Each line that falls is a past that fades: *recency*. The last symbols count, whatever
// they say.

constexpr Size kSymbols = kit::kRecallSymbols, kNoise = 40, kWidth = 64, kEmbedding = 16;

enum class Start { usual, open_gate, orthogonal };

struct Plan {
  Cell cell;
  Start start;
  bool mixed = false;  // training has noise of any length up to kNoise, not of that very length
  double at_least = 0, at_most = 100;  // per cent right that it must reach, or must not pass

  std::string name() const {
    std::string text = cell.name;
    if (start == Start::open_gate)
      text += cell.kind == CellKind::lstm ? ", forget bias 3" : ", update bias 3";
    if (start == Start::orthogonal) text += ", orthogonal";
    if (mixed) text += ", mixed lengths";
    return text;
  }
};

constexpr Plan kPlans[] = {{kPlain, Start::usual, false, 0, 30}, {kPlain, Start::orthogonal},
                           {kLstm, Start::usual, false, 0, 30},  {kLstm, Start::open_gate, false, 99},
                           {kGru, Start::usual, false, 0, 30},   {kGru, Start::open_gate, false, 99},
                           {kPlain, Start::usual, true, 40},     {kPlain, Start::orthogonal, true, 70},
                           {kLstm, Start::usual, true, 99},      {kGru, Start::usual, true, 99}};

struct Recaller : Module {
  explicit Recaller(CellKind kind) : layer{{*this, "layer"}, kind, kEmbedding, kWidth} {}

  /// Symbols (B, T) → logits (B, symbols).
  Tensor operator()(const Indices& symbols, const ValidLengths& lengths = {}) const {
    return out(layer(embedding(symbols), lengths).final[0].hidden);
  }

  Embedding embedding{{*this, "embedding"}, kSymbols, kEmbedding};
  Recurrent layer;
  Linear out{{*this, "out"}, kWidth, kSymbols};
};

/// First values. The gate that keeps the past is the second part in both: forget (LSTM), update (GRU).
void prepare(Recaller& model, const Plan& plan, std::uint64_t seed) {
  model.initialise(seed);
  const State weights = model.layer.state();  // by PyTorch's names; views of the living weights
  if (plan.start == Start::open_gate) {
    Tensor bias = part(weights.at("bias_ih_l0"), 1, kWidth);
    assign(bias, full({kWidth}, 3.0));
  }
  if (plan.start == Start::orthogonal) {
    Linear rotation(kWidth, kWidth, Bias::no, orthogonal);
    rotation.initialise(seed);
    Tensor u = weights.at("weight_hh_l0");
    assign(u, rotation.weight);
  }
}

constexpr std::uint64_t kInfluenceStream = 3'000'000;

/// ‖∂(u · h_T)/∂x_t‖ for a random u, against the distance T − t, as a share of that of the last symbol: how
/// much a nudge to a symbol so far back still moves the state.
kit::Series influence(const Recaller& model, const std::string& name, std::uint64_t seed) {
  const kit::RecallStrings strings =
      kit::draw_recall(kit::Random(seed, kInfluenceStream), 32, kNoise, kNoise);
  const Tensor x = variable(model.embedding(strings.symbols).detach());
  Tape tape;
  const Tensor last = model.layer(x).final[0].hidden;
  const Tensor gradient = tape.gradients(last, random_normal(last.shape(), seed), std::vector{x})[0];
  const std::vector<double> norms = sqrt(sum(gradient * gradient, {0, 2})).to_vector();
  kit::Series series{name, {}, {}};
  for (Size back = 0; back <= kNoise; ++back) {
    series.x.push_back(static_cast<double>(back));
    series.y.push_back(norms[static_cast<std::size_t>(kNoise - back)] / norms.back());
  }
  return series;
}

/// In its unit, 1 is what a nudge to the last symbol does.
kit::Chart influence_chart(const char* when, std::vector<kit::Series> series) {
  return {fmt::format("What is left of a symbol, {} training", when),
          "steps back",
          "gradient, as a share of the last symbol's",
          std::move(series),
          {},
          kit::Scale::linear,
          kit::Scale::log};
}

void before_training(const kit::Options& options, kit::Report& report) {
  RNN layer(kEmbedding, kWidth);
  layer.initialise(options.seed);
  const Tensor v = random_normal({1000, kWidth}, options.seed),
               uv = matmul(v, transpose(Weights::of(layer).u));
  report.quoted("U shrinks a vector at the usual start to",
                std::sqrt(sum(uv * uv).item() / sum(v * v).item()), 0.58, 0.05);
  const double open = sigmoid(scalar(3, DType::f64)).item();
  report.quoted("a gate with bias 3", open, 0.95, 0.01);
  report.quoted("what such a gate leaves after forty steps", std::pow(open, kNoise), 0.14, 0.05);
  std::vector<kit::Series> curves;
  for (const Plan& plan : kPlans) {
    if (plan.mixed) continue;  // these start like the others
    Recaller model(plan.cell.kind);
    prepare(model, plan, options.seed);
    curves.push_back(influence(model, plan.name(), options.seed));
  }
  kit::show(influence_chart("before", curves), options.out / "before.svg");
}

// ---- 4. Naming the first symbol after forty more ----------------------------------------------------------
//
// Everything else is equal: 64 units, the same strings, the same steps. Two things can be changed from
// outside. The start, as above; and the lengths. With forty symbols of noise in every string there is nothing
// easier to begin with. With any number from none to forty, the short strings have a gradient from the first
// step on, and who can hold a symbol over three steps learns to hold it over four. All are tested with forty.

struct Outcome {
  Size steps = 0;              // until it was learned, or all
  double loss = 0, right = 0;  // right: in per cent, with kNoise symbols after the first
  double at_ends = 0;          // units of the last state beyond ±0.9, where tanh ends, in per cent
  kit::Series after;           // influence
};

/// Trains until nothing is left to be learned, or the steps are over; then tests.
Outcome run(const Plan& plan, const kit::Options& options) {
  constexpr Size kBatch = 64;
  constexpr double kLearned = 0.005;
  Recaller model(plan.cell.kind);
  prepare(model, plan, options.seed);
  Adam adam(model.parameters(), {.learning_rate = 3e-3});
  kit::Progress progress(options.steps, {.unit = "strings"});
  Outcome outcome;
  outcome.loss = std::log(1.0 * kSymbols);  // a running mean, from chance
  while (outcome.steps < options.steps && outcome.loss > kLearned) {
    const auto stream = static_cast<std::uint64_t>(++outcome.steps);
    const kit::RecallStrings strings =
        kit::draw_recall(kit::Random(options.seed, stream), kBatch, plan.mixed ? 0 : kNoise, kNoise);
    Tape tape;
    const Tensor loss = cross_entropy(model(strings.symbols, strings.lengths), strings.first);
    tape.backward(loss);
    clip_gradients(model.parameters(), 1.0);
    adam.step();
    outcome.loss = 0.9 * outcome.loss + 0.1 * loss.item();
    progress.step(loss.item(), kBatch);
  }
  progress.finish();

  // Streams far from those of training.
  const kit::RecallStrings test =
      kit::draw_recall(kit::Random(options.seed, 2'000'000), options.smoke ? 20 : 1000, kNoise, kNoise);
  outcome.right = kit::percent_equal(argmax(model(test.symbols)), test.first);
  const kit::RecallStrings few =
      kit::draw_recall(kit::Random(options.seed, kInfluenceStream), 32, kNoise, kNoise);
  const Tensor last = model.layer(model.embedding(few.symbols)).final[0].hidden;
  outcome.at_ends = 100 * mean(where(less(scalar(0.9), abs(last)), scalar(1), scalar(0))).item();
  outcome.after = influence(model, plan.name(), options.seed);
  fmt::print("  {:<40}{:>7}{:>10.3f}{:>10.1f} %\n", plan.name(), outcome.steps, outcome.loss, outcome.right);
  return outcome;
}

std::vector<Outcome> train_all(const kit::Options& options, kit::Report& report) {
  std::vector<Outcome> outcomes;
  fmt::print("  {:<40}{:>7}{:>10}{:>12}\n", "", "steps", "loss", "right");
  fmt::print("  {:<40}{:>17.3f}{:>10.1f} %\n", "chance", std::log(1.0 * kSymbols), 100.0 / kSymbols);
  for (const Plan& plan : kPlans) outcomes.push_back(run(plan, options));
  fmt::print("\n");
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Plan& plan = kPlans[i];
    if (plan.at_least > 0) report.at_least(plan.name(), outcomes[i].right, plan.at_least, "%");
    if (plan.at_most < 100) report.at_most(plan.name(), outcomes[i].right, plan.at_most, "%");
  }
  return outcomes;
}

// ---- 5. What is left of a symbol after training -----------------------------------------------------------
//
// The line of a gated cell that has learned the task falls first and then rises: the noise in between is kept
// out, and the symbol at the far end moves the state many times as much as what comes halfway, mostly more
// than the last one does. The plain cell with mixed lengths does it in another way. Its line falls, and yet
// it remembers: most of its units stand at the ends of tanh, where they hold like switches, and a small nudge
// moves nothing. Gradient and memory are two things. But what has no gradient at the start is not learned.

void after_training(const std::vector<Outcome>& outcomes, const kit::Options& options, kit::Report& report) {
  constexpr std::size_t kFails = 0, kLstmOpen = 3, kGruOpen = 5, kLearns = 7;  // in kPlans
  std::vector<kit::Series> curves;
  for (const std::size_t plan : {kFails, kLearns, kLstmOpen - 1, kLstmOpen, kGruOpen - 1, kGruOpen})
    curves.push_back(outcomes[plan].after);
  kit::Chart chart = influence_chart("after", curves);
  chart.levels.push_back({1, "the last"});
  kit::show(chart, options.out / "after.svg");
  const auto share = [&](std::size_t plan) { return outcomes[plan].after.y.back(); };
  report.figure("first symbol's share, LSTM, forget bias 3", share(kLstmOpen));
  report.figure("first symbol's share, GRU, update bias 3", share(kGruOpen));
  report.figure("first symbol's share, plain RNN that learned", share(kLearns));
  report.figure("units beyond ±0.9, plain RNN that learned", outcomes[kLearns].at_ends, "%");
  report.figure("units beyond ±0.9, the one that did not", outcomes[kFails].at_ends, "%");
  if (options.smoke) return;
  const auto rises = [&](std::size_t plan) {
    const std::vector<double>& y = outcomes[plan].after.y;
    return y.back() > 3 * y[y.size() / 2];
  };
  report.check("open gates: the first counts more than the noise halfway",
               rises(kLstmOpen) && rises(kGruOpen));
  report.check("the plain RNN remembers without a gradient", share(kLearns) < 0.01);
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Three cells");
  show_cells(options.seed, report);
  report.section("Padding");
  show_padding(options.seed, report);
  report.section("What is left of a symbol before training");
  before_training(options, report);
  report.section("Naming the first symbol after forty more");
  const std::vector<Outcome> outcomes = train_all(options, report);
  report.section("What is left of a symbol after training");
  after_training(outcomes, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("09_recurrence", "a state carries the past, and forgets");
  program.steps(700, 3);
  return program.run(argc, argv, lesson);
}
