// 09 recurrence: a state carries the past, and forgets
//
// A sentence has any length, a network has a fixed number of inputs. The oldest way out: read one symbol at a
// time, and keep a *state*, a vector that each step makes anew from the symbol and from the state before. The
// last state has then seen everything. Whether it still knows it is another matter, and this lesson is about
// that.
//
// You will: 1 build the three cells that everybody uses from plain ops, and check them; 2 keep padding out of
// the state; 3 see how much of a step far back is left in the state, before any training; 4 train the cells
// to remember one symbol over forty others; 5 see what is left after training.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/core.hpp"
#include "lessons/kit/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"

using namespace tapestry;
using kit::largest, kit::gradients, kit::farthest;
using Ids = std::vector<std::int64_t>;

namespace {

// ---- 1. Three cells ---------------------------------------------------------------------------------------
//
// x is the symbol's vector (B, in), h the state (B, H). Every cell has two matrices, W for x and U for h, and
// two biases; nn/ keeps them in PyTorch's layout, the parts of a cell one below the other.

struct Weights {
  Tensor w, u, b, c;  // (G·H, in), (G·H, H), (G·H), (G·H): G = 1, 3 or 4 parts

  static Weights of(const Module& layer) {
    const std::vector<Tensor> all = layer.parameters();
    return {all[0], all[1], all[2], all[3]};
  }
  Tensor from_x(const Tensor& x) const { return matmul(x, transpose(w)) + b; }
  Tensor from_h(const Tensor& h) const { return matmul(h, transpose(u)) + c; }
};

Tensor part(const Tensor& gates, Size index, Size width) {
  return slice(gates, -1, index * width, (index + 1) * width);
}

// The plain cell (Elman 1990) mixes and squashes:
//
//     h' = tanh(W x + b + U h + c)
//
// What h knew must pass through U and tanh at every step, whether this step matters or not.

Tensor plain_step(const Tensor& x, const Tensor& h, const Weights& m) {
  return tanh(m.from_x(x) + m.from_h(h));
}

// The long short-term memory (Hochreiter & Schmidhuber 1997; forget gate by Gers et al. 2000) has a second
// vector, the cell c, on a road without a matrix and without a squash. A *gate* is a sigmoid, a number
// between 0 and 1 for each unit: the input gate i says how much of the proposal g is written, the forget gate
// f how much of c stays, the output gate o how much of it is shown:
//
//     c' = f ⊙ c + i ⊙ g        h' = o ⊙ tanh(c')        i, f, o = σ(…), g = tanh(…), each of W x + U h

RecurrentState lstm_step_by_hand(const Tensor& x, const RecurrentState& state, const Weights& m) {
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
//     h' = z ⊙ h + (1 − z) ⊙ n        z, r = σ(…), n = tanh(W x + b + r ⊙ (U h + c))
//
// (In some books z and 1 − z are exchanged. Look before you touch a bias.)

Tensor gru_step_by_hand(const Tensor& x, const Tensor& h, const Weights& m) {
  const Size width = h.size(1);
  const Tensor from_x = m.from_x(x), from_h = m.from_h(h);  // (B, 3H): reset, update, proposal
  const Tensor r = sigmoid(part(from_x, 0, width) + part(from_h, 0, width));
  const Tensor z = sigmoid(part(from_x, 1, width) + part(from_h, 1, width));
  const Tensor n = tanh(part(from_x, 2, width) + r * part(from_h, 2, width));
  return z * h + (1 - z) * n;
}

RecurrentState step_by_hand(CellKind kind, const Tensor& x, const RecurrentState& state, const Weights& m) {
  switch (kind) {
    case CellKind::rnn:
      return plain_step(x, state.hidden, m);
    case CellKind::gru:
      return gru_step_by_hand(x, state.hidden, m);
    case CellKind::lstm:
      break;
  }
  return lstm_step_by_hand(x, state, m);
}

const char* name_of(CellKind kind) {
  return kind == CellKind::rnn ? "plain RNN" : kind == CellKind::gru ? "GRU" : "LSTM";
}
constexpr CellKind kKinds[] = {CellKind::rnn, CellKind::lstm, CellKind::gru};

/// Hidden and cell side by side, so that a check sees both.
Tensor whole(const RecurrentState& state) {
  return state.cell.defined() ? concat({state.hidden, state.cell}, -1) : state.hidden;
}

void show_cells(std::uint64_t seed, kit::Report& report) {
  constexpr Size kBatch = 2, kIn = 3, kWidth = 4;
  for (const CellKind kind : kKinds) {
    RecurrentCell cell({}, kind, kIn, kWidth);
    cell.initialise(seed, DType::f64);
    const Weights weights = Weights::of(cell);
    const bool two = kind == CellKind::lstm;
    const Tensor x = random_normal({kBatch, kIn}, seed, DType::f64);
    const Tensor carried = random_normal({kBatch, two ? 2 * kWidth : kWidth}, seed + 1, DType::f64);
    const auto unpacked = [&](const Tensor& both) {
      return two ? RecurrentState(part(both, 0, kWidth), part(both, 1, kWidth)) : RecurrentState(both);
    };
    const GradcheckResult check = gradcheck(
        [&](const Tensor& x_in, const Tensor& state) {
          return whole(step_by_hand(kind, x_in, unpacked(state), weights));
        },
        {x, carried}, cell.parameters());
    if (!check.ok()) fmt::print("{}", check.report());
    report.check(fmt::format("{}: gradcheck of one step, {} derivatives", name_of(kind), check.compared),
                 check.ok());
    const double apart =
        largest(whole(step_by_hand(kind, x, unpacked(carried), weights)) - whole(cell(x, unpacked(carried))));
    report.check(fmt::format("{}: nn/'s cell gives the same to 1e-12 (here {:.0e})", name_of(kind), apart),
                 apart < 1e-12);
  }
}

// ---- 2. Padding -------------------------------------------------------------------------------------------
//
// Strings of different lengths stand in one tensor, the short ones filled up. A cell knows nothing of that
// and would go on stepping through the filling. So past a string's end the old state is taken over. Two
// things are masked, and both are needed: the state, so that it stops; and the input, since in the gradient
// of W a padded x is multiplied by a 0, and 0 · NaN is NaN.

/// x (B, T, in) → the state after each row's last symbol; `shown`, if given, gets the states step by step.
RecurrentState run_by_hand(CellKind kind, const Tensor& x, const ValidLengths& lengths, const Weights& m,
                           std::vector<Tensor>* shown = nullptr) {
  const Size batch = x.size(0), time = x.size(1), width = m.u.size(1);
  const Tensor none = zeros({batch, width}, x.dtype()), zero = scalar(0, x.dtype());
  RecurrentState state = kind == CellKind::lstm ? RecurrentState(none, none) : RecurrentState(none);
  for (Size t = 0; t < time; ++t) {
    const Mask inside = Mask::from(batch, 1, [&](Size row, Size) { return t < lengths[row]; });
    const RecurrentState next = step_by_hand(kind, where(inside, select(x, 1, t), zero), state, m);
    state.hidden = where(inside, next.hidden, state.hidden);
    if (state.cell.defined()) state.cell = where(inside, next.cell, state.cell);
    if (shown) shown->push_back(state.hidden);
  }
  return state;
}

void show_padding(std::uint64_t seed, kit::Report& report) {
  const ValidLengths lengths = {5, 3};
  const Tensor x = random_normal({2, 5, 3}, seed, DType::f64);
  const Tensor outside = scalar(std::numeric_limits<double>::quiet_NaN(), DType::f64);
  const Tensor poisoned = where(lengths.mask(5).reshape({2, 5, 1}), x, outside);
  for (const CellKind kind : kKinds) {
    Recurrent layer({}, kind, 3, 4);
    layer.initialise(seed, DType::f64);
    const Weights weights = Weights::of(layer);
    std::vector<Tensor> states;
    const Tensor ours = run_by_hand(kind, x, lengths, weights, &states).hidden;
    if (kind == CellKind::gru) {
      fmt::print("  the first unit of the GRU's state, string by string; the second one has 3 symbols:\n");
      for (Size row = 0; row < 2; ++row) {
        fmt::print("   ");
        for (const Tensor& state : states) fmt::print("  {:7.4f}", state.at({row, 0}));
        fmt::print("\n");
      }
      const Tensor still = select(states[4], 0, 1) - select(states[2], 0, 1);
      report.check("the state of the short string stands still, to the last bit", largest(still) == 0);
    }
    const auto by_hand = [&](const Tensor& in) {
      return gradients([&] { return run_by_hand(kind, in, lengths, weights).hidden; }, layer.parameters(),
                       seed);
    };
    const auto by_nn = [&](const Tensor& in) {
      return gradients([&] { return layer(in, lengths).final[0].hidden; }, layer.parameters(), seed);
    };
    const double apart =
        std::max(largest(ours - layer(x, lengths).final[0].hidden), farthest(by_hand(x), by_nn(x)));
    report.check(fmt::format("{}: nn/'s layer gives the same, gradients too ({:.0e})", name_of(kind), apart),
                 apart < 1e-12);
    report.check(fmt::format("{}: NaN in the padding changes no bit of any gradient", name_of(kind)),
                 farthest(by_hand(x), by_hand(poisoned)) == 0 && farthest(by_nn(x), by_nn(poisoned)) == 0);
  }
}

// ---- 3. What is left of a step ----------------------------------------------------------------------------
//
// The task: forty-one symbols come in, ten kinds, all random, and at the end the model must name the first.
// Everything after it is noise. The gradient that the first symbol gets is a product of forty Jacobians
// ∂h_{t+1}/∂h_t. If each shrinks a vector a little, the product is nothing; if each stretches it, the product
// explodes (Bengio, Simard & Frasconi 1994): clip_gradients() then shortens the gradient to length 1. The
// usual start of a plain cell, uniform on ±1/√H, is of the first sort: U shrinks a vector to about 0.58 of
// its length (each unit adds H numbers of variance 1/3H, and √(1/3) is that), and tanh takes its share too.
//
// An LSTM's road c' = f ⊙ c + … is multiplied by f alone, a GRU's by z. With a bias of 0 these gates stand
// near one half, and after forty steps that is nothing as well. This is what a gate's bias is for: with
// bias + 3 the gate stands at σ(3) = 0.95, and 0.14 of c is left after forty steps. (Gers et al. 2000
// proposed a positive bias of the forget gate; Jozefowicz et al. 2015 found that it matters more than most
// inventions.)
//
// (In the picture before training the line of the LSTM with bias 3 even rises again: c acts on the later
// gates through h as well, and in some directions that and f together are more than 1.)
//
// A plain cell has no gate to open, but U can start as a rotation: *orthogonal*, it changes no length, and
// only tanh shrinks.

constexpr Size kSymbols = 10, kNoise = 40, kWidth = 64, kEmbedding = 16;

enum class Start { usual, open_gate, orthogonal };

struct Plan {
  CellKind kind;
  Start start;
  bool mixed = false;  // noise of any length up to kNoise in training, not of that very length

  std::string name() const {
    std::string text = name_of(kind);
    if (start == Start::open_gate) text += kind == CellKind::lstm ? ", forget bias 3" : ", update bias 3";
    if (start == Start::orthogonal) text += ", orthogonal";
    if (mixed) text += ", mixed lengths";
    return text;
  }
};

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
  const State weights = model.layer.state();  // views of the living weights
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

struct Strings {
  Indices symbols;       // (B, 1 + the longest noise)
  ValidLengths lengths;  // (B)
  Indices first;         // (B)
};

Strings draw(kit::Random random, Size batch, Size shortest, Size longest) {
  Ids symbols, first;
  std::vector<Size> lengths;
  for (Size row = 0; row < batch; ++row) {
    for (Size t = 0; t <= longest; ++t) symbols.push_back(random.below(kSymbols));
    first.push_back(symbols[static_cast<std::size_t>(row * (longest + 1))]);
    lengths.push_back(1 + random.between(shortest, longest));
  }
  return {Indices(symbols, {batch, longest + 1}), ValidLengths(lengths), Indices(first, {batch})};
}

/// ‖∂(u · h_T)/∂x_t‖ for a random u, against the distance T − t, as a share of that of the last symbol: how
/// much a nudge to a symbol so far back still moves the state.
kit::Series influence(const Recaller& model, const std::string& name, std::uint64_t seed) {
  const Strings strings = draw(kit::Random(seed, 3'000'000), 32, kNoise, kNoise);
  const Tensor x = variable(model.embedding(strings.symbols).detach());
  Tape tape;
  const Tensor last = model.layer(x).final[0].hidden;
  const Tensor gradient = tape.gradients(last, random_normal(last.shape(), seed), {&x, 1})[0];
  const std::vector<double> norms = sqrt(sum(gradient * gradient, {0, 2})).to_vector();
  kit::Series series{name, {}, {}};
  for (Size back = 0; back <= kNoise; ++back) {
    series.x.push_back(static_cast<double>(back));
    series.y.push_back(norms[static_cast<std::size_t>(kNoise - back)] / norms.back());
  }
  return series;
}

// ---- 4. Training ------------------------------------------------------------------------------------------
//
// Everything else is equal: 64 units, the same strings, the same steps. Two things can be changed from
// outside. The start, as above; and the lengths. With forty symbols of noise in every string there is nothing
// easier to begin with. With any number from none to forty, the short strings have a gradient from the first
// step on, and who can hold a symbol over three steps learns to hold it over four.

struct Outcome {
  Size steps = 0;  // until it was learned, or all
  double loss = 0, right = 0;
  double at_ends = 0;         // units of the last state that stand at an end of tanh, in per cent
  kit::Series before, after;  // influence
};

/// Trains until nothing is left to be learned, or the steps are over.
Outcome train(Recaller& model, const Plan& plan, const kit::Options& options) {
  constexpr Size kBatch = 64;
  constexpr double kLearned = 0.01;
  Adam adam(model.parameters(), {.learning_rate = 3e-3});
  kit::Progress progress(options.steps, {.unit = "strings"});
  Outcome outcome;
  outcome.loss = std::log(static_cast<double>(kSymbols));  // a running mean, from chance
  while (outcome.steps < options.steps && outcome.loss > kLearned) {
    const auto stream = static_cast<std::uint64_t>(++outcome.steps);
    const Strings strings = draw(kit::Random(options.seed, stream), kBatch, plan.mixed ? 0 : kNoise, kNoise);
    Tape tape;
    const Tensor loss = cross_entropy(model(strings.symbols, strings.lengths), strings.first);
    tape.backward(loss);
    clip_gradients(model.parameters(), 1.0);
    adam.step();
    outcome.loss = 0.9 * outcome.loss + 0.1 * loss.item();
    progress.step(loss.item(), kBatch);
  }
  progress.finish();
  return outcome;
}

/// In per cent, over strings with kNoise symbols after the first.
double accuracy(const Recaller& model, std::uint64_t seed, Size count) {
  constexpr std::uint64_t kTestStream = 2'000'000;  // far from the streams of training
  const Strings strings = draw(kit::Random(seed, kTestStream), count, kNoise, kNoise);
  const Ids said = argmax(model(strings.symbols)).to_vector(), first = strings.first.to_vector();
  Size right = 0;
  for (std::size_t i = 0; i < said.size(); ++i) right += said[i] == first[i];
  return 100.0 * static_cast<double>(right) / static_cast<double>(count);
}

/// In per cent: units of the last state beyond ±0.9.
double at_ends(const Recaller& model, std::uint64_t seed) {
  const Strings strings = draw(kit::Random(seed, 3'000'000), 32, kNoise, kNoise);
  const Tensor h = abs(model.layer(model.embedding(strings.symbols)).final[0].hidden);
  return 100 * mean(where(less(scalar(0.9), h), scalar(1), scalar(0))).item();
}

Outcome run(const Plan& plan, const kit::Options& options) {
  Recaller model(plan.kind);
  prepare(model, plan, options.seed);
  const kit::Series before = influence(model, plan.name(), options.seed);
  Outcome outcome = train(model, plan, options);
  outcome.before = before;
  outcome.after = influence(model, plan.name(), options.seed);
  outcome.at_ends = at_ends(model, options.seed);
  outcome.right = accuracy(model, options.seed, options.smoke ? 20 : 1000);
  fmt::print("  {:<40}{:>7}{:>10.3f}{:>10.1f} %\n", plan.name(), outcome.steps, outcome.loss, outcome.right);
  return outcome;
}

kit::Chart influence_chart(const char* when, std::vector<kit::Series> series) {
  return {fmt::format("What is left of a symbol, {}", when),
          "steps back",
          "gradient, as a share of the last symbol's",
          std::move(series),
          {},
          kit::Scale::linear,
          kit::Scale::log};
}

/// The figures of part 3's text.
void check_figures(std::uint64_t seed, kit::Report& report) {
  RNN layer(kEmbedding, kWidth);
  layer.initialise(seed);
  const Tensor v = random_normal({1000, kWidth}, seed), uv = matmul(v, transpose(Weights::of(layer).u));
  report.quoted("U shrinks a vector at the usual start to",
                std::sqrt(sum(uv * uv).item() / sum(v * v).item()), 0.58, 0.05);
  const double open = sigmoid(scalar(3, DType::f64)).item();
  report.quoted("a gate with bias 3", open, 0.95, 0.01);
  report.quoted("what such a gate leaves after forty steps", std::pow(open, kNoise), 0.14, 0.05);
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Three cells from plain ops");
  show_cells(options.seed, report);

  report.section("Padding does not move a state");
  show_padding(options.seed, report);

  report.section("Naming the first symbol after forty more");
  fmt::print("  {:<40}{:>7}{:>10}{:>12}\n", "", "steps", "loss", "right");
  const auto of = [&](CellKind kind, Start start, bool mixed = false) {
    return run({kind, start, mixed}, options);
  };
  const Outcome rnn = of(CellKind::rnn, Start::usual), rotated = of(CellKind::rnn, Start::orthogonal);
  const Outcome lstm = of(CellKind::lstm, Start::usual), lstm_open = of(CellKind::lstm, Start::open_gate);
  const Outcome gru = of(CellKind::gru, Start::usual), gru_open = of(CellKind::gru, Start::open_gate);
  const Outcome rnn_mixed = of(CellKind::rnn, Start::usual, true);
  const Outcome rotated_mixed = of(CellKind::rnn, Start::orthogonal, true);
  const Outcome lstm_mixed = of(CellKind::lstm, Start::usual, true);
  const Outcome gru_mixed = of(CellKind::gru, Start::usual, true);
  fmt::print("\n");
  report.at_least("LSTM, forget gate open at the start", lstm_open.right, 99, "%");
  report.at_least("GRU, update gate open at the start", gru_open.right, 99, "%");
  report.at_most("plain RNN, usual start", rnn.right, 30, "%");
  report.at_most("LSTM, usual start", lstm.right, 30, "%");
  report.at_most("GRU, usual start", gru.right, 30, "%");
  report.at_least("LSTM, usual start, mixed lengths", lstm_mixed.right, 99, "%");
  report.at_least("GRU, usual start, mixed lengths", gru_mixed.right, 99, "%");
  report.at_least("plain RNN, usual start, mixed lengths", rnn_mixed.right, 40, "%");
  report.at_least("plain RNN, orthogonal, mixed lengths", rotated_mixed.right, 70, "%");

  // Each line that falls is a past that fades: *recency*. The last symbols count, whatever they say.
  report.section("What is left of a symbol before training");
  check_figures(options.seed, report);
  kit::show(influence_chart("before training", {rnn.before, rotated.before, lstm.before, lstm_open.before,
                                                gru.before, gru_open.before}),
            options.out / "before.svg");

  // After training, the line of a gated cell that has learned the task falls first and then rises: the noise
  // in between is kept out, and the symbol at the far end moves the state more than the last one does. The
  // plain cell with mixed lengths does it in another way. Its line falls, and yet it remembers: most of its
  // units stand at the ends of tanh, where they hold like switches, and a small nudge moves nothing. Gradient
  // and memory are two things. But what has no gradient at the start is not learned.
  report.section("What is left of a symbol after training");
  kit::show(influence_chart("after training", {rnn.after, rotated_mixed.after, lstm.after, lstm_open.after,
                                               gru.after, gru_open.after}),
            options.out / "after.svg");
  const auto rises = [](const kit::Series& series) { return series.y.back() > 1; };
  report.figure("LSTM, forget bias 3: share that is left of the first symbol", lstm_open.after.y.back());
  report.figure("GRU, update bias 3: share that is left of the first symbol", gru_open.after.y.back());
  report.figure("plain RNN, orthogonal, mixed lengths: the same", rotated_mixed.after.y.back());
  report.figure("its units beyond ±0.9", rotated_mixed.at_ends, "%");
  report.figure("units beyond ±0.9 of the plain RNN that did not learn", rnn.at_ends, "%");
  if (options.smoke) return;
  report.check("with open gates the first symbol counts more than the last",
               rises(lstm_open.after) && rises(gru_open.after));
  report.check("the plain RNN remembers with a gradient that has all but gone",
               rotated_mixed.after.y.back() < 0.01);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("09_recurrence", "a state carries the past, and forgets");
  program.steps(700, 3);
  return program.run(argc, argv, lesson);
}
