// 16 self_attention: let the tokens of one sequence attend to each other
//
// 20 minutes to read, 60 seconds to run. Needs lesson 06 (queries, keys, values), lesson 08 (the scale √d)
// and lesson 09 (the GRU). Afterwards you can write self-attention for whole sequences, say what it knows
// about the order of tokens, and compare its cost with that of a recurrent layer.
//
// In lessons 11 to 15, attention connected two sequences: the queries came from the decoder, and the keys and
// values came from the source. But the meaning of "run" in "see that girl run" depends on the other words of
// the same sentence. In *self-attention*, the queries, keys and values all come from one sequence. An element of
// the sequence is called a *token*; here, the tokens are words. So every token can attend to every other token.
// What can such a layer compute, and what does it not know about the sequence?

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

// ---- 1. Self-attention in four steps ----------------------------------------------------------------------
// A sequence has n tokens. Token i is a vector a_i of d numbers. Four steps compute its output b_i, the context
// of lesson 06:
//
//     1  projections   q_i = W_Q a_i,  k_j = W_K a_j,  v_j = W_V a_j      j runs over all tokens, i included
//     2  scores        s_ij = q_i · k_j / √d_k                            d_k numbers in a query and in a key
//     3  weights       α_i1 … α_in = softmax of s_i1 … s_in
//     4  output        b_i = Σ_j α_ij v_j
//
// As in lesson 06, a token has a query, a key and a value. The matrices W_Q, W_K and W_V *project* the token to
// these vectors, so they are called *projections*. The scale √d_k is from lesson 08. In lesson 06, four words
// already attended to one another in this way. Here we examine what such a layer can compute from a whole
// sequence, and what it cannot know about it.
//
// Here is an example by hand: the two tokens of "girls run". The first number of a token is 1 for a noun, and
// the second is 1 for a verb. W_Q exchanges the two numbers and doubles them. So the query of a noun matches the
// keys of verbs, and the query of a verb matches the keys of nouns. W_K changes nothing, and W_V multiplies by
// ten:
//
//     a₁ = (1, 0) girls     q₁ = (0, 2)    k₁ = (1, 0)    v₁ = (10, 0)
//     a₂ = (0, 1) run       q₂ = (2, 0)    k₂ = (0, 1)    v₂ = (0, 10)
//
//     scores of q₁:  0 and 2 / √2 = 1.414      weights 0.196 and 0.804      b₁ = (1.96, 8.04)
//
// In the same way, b₂ = (8.04, 1.96).
//
// The output b₂ depends on a₁ and a₂, but not on b₁. No output depends on another output, so all of them can be
// computed at the same time. The states of a GRU cannot, because each state depends on the previous one.
//
// Self-attention takes five matrix products: three for the projections, one for the scores and one for the
// outputs. As in lesson 06, each row of a matrix belongs to one token.

struct Projections {
  Tensor w_q, w_k, w_v;  // (d_k, d), (d_k, d), (d_v, d)
};

Tensor scores_of(const Tensor& q, const Tensor& k) {  // (…, n, n): row i has the scores of query i
  return matmul(q, transpose(k)) / std::sqrt(static_cast<double>(k.size(-1)));
}

/// Returns the outputs b (…, n, d_v).
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  return matmul(softmax(scores_of(q, k), -1), v);
}

Tensor self_attention(const Tensor& a, const Projections& weights) {
  return scaled_dot_product_attention(matmul(a, transpose(weights.w_q)), matmul(a, transpose(weights.w_k)),
                                      matmul(a, transpose(weights.w_v)));
}

// The simplest self-attention has no projections: the vector of a token is its query, key and value at the same
// time. In code, this layer is scaled_dot_product_attention(a, a, a). It has no weights to learn.

Projections example_weights() { return {tensor({{0, 2}, {2, 0}}, f64), eye(2, f64), 10 * eye(2, f64)}; }

void two_words(std::uint64_t seed, kit::Report& report) {
  const Tensor b = self_attention(eye(2, f64), example_weights());
  kit::print_rows("b", b, 2);
  kit::check_worked_example(report, "girls run",
                            {{2 / std::sqrt(2.0), 1.414},
                             {1 / (std::exp(1.414) + 1), 0.196},
                             {std::exp(1.414) / (std::exp(1.414) + 1), 0.804},
                             {b.at({0, 0}), 1.96},
                             {b.at({0, 1}), 8.04}});
  // Compares both layers with nn/. For the layer with projections, also computes the four steps token by token.
  check_layers(
      [](const Tensor& a, const SelfAttention& layer) {
        return self_attention(a, {layer.query->weight, layer.key->weight, layer.value->weight});
      },
      scaled_dot_product_attention, seed, report);
}

// ---- 2. Filling a gap in a sentence -----------------------------------------------------------------------
// The second word of a sentence is replaced by a gap, the token "_". The model must fill "see _ girl run"
// with "that" and "see _ girls run" with "those".
//
// There are 128 such sentences: each combines one of four verbs, one of eight nouns and one of four more verbs.
// Four of the nouns are singular, and four are plural. We hold out a quarter of the sentences for testing. Each of
// their words occurs in training, but not in this combination.
//
// A token is a vector of d = 16 numbers. A linear layer computes the answer from b₂, the output at the gap. The
// token at the gap is always "_", so the answer must reach b₂ from the other words. The training data does not
// say which of these words determines it.
//
// The loss depends on b₂ only, so training uses only the second row of the attention weights, the row of the gap.
// The program draws all four rows as a *heat map*, an image with a cell for each weight: the larger the weight, the
// darker the cell. The other three rows do not affect the answer.

void agreement(const kit::Options& options, kit::Report& report) {
  const kit::Question bare = report.ask(
      "without projections",
      "Without projections, the scores are symmetric: s_ij = a_i · a_j / √d = s_ji. Does the model "
      "still learn to fill the gap?",
      {"no: the query at the gap is always the same, so it cannot match the noun",
       "yes, with the same weight on the noun as with projections",
       "yes, but with a smaller weight on the noun than with projections"});
  kit::TrainingRecorder recorder = recorder_of_agreement(options);  // records attention weights
  const Filled with = learn_agreement("with projections", Projected::yes, recorder, options);
  const Filled without = learn_agreement("without projections", Projected::no, recorder, options);
  report.at_least("with projections: right on new sentences", with.right, 99, "%");
  report.at_least("with projections: the gap's weight on the noun", with.on_noun, 50, "%");
  report.at_least("without projections: right on new sentences", without.right, 99, "%");
  report.at_most("without projections: the gap's weight on the noun", without.on_noun, 50, "%");
  const Tensor a = random_normal({4, 6}, options.seed, f64), scores = scores_of(a, a);
  report.check("without projections: the scores are symmetric", largest(scores - transpose(scores)) < 1e-14);
  report.check("without projections: the gap starts with most of its weight on itself",
               without.gap_at_start > 50);
  report.answer(
      bare, 'c', without.right >= 99 && without.on_noun < with.on_noun,
      "Without projections, the score of the gap with itself starts near 4, and its other scores near "
      "0. So the gap attends mostly to itself. Training moves only a part of this weight to the noun, "
      "and that is enough here. The query at the gap is always the same, with projections as well. "
      "But it can match what the keys of all nouns have in common.");
  draw_agreement(with, recorder, options);
}

// At seed 1, the two models reach these results on the held-out sentences:
//
//                             right     the gap's weight on the noun
//     with projections        100 %     93.31 %
//     without projections     100 %     34.81 %
//
// At other seeds, the weights differ, but the weight without projections is always the smaller one.
//
// Why is it smaller? Without projections, the score of the gap with itself is |a₂|² / √d. The d = 16 numbers of
// an embedding start with variance 1, so |a₂|² starts near 16, and the score near 16 / 4 = 4. The other scores
// of the gap start with mean 0 and standard deviation 1. So at first, the gap gives most of its weight to
// itself. Training moves only a part of this weight to the noun. With projections, W_Q and W_K start with
// independent random numbers. Then the score of the gap with itself starts with mean 0, like its other scores.
//
// At seed 1, these are the weights of the gap in "see _ girl run":
//
//                            at the start                  after training
//                            see    _    girl  run         see    _    girl  run
//     with projections       0.24  0.35  0.03  0.38        0.00  0.00  1.00  0.00
//     without projections    0.00  0.97  0.00  0.03        0.01  0.56  0.38  0.06
//
// Why are all answers still right? b₂ contains the vector of the noun, multiplied by its weight. The linear
// layer only has to distinguish two answers, and this multiple of the noun's vector is enough for that.

// ---- 3. Does the order of the tokens matter? --------------------------------------------------------------
// We exchange two words and compare the outputs of self-attention.

void no_order(std::uint64_t seed, kit::Report& report) {
  const kit::Question swapped =
      report.ask("words exchanged",
                 "We change \"girls run\" to \"run girls\", with the matrices from part 1. What are the "
                 "outputs?",
                 {"the same two vectors, in the other order", "the same two vectors, in the same order",
                  "two new vectors, because each word has its neighbour on the other side"});
  const Tensor before = self_attention(eye(2, f64), example_weights());
  const Tensor after = self_attention(tensor({{0, 1}, {1, 0}}, f64), example_weights());
  kit::print_rows("b of \"run girls\"", after, 2);
  // embedding() selects rows: {1, 0} exchanges the two rows.
  report.answer(swapped, 'a', largest(after - embedding(before, {1, 0})) < 1e-12,
                "b_i is a sum over all tokens j, and the order of its terms does not matter. None of the "
                "four steps uses the position of a token.");
  check_order(seed, report);
}

// If the tokens are shuffled, the outputs are the same vectors, shuffled in the same way. Such a layer is
// called *permutation-equivariant*. For such a layer, "dog bites man" and "man bites dog" contain the same three
// tokens, and it cannot tell the two orders apart. Lesson 17 adds positions.
//
// A GRU is not permutation-equivariant. The GRU in this test is bidirectional (lesson 11), so each state
// depends on the order of all other tokens. The program applies each layer to twelve tokens, and then to the
// same tokens in a shuffled order. It shuffles the first outputs in the same way and compares them with the
// second outputs.
//
// At seed 1, the largest difference is 6e-16 for self-attention, which is only a rounding error, and 0.75 for
// the GRU.

// ---- 4. Marking tokens that occur twice -------------------------------------------------------------------
// In this task, a sequence has 24 tokens. Each token is drawn at random from a vocabulary of 32 symbols. The
// model must mark the tokens whose symbol occurs *exactly twice* in the sequence:
//
//     sequence     c   a   c   b   b   b        a occurs once, b three times
//     marks        ×   ·   ×   ·   ·   ·
//
// So every token must find the other tokens with its symbol, anywhere in the sequence, and count them. A model
// that marks no token at all is right for about 64 % of the tokens. (A token is marked if exactly one of the 23
// others has its symbol. The probability of this is 23 · 1/32 · (31/32)²² = 0.36.) This is the *majority baseline*:
// always the more frequent answer.
//
// Here, a token is a vector a of d = 64 numbers. Self-attention computes an output b for each token. We concatenate
// it with a. From the result, [a; b], a small network computes the answer, "yes" or "no". It has two linear layers
// with a relu between them.
//
// For comparison, we compute b with two bidirectional layers: an RNN with the plain cell of lesson 09, and a GRU.
// The RNN has 38 units in each direction, and the GRU has 20. A linear layer maps their states to the 64 numbers of
// b. Each of these two models has at least as many weights as the model with self-attention. All models are trained
// on the same sequences for the same number of steps.

void mark_tokens(const kit::Options& options, kit::Report& report) {
  const kit::Question counting = report.ask(
      "counting",
      "The attention weights of a query add up to 1. In a layer that was trained to count, compare a symbol that "
      "occurs three times with one that occurs once. How does a token's total weight on its own symbol (itself "
      "included) differ?",
      {"it is the same, so each of the three tokens gets a third of it",
       "it is larger, but each of the three tokens gets less", "it is three times as large"});
  const kit::Question recurrent = report.ask(
      "a GRU with as many weights",
      "The states of a bidirectional GRU depend on all tokens. For what percentage of the tokens is the model right?",
      {"the same percentage as self-attention", "less than self-attention, but at least 75 %",
       "hardly more than the majority baseline"});
  const Marked marked = train_markers(options);
  report.check_quoted("the majority baseline", marked.always_no, 64, 0.02, "%");
  report.at_least("self-attention: right", marked.self, 98, "%");
  report.at_most("RNN: points above the baseline", marked.rnn - marked.always_no, 5);
  report.at_most("GRU: points above the baseline", marked.gru - marked.always_no, 5);
  report.check("RNN and GRU have at least self-attention's weights", marked.fair);
  const auto share = [](double c) { return c * 17 / (c * 17 + 24 - c); };
  kit::check_worked_example(report, "the probability of a mark",
                            {{23.0 / 32 * std::pow(31.0 / 32, 22), 0.36}});
  kit::check_worked_example(report, "weights for a score of log 17",
                            {{share(1), 0.425}, {share(3), 0.708}, {share(3) / 3, 0.236}});
  report.answer(counting, 'b', marked.grows && marked.each_falls,
                "The total weight on the symbol grows with the count, so the small network can compute the "
                "count from b. The weight on each single token falls. So in the heat map that the program "
                "draws, a block is paler if its symbol occurs more often.");
  report.answer(
      recurrent, 'c', marked.gru - marked.always_no <= 5 && marked.wide > marked.gru,
      "Each state must carry the counts of 32 symbols. After this number of training steps, neither the RNN nor the "
      "GRU is much better than a model that always answers \"no\". A GRU with about three times the units (last row "
      "of the table) is right for a few more tokens after the same number of steps. We did not test longer training.");
}

// At seed 1, the table reads:
//
//                                        parameters       right
//     majority baseline: always "no"                   64.53 %
//     self-attention                         31106     99.83 %
//     self-attention, no projections         18818     65.06 %
//     bidirectional RNN                      31650     64.53 %
//     bidirectional GRU                      31762     65.67 %
//     GRU with three times the units         76994     68.78 %
//
// At other seeds, self-attention is right for at least 98 % of the tokens, and the RNN and the GRU of equal
// size stay within 5 points of the baseline. The GRU in the last row has 64 units in each direction. All models
// have 1500 training steps. We did not test longer training.
//
// How can a softmax count? Suppose that the score is β for two tokens with the same symbol, and 0 otherwise. A
// token whose symbol occurs c times has the score β with c tokens, itself included, and 0 with the 24 − c
// others. So its weight on the symbol is
//
//     c e^β / (c e^β + 24 − c)          e^β = 17, c = 1:  17 / 40 = 0.425          c = 3:  51 / 72 = 0.708
//
// The weight on the symbol grows with c, so it shows how large c is. (Each of the three tokens has a third of
// 0.708, which is 0.236.) The small network sees a and b, and b contains the value of the symbol multiplied by
// this weight. The other tokens add a mixture of their values, which is different in each sequence. So the part of b
// that belongs to the token's own symbol grows with c, and the small network can compute c. If β were very large,
// the weight would be close to 1 for every c, and the layer could not count.
//
// At seed 1, a symbol that occurs once gets 43.1 % of the weight from the trained layer. A symbol that occurs
// twice gets 61.2 %. A symbol that occurs three times gets 71.2 %, which is 23.7 % for each of its tokens. The
// program solves the formula for e^β: 17.4 for c = 1, and 17.3 for c = 2 and for c = 3. So one e^β fits all three,
// as the formula assumes.
//
// At other seeds, e^β differs, but the weight on a symbol always grows with its count.
//
// Why does the layer without projections not learn this? One likely reason is the initial β, which is |a|² / √d,
// where a is the embedding of the symbol. The d = 64 numbers of an embedding start with variance 1, so β starts
// near 64 / 8 = 8, and e^β near 3000. That is too large for counting, so training must first make the
// embeddings smaller. After the same number of steps, the accuracy is hardly above the baseline.
//
// With projections, W_Q and W_K start with independent random numbers. So the dot product of a query and a key
// starts near 0, even for two tokens with the same symbol. This means that β starts near 0.

// ---- 5. Cost compared with a GRU --------------------------------------------------------------------------
// How many multiplications does a sequence of n tokens of width d need? We count those of the forward pass.
// Self-attention computes n² scores, with d multiplications each. The outputs need n² d more, and the
// projections 3 n d². Together that is 2 n² d + 3 n d².
//
// At each step, a GRU multiplies vectors by six d × d matrices. For n steps, that is 6 n d². Both layers need
// the same number of multiplications if 2 n = 3 d. For d = 64, this *crossover* is at 96 tokens. In both
// layers, the backward pass needs about twice as many multiplications as the forward pass, so it does not move
// the crossover.
//
// The program measures the time of the forward and the backward pass together. In the printed table, the two
// times cross at a larger length than 96 tokens. So the number of multiplications does not determine the time
// alone. Each step of a GRU must wait for the step before, and its products are small. Self-attention consists
// of a few large products, which run at a higher speed (lesson 04).
//
// Memory grows as n², too. The backward pass needs the n² weights, so self_attention() stores them. For 2048 tokens,
// these are 4 million floats, about 16 MB, for each layer and each sequence.
//
// The path of the gradient differs, too. In a GRU, the gradient passes through all steps on its way from the
// last output to the first token (lesson 09). In self-attention, its path has length one, because every token
// attends to every other token directly.

// What to remember. In self-attention, each token of a sequence has a query, a key and a value. The outputs b_i
// = Σ_j α_ij v_j are computed for all tokens at once. Shuffling the tokens shuffles the outputs in the same
// way, because the layer does not know the order. Information passes between any two tokens in a single layer.
// For long sequences, the number of multiplications grows as n².
//
// Exercises: lessons/practise 16 (self-attention from plain ops; the weight on a token's own symbol; measuring
// permutation equivariance; marking tokens that occur twice, with few weights).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Self-attention in four steps");
  two_words(options.seed, report);
  report.section("Filling a gap in a sentence");
  agreement(options, report);
  report.section("Does the order of the tokens matter?");
  no_order(options.seed, report);
  report.section("Marking tokens that occur twice");
  mark_tokens(options, report);
  report.section("Cost compared with a GRU");
  draw_costs(options);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("16_self_attention", "let the tokens of one sequence attend to each other");
  program.steps(1500, 10);
  return program.run(argc, argv, lesson);
}
