// 16 self_attention: a sequence that asks itself
//
// 20 minutes to read, 40 seconds to run. Needs lessons 06 (queries, keys, values), 08 (√d) and 09 (the GRU).
// Afterwards you can write self-attention for whole sentences, say what it knows of the order of words, and
// compare it with a recurrent layer.
//
// Until now one sequence asked another: the decoder had a question, the source answered. But what "run" means
// in "see that girl run" depends on the words beside it. Can the words of one sentence ask each other?

#include <cmath>

#include "core/core.hpp"
#include "lessons/16_self_attention/experiment.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/rows.hpp"

using namespace tapestry;
using namespace tapestry::lesson16;
using kit::largest;  // the largest absolute value of a tensor

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. Two words, four steps -----------------------------------------------------------------------------
// Each word is a vector a_i of d numbers. What comes out for it, b_i, takes four steps:
//
//     1  roles       q_i = W_Q a_i,  k_j = W_K a_j,  v_j = W_V a_j      for all words j, word i included
//     2  scores      s_ij = q_i · k_j / √d_k                            d_k numbers in a query and in a key
//     3  weights     α_i1 … α_in = softmax of s_i1 … s_in
//     4  mixture     b_i = Σ_j α_ij v_j
//
// These are lesson 06's roles and lesson 08's scale. The news is that one sentence plays all three roles.
// Take a pencil: "girls run" has two words. W_Q exchanges a word's two numbers and doubles them, so that a
// noun asks for verbs and a verb for nouns. W_K changes nothing, and W_V multiplies by ten:
//
//     a₁ = (1, 0) girls     q₁ = (0, 2)    k₁ = (1, 0)    v₁ = (10, 0)
//     a₂ = (0, 1) run       q₂ = (2, 0)    k₂ = (0, 1)    v₂ = (0, 10)
//
//     scores of q₁:  0 and 2 / √2 = 1.414      weights 0.196 and 0.804      b₁ = (1.96, 8.04)
//
// b₂ = (8.04, 1.96) in the same way. Nobody waits for anybody: b₂ needs all of a, and not b₁. So all words at
// once are three matrix products for the roles, and two for the rest. Words are rows, as in lesson 06.

struct Roles {
  Tensor w_q, w_k, w_v;  // (d_k, d), (d_k, d), (d_v, d)
};

Tensor scores_of(const Tensor& q, const Tensor& k) {  // (…, n, n): row i has what word i asks
  return matmul(q, transpose(k)) / std::sqrt(static_cast<double>(k.size(-1)));
}

Tensor mix(const Tensor& q, const Tensor& k, const Tensor& v) {  // b (…, n, d_v)
  return matmul(softmax(scores_of(q, k), -1), v);
}

Tensor self_attention(const Tensor& a, const Roles& roles) {
  return mix(matmul(a, transpose(roles.w_q)), matmul(a, transpose(roles.w_k)),
             matmul(a, transpose(roles.w_v)));
}

// W_Q, W_K and W_V *project* a word into its roles; they are called projections. The simplest self-attention
// does without: a word's vector is query, key and value at once, mix(a, a, a), and there is nothing to learn.

Roles by_pencil() { return {tensor({{0, 2}, {2, 0}}, f64), eye(2, f64), 10 * eye(2, f64)}; }

void two_words(std::uint64_t seed, kit::Report& report) {
  const Tensor b = self_attention(eye(2, f64), by_pencil());
  kit::print_rows("b", b, 2);
  kit::check_worked_example(report, "girls run",
                            {{2 / std::sqrt(2.0), 1.414},
                             {1 / (std::exp(1.414) + 1), 0.196},
                             {std::exp(1.414) / (std::exp(1.414) + 1), 0.804},
                             {b.at({0, 0}), 1.96},
                             {b.at({0, 1}), 8.04}});
  check_layers(
      [](const Tensor& a, const SelfAttention& layer) {
        return self_attention(a, {layer.query->weight, layer.key->weight, layer.value->weight});
      },
      mix, seed, report);  // against the four steps one word at a time, differences (lesson 02), and nn/
}

// ---- 2. Agreement -----------------------------------------------------------------------------------------
// Now the layer learns something. The second word is covered: "see _ girl run" is to be filled with "that",
// "see _ girls run" with "those". There are 128 such sentences of four verbs, eight nouns and four verbs, and
// a quarter of them is kept for the test. The answer is a linear layer of b₂. What stands at the gap is
// always the same, so b₂ has to fetch the answer from elsewhere, and nobody says which word decides. (What
// the other three words look at is not learned: only b₂ enters the loss.)

void agreement(const kit::Options& options, kit::Report& report) {
  const kit::Question bare = report.ask(
      "without projections",
      "Without projections scores are symmetric, s_ij = a_i · a_j / √d = s_ji. Is the gap filled rightly?",
      {"no: a gap that is always the same word cannot ask for a noun",
       "yes, and it looks at the noun as much as with projections",
       "yes, but it looks less at the noun than with projections"});
  kit::TrainingRecorder film = film_of_agreement(options);  // keeps who looks at whom meanwhile
  const Filled with = learn_agreement("with projections", Projected::yes, film, options);
  const Filled without = learn_agreement("without projections", Projected::no, film, options);
  report.at_least("with projections: right on new sentences", with.right, 99, "%");
  report.at_least("with projections: the gap's weight on the noun", with.on_noun, 50, "%");
  report.at_least("without projections: right on new sentences", without.right, 99, "%");
  report.at_most("without projections: the gap's weight on the noun", without.on_noun, 50, "%");
  const Tensor a = random_normal({4, 6}, options.seed, f64), scores = scores_of(a, a);
  report.check("without projections: the scores are symmetric", largest(scores - transpose(scores)) < 1e-14);
  report.answer(bare, 'c', without.right >= 99 && without.on_noun < with.on_noun,
                "What a word is, asks, offers and gives is then one vector, and the embeddings alone must do "
                "what three matrices can. Here the smaller weight on the noun is enough.");
  draw_agreement(with, film, options);
}

// ---- 3. No order ------------------------------------------------------------------------------------------

void no_order(std::uint64_t seed, kit::Report& report) {
  const kit::Question swapped = report.ask(
      "words exchanged", "\"girls run\" becomes \"run girls\", with the matrices of part 1. What comes out?",
      {"the same two vectors, in the other order", "the same two vectors, in the same order",
       "two new vectors: each word has its neighbour on the other side"});
  const Tensor before = self_attention(eye(2, f64), by_pencil());
  const Tensor after = self_attention(tensor({{0, 1}, {1, 0}}, f64), by_pencil());
  kit::print_rows("b of \"run girls\"", after, 2);
  report.answer(swapped, 'a', largest(after - embedding(before, {1, 0})) < 1e-12,
                "b_i is a sum over all words j, and a sum does not care which comes first. Where a word "
                "stands is in none of the four steps.");
  check_order(seed, report);
}

// Shuffle the words, and the same vectors come out, shuffled alike: the layer is *equivariant* to
// permutations. "dog bites man" is "man bites dog" to it, until lesson 17 tells places. A GRU is not.

// ---- 4. Tokens that find their like -----------------------------------------------------------------------
// Twenty-four tokens of 32 kinds, drawn at random: mark those whose kind occurs *exactly twice*. Each token
// must look for its like anywhere, and count. Always saying "no" is right for about 64 % of them. A small
// network reads [a; b], what a token is and what it has read. For comparison, a plain RNN and a GRU, each in
// both directions, put their states in the place of b, with no fewer weights, the same strings and as many
// steps.

void find_the_like(const kit::Options& options, kit::Report& report) {
  const kit::Question counting = report.ask(
      "counting", "Weights add up to 1. If my kind occurs three times and not once, what do I give to it?",
      {"as much, a third to each", "more, but less to each", "three times as much"});
  const kit::Question recurrent = report.ask(
      "a GRU of equal weights",
      "Its states have seen all tokens, from both sides. How many are marked rightly?",
      {"as many as by self-attention", "fewer, but 75 % or more", "hardly more than by always saying no"});
  const Marked marked = mark_the_twice(options);
  report.check_quoted("the base rate", marked.always_no, 64, 0.02, "%");
  report.at_least("self-attention: right", marked.self, 98, "%");
  report.at_most("RNN: points above the base rate", marked.rnn - marked.always_no, 5);
  report.at_most("GRU: points above the base rate", marked.gru - marked.always_no, 5);
  report.check("neither has fewer weights than self-attention", marked.fair);
  const auto share = [](double c) { return c * 17 / (c * 17 + 24 - c); };
  kit::check_worked_example(report, "e^β = 17",
                            {{share(1), 0.425}, {share(3), 0.708}, {share(3) / 3, 0.236}});
  report.answer(counting, 'b', marked.grows && marked.each_falls,
                "What goes to my kind grows with the count, and that is what the small network reads. What "
                "goes to each of them falls, so the map is paler where a kind occurs more often.");
  report.answer(recurrent, 'c', marked.gru - marked.always_no <= 5 && marked.wide > marked.gru,
                "The counts of 32 kinds must pass through each state. It is hard to learn, not impossible: "
                "with three times the units (the last row) it comes further in as many steps.");
}

// How can a softmax count? Let the score be β for two tokens of one kind and 0 otherwise. Then the c of 24
// that are of my kind get c e^β / (c e^β + 24 − c) of my weight. With e^β = 17 that is 0.425 for c = 1 and
// 0.708 for c = 3, of which each gets 0.236; see the run's figures. Were β large, both would be near 1. Without
// projections (the table's second row) β is |a|² / √d, so only longer vectors raise it: in as many steps the loss
// has just begun to fall, and hardly more is right than the base rate.

// ---- 5. What it costs -------------------------------------------------------------------------------------
// n words of width d make n² scores and n² parts of mixtures, each of d products, and 3 n d² for the roles:
// 2 n² d + 3 n d². A GRU makes 6 n d², six products with d × d at each step. They are equal where 2 n = 3 d,
// for d = 64 at 96 words. The clock crosses elsewhere, see the figure: a GRU's steps wait for each other, and
// self-attention's work is a few large products (lesson 04). And a gradient from the last word to the first
// passes through all steps of a GRU (lesson 09). In self-attention any two words are one step apart.

// What to remember. Each word asks, offers and gives; b_i = Σ_j α_ij v_j for all words at once. Shuffled in
// is shuffled out: it knows no order. Any two words are one step apart, and the work grows as n².
//
// Exercises: lessons/practise 16 (the four steps; what my kind gets; a test for order; a small marker).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Two words, four steps");
  two_words(options.seed, report);
  report.section("Agreement");
  agreement(options, report);
  report.section("No order");
  no_order(options.seed, report);
  report.section("Tokens that find their like");
  find_the_like(options, report);
  report.section("What it costs");
  draw_costs(options);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("16_self_attention", "a sequence that asks itself");
  program.steps(1500, 10);
  return program.run(argc, argv, lesson);
}
