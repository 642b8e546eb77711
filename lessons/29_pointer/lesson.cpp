// 29 pointer: copy words, track coverage, attend monotonically
//
// 20 minutes to read, 40 seconds to run. Needs lessons 11 (attend, then step) and 09 (the GRU). Afterwards
// you can build a decoder that copies words which it has never seen. You can tell it which positions it has
// already attended to. And you can train a decoder that writes while the source is still coming in.
//
// A translator's attention weights show which source words it uses. So far, we have only averaged values with
// them. Now we interpret them as probabilities of positions. This removes three limitations of translators:
//
// - A decoder cannot write a name that is not in its vocabulary.
// - A decoder can write the same part of a sentence again and again.
// - A decoder cannot write anything before it has the whole source.

#include "core/core.hpp"
#include "lessons/29_pointer/copying.hpp"
#include "lessons/29_pointer/coverage.hpp"
#include "lessons/29_pointer/telegraph.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/pointing/coverage.hpp"

using namespace tapestry;
using namespace tapestry::lesson29;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. Write or point ------------------------------------------------------------------------------------
// A *pointer network* (Vinyals, Fortunato and Jaitly 2015) answers with a position of its source. Its
// attention weights α_j are the probabilities of the positions. See, Liu and Manning (2017) combine such a
// pointer with a decoder that has a vocabulary. At each step, the decoder either writes a word from its
// vocabulary or copies a word from the source. The probability of writing is p_gen, the *gate*. It is computed
// from the decoder's state, by a linear layer and a sigmoid. So the probability of the next word w is
//
//     P(w) = p_gen · P_vocabulary(w) + (1 − p_gen) · Σ_{j: x_j = w} α_j
//
// x_j is the source word at position j. So the sum is over all positions at which the word w occurs.
//
// Here is an example by hand. The vocabulary is (the, met, <unk>) with the probabilities (0.5, 0.4, 0.1). The
// word <unk> replaces every unknown word. The gate is p_gen = 0.6. The source is "Ada met Ada", and its
// weights are (0.5, 0.3, 0.2):
//
//     P(met) = 0.6 · 0.4 + 0.4 · 0.3 = 0.36           both terms: "met" is known, and it is in the source
//     P(Ada) =             0.4 · (0.5 + 0.2) = 0.28   unknown, but it is in the source, twice
//
// In the code, the unknown words of a source get the ids after the vocabulary: V, V + 1, … Then a single op,
// scatter_add(), computes the sums. It adds up the numbers whose ids are equal.

/// vocabulary (B, V), weights (B, S), p_gen (B, 1), and the source's ids (B, S). `extra` is the number of ids added
/// after the vocabulary, so source ids are < V + extra. Returns (B, V + extra).
Tensor mixture(const Tensor& vocabulary, const Tensor& weights, const Tensor& p_gen, const Indices& source,
               Size extra) {
  const Tensor written = pad(p_gen * vocabulary, -1, 0, extra);
  return scatter_add(written, -1, source, (1.0 - p_gen) * weights);
}

// The loss is −ln P(next word), as always. Its gradient reaches the logits through the written part of P, the
// attention scores through the copied part, and the gate through both. The larger part gets the larger
// gradient. So no label has to say which words are copied. In nn/, the loss is copy_loss().

void write_or_point(std::uint64_t seed, kit::Report& report) {
  const Indices source = Indices{3, 1, 3}.reshape({1, 3});  // Ada met Ada: Ada is 3 = V
  const Tensor p = mixture(tensor({{0.5, 0.4, 0.1}}, f64), tensor({{0.5, 0.3, 0.2}}, f64),
                           tensor({{0.6}}, f64), source, 1);
  kit::check_worked_example(report, "met and Ada", {{p.at({0, 1}), 0.36}, {p.at({0, 3}), 0.28}});
  check_copying(mixture, seed, report);
}

// ---- 2. Unknown names -------------------------------------------------------------------------------------
// The task is to translate sentences of 4 to 10 words. Each of 40 words has one translation, and an adjective
// changes places with the word after it. One word in four is a name, which stays as it is. The encoder
// cannot tell names apart: it receives <unk> for each of them.
//
// We train two translators like the one from lesson 11. One has the gate and can copy. The other has no gate
// and only the vocabulary, so it learns to write <unk> for a name. The attention weights of this translator
// may still show which name it means.

void names(const kit::Options& options, kit::Report& report) {
  const kit::Question replaced = report.ask(
      "<unk> replaced",
      "After training, we replace each <unk> that the translator without a gate writes by the source word "
      "with the largest attention weight. How many of the names are right then?",
      {"nearly all: the weights show which word was translated", "some, but fewer than nine in ten", "none"});
  const TranslationResults right = train_translators(options);
  report.at_least("writes and copies: names right", right.copies.names, 95, "%");
  report.at_least("writes and copies: known words right", right.copies.words, 95, "%");
  report.at_most("writes only: names right", right.plain.names, 1, "%");
  report.answer(replaced, 'b', right.plain.replaced > 5 && right.plain.replaced < 90,
                "To write <unk>, the decoder only has to find out that a name comes next, and the states "
                "of neighbouring words tell it that too. The weights become a pointer only when the loss "
                "depends on the word they point to.");
}

// At seed 1, the table reads:
//
//                                          names     known words   whole sentences
//     writes only                          0.0 %          99.0 %             0.0 %
//     the same, <unk> replaced            43.2 %          99.0 %
//     writes and copies                   99.9 %          99.6 %            98.7 %
//
// At other seeds, the numbers differ, but only the translator that copies writes nearly all names.
//
// The picture copying.svg shows the attention weights for one sentence. The number after each output word is
// p_gen at this step. It is near 1 for the known words, and near 0 for the names, which are copied.

// ---- 3. Coverage against repetition -----------------------------------------------------------------------
// The task is to copy a text of up to 12 words, in which some words are repeated. This decoder has no state and
// no vocabulary: it only copies. Its query is the previous word. The key of a position contains its word, the
// word before it, and the position. So the decoder can find the position after the previous word. But if the
// previous word occurs twice in the text, which of the two positions should it choose?
//
// *Coverage* (Tu and others 2016) tells it. The coverage c_tj is the sum of the weights that position j has
// received before step t. It becomes one more input of the score. With the query q_t, the key k_j, and learned
// W_q, W_k, w_c and v:
//
//     c_tj = Σ_{i<t} α_ij            s_tj = v · tanh(W_q q_t + W_k k_j + w_c c_tj)
//
// See, Liu and Manning also add a loss that penalises weight on positions that are already covered. At step t,
// it is Σ_j min(α_tj, c_tj).
//
// For example, let the weights of step 1 be α₁ = (0.7, 0.2, 0.1). This is also the coverage c₂. Let the weights
// of step 2 be α₂ = (0.5, 0.4, 0.1). The smaller numbers of the two are 0.5, 0.2 and 0.1, so the loss is 0.8.

/// queries (T, d_q), keys (S, d_k) → weights (T, S), and the loss of each query (T, 1) as one more column.
Tensor coverage_weights(const Tensor& queries, const Tensor& keys,
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

void coverage(double lambda, const kit::Options& options, kit::Report& report) {
  const Tensor loss = coverage_loss(tensor({{0.7, 0.2, 0.1}, {0.5, 0.4, 0.1}}, f64));
  kit::check_worked_example(report, "the coverage loss", {{loss.at({1}), 0.8}});
  check_coverage(coverage_weights, options.seed, report);
  const kit::Question told =
      report.ask("its loss alone",
                 "A decoder is trained with the coverage loss, but its score does not receive the "
                 "coverage c. Does it go in circles?",
                 {"no: the loss forbids it", "yes", "at first, until the loss is small"});
  const CoverageResults all = train_copiers(lambda, options);
  report.at_most("repeated words, coverage and its loss ÷ neither",
                 100 * all.both.repeated / all.plain.repeated, 10, "%");
  report.at_least("with coverage: words right", all.both.right, 99, "%");
  report.at_most("without coverage: words right", all.plain.right, 60, "%");
  report.answer(told, 'b', all.loss_only.repeated > 5 * all.both.repeated && all.loss_only.repeated > 5,
                "After the same word, the decoder has the same query and the same keys, so it computes "
                "the same weights. The loss cannot change that, because the weights do not depend on "
                "the coverage.");
}

// In nn/, this score is additive(…, Coverage::yes), and the loss is coverage_loss(). Abigail See and her
// co-authors report that coverage in the score had little effect until they added the loss. Here, coverage in
// the score is enough by itself. For this task, the previous word and the covered positions determine the next
// position.

// At seed 1, one of the texts is copied like this:
//
//     the text        w2 w6 w7 w17 w26 w5 w26 w17 w7 w16 w5 w17
//     no coverage     w2 w6 w7 w17 w7 w17 w7 w17 w7 w17 w7 w17
//     with coverage   w2 w6 w7 w17 w26 w5 w26 w17 w7 w16 w5 w17
//
// Without coverage, the decoder goes in circles. The first picture, circles.svg, shows why. In the text, w17 is
// followed once by w26 and once by w7. So after w17, half of the weight is on each of these two positions, every
// time. The decoder always writes w7, and after w7 always w17. In the second picture, covered.svg, each position
// gets weight once.

// ---- 4. Monotonic attention -------------------------------------------------------------------------------
// A telegraph receives letters and pauses, one after another. For each letter it writes two symbols, the
// letter's code. It should write while the letters come in. With softmax, it could not write before it has all
// keys, because every weight depends on all scores.
//
// *Monotonic* attention (Raffel, Luong and others 2017) decides key by key. A query starts at the key where the
// previous query stopped. At key j, it stops with the probability p_j = sigmoid(s_j), where s_j is the score.
// Otherwise it continues with the next key. The context is the value at the stop. So a query never needs the
// keys after its stop. The encoder must not need them either, so it is a GRU that reads from left to right.
//
// But a random stop has no gradient (lesson 27). So training uses the *expected* weights instead: α_tj is the
// probability that query t stops at key j. Let q_tj be the probability that query t reaches key j. There are
// two ways: it reached key j − 1 and did not stop there, or it starts at key j. The first query starts at key 1,
// so let α₀ = (1, 0, 0, …). Then
//
//     q_tj = (1 − p_{t,j−1}) q_{t,j−1} + α_{t−1,j}              α_tj = p_tj q_tj
//
// For example, let all p = ½, with three keys. Then q₁ = (1, ½, ¼), so α₁ = (0.5, 0.25, 0.125). With the
// remaining probability, 0.125, the query reaches the end without a stop. For the second query,
// q₂ = (0.5, 0.25 + 0.25, 0.25 + 0.125), and α₂ = (0.25, 0.25, 0.1875).

/// p (B, S) and the previous query's α (B, S) → α (B, S).
Tensor expected_weights(const Tensor& p, const Tensor& before) {
  Tensor reached = slice(before, 1, 0, 1);  // q, (B, 1)
  std::vector<Tensor> all;
  for (Size j = 0; j < p.size(1); ++j) {
    const Tensor stop = slice(p, 1, j, j + 1);
    all.push_back(stop * reached);
    if (j + 1 < p.size(1)) reached = (1.0 - stop) * reached + slice(before, 1, j + 1, j + 2);
  }
  return concat(all, 1);
}

// After training, the telegraph makes *hard decisions*: from the previous stop on, it stops at the first key
// with p > ½, which means s > 0. So the probabilities should be near 0 or 1. To push them there, training adds
// normal noise to the scores (--noise). A score near 0 then leads to a random weight, so the model learns scores
// that are far from 0. In nn/, this is MonotonicAttention.
//
// For comparison, we train two more telegraphs, one with softmax and one with expected weights but without
// noise. Then we let them make hard decisions too. For softmax, s > 0 has no meaning: if we add a number to all
// scores, the weights stay the same.
//
// Finally, we give the letters to the telegraph one by one. It takes a letter only when it needs a key that it
// does not have yet. The *lookahead* is the number of letters and pauses that it has taken beyond the letter
// that it writes.

void monotonic(double noise, const kit::Options& options, kit::Report& report) {
  const Tensor half = full({1, 3}, 0.5, f64), first = expected_weights(half, tensor({{1, 0, 0}}, f64));
  const std::vector<double> a = first.to_vector(), b = expected_weights(half, first).to_vector();
  kit::check_worked_example(report, "α₁, α₂", {{a[1], 0.25}, {a[2], 0.125}, {b[1], 0.25}, {b[2], 0.1875}});
  check_expected_weights(expected_weights, options.seed, report);
  const kit::Question quiet =
      report.ask("without noise",
                 "Trained without noise, the telegraph writes nearly all symbols correctly with its "
                 "expected weights. How many does it write correctly with hard decisions?",
                 {"as many as with the expected weights", "clearly fewer than with the expected weights",
                  "a few fewer than with the expected weights"});
  const TelegraphResults result = train_telegraphs(noise, options);
  report.at_least("monotonic, hard decisions: symbols right", result.hard, 95, "%");
  report.at_least("texts with the same symbols when letters come one by one", result.online_equal, 99, "%");
  report.figure("mean lookahead in letters and pauses", result.lookahead);
  report.at_most("query–key pairs that were scored", result.scored_pairs, 30, "%");
  report.at_most("softmax, hard decisions: symbols right", result.softmax_hard, 80, "%");
  report.answer(quiet, 'b', result.without_noise > 95 && result.without_noise_hard < result.hard - 20,
                "Without noise, nothing pushes the probabilities to 0 or 1. The model averages several "
                "keys, as softmax does, and a hard decision keeps only one of them.");
}

// At seed 1, these shares of the symbols are right:
//
//     trained with                   used as trained       with hard decisions
//     softmax                                100.0 %                    51.6 %
//     expected weights, no noise             100.0 %                    41.3 %
//     expected weights                       100.0 %                    99.1 %
//
// At other seeds, the numbers differ, but only the telegraph that was trained with noise makes good hard
// decisions. The two pictures show its weights for one signal: first the expected weights, then the hard
// decisions. A point (·) is a pause.

// What to remember. Attention weights can be probabilities of positions. A mixture with the vocabulary lets
// the decoder copy words. The running sum of the weights tells the decoder which positions it has covered.
// Monotonic attention decides one key at a time and needs no later key.
//
// Exercises: lessons/practise 29 (chunkwise attention; gradients of the copy loss; copy, coverage and
// monotonic attention by hand; a small copier with coverage).

void lesson(double lambda, double noise, const kit::Options& options, kit::Report& report) {
  report.section("Write or point");
  write_or_point(options.seed, report);
  report.section("Unknown names");
  names(options, report);
  report.section("Coverage against repetition");
  coverage(lambda, options, report);
  report.section("Monotonic attention");
  monotonic(noise, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("29_pointer", "copy words, track coverage, attend monotonically");
  program.steps(1500, 4);
  double lambda = 1, noise = 1;
  program.add("--lambda", lambda, "weight of the coverage loss", 0, 100);
  program.add("--noise", noise, "standard deviation of the noise on monotonic scores in training", 0, 100);
  return program.run(argc, argv, [&](const auto& in, auto& report) { lesson(lambda, noise, in, report); });
}
