// 13 local: look only near p_t
//
// The attention of lessons 11 and 12 weighs the whole source for every word. That costs time with a long
// source, and it is not how one reads aloud or copies: the place to look at moves along. Luong, Pham and
// Manning (2015, section 3.2) therefore put a window over the source. Only the keys within D places of a
// position p_t are looked at. Either p_t = t (*local-m*, monotonic), or the decoder predicts it (*local-p*).
//
// You will: 1 build both windows from plain ops, and check them; 2 learn why no derivative exists where p_t
// crosses a window's edge; 3 add neighbours with local-m, where more keys are not better; 4 read a text in
// which every letter is doubled, where p_t = t runs too slowly and local-p finds out how fast to go.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/text/vocabulary.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/seq2seq/seq2seq.hpp"

using namespace tapestry;
using kit::Ids;
using kit::largest, kit::gradients;

namespace {

constexpr DType f64 = DType::f64;

// ---- 1. A window ------------------------------------------------------------------------------------------
//
// Places count from 0, keys j = 0 … S−1, queries t = 0, 1, … In local-m there is nothing to compute, p_t = t.
// In local-p the decoder's state h_t says where to look, as a share of the source's length S:
//
//     p_t = S · sigmoid(v_p · tanh(W_p h_t))          W_p (U, d_h), v_p (U)
//
// The sigmoid keeps p_t inside the source. p_t is a real number, and so it can be learned.

/// h (B, Tq, d_h), all sources of length S → p (B, Tq).
Tensor predict_positions(const Tensor& h, Size length, const Tensor& w_p, const Tensor& v_p) {
  const Tensor score = sum(tanh(matmul(h, transpose(w_p))) * v_p, {-1});
  return static_cast<double>(length) * sigmoid(score);
}

// The window is a mask, and you know masks from lesson 7: true where |j − p_t| ≤ D.

/// p (B, Tq) → (B, Tq, S)
Mask inside_window(const Tensor& p, Size length, Size reach) {
  const std::vector<double> positions = p.to_vector();
  const auto near = [&](Size row, Size j) {
    return std::abs(static_cast<double>(j) - positions[static_cast<std::size_t>(row)]) <=
           static_cast<double>(reach);
  };
  return Mask::from(p.count(), length, near).reshape({p.size(0), p.size(1), length});
}

// A mask is true or false. It has no slope, so no gradient comes through it, and p_t would never learn. So
// in local-p the weights also fade with the distance from p_t, by a Gaussian whose deviation is σ = D/2:
//
//     α_tj = softmax of the scores inside the window · exp(−(j − p_t)² / 2σ²)
//
// Now p_t is on the tape: "I would rather have had more of the key on my right" becomes "move right". The
// weights are *not* normalised again after it. They sum to less than 1, and a key far from p_t counts for
// little even if it is the only one in the window.

Tensor gaussian(const Tensor& p, Size length, Size reach) {
  const double sigma = static_cast<double>(reach) / 2;
  const Tensor away = arange(0, static_cast<double>(length), 1, p.dtype()) - unsqueeze(p, -1);
  return exp(away * away / (-2 * sigma * sigma));
}

struct Look {
  Tensor context;  // (B, Tq, d_k)
  Tensor weights;  // (B, Tq, S)
};

enum class Fade { no, yes };

/// The score is lesson 12's general one, q · W k; any other would do.
Look look_near(const Tensor& h, const Tensor& keys, const Tensor& w, const Tensor& p, Size reach, Fade fade) {
  const Tensor scores = matmul(matmul(h, w), transpose(keys));
  const Tensor chosen = masked_softmax(scores, inside_window(p, keys.size(1), reach));
  const Tensor weights = fade == Fade::yes ? chosen * gaussian(p, keys.size(1), reach) : chosen;
  return {matmul(weights, keys), weights};
}

// ---- 2. Where there is no derivative ----------------------------------------------------------------------
//
// When p_t moves, a key enters the window at distance exactly D. There the Gaussian is
// exp(−D² / 2(D/2)²) = e⁻² = 0.135, which is not 0: the key comes in with 0.135 times its softmax weight, at
// one blow, and the softmax takes what it needs from the others. At such a place the context *jumps*, and a
// function that jumps has no derivative. gradcheck's differences, which go a little to the left and a little
// to the right, would measure the jump. Everywhere else the derivative is what the tape says, so we check
// where every p_t is at least a tenth of a place away from the next edge. With a whole D the edges are at
// whole p_t. (Training does not mind. A p_t that stands exactly on an edge has probability 0.)

double nearest_edge(const Tensor& p) {
  double nearest = 1;
  for (const double x : p.to_vector()) nearest = std::min(nearest, std::abs(x - std::round(x)));
  return nearest;
}

constexpr Size kSources = 2, kQueries = 4, kKeys = 7, kState = 5, kWidth = 3, kReach = 2;

/// States whose p_t are all far from an edge.
Tensor states_off_the_edges(const Tensor& w_p, const Tensor& v_p, std::uint64_t seed) {
  for (std::uint64_t draw = 0;; ++draw) {
    const Tensor h = random_normal({kSources, kQueries, kState}, seed + 1000 * draw, f64) * 2;
    if (nearest_edge(predict_positions(h, kKeys, w_p, v_p)) >= 0.1) return variable(h, "h");
  }
}

void check_local(const char* name, const Local& local, std::uint64_t seed, kit::Report& report) {
  const bool predicts = local.kind == Local::Kind::predictive;
  Attention attention(general(kState, kWidth), {.local = local});
  attention.initialise(seed, f64);
  std::vector<Tensor> leaves = attention.parameters();  // the score's W; then the window's W_p and v_p
  const Tensor w = leaves[0], w_p = predicts ? leaves[1] : Tensor(), v_p = predicts ? leaves[2] : Tensor();
  const Tensor h = predicts ? states_off_the_edges(w_p, v_p, seed)
                            : variable(random_normal({kSources, kQueries, kState}, seed, f64), "h");
  const Tensor keys = variable(random_normal({kSources, kKeys, kWidth}, seed + 1, f64), "keys");

  const auto positions = [&](const Tensor& states) {
    if (predicts) return predict_positions(states, kKeys, w_p, v_p);
    return expand(arange(0, kQueries, 1, f64), {kSources, kQueries});
  };
  const auto by_hand = [&](const Tensor& states, const Tensor& k) {
    return look_near(states, k, w, positions(states), local.reach, predicts ? Fade::yes : Fade::no);
  };
  const GradcheckResult check =
      gradcheck([&](const Tensor& states, const Tensor& k) { return by_hand(states, k).context; }, {h, keys},
                leaves, GradcheckOptions{.seed = seed});
  if (!check.ok()) fmt::print("{}", check.report());

  const Look ours = by_hand(h, keys);
  const Attended theirs = attention(h, keys, keys);
  leaves.insert(leaves.end(), {h, keys});
  const std::vector<Tensor> a = gradients([&] { return by_hand(h, keys).context; }, leaves, seed + 3);
  const std::vector<Tensor> b = gradients([&] { return attention(h, keys, keys).context; }, leaves, seed + 3);
  const double apart =
      std::max({largest(ours.context - theirs.context), largest(ours.weights - theirs.weights),
                largest(positions(h) - theirs.positions), kit::farthest(a, b)});

  fmt::print("  {}, source 1:\n", name);
  for (Size t = 0; t < kQueries; ++t) {
    fmt::print("    p = {:.2f}  α =", theirs.positions.at({0, t}));
    for (Size j = 0; j < kKeys; ++j) fmt::print("  {:.3f}", ours.weights.at({0, t, j}));
    fmt::print("   sum {:.3f}\n", sum(select(select(ours.weights, 0, 0), 0, t)).item());
  }
  report.check(
      fmt::format("{}  gradcheck, {} derivatives; nn/ gives the same to 1e-12", name, check.compared),
      check.ok() && apart < 1e-12);
}

/// One query whose p we move by hand.
void show_the_edge(std::uint64_t seed, kit::Report& report) {
  const Tensor h = random_normal({1, 1, kState}, seed, f64),
               w = random_normal({kState, kWidth}, seed + 1, f64);
  const Tensor keys = random_normal({1, kKeys, kWidth}, seed + 2, f64);
  const auto at = [&](double p) { return look_near(h, keys, w, tensor({{p}}, f64), kReach, Fade::yes); };
  constexpr double kEdge = 3, kStep = 1e-9;
  constexpr Size kEntering = 5;  // 3 + D
  const double before = at(kEdge - kStep).weights.at({0, 0, kEntering});
  const double after = at(kEdge + kStep).weights.at({0, 0, kEntering});
  const Tensor scores = matmul(matmul(h, w), transpose(keys));
  const Mask window = inside_window(tensor({{kEdge + kStep}}, f64), kKeys, kReach);
  const double share = masked_softmax(scores, window).at({0, 0, kEntering});
  fmt::print("  p moves over {}: key {} enters with weight {:.4f}, having had {}; its softmax is {:.4f}\n",
             kEdge, kEntering, after, before, share);
  report.quoted("what the Gaussian leaves of it there", after / share, 0.135, 0.01);
  const auto context = [&](const Tensor& p) { return look_near(h, keys, w, p, kReach, Fade::yes).context; };
  const GradcheckResult on = gradcheck(context, {tensor({{kEdge}}, f64)}),
                        off = gradcheck(context, {tensor({{kEdge + 0.3}}, f64)});
  report.check("gradcheck with p on the edge finds no derivative", !on.ok() || !on.kinks.empty());
  report.check("and passes at 0.3 from it", off.ok() && off.kinks.empty());
}

// ---- 3. Neighbours ----------------------------------------------------------------------------------------
//
// The source is a row of digits, and the answer at t is the sum of digits t − 1, t and t + 1, modulo 10 (at
// the two ends there are only two). To see what a window does, we let nothing else know about places: keys
// and values are the digits' embeddings, with no recurrent encoder to mix neighbours in. The decoder is
// lesson 12's. It hears the same "tick" at every step, so all it can do is count.

constexpr Size kDigits = 10, kShortest = 6, kLongest = 16, kFirst = kit::kEnd + 1;

struct Rows {
  Indices source;   // (B, S)
  Indices answers;  // (B, T)
};

Ids draw_symbols(kit::Random& random, Size count, Size symbols) {
  Ids row;
  for (Size i = 0; i < count; ++i) row.push_back(random.below(symbols));
  return row;
}

Rows draw_sums(kit::Random random, Size count, Size length) {
  Ids source, answers;
  for (Size row = 0; row < count; ++row) {
    const Ids digits = draw_symbols(random, length, kDigits);
    for (Size t = 0; t < length; ++t) {
      std::int64_t total = 0;
      for (Size j = std::max<Size>(0, t - 1); j <= std::min(length - 1, t + 1); ++j)
        total += digits[static_cast<std::size_t>(j)];
      source.push_back(kFirst + digits[static_cast<std::size_t>(t)]);
      answers.push_back(kFirst + total % kDigits);
    }
  }
  return {Indices(source, {count, length}), Indices(answers, {count, length})};
}

// In nn/ a window is an option of any attention, .local = local_m(1), and none if it is left empty; a decoder
// hands .attend on to its attention.

constexpr Size kEmbedding = 32, kHidden = 32, kSymbols = 20, kVocabulary = kFirst + kSymbols;

struct Reader : Module {
  explicit Reader(std::optional<Local> local)
      : letters{{*this, "letters"}, kVocabulary, kEmbedding, {}, normal(0.4)},
        decoder{{*this, "decoder"}, {.states = kEmbedding, .final = kEmbedding}, options(local)} {}

  static DecoderOptions options(std::optional<Local> local) {
    return {.vocabulary = kVocabulary,
            .embedding = kEmbedding,
            .hidden = kHidden,
            .readout = 256,
            .score = general(kHidden, kEmbedding),
            .attend = {.local = local},
            .input_feeding = false};
  }
  /// Keys and values are embeddings. In place of a last state the decoder is told how long the source is.
  Tensor operator()(const Rows& rows) const {
    const Size batch = rows.source.shape()[0], length = rows.source.shape()[1];
    const Tensor told = full({batch, kEmbedding}, static_cast<double>(length) / (2.0 * kLongest));
    const Ids ticks(static_cast<std::size_t>(rows.answers.count()), kit::kStart);
    return decoder(Indices(ticks, rows.answers.shape()), {letters(rows.source), {told}, {}});
  }

  Embedding letters;
  LuongDecoder decoder;
};

using Draw = Rows (*)(kit::Random random, Size count, Size length);

/// At its highest the rate is `rate`.
void train(Reader& model, const char* name, Draw draw, Size steps, double rate, std::uint64_t seed) {
  constexpr Size kBatch = 64;
  model.initialise(seed);
  kit::train(model, {.name = name, .steps = steps, .rate = rate, .batch = kBatch, .seed = seed},
             [&](kit::Random random) {
               const Size length = random.between(kShortest, kLongest);
               const Rows rows = draw(random, kBatch, length);
               return cross_entropy(model(rows), rows.answers);
             });
}

struct Counted {
  double symbols = 0, rows = 0;  // per cent right, over all lengths alike
};

Counted count(const Reader& model, Draw draw, const kit::Options& options) {
  constexpr std::uint64_t kTestStreams = 1'000'000;  // far from the streams of training
  constexpr double kLengths = kLongest - kShortest + 1;
  Counted counted;
  for (Size length = kShortest; length <= kLongest; ++length) {
    const kit::Random random(options.seed, kTestStreams + static_cast<std::uint64_t>(length));
    const Rows test = draw(random, options.smoke ? 5 : 200, length);
    const Indices written = argmax(model(test));
    counted.symbols += kit::percent_equal(written, test.answers) / kLengths;
    counted.rows += kit::percent_rows_equal(written, test.answers) / kLengths;
  }
  return counted;
}

// A picture of a window: answers down, the source across, and nothing drawn where the window does not reach.
// The rows also say where p_t is.

constexpr Size kShown = 8;

kit::Heatmap window_picture(const Reader& model, Draw draw, std::uint64_t seed, char first,
                            const char* title) {
  const Rows rows = draw(kit::Random(seed, 2'000'000), 1, kShown);
  const auto symbol = [&](std::int64_t id) {
    return std::string(1, static_cast<char>(first + (id - kFirst)));
  };
  const WeightRecorder recorder(model.decoder.attention);  // keeps weights and positions while it lives
  const Ids written = argmax(model(rows)).to_vector();
  const Tensor p = recorder.positions().front();  // (1, T)
  kit::Heatmap map;
  map.title = title;
  for (const std::int64_t id : rows.source.to_vector()) map.columns.push_back(symbol(id));
  for (Size t = 0; t < kShown; ++t)
    map.rows.push_back(
        fmt::format("{} (p_t = {:.1f})", symbol(written[static_cast<std::size_t>(t)]), p.at({0, t})));
  map.most = 0.5;
  map.values = recorder.weights().front().to_vector();
  for (double& weight : map.values)
    if (weight == 0) weight = std::numeric_limits<double>::quiet_NaN();  // outside the window
  return map;
}

// With D = 1 the window holds exactly the digits that count, and one tanh layer has to add them up and to
// reduce. With D = 0 it misses two of three, and can only guess. So far this is no surprise. But with D = 2
// all needed digits are there, and two more, and that is nearly as bad: an embedding does not say where it
// stands, and inside the window all keys look alike. So they do with no window at all, which is the attention
// of the lessons before. A window is more than a saving: here it is all that is known about order.

void add_neighbours(const kit::Options& options, kit::Report& report) {
  struct Setting {
    const char* name;
    std::optional<Local> local;
  };
  kit::Bars bars{"The sum of three neighbours: local-m with several windows", "digits right in %", {}, {}};
  std::vector<Counted> counted;
  std::optional<kit::Heatmap> map;
  fmt::print("  window       digits right   whole rows right\n");
  for (const Setting& setting : {Setting{"D = 0", local_m(0)}, Setting{"D = 1", local_m(1)},
                                 Setting{"D = 2", local_m(2)}, Setting{"no window", {}}}) {
    Reader model(setting.local);
    train(model, setting.name, draw_sums, options.steps, 1.5e-2, options.seed);
    counted.push_back(count(model, draw_sums, options));
    fmt::print("  {:<11}  {:>10.1f} %   {:>14.1f} %\n", setting.name, counted.back().symbols,
               counted.back().rows);
    bars.bars.push_back({setting.name, counted.back().symbols});
    if (counted.size() == 2)
      map = window_picture(model, draw_sums, options.seed, '0', "Adding neighbours, local-m with D = 1");
  }
  report.at_least("local-m, D = 1: digits right", counted[1].symbols, 99, "%");
  report.at_most("local-m, D = 0: digits right", counted[0].symbols, 20, "%");
  report.at_most("local-m, D = 2: digits right", counted[2].symbols, 30, "%");
  report.at_most("no window: digits right", counted[3].symbols, 20, "%");
  bars.level = kit::Level{99, "target"};
  kit::show(bars, options.out / "neighbours.svg");
  kit::show(*map, options.out / "local_m.svg");
}

// ---- 4. A text in which every letter is doubled -----------------------------------------------------------
//
// Now the source is "kkeeyyss", and the answer is "keys". The place to look at moves by two for every letter
// written. In local-m it moves by one: at step t the window ends at t + D, while letter t stands at 2t and
// 2t + 1, so that only the first D + 1 letters ever come into sight. It must guess the others.
//
// local-p can learn where to look: p_t = 2t + ½, in the middle of the two. Nobody tells it. All it has is the
// loss on the letters, which reaches p_t through the slope of the Gaussian. Note what it has to know:
// p_t / S = (2t + ½) / S, so the decoder must count, and must know S. (Our decoder is told S at its start; an
// encoder's last state would say it too.) At first the sigmoid is near ½, and every p_t near the middle of
// the source. The steps whose letter stands there learn first, and the others follow from them, as h_t moves
// smoothly.

Rows draw_doubled(kit::Random random, Size count, Size length) {
  Ids source, answers;
  for (Size row = 0; row < count; ++row)
    for (const std::int64_t letter : draw_symbols(random, length, kSymbols)) {
      source.insert(source.end(), {kFirst + letter, kFirst + letter});
      answers.push_back(kFirst + letter);
    }
  return {Indices(source, {count, 2 * length}), Indices(answers, {count, length})};
}

/// p_t at every step of one text.
std::vector<double> positions_of(const Reader& model, Size length, std::uint64_t seed) {
  const WeightRecorder recorder(model.decoder.attention);
  model(draw_doubled(kit::Random(seed, 2'000'000), 1, length));
  return recorder.positions().front().to_vector();
}

void undo_doubling(const kit::Options& options, kit::Report& report) {
  const Size steps = std::max<Size>(1, options.steps * 3 / 5);
  const auto run = [&](Reader& model, const char* name) {
    // At twice the rate p_t may run to an end of the source early, where the sigmoid is flat and holds it.
    train(model, name, draw_doubled, steps, 1.5e-3, options.seed);
    const Counted result = count(model, draw_doubled, options);
    fmt::print("  {:<8}  {:>6.1f} % of letters, {:>6.1f} % of whole texts\n", name, result.symbols,
               result.rows);
    return result;
  };
  Reader monotonic(local_m(kReach)), predictive(local_p(kReach, kHidden, kHidden));
  const Counted with_m = run(monotonic, "local-m"), with_p = run(predictive, "local-p");
  report.at_least("local-p, D = 2: whole texts right", with_p.rows, 99, "%");
  report.at_most("local-m, D = 2: letters right", with_m.symbols, 50, "%");

  const std::vector<double> p = positions_of(predictive, kLongest, options.seed);
  kit::Series learned{"local-p", {}, p, kit::Mark::points}, wanted{"2t + ½", {}, {}}, m{"local-m: t", {}, {}};
  double furthest = 0;
  for (std::size_t t = 0; t < p.size(); ++t) {
    const auto step = static_cast<double>(t);
    for (kit::Series* series : {&learned, &wanted, &m}) series->x.push_back(step);
    wanted.y.push_back(2 * step + 0.5);
    m.y.push_back(step);
    furthest = std::max(furthest, std::abs(p[t] - wanted.y.back()));
  }
  report.at_most("furthest p_t from 2t + ½, in places", furthest, 1);
  kit::Chart chart{
      "Where the window stands: p_t against t", "t, letters written", "p_t, place in the source", {}, {}};
  chart.series = {wanted, m, learned};
  kit::show(chart, options.out / "positions.svg");
  kit::show(
      window_picture(predictive, draw_doubled, options.seed, 'a', "Undoing a doubling, local-p with D = 2"),
      options.out / "local_p.svg");
}

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A window");
  check_local("local-m", local_m(1), options.seed, report);                  // D = 1
  check_local("local-p", local_p(kReach, kState, 4), options.seed, report);  // D, width of h_t, rows of W_p
  report.section("Where there is no derivative");
  show_the_edge(options.seed, report);
  report.section("Neighbours");
  add_neighbours(options, report);
  report.section("A text in which every letter is doubled");
  undo_doubling(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("13_local", "look only near p_t");
  program.steps(2500, 10);
  return program.run(argc, argv, lesson);
}
