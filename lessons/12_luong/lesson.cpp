// 12 luong: many scores, one decoder
//
// 15 minutes to read, 40 seconds to run. Needs lesson 11 (the additive score, attend and then step,
// alignments) and lesson 08 (the scaled dot product). Afterwards you can choose a score, build Luong's decoder around
// it, and say which tasks each score can solve.
//
// The decoder in lesson 11 computes its scores with a small network, and it attends before the GRU's step. Luong,
// Pham and Manning (2015) reversed this order and tried several scores. Does the order matter, and does the score?

#include <algorithm>
#include <utility>

#include "core/core.hpp"
#include "lessons/12_luong/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/tasks/gru_step.hpp"

using namespace tapestry;
using namespace tapestry::lesson12;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. Five scores ---------------------------------------------------------------------------------------
// A score says how well key k_j matches the query q. The mask, the softmax and the weighted sum are the same as in
// lesson 11. Here are five scores:
//
//     dot               q · k_j                     no weights; q and k have the same width
//     general           q · W k_j                   W (d_q, d_k); q and k may have different widths
//     concat            v · tanh(W [q; k_j])        W (U, d_q + d_k), v (U)
//     location          (W q)_j                     W (T_max, d_q): one row per position of the source
//     fully connected   (W [e; q])_j                W (T_max, d_e + d_q); e is the embedding of the input token
//
// [q; k_j] is the concatenation of q and k_j. d_q, d_k and d_e are the widths of q, k and e. U is a number of hidden
// units, and T_max the length of the longest source. (…)_j is element j of a vector. The first four scores are
// Luong's, and the last one is used in many tutorials.
//
// The first three scores depend on the keys, and so on the contents of the source. The last two do not depend on the
// keys. They compute a position from the decoder's state, such as "attend to the fifth symbol".
//
// Concat is lesson 11's additive score. If W_q is the left part of W and W_k the right part, then
// W [q; k] = W_q q + W_k k.
//
// Here is an example with the query q = (1, −1) and the keys k₁ = (2, 0) and k₂ = (0, 1). A semicolon separates the
// rows of a matrix:
//
//     dot                             scores 2, −1       weights 0.953, 0.047
//     general, W = (0 1; 1 0)         scores −2, 1       weights 0.047, 0.953: W swaps a key's two numbers
//     location, W = (1 0; 0 1)        scores 1, −1       weights 0.881, 0.119
//
// If we exchange the two keys, the weights of dot and general are exchanged, too. The weights of location stay the
// same.

/// Takes e (B, 1, d_e), q (B, 1, d_q), k (B, T, d_k) and the weights of the score. Returns scores (B, 1, T).
Tensor score(Kind kind, const std::vector<Tensor>& weights, const Tensor& e, const Tensor& q,
             const Tensor& k) {
  const auto place = [&](const Tensor& x) {  // a source shorter than T_max uses only the first rows of W
    return matmul(x, transpose(slice(weights[0], 0, 0, k.size(1))));
  };
  if (kind == Kind::general) return matmul(matmul(q, weights[0]), transpose(k));
  if (kind == Kind::concat) {
    const Tensor beside = expand(q, {k.size(0), k.size(1), q.size(2)});  // one copy of the query per key
    return unsqueeze(sum(tanh(matmul(concat({beside, k}, -1), transpose(weights[0]))) * weights[1], {-1}), 1);
  }
  if (kind == Kind::location) return place(q);
  if (kind == Kind::fully_connected) return place(concat({e, q}, -1));
  return matmul(q, transpose(k));
}

void three_scores(kit::Report& report) {
  const Tensor q = tensor({{{1, -1}}}, f64), k = tensor({{{2, 0}, {0, 1}}}, f64);
  const auto weights = [&](Kind kind, const Tensor& w) {
    return softmax(score(kind, {w}, {}, q, k), -1).to_vector();
  };
  const auto d = weights(Kind::dot, {}), g = weights(Kind::general, tensor({{0, 1}, {1, 0}}, f64)),
             l = weights(Kind::location, eye(2, f64));
  kit::check_worked_example(report, "weights", {{d[0], 0.953}, {g[0], 0.047}, {l[0], 0.881}, {l[1], 0.119}});
}

// ---- 2. Step, then attend ---------------------------------------------------------------------------------
// In Luong's order, the GRU steps first, and its *new* state h_t is the query. e_t is the embedding of the input
// token. The encoder's states h̄_j are both keys and values, as in lesson 11:
//
//     h_t = GRU([e_t; h̃_{t−1}], h_{t−1})          step
//     c_t = attend(q = h_t, h̄)                    then attend
//     h̃_t = tanh(W_c [c_t; h_t])                  the *attention vector*: combines the context and the state
//     logits = W_s h̃_t + b
//
// The GRU also gets h̃_{t−1}, the previous attention vector. This is called *input feeding*. It is optional, and
// section 4 shows its effect.

/// in has words (B), fed = h̃_{t−1}, before = h_{t−1} (B, …) and source = h̄ (B, T, d_k). Returns logits and weights.
Tensor step_by_hand(const OneStep& in) {
  const LuongDecoder& nn = in.decoder;
  const Tensor e = embedding(nn.embedding.weight, in.words);
  const Tensor h = kit::gru_step(concat({e, in.fed}, -1), in.before, in.gru());
  const Tensor scores =
      score(in.kind, nn.attention.parameters(), unsqueeze(e, 1), unsqueeze(h, 1), in.source);
  const Tensor weights = masked_softmax(scores, in.lengths.mask(in.source.size(1)));  // (B, 1, T)
  const Tensor context = squeeze(matmul(weights, in.source), 1);
  const Tensor vector = tanh(matmul(concat({context, h}, -1), transpose(nn.combine.weight)));
  return concat({nn.output(vector), squeeze(weights, 1)}, -1);
}

// nn/'s decoder has the score as an option: `.score = dot()`, general(d_q, d_k), concat_score(d_q, d_k, U),
// location(d_q, T_max) or fully_connected(d_e, d_q, T_max). The last one also requires `.word_in_query = true`.

void one_step(Kind kind, std::uint64_t seed, kit::Report& report) {
  const OneStep in(kind, seed);
  kit::check_by_hand(
      report, name_of(kind), [&] { return step_by_hand(in); }, [&] { return in.by_nn(); }, in.leaves(), seed);
}

// ---- 3. Bahdanau's order with the dot score ---------------------------------------------------------------
// The task is a lookup. The source is a list of pairs, each a letter and its digit. Then the decoder gets the letters
// once more, in any order. For each letter, it must write its digit:
//
//     source  k 3 c 0 p 7        questions  p k c        answers  7 3 0
//
// Training uses lists of 2 to 8 pairs, new ones at each step.
//
// We also train a second decoder, in Bahdanau's order: it computes the context before the step, and its GRU gets c_t
// instead of h̃_{t−1}. The query is then the old state, h_{t−1}. This order works with any of the scores.

Result which_state_asks(const kit::Options& options, kit::Report& report) {
  const kit::Question old = report.ask(
      "the old state asks",
      "We train two decoders with the dot score, one in Luong's order and one in Bahdanau's. For lists of 8 pairs, "
      "what percentage of the answers does the second decoder get right?",
      {"the same percentage as the first", "less than 60 %, but more than chance",
       "about 10 %, which is chance"});
  std::vector<Result> both;
  for (const QueryState who : {QueryState::new_state, QueryState::old_state})
    both.push_back(look_up(Kind::dot, who, options));
  print_table(both);
  const double right = both[1].at.at(8).symbols;
  report.at_most("old state asks: right answers, 8 pairs", right, 60, "%");
  report.answer(
      old, 'b', right <= 60 && right >= 20 && both[0].at.at(8).strings >= 99,
      "The old state does not depend on the question, which enters at the step, after the decoder has "
      "attended. In lesson 11 this did no harm: the decoder had written a letter, so its old state "
      "determined which letter came next.");
  return std::move(both[0]);
}

// At seed 1, the decoder in Luong's order gives 100.0 % right answers for lists of 4 pairs. In Bahdanau's order, with
// the old state as the query, it gives 57.8 %.

// ---- 4. Input feeding -------------------------------------------------------------------------------------
// Does a decoder need input feeding? To see its effect, we need another task, a *trail*. Each letter of the list has
// another letter as its answer, written as a capital. Only the first question is a letter. Each later question is
// "·", and asks for the answer that belongs to the previous answer:
//
//     source  a C f A c F        questions  a · · ·        answers  C F A C

void fed_back(const kit::Options& options, kit::Report& report) {
  const kit::Question trail = report.ask(
      "no input feeding", "Without input feeding, which of the four answers does the decoder get right?",
      {"all four, because the states h_t remember them", "none of them",
       "the first, but the others in less than half of the trails", "the first and the last"});
  const TrailAccuracy without = follow_trails(false, options), with = follow_trails(true, options);
  draw_trails_right(without, with, options);
  report.at_least("no input feeding: 1st answer right, 8 pairs", without.answers[0], 99, "%");
  report.at_most("no input feeding: 2nd answer right", without.answers[1], 40, "%");
  report.at_least("input feeding: whole trails right, 8 pairs", with.whole, 99, "%");
  report.answer(
      trail, 'c', without.answers[0] >= 99 && without.answers[1] <= 40 && without.answers[3] <= 40,
      "The second question asks for the answer that belongs to the first answer. h_2 depends on the first "
      "question and on the number of the step, but not on the context of step 1, where the first answer "
      "was found.");
}

// At seed 1, without input feeding, 99.9 % of the first answers are right, but only 24.5 % of the second answers.
// With input feeding, 99.9 % of the whole trails are right.
//
// Without input feeding, the context c_t affects the answer at step t, but no later state h_{t+1}. (In a translator,
// the written token is the next input, so some information returns.)

// ---- 5. The table of scores -------------------------------------------------------------------------------
// Now we compare all five scores in the same decoder, without input feeding. We add lesson 08's scaled dot product.
//
// A common exercise is to replace an additive score by the scaled dot product. Here this takes one line, `.score =
// scaled_dot()`. But it fails if d_q ≠ d_k: an additive score works with two different widths, a dot product does
// not. For two widths, use general.

void table_of_scores(Result dot, const kit::Options& options, kit::Report& report) {
  const kit::Question which = report.ask(
      "lists of 16 pairs",
      "Lists of 16 pairs are twice as long as the longest lists in training. Which scores still find all the "
      "digits in at least 99 % of these lists?",
      {"the scores that depend on the keys: dot, general and concat",
       "only concat, which has the most weights", "all five, because each has learned the task",
       "none of them, because no training list was that long"});
  const std::vector<Result> all = all_scores(std::move(dot), options);
  const bool found = check_scores(all, report);
  report.answer(
      which, 'a', found,
      "They search by content, so neither the position of a letter nor the length of the list matters. The "
      "other two compute a position, but in every list the letters have new positions.");
  report.figure("weight in common of two questions, 8 pairs: dot", all[0].at.at(8).weight_in_common, "%");
  report.figure("weight in common of two questions, 8 pairs: location", all[3].at.at(8).weight_in_common,
                "%");
  check_two_widths(options, report);
}

// At seed 1, the table of scores reads:
//
//     score                 formula              weights    answers right in %    lists right in %
//                                                          4 pairs     8    16   4 pairs     8    16
//     dot                   q · k                      0      100.0 100.0 100.0     100.0 100.0  99.8
//     general               q · W k                 4096      100.0 100.0 100.0     100.0 100.0  99.9
//     concat                v · tanh(W [q; k])      8256      100.0 100.0 100.0     100.0 100.0 100.0
//     location              (W q)_j                 2048       57.1  39.8  27.2       1.6   0.0   0.0
//     fully connected       (W [e; q])_j            3072       42.1  31.2  22.3       0.3   0.0   0.0
//     scaled dot            q · k / √d                 0      100.0 100.0  99.9     100.0 100.0  99.1
//
// At other seeds, the numbers differ, but only the scores that depend on the keys find the digits. The dot score has
// no weights and is as good as the others here, because the encoder and the decoder learn states that match.
//
// The program also prints the weight that two questions of one list have in common: at each key, the smaller of
// their two weights, summed over the keys. If every question attends only to its own pair, this is 0 %.

// What to remember. Some scores compare the query with the keys, others compute a position. Only a score that
// compares can search by content. In Luong's order, the decoder steps and then attends, so the new state is the
// query. Without input feeding, the context does not reach the next step.
//
// Exercises: lessons/practise 12 (the attention vector; gradients of the general score; the order of step and
// attention; a small lookup model).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Five scores");
  three_scores(report);
  report.section("Step, then attend");
  for (const Kind kind : {Kind::dot, Kind::general, Kind::concat, Kind::location, Kind::fully_connected})
    one_step(kind, options.seed, report);
  report.section("Bahdanau's order with the dot score");
  Result dot = which_state_asks(options, report);
  report.section("Input feeding");
  fed_back(options, report);
  report.section("The table of scores");
  table_of_scores(std::move(dot), options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("12_luong", "many scores, one decoder");
  program.steps(1500, 10);
  return program.run(argc, argv, lesson);
}
