// 32 decomposable: compare two sentences without recurrence
//
// 15 minutes to read, 30 seconds to run. Needs lesson 16 (self-attention), 17 (positions) and 07 (masks).
// Afterwards you can align two sentences in both directions with one table of scores, build a model that
// attends, compares and aggregates, and say what such a model cannot know.
//
// "A red dog pushes a car." If this is true, must "an animal touches a vehicle" be true? Yes: the second sentence
// is *entailed*. "A long dog pushes a car" may be true or not: it is *neutral*. "A red cat pushes a car" cannot
// be true of the same scene: it is *contradicted*.
//
// To answer, we look for the counterpart of each word, compare the two words, and add up the results. None of
// these steps needs a recurrent state. Can a model without recurrence solve the whole task?

#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "lessons/32_decomposable/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/rows.hpp"

using namespace tapestry;
using namespace tapestry::lesson32;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. One table of scores, two softmaxes ----------------------------------------------------------------
// The first sentence is called the *premise*, and the second the *hypothesis*. Their words are vectors,
// a_1 … a_n and b_1 … b_m. Parikh, Täckström, Das and Uszkoreit (2016) *attend* in both directions with one table
// of scores e:
//
//     e_ij = F(a_i) · F(b_j)                  F: a small feed-forward network, the same for all words
//     β_i = Σ_j softmax_j(e_ij) b_j           the counterpart of a_i in the hypothesis: softmax of a row
//     α_j = Σ_i softmax_i(e_ij) a_i           the counterpart of b_j in the premise: softmax of a column
//
// For an example by hand, the premise has two words and the hypothesis three, and the table is
// e = ((ln 3, 0, 0), (0, 0, ln 2)). These are exp(e) and the two softmaxes. A row belongs to a word a_i, and a
// column to a word b_j:
//
//            exp(e)             by rows                     by columns
//     a_1    3   1   1        0.6    0.2    0.2           0.75    0.5    0.333
//     a_2    1   1   2        0.25   0.25   0.5           0.25    0.5    0.667
//
// The word b_2 has no counterpart. Its two scores are equal, so its column has equal weights. Both words of the
// premise give it only a small weight in their rows. The two softmaxes have different weights for the same score,
// because one divides by the sum of the row, and the other by the sum of the column.

struct Aligned {
  Tensor beta, alpha;  // (B, n, d), (B, m, d)
};

/// f_a (B, n, h) and f_b (B, m, h) are the outputs of F. is_a (B, 1, n) and is_b (B, 1, m) are true for words
/// and false for padding.
Aligned attend(const Tensor& f_a, const Tensor& f_b, const Tensor& a, const Tensor& b, const Mask& is_a,
               const Mask& is_b) {
  const Tensor e = matmul(f_a, transpose(f_b));
  return {matmul(masked_softmax(e, is_b), b), matmul(masked_softmax(transpose(e), is_a), a)};
}

void worked_example(kit::Report& report) {
  const Tensor e = tensor({{{std::log(3), 0, 0}, {0, 0, std::log(2)}}}, f64), two = eye(2, f64),
               three = eye(3, f64);
  const auto all = [](Size n) {
    return Mask::from(1, n, [](Size, Size) { return true; }).reshape({1, 1, n});
  };
  // F(a) is the table, and F(b) and all words are one-hot. So the scores are e, and β and α are the weights.
  const Aligned w = attend(e, unsqueeze(three, 0), unsqueeze(two, 0), unsqueeze(three, 0), all(2), all(3));
  kit::print_rows("by rows", select(w.beta, 0, 0), 3);
  kit::print_rows("by columns", transpose(select(w.alpha, 0, 0)), 3);
  kit::check_worked_example(report, "by rows",
                            {{w.beta.at({0, 0, 0}), 0.6},
                             {w.beta.at({0, 0, 1}), 0.2},
                             {w.beta.at({0, 1, 0}), 0.25},
                             {w.beta.at({0, 1, 2}), 0.5}});
  kit::check_worked_example(report, "by columns",
                            {{w.alpha.at({0, 0, 0}), 0.75},
                             {w.alpha.at({0, 1, 0}), 0.5},
                             {w.alpha.at({0, 2, 0}), 0.333},
                             {w.alpha.at({0, 2, 1}), 0.667}});
}

// ---- 2. Attend, compare, aggregate ------------------------------------------------------------------------
// Two more networks do the rest. G *compares* each word with its counterpart. H *aggregates*: it computes the
// logits of the three answers from the sums over the two sentences. ([x; y] is the concatenation of x and y.)
//
//     v_i = G([a_i; β_i]),   u_j = G([b_j; α_j])             answer = H([Σ_i v_i; Σ_j u_j])
//
// No word has to wait for another word: each step is computed for all words at once. The task is *decomposed* into
// comparisons of words, so the model is called *decomposable attention*.
//
// Sentences of a batch are padded to the same length. The rows of padding must not be in the sums, because G of a
// row of zeros is not 0.

Tensor add_up(const Tensor& x, const Mask& is_word) {
  const Mask rows = is_word.reshape({x.size(0), x.size(1), 1});
  return sum(where(rows, x, scalar(0, x.dtype())), {1});  // (B, h)
}

/// Uses the networks of `net`: f, g, h, and a last linear layer, out.
Tensor answer(const Entailer& net, const Tensor& a, const Tensor& b, const Mask& is_a, const Mask& is_b) {
  const Aligned aligned = attend(net.f(a), net.f(b), a, b, is_a, is_b);
  const Tensor v = net.g(concat({a, aligned.beta}, -1)), u = net.g(concat({b, aligned.alpha}, -1));
  return net.out(net.h(concat({add_up(v, is_a), add_up(u, is_b)}, -1)));
}

// With nn/, the first step is two calls of Attention{dot()}: once with F(a) as queries, F(b) as keys and b as
// values, and once with F(b) as queries, F(a) as keys and a as values (entailer.cpp).

void compare(std::uint64_t seed, kit::Report& report) {
  const kit::Question runs = report.ask(
      "how often F runs", "A premise has 30 words, and a hypothesis has 20. How many times does F run?",
      {"50", "600", "1,200: once for each pair in both directions"});
  Entailer net(Model::full, {.width = 3, .hidden = 16});
  net.initialise(seed, f64);
  const Batch batch = batch_of(draw_pairs(kit::Random(seed), 6, Words::seen_together, seed));
  const Mask is_a = batch.premise_lengths.mask(kLongest), is_b = batch.hypothesis_lengths.mask(kLongest);
  kit::check_by_hand(
      report, "attend, compare, aggregate",
      [&] { return answer(net, net.read(batch.premise), net.read(batch.hypothesis), is_a, is_b); },
      [&] { return net(batch); }, net.parameters(), seed);
  const Tensor f_a = net.f(zeros({30, 3}, f64)), f_b = net.f(zeros({20, 3}, f64));
  report.figure("scores in the table", static_cast<double>(matmul(f_a, transpose(f_b)).count()));
  report.answer(runs, 'a', f_a.size(0) + f_b.size(0) == 50,
                "F runs once for each word. The 600 scores of the table are one matrix product.");
}

// F reads one word at a time, so it runs once for each word, and the table e is one matrix product. (If F read both
// words together, as lesson 11's score does, it would have to run once for each pair.)

// ---- 3. Entailment in a small grammar ---------------------------------------------------------------------
// All sentences have the form "red dog pushes blue car", where the adjectives may be missing. The words come in
// groups. Each group has a general word and four special ones: "animal", then "dog", "cat", "horse" and "cow". The
// other nouns, the verbs and the adjectives have groups like this, too. These are the rules for each word:
//
// - Entailed: the hypothesis has the same word, a general word in place of a special one, or no adjective.
// - Neutral: it has a special word in place of a general one, or an adjective that the premise does not have.
// - Contradicted: it has another special word of the group. A dog is not a cat.
// - Words of two groups: nouns are contradicted (a dog is not a car), verbs and adjectives are neutral.
//
// If one word is contradicted, the sentence is contradicted. Otherwise, if one is neutral, the sentence is neutral.
//
// One in five combinations of adjective and noun never occurs in training. They are *held out* for the test: in the
// column "held out", every pair of sentences has at least one of them. Section 4 explains the column "twins".
//
// For comparison, we train three models that lack a part. The first has no positions (section 4). The second gives
// equal weights to all words of the other sentence. The third, a *bag of words*, has no F and G: it adds up the
// words of each sentence, and H receives the two sums. Its layers have 256 units instead of 64.

std::vector<Right> compare_models(Size hidden, const kit::Options& options, kit::Report& report) {
  const kit::Question bag =
      report.ask("a bag of words",
                 "The bag of words has more than twice as many parameters as the full model. How many "
                 "of the held-out pairs does it judge correctly?",
                 {"nearly all: a sum contains every word", "about four of five", "about half"});
  const std::vector<Right> all = train_each(hidden, options, report);
  report.answer(bag, 'b', all[3].held_out > 70 && all[3].held_out < 90,
                "H receives one vector for each sentence and must find out which words to compare. There are "
                "thousands of different sentences, so most sums are new in the test. G of the full model "
                "receives pairs of words, and there are few of them.");
  return all;
}

// The pictures alignment.svg and exchanged.svg show the weights by rows of the full model, for two hypotheses of
// the premise "red dog pushes car". Each noun and each verb attends to its counterpart, even if the nouns are
// exchanged. The word "red" has no counterpart. Its weights still sum to 1, and most of the weight is on the first
// word of the hypothesis.

// At seed 1, the table reads:
//
//                         params     seen together      held out     twins
//     full model           33203            99.7 %        99.7 %    99.4 %
//     no positions         33203            85.6 %        85.7 %    50.0 %
//     equal weights        33203            85.2 %        82.3 %    60.0 %
//     bag of words         94332            82.0 %        80.3 %    50.0 %
//
// At other seeds, the numbers differ, but the full model is always clearly the best.

// ---- 4. Word order ----------------------------------------------------------------------------------------
// "Dog pushes cat" and "cat pushes dog" have the same words but different meanings. Can a model distinguish them? In
// the plain model from the paper, F and G receive no positions. Our full model adds a learned vector for the position
// to each word (lesson 17). To test both, we use *twins*: an entailed pair of sentences, and the same pair with the
// nouns of the hypothesis exchanged, which is contradicted.

void word_order(const std::vector<Right>& all, std::uint64_t seed, kit::Report& report) {
  const kit::Question exchanged =
      report.ask("without positions",
                 "The premise is \"dog pushes cat\". What does the model without positions answer for the "
                 "hypothesis \"cat pushes dog\"?",
                 {"contradicted, if it was trained on such pairs",
                  "the same as for the hypothesis \"dog pushes cat\"", "neutral, most often"});
  const double without = apart_from_twins(Model::no_positions, seed),
               full = apart_from_twins(Model::full, seed);
  report.figure("largest difference of twins' logits, without positions", without);
  report.figure("largest difference of twins' logits, full model", full);
  report.at_most("without positions: twins right", all[1].twins, 51, "%");
  report.answer(
      exchanged, 'b', without < 1e-12 && full > 1e-6,
      "The logits for the two hypotheses are equal. So the model is wrong for one of them, whatever "
      "it learns.");
}

// A sum does not depend on the order of its terms. So without positions, no model of this kind can distinguish the two
// sentences. With position vectors, the full model can.

// What to remember. One table of scores aligns two sentences in both directions. The model compares each word with
// its counterpart, adds up the results, and computes the answer from the sums. All words are processed at once, and
// few parameters are enough. A sum does not depend on the order of its terms, so the words need position vectors.
//
// Exercises: lessons/practise 32 (one table, two softmaxes; padding in a sum; counting vectors, scores and
// weights; a small entailment model).

void lesson(Size hidden, const kit::Options& options, kit::Report& report) {
  report.section("One table of scores, two softmaxes");
  worked_example(report);
  report.section("Attend, compare, aggregate");
  compare(options.seed, report);
  report.section("Entailment in a small grammar");
  const std::vector<Right> all = compare_models(hidden, options, report);
  report.section("Word order");
  word_order(all, options.seed, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("32_decomposable", "compare two sentences without recurrence");
  program.steps(3000, 4);
  Size hidden = 64;
  program.add("--hidden", hidden, "units of each layer", 1, 1024);
  return program.run(argc, argv, [&](const auto& in, auto& report) { lesson(hidden, in, report); });
}
