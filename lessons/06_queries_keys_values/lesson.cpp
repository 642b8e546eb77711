// 06 queries_keys_values: three roles: what I ask, what I offer, what I give
//
// 18 minutes to read, 5 seconds to run. Needs lesson 05: weights are the softmax of scores, and attention is
// the weighted average that they make. Afterwards you can compute attention with pencil and paper, write its
// layer from three matrix products and a softmax, and say what each of its matrices is for.
//
// In lesson 05 query and key were both places on one line. What if they are of different kinds? In a library
// you ask with a few words (the query), a book stands under its title (the key), and what you take home is
// the text (the value). Your words and the title match after some thought. Where does a network put that
// thought?

#include <fmt/format.h>

#include <cmath>

#include "core/core.hpp"
#include "lessons/06_queries_keys_values/experiment.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/rows.hpp"

using namespace tapestry;
using namespace tapestry::lesson06;
using kit::largest;  // the largest absolute value of a tensor: 0 where two agree to the last bit

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. Two words by hand ---------------------------------------------------------------------------------
// A word is a vector x, and three matrices make its three roles from it:
//
//     q = W_Q x    what I ask        k = W_K x    what I offer        v = W_V x    what I give
//
// The product q·k is large where the two point the same way. With a pencil, one query, two keys, two values:
//
//     q  = (2, 0)     k₁ = (1, 0)   v₁ = (10, 0)         q·k₁ / √2 = 2 / 1.414 = 1.414
//                     k₂ = (0, 1)   v₂ = (0, 10)         q·k₂ / √2 = 0
//
// e^1.414 is 4.112 and e^0 is 1, so the weights are 4.112 / 5.112 = 0.804 and 0.196. What the query reads is
// 0.804 v₁ + 0.196 v₂ = (8.04, 1.96). That is all of attention. (√2: lesson 08.) For queries i and keys j:
//
//     c_i = Σ_j softmax_j(q_i · k_j / √d) v_j
//
// In code words are the rows of X. A weight is (out, in), as in all of Tapestry, so Q = X W_Qᵀ.

struct Roles {
  Tensor w_q, w_k, w_v;  // (d, in), (d, in), (d_v, in)
};

struct Mixed {
  Tensor scores, weights;  // (…, Tq, Tk)
  Tensor context;          // (…, Tq, d_v)
};

/// What the words of `asking` (…, Tq, in) read from those of `offering` (…, Tk, in) and `giving` (…, Tk, in).
Mixed attend(const Tensor& asking, const Tensor& offering, const Tensor& giving, const Roles& roles) {
  const Tensor q = matmul(asking, transpose(roles.w_q));
  const Tensor k = matmul(offering, transpose(roles.w_k));
  const Tensor v = matmul(giving, transpose(roles.w_v));
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(k.size(-1)));
  const Tensor weights = softmax(scores, -1);  // over the keys: each row adds up to 1
  return {scores, weights, matmul(weights, v)};
}

void two_words(kit::Report& report) {
  const Tensor same = eye(2, f64);  // each role is the word itself
  const Mixed mixed =
      attend(tensor({{2, 0}}, f64), eye(2, f64), tensor({{10, 0}, {0, 10}}, f64), {same, same, same});
  kit::print_rows("weights", mixed.weights, 3);
  kit::print_rows("context", mixed.context, 2);
  kit::check_worked_example(report, "one query, two keys",
                            {{mixed.scores.at({0, 0}), 1.414},
                             {std::exp(1.414), 4.112},
                             {std::exp(1.414) + 1, 5.112},
                             {mixed.weights.at({0, 0}), 0.804},
                             {mixed.weights.at({0, 1}), 0.196},
                             {mixed.context.at({0, 0}), 8.04},
                             {mixed.context.at({0, 1}), 1.96}});
}

// Four words that all ask, offer and give make a 4 × 4 table of scores: row i says how much word i wants each
// word, itself too. All numbers are 0, 1 or 2, so a pencil will do. Another program gave the context.

void four_words(kit::Report& report) {
  const auto [x, w_q, w_k, w_v, expected] = known_words();
  const Mixed mixed = attend(x, x, x, {w_q, w_k, w_v});
  kit::print_rows("words X", x, 0);
  kit::print_rows("W_Q", w_q, 0);
  kit::print_rows("W_K", w_k, 0);
  kit::print_rows("W_V", w_v, 0);
  kit::print_rows("Q Kᵀ / √3", mixed.scores, 4);
  kit::print_rows("weights", mixed.weights, 4);
  kit::print_rows("context", mixed.context, 8);
  report.check("context of four words to 1e-7", largest(mixed.context - expected) < 1e-7);

  const kit::Question exchanged = report.ask(
      "W_Q and W_K exchanged", "Each word now asks with W_K and offers with W_Q. What becomes of the scores?",
      {"they stay: a product does not know which factor came first", "the table is transposed",
       "nothing simple: every number is another one"});
  const Mixed other = attend(x, x, x, {w_k, w_q, w_v});
  report.answer(
      exchanged, 'b', largest(other.scores - transpose(mixed.scores)) < 1e-12,
      "\"How much does word 1 want word 2\" has become \"how much does word 2 want word 1\". Asking and "
      "offering are not the same.");
}

// ---- 2. je t' aime ----------------------------------------------------------------------------------------
// A dictionary finds a key or fails. Attention is a *soft* dictionary: it finds every key a little, and gives
// the mixture. A translator that wrote "je t' aime" read "I love you" so; French puts "you" before the verb:
//
//             I     love  you
//     je     .94    .02   .04
//     t'     .11    .01   .88
//     aime   .03    .95   .02
//
// Which queries get such rows? Let the keys be one-hot, so that q·k_j is the j-th number of q (and leave √d
// out). The softmax of log α is e^{log α_j} / Σ e^{log α} = α_j / Σ α = α_j: a query whose numbers are log α
// gets exactly α. So a score is a *logarithm of a weight*, up to a constant for each row.

void je_t_aime(const kit::Options& options, kit::Report& report) {
  const Tensor rows = tensor({{.94, .02, .04}, {.11, .01, .88}, {.03, .95, .02}}, f64);
  const Tensor weights = softmax(matmul(log(rows), eye(3, f64)), -1);  // the keys: I, love, you
  kit::print_rows("scores", log(rows), 2);
  kit::print_rows("weights", weights, 2);
  report.check("queries log α get the weights α", largest(weights - rows) < 1e-12);
  draw_je_t_aime(weights, options);
}

// ---- 3. A rotation that nobody tells ----------------------------------------------------------------------
// Sixteen keys are arrows of eight numbers, equally long, in random directions; behind each lies one of ten
// symbols. Who asks for key k says R k, where R is a rotation of all eight axes. The model sees the right
// symbol afterwards, never R and never which key was meant. In experiment.hpp nn/'s layers make up attend().

void with_nn(std::uint64_t seed, kit::Report& report) {
  Retriever retriever(4, 3, 5, Projected::both);
  retriever.initialise(seed, f64);
  const Roles roles{retriever.w_q.weight, retriever.w_k.weight, retriever.w_v.weight};
  const Tensor q = random_normal({2, 3, 4}, seed, f64), k = random_normal({2, 6, 4}, seed + 1, f64),
               v = random_normal({2, 6, 3}, seed + 2, f64);
  kit::check_by_hand(
      report, "attend()", [&] { return attend(q, k, v, roles).context; },
      [&] { return retriever(q, k, v).context; }, retriever.parameters(), seed);
}

void retrieval(const kit::Options& options, kit::Report& report) {
  const kit::Question without = report.ask(
      "only W_V is learned",
      "Three models: one learns W_V alone, one W_Q and W_V, one all three. In the first, queries and keys "
      "meet as they are, and seldom match. How often is its answer, one of ten symbols, right?",
      {"once in sixteen times", "once in ten times", "clearly more often than once in ten times"});
  const kit::Question one = report.ask("W_K left out", "Does the second, without W_K, fall behind the third?",
                                       {"yes: both have to be turned", "no: W_Q alone can undo R"});
  const auto [alone, queries, all] = train_three(options);
  report.at_least("right answers with all three", all.answers, 99, "%");
  report.answer(
      without, 'c', alone.answers > 12 && alone.answers < 30 && alone.keys < 20,
      "The mixture of all sixteen values tells which symbol is the most frequent among them, and that one "
      "is meant more often than others.");
  report.answer(
      one, 'b', queries.answers >= 99,
      "Layers have W_K all the same: two matrices bring queries and keys of any widths to a common one.");

  // Only the product of the two matrices meets a query and a key: (W_Q q) · (W_K k) = qᵀ (W_Qᵀ W_K) k. If it
  // is R, the score of key j for q = R k is (R k) · (R k_j) = k · k_j. Of equally long keys k has the largest.
  const Tensor rotation = hidden_rotation(options.seed), product = matmul(transpose(all.w_q), all.w_k);
  const kit::Question where = report.ask("where R went", "Which matrix looks like R after training?",
                                         {"W_Q", "W_K", "W_Qᵀ W_K, and neither of the two alone"});
  const double q = cosine(all.w_q, rotation), k = cosine(all.w_k, rotation), both = cosine(product, rotation);
  fmt::print("  cosine with R, each a vector of 64: W_Q {:.2f}, W_K {:.2f}, W_Qᵀ W_K {:.3f}\n", q, k, both);
  report.answer(
      where, 'c', both >= 0.95 && q < 0.8 && k < 0.8,
      "Turn both by any rotation S and the product stays: (S W_Q)ᵀ (S W_K) = W_Qᵀ Sᵀ S W_K = W_Qᵀ W_K. So "
      "nothing tells training which of them all to take.");
  draw(product, rotation, options);
}

// What to remember. Three matrices give a word three roles. A score is a product of two of these, and the
// logarithm of a weight up to a constant. How queries match keys is learned in W_Qᵀ W_K.
//
// Exercises: lessons/practise 6 (attend; the query for given weights; what weights do when scores change).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Two words by hand");
  two_words(report);
  four_words(report);
  report.section("je t' aime");
  je_t_aime(options, report);
  report.section("A rotation that nobody tells");
  with_nn(options.seed, report);
  retrieval(options, report);
}
}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("06_queries_keys_values", "three roles: what I ask, what I offer, what I give");
  program.steps(500, 20);
  return program.run(argc, argv, lesson);
}
