// 29 pointer: copy, cover, move on
//
// 20 minutes to read, half a minute to run. Needs lessons 11 (attend, then step) and 09 (the GRU). Afterwards you can
// let a writer copy words that it has never seen, tell it what it has read already, and train a reader that goes
// through its source once and writes while it still comes in.
//
// A translator's weights say where it looks. So far they were only a way to mix values. Three faults of
// translators go away if we take them at their word: a name that is not in the vocabulary cannot be written; a
// sentence is written twice, or goes round in circles; and nothing can be written before all has been read.

#include "core/core.hpp"
#include "lessons/29_pointer/circles.hpp"
#include "lessons/29_pointer/codes.hpp"
#include "lessons/29_pointer/copying.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/pointing/coverage.hpp"

using namespace tapestry;
using namespace tapestry::lesson29;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. Write or point ------------------------------------------------------------------------------------
// A *pointer* (Vinyals, Fortunato and Jaitly 2015) answers with a place of its source, and its weights are the
// chances of the places. See, Liu and Manning (2017) mix it with a vocabulary. A gate p_gen, a sigmoid of the
// writer's state, is the share that it writes by itself. The rest it copies from where it looks:
//
//     P(w) = p_gen · P_vocabulary(w) + (1 − p_gen) · Σ_{j: x_j = w} α_j
//
// The sum is over all places j of the source where w stands. With a pencil: the vocabulary is (the, met, <unk>)
// with the chances (0.5, 0.4, 0.1), where <unk> stands in for every unknown word; p_gen = 0.6. The source is
// "Ada met Ada", its weights are (0.5, 0.3, 0.2):
//
//     P(met) = 0.6 · 0.4 + 0.4 · 0.3 = 0.36           from both sides: "met" is known, and stands in the source
//     P(Ada) =             0.4 · (0.5 + 0.2) = 0.28   unknown, but it stands there, twice
//
// In code the unknown words of a source get ids behind those of the vocabulary, V, V + 1, … That takes one op,
// which adds numbers up where their ids are equal:

/// vocabulary (B, V), weights (B, S), p_gen (B, 1), and the source's ids (B, S), `extra` of them ≥ V → (B, V + extra).
Tensor mixture(const Tensor& vocabulary, const Tensor& weights, const Tensor& p_gen, const Indices& source,
               Size extra) {
  const Tensor written = pad(p_gen * vocabulary, -1, 0, extra);
  return scatter_add(written, -1, source, (1.0 - p_gen) * weights);
}

// The loss is −ln P(next word), as always. Its gradient pulls at the gate, at the vocabulary and at the weights,
// each by its share of P: nobody has to say which word is to be copied. In nn/ it is copy_loss().

void write_or_point(std::uint64_t seed, kit::Report& report) {
  const Indices source = Indices{3, 1, 3}.reshape({1, 3});  // Ada met Ada: Ada is 3 = V
  const Tensor p = mixture(tensor({{0.5, 0.4, 0.1}}, f64), tensor({{0.5, 0.3, 0.2}}, f64),
                           tensor({{0.6}}, f64), source, 1);
  kit::check_worked_example(report, "met and Ada", {{p.at({0, 1}), 0.36}, {p.at({0, 3}), 0.28}});
  check_copying(mixture, seed, report);
}

// ---- 2. Names that nobody has taught ----------------------------------------------------------------------
// Sentences of 4 to 10 words are translated. Each of 40 words has one translation, and an adjective changes
// places with the word behind it. One word in four is a name, and stays as it is. The encoder sees no names: all
// are <unk> to it. Two translators as in lesson 11 are trained. One has a gate; the other writes <unk> for a name.

void names(const kit::Options& options, kit::Report& report) {
  const kit::Question replaced = report.ask(
      "<unk> replaced",
      "In place of each <unk> put the word with the largest weight. How many names are right then?",
      {"nearly all: attention knows where it looked", "some, but fewer than nine in ten", "none"});
  const Copied right = train_writers(options);
  report.at_least("writes and copies: names right", right.copies.names, 95, "%");
  report.at_least("writes and copies: known words right", right.copies.words, 95, "%");
  report.at_most("writes only: names right", right.plain.names, 1, "%");
  report.answer(
      replaced, 'b', right.plain.replaced > 5 && right.plain.replaced < 90,
      "Its weights only had to find out that a name comes next, and keys beside the name tell that as well. They "
      "are a pointer when the loss makes them one.");
}

// ---- 3. In circles ----------------------------------------------------------------------------------------
// A text of up to 12 words, some of which come again, is to be copied. This reader has no state: the query is
// the word before, and it looks for the place behind that word. Where that word stands twice, what is it to do?
// *Coverage* (Tu and others 2016) is the weight that each place has got so far, and the score is told of it:
//
//     c_t = Σ_{i<t} α_i              s_tj = v · tanh(W_q q_t + W_k k_j + w_c c_tj)
//
// See, Liu and Manning also add a loss that asks for little to be looked at again, Σ_j min(α_tj, c_tj). With a
// pencil: α₁ = (0.7, 0.2, 0.1) is c₂, and α₂ = (0.5, 0.4, 0.1); the smaller ones are 0.5 + 0.2 + 0.1 = 0.8.

/// queries (T, d_q), keys (S, d_k) → weights (T, S), then the loss of each query (T, 1).
Tensor covering(const Tensor& queries, const Tensor& keys,
                const std::vector<Tensor>& w) {  // W_q, W_k, v, w_c
  const Tensor asked = matmul(queries, transpose(w[0])), offered = matmul(keys, transpose(w[1]));
  Tensor covered = zeros({keys.size(0), 1}, keys.dtype());
  std::vector<Tensor> rows;
  for (Size t = 0; t < queries.size(0); ++t) {
    const Tensor inside = slice(asked, 0, t, t + 1) + offered + covered * w[3];  // (S, hidden)
    const Tensor alpha = softmax(sum(tanh(inside) * w[2], {-1}, Keep::yes), 0);  // (S, 1)
    rows.push_back(concat({transpose(alpha), transpose(sum(minimum(alpha, covered), {0}, Keep::yes))}, 1));
    covered = covered + alpha;
  }
  return concat(rows, 0);
}

void circles(double lambda, const kit::Options& options, kit::Report& report) {
  const Tensor twice = coverage_loss(tensor({{0.7, 0.2, 0.1}, {0.5, 0.4, 0.1}}, f64));
  kit::check_worked_example(report, "looked at again", {{twice.at({1}), 0.8}});
  check_covering(covering, options.seed, report);
  const kit::Question told = report.ask(
      "its loss alone",
      "A reader is trained with coverage's loss, but its score is not told of c. Does it go in circles?",
      {"no: the loss forbids it", "yes", "at first, until the loss is small"});
  const Circles all = train_copiers(lambda, options);
  report.at_most("written again, of those without coverage", 100 * all.both.again / all.plain.again, 10, "%");
  report.at_least("with coverage: words right", all.both.right, 99, "%");
  report.at_most("without: words right", all.plain.right, 60, "%");
  report.answer(
      told, 'b', all.loss_only.again > 5 * all.both.again && all.loss_only.again > 5,
      "After the same word it sees the same query and the same keys, so it looks at the same place. A loss "
      "can only ask for what the weights can know.");
}

// In nn/ that score is additive(…, Coverage::yes), and the loss coverage_loss(). See and others report that the
// score did little before they added the loss. Here it is enough by itself: where to look next depends on little else.

// ---- 4. Never back ----------------------------------------------------------------------------------------
// A telegraph hears letters and pauses, and writes two symbols for each letter, its code. A softmax must hear all
// keys before it has one weight. *Monotonic* attention (Raffel, Luong and others 2017) decides key by key: from
// where it stopped last, it stops at key j with the chance p_j = sigmoid(s_j), or goes on. No key behind the stop
// is needed, if the encoder is a GRU that runs forward only. But a decision has no gradient. So training works out
// the chance α of each stop. With q_tj, the chance that query t comes to key j, and α₀ = (1, 0, 0, …):
//
//     q_tj = (1 − p_{t,j−1}) q_{t,j−1} + α_{t−1,j}              α_tj = p_tj q_tj
//
// With a pencil, all p = ½ and three keys: q₁ = (1, ½, ¼), so α₁ = (0.5, 0.25, 0.125). The rest, 0.125, has come
// to the end. Then q₂ = (0.5, 0.25 + 0.25, 0.25 + 0.125), and α₂ = (0.25, 0.25, 0.1875).

/// p (B, S) and α of the query before (B, S) → α (B, S).
Tensor stops(const Tensor& p, const Tensor& before) {
  Tensor come = slice(before, 1, 0, 1);
  std::vector<Tensor> all;
  for (Size j = 0; j < p.size(1); ++j) {
    const Tensor stop = slice(p, 1, j, j + 1);
    all.push_back(stop * come);
    if (j + 1 < p.size(1)) come = (1.0 - stop) * come + slice(before, 1, j + 1, j + 2);
  }
  return concat(all, 1);
}

// In use it stops at the first key with p > ½, that is s > 0. For that the chances should be near 0 or 1, so in
// training normal noise is added to the scores (--noise): only large ones stand up to it. nn/ has MonotonicAttention.
// Two others are trained, with a softmax and without noise, and then decide in the same way. For a softmax s > 0
// means nothing: a number added to all scores changes no weight.

void never_back(double noise, const kit::Options& options, kit::Report& report) {
  const Tensor half = full({1, 3}, 0.5, f64), first = stops(half, tensor({{1, 0, 0}}, f64));
  const std::vector<double> a = first.to_vector(), b = stops(half, first).to_vector();
  kit::check_worked_example(report, "α₁, α₂", {{a[1], 0.25}, {a[2], 0.125}, {b[1], 0.25}, {b[2], 0.1875}});
  check_stops(stops, options.seed, report);
  const kit::Question quiet =
      report.ask("without noise",
                 "Trained without noise, its worked-out chances get nearly all right. And its decisions?",
                 {"as many", "at least a fifth fewer", "a few fewer"});
  const Telegraphed result = train_telegraphs(noise, options);
  report.at_least("monotonic, decided: symbols right", result.decided, 95, "%");
  report.at_least("the same texts, taking letters one by one", result.online_same, 99, "%");
  report.figure("letters and pauses heard beyond the letter it writes", result.ahead);
  report.at_most("keys scored, of all pairs", result.looked, 30, "%");
  report.at_most("softmax, decided: symbols right", result.softmax_decided, 80, "%");
  report.answer(
      quiet, 'b', result.quiet > 95 && result.quiet_decided < result.decided - 20,
      "Nothing drives its chances to 0 or 1. It mixes keys as a softmax does, and decided, the mixture is gone.");
}

// What to remember. Weights are chances of places. Mixed with a vocabulary they copy; added up they tell what has
// been read; taken one key after another they decide, and need nothing that comes later.
//
// Exercises: lessons/practise 29 (chunks; who is pulled; what it does; a small copier).

void lesson(double lambda, double noise, const kit::Options& options, kit::Report& report) {
  report.section("Write or point");
  write_or_point(options.seed, report);
  report.section("Names that nobody has taught");
  names(options, report);
  report.section("In circles");
  circles(lambda, options, report);
  report.section("Never back");
  never_back(noise, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("29_pointer", "copy, cover, move on");
  program.steps(1500, 4);
  double lambda = 1, noise = 1;
  program.add("--lambda", lambda, "weight of coverage's loss", 0, 100);
  program.add("--noise", noise, "deviation of what is added to monotonic scores in training", 0, 100);
  return program.run(argc, argv, [&](const auto& in, auto& report) { lesson(lambda, noise, in, report); });
}
