// 11 bahdanau: let the decoder look back at every encoder state
//
// 20 minutes to read, 20 seconds to run. Needs lesson 10 (encoder and decoder, teacher forcing, exact match), the GRU
// from lesson 09, and queries, keys, values and masks from lessons 06 and 07. Afterwards you can build the decoder
// step of the first translator with attention, train the model, and interpret its attention weights correctly.
//
// In lesson 10, the decoder received a whole string as a single vector, the encoder's last state. Long strings did
// not fit through this bottleneck. But the encoder computes a state at every letter. What if the decoder could look
// back at all of these states each time it writes a letter? And how would it know which of them it needs? In the
// translator of Bahdanau, Cho and Bengio (2015), the decoder learns to choose them.

#include <cmath>

#include "core/core.hpp"
#include "lessons/11_bahdanau/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/tasks/gru_step.hpp"

using namespace tapestry;
using namespace tapestry::lesson11;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. The additive score by hand ------------------------------------------------------------------------
// The decoder's state s (d_s numbers) is the query. Each encoder state h_j (d_h numbers) is both a key and the value
// that belongs to this key.
//
// In lesson 06, the score of a query and a key was their dot product q·k. Here, a small network with one hidden
// layer of U units computes the score. It multiplies the query and the key by one matrix each, and adds the two
// results. So its output is called the *additive* score:
//
//     score_j = v · tanh(W_q s + W_k h_j)          W_q (U, d_s), W_k (U, d_h), v (U)
//     α       = softmax of the scores over j       the weights; 0 for padding
//     c       = Σ_j α_j h_j                        the *context*, the weighted average of the values
//
// W_q, W_k and v are learned. Why does this model not use the dot product of s and h_j? It needs two vectors of the
// same width. The additive score first projects both vectors to U numbers, so d_s and d_h may differ. (A dot product
// of projected vectors, as in lesson 06, does not need equal widths either. Lesson 12 compares the additive score
// with scores made of dot products.)
//
// The tanh is necessary. Without it, score_j would be v · W_q s + v · W_k h_j. The first term is the same for every
// j, and adding the same number to all scores does not change a softmax. So the weights would not depend on the
// query s at all. With the tanh, the score is no longer a sum of a term for s and a term for h_j, and another query
// can give another order of the scores.
//
// For an example by hand, let U = 2, and let W_q and W_k be identity matrices. The query s, the vector v and two
// states are:
//
//     s = (1, −1)     v = (2, −1)     h₁ = (0, 1)     h₂ = (−1, 2)
//
// Then the arguments of the tanh are s + h₁ = (1, 0) and s + h₂ = (0, 1), and the scores are:
//
//     tanh(1, 0) = (0.7616, 0)      score₁ = 2 · 0.7616 = 1.523
//     tanh(0, 1) = (0, 0.7616)      score₂ = −1 · 0.7616 = −0.762
//
// e^1.523 is 4.586 and e^−0.762 is 0.467. So the weights are 4.586 / 5.053 = 0.908 and 0.092, and the context
// is 0.908 h₁ + 0.092 h₂ = (−0.092, 1.092).
//
// The function look_back() computes the context for a batch of B strings. It projects the decoder states s (B, d_s)
// and the encoder states h (B, T, d_h), where T is the number of encoder states of the longest string. `lengths`
// holds the number of states of each string. The other states are padding, which the mask excludes (lesson 07). In
// the code, `query` (B, 1, U) and `keys` (B, T, U) are the projected vectors W_q s and W_k h_j. In query + keys,
// broadcasting repeats the query along T, so the query is added to every key.

struct AttentionParts {
  Tensor scores, weights;  // (B, T)
  Tensor context;          // (B, d_h)
};

AttentionParts look_back(const Tensor& s, const Tensor& h, const ValidLengths& lengths, const Tensor& w_q,
                         const Tensor& w_k, const Tensor& v) {
  const Size batch = h.size(0), time = h.size(1);
  const Tensor query = unsqueeze(matmul(s, transpose(w_q)), 1);  // (B, 1, U)
  const Tensor keys = matmul(h, transpose(w_k));                 // (B, T, U)
  const Tensor scores = sum(tanh(query + keys) * v, {-1});       // (B, T)
  const Mask valid = lengths.mask(time).reshape({batch, time});  // true = may attend
  const Tensor weights = masked_softmax(scores, valid);
  return {scores, weights, squeeze(matmul(unsqueeze(weights, 1), h), 1)};  // (B, 1, T) · (B, T, d_h)
}

void two_states(kit::Report& report) {
  const Tensor same = eye(2, f64);  // the identity, so s and h are not changed
  const AttentionParts result = look_back(tensor({{1, -1}}, f64), tensor({{{0, 1}, {-1, 2}}}, f64), {2}, same,
                                          same, tensor({2, -1}, f64));
  const auto score = result.scores.to_vector(), weight = result.weights.to_vector(),
             context = result.context.to_vector();
  kit::check_worked_example(report, "the two scores",
                            {{std::tanh(1.0), 0.7616}, {score[0], 1.523}, {score[1], -0.762}});
  kit::check_worked_example(report, "weights",
                            {{std::exp(1.523), 4.586},
                             {std::exp(-0.762), 0.467},
                             {std::exp(1.523) + std::exp(-0.762), 5.053},
                             {weight[0], 0.908},
                             {weight[1], 0.092}});
  kit::check_worked_example(report, "the context", {{context[0], -0.092}, {context[1], 1.092}});
}

// ---- 2. Attend, then step ---------------------------------------------------------------------------------
// A decoder step has two parts. First the decoder attends: the *old* state s_{t−1} is the query, and the result is
// the context c_t. Then the GRU from lesson 09 takes its step. As in lesson 10, e_{t−1} is the embedding of the
// previous output letter. [a; b] is the concatenation of a and b:
//
//     c_t = look_back(s_{t−1}, h)
//     s_t = GRU([e_{t−1}; c_t], s_{t−1})
//
// The context is an *input* of the GRU. It does not replace the state, which still remembers the letters written so
// far. The projected keys W_k h_j do not depend on s. So an efficient decoder computes them once per string, and not
// again for each output letter. (Our look_back() computes them in every step.)
//
// The whole model has two more parts, which nn/seq2seq contains. One part computes the decoder's initial state, s_0
// = tanh(W ←h_1 + b). The vector ←h_1 is the last state of a GRU that reads the source from right to left (part 3).
// The other part, a tanh layer and a linear layer, computes the logits of the output letter from [s_t; c_t;
// e_{t−1}].

struct Weights {
  Tensor w_q, w_k, v;
  kit::GruWeights gru;  // as in lesson 09, for kit::gru_step(input, state, weights)
};

Tensor step_by_hand(const Tensor& e, const Tensor& s, const Tensor& h, const ValidLengths& lengths,
                    const Weights& w) {
  const Tensor context = look_back(s, h, lengths, w.w_q, w.w_k, w.v).context;
  return kit::gru_step(concat({e, context}, -1), s, w.gru);
}

// How does the model learn which states it needs? Suppose that a larger weight on h_3 would make the right letter
// more likely. Then a step against the gradient of this letter's loss raises the score of h_3. The step changes W_q,
// W_k and v. It also changes the weights of the encoder and of the decoder, and with them the states h_j and s. The
// training data contains only the letters, and no information about which state to use for which letter.
//
// The function check_step() checks the gradients of step_by_hand() with gradcheck (lesson 02). It also compares the
// result and the gradients with those of the layers in nn/.

void check_step(std::uint64_t seed, kit::Report& report) {
  Step step(3, 4, 6, 5);  // all four widths differ
  step.initialise(seed, f64);
  const AdditiveScore& score = step.score();
  const Weights weights{score.query.weight, score.key.weight, score.vector, step.gru()};
  const Tensor e = variable(random_normal({2, 3}, seed, f64), "e");
  const Tensor s = variable(random_normal({2, 4}, seed + 1, f64), "s");
  const Tensor h = variable(random_normal({2, 5, 6}, seed + 2, f64), "h");
  const ValidLengths lengths = {5, 3};  // the second string is shorter: its last two states are padding
  std::vector<Tensor> leaves = step.parameters();
  leaves.insert(leaves.end(), {e, s, h});
  kit::check_by_hand(
      report, "step_by_hand()", [&] { return step_by_hand(e, s, h, lengths, weights); },
      [&] { return step(e, s, h, lengths); }, leaves, seed);
}

// ---- 3. All encoder states against one vector -------------------------------------------------------------
// The task is the same as in lesson 10: the model must write a string of 4 to 24 letters backwards. The alphabet has
// ten letters. There are only 10⁴ strings of four letters, and the model sees many of them during training, so it
// could memorise them. But nearly every test string of six or more letters is new. The model can reverse such a
// string only if it has learned a general rule.
//
// The encoder is a *bidirectional* GRU. One GRU processes the string from left to right, and another GRU processes it
// from right to left. The token <end> follows the letters of the source, so the encoder has T = letters + 1 states.
//
// The states of both directions are concatenated: h_j = [→h_j; ←h_j] has 32 + 32 = 64 numbers. The state →h_j depends
// on letter j and the letters before it, and ←h_j on letter j and the letters after it. So h_j can describe letter j,
// its neighbours on both sides, and its distance from both ends of the string. The score can use all of this to find
// the right state.
//
// For comparison, we train a second model, which can attend to only one vector. Its layers, initial weights and
// training strings are the same. The vector is [→h_T; ←h_1], the last state of each direction. Each of these two
// states depends on the whole string.

Run all_against_one(const kit::Options& options, kit::Report& report) {
  const kit::Question all = report.ask(
      "all states",
      "The decoder can attend to all encoder states. What share of 24-letter strings does it reverse correctly?",
      {"nearly 100 %, as for 4-letter strings",
       "a clearly smaller share than for 4-letter strings, as in lesson 10",
       "nearly 0 %, because 24 states are too many to choose from"});
  const kit::Question one = report.ask(
      "one vector", "What is that share if the same network can attend to only one vector of 64 numbers?",
      {"the same share, because both models have the same number of weights and train on the same strings",
       "about half of the share with all encoder states", "nearly 0 %"});
  Run all_states = train_and_test(Memory::all_states, "all states", options);
  const Run one_vector = train_and_test(Memory::one_vector, "one vector", options);
  draw_lengths(all_states, one_vector, options);
  const double worst = all_states.worst();
  report.at_least("exact match, lowest of all lengths", worst, 99, "%");
  report.answer(all, 'a', worst >= 99,
                "The encoder keeps one state per letter, so no single state has to carry the whole string.");
  report.figure("exact match at length 4, one vector", one_vector.exact.y.front(), "%");
  report.at_most("exact match at length 24, one vector", one_vector.exact.y.back(), 10, "%");
  report.answer(
      one, 'c', one_vector.exact.y.back() <= 10 && one_vector.exact.y.front() > 50,
      "A softmax over a single score is 1, so the context is the same vector at every letter. This "
      "vector is the bottleneck of lesson 10 again. Lesson 10 shows that more weights hardly help. Attending "
      "to all states helps.");
  return all_states;
}

// At seed 1, the exact match is:
//
//     all states     99.9 % or more at every length
//     one vector     99.2 % at length 4, 0 % at length 24
//
// At other seeds, the numbers differ. But the model with all states stays above 99 % at every length, and the model
// with one vector stays below 10 % at length 24.
//
// Both models have the same number of weights. But with one vector, W_q, W_k and v have no effect, because the only
// attention weight is always 1. Could the smaller number of effective weights explain the difference? Hardly: in
// lesson 10, a model with 529,486 weights reversed no test string of 24 letters.
//
// Three differences can explain the gap. This experiment does not separate them:
//
// - *Less to store.* With one vector, the model must learn to pack 24 letters into 64 numbers and to unpack them in
//   order. With all states, h_j has to describe only letter j and its position.
// - *A description of the position.* The state h_j also depends on the letters before and after letter j. So two
//   equal letters have different states, and the score can tell them apart.
// - *A choice in each step.* The additive score depends on the decoder's state, so each step can select another h_j.
//   With one vector, there is nothing to select.
//
// Attention has a cost. The decoder writes the letters and <end>, so it takes T steps. In each step, it computes T
// scores, one for each encoder state. Together that is T² scores.

// ---- 4. Reading the alignment -----------------------------------------------------------------------------
// Each decoder step computes T weights: one for each source letter, and one for <end>. These T weights are one row
// of the *alignment matrix*, which has a row for each output letter.

void alignment(const Run& run, const kit::Options& options, kit::Report& report) {
  const kit::Question shape = report.ask(
      "the alignment",
      "In the alignment matrix, rows are output letters, from top to bottom, and columns are source letters. "
      "Where are the large weights?",
      {"on the diagonal from top left to bottom right", "on the diagonal from top right to bottom left",
       "nowhere, because the weights of each row are spread over the whole string"});
  const kit::Question exact = report.ask(
      "letter for letter",
      "Nearly every output letter is right. Where is the attention weight in the row of such a letter?",
      {"all on the source letter that it copies", "a little on every source letter",
       "on the source letter that it copies and on one of the neighbours of that letter"});
  const AlignmentShares shares = measure_alignments(run, options);
  report.at_least("largest weight on the letter or a neighbour", shares.near, 95, "%");
  report.answer(
      shape, 'b', shares.near >= 95,
      "The first output letter is the last source letter. The model has learned this from the loss alone.");
  report.figure("weight on the letter itself", shares.weight_at, "%");
  report.figure("weight on the letter and its two neighbours", shares.weight_near, "%");
  report.answer(
      exact, 'c', shares.weight_at > 30 && shares.weight_at < 95 && shares.weight_near > 80,
      "The encoder states at the neighbouring letters can also contain information about the copied letter, so "
      "the decoder can use them, too. A weight tells you which encoder state was used. It doesn't prove which "
      "letter was copied.");
}

// At seed 1, this is the string in the picture, and the output of the model:
//
//     i a j j f f j a a j d e g i
//     → i g e d j a a j f f j j a i
//
// In most rows, the second-largest weight is on the source letter to the right of the copied one. The model wrote
// that letter one step earlier. Its state can contain information about the copied letter, because each encoder
// state depends on the whole string.
//
// At seed 1, the state at the copied letter gets 59.15 % of the weight on average. This state and its two neighbours
// together get 95.75 %. At other seeds, these shares differ, but the neighbours always get a part of the weight.

// What to remember. The decoder's state is the query, the encoder's states are the keys and values, and a small
// network computes the scores. In each step, the decoder first attends and then takes the GRU step, with the context
// as an additional input. No single vector has to hold the whole string.
//
// Exercises: lessons/practise 11 (the additive attention score; from scores to the context; limits of the additive
// score; a small model that reverses strings; a milestone: Bahdanau's translator on your engine).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("The additive score by hand");
  two_states(report);
  report.section("Attend, then step");
  check_step(options.seed, report);
  report.section("All encoder states against one vector");
  const Run all_states = all_against_one(options, report);
  report.section("Reading the alignment");
  alignment(all_states, options, report);
}
}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("11_bahdanau", "let the decoder look back at every encoder state");
  program.steps(1250, 15);
  return program.run(argc, argv, lesson);
}
