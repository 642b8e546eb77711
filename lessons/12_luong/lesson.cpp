// 12 luong: many scores, one decoder
//
// 15 minutes to read, 40 seconds to run. Needs lesson 11 (the additive score, attend and then step, maps of
// weights) and lesson 08 (the scaled dot product). Afterwards you can choose a score, build Luong's decoder
// around it, and say what it can find and what it cannot.
//
// Lesson 11's decoder scores with a small network, looks first and steps then. Luong, Pham and Manning (2015)
// turned the order round and tried several scores. Does either matter?

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
// A score says how well key k_j answers query q. Mask, softmax and weighted sum stay as they were:
//
//     dot               q · k_j                     no weights; q and k equally wide
//     general           q · W k_j                   W (d_q, d_k) brings two widths together
//     concat            v · tanh(W [q; k_j])        W (U, d_q + d_k), v (U)
//     location          (W q)_j                     W (T_max, d_q): a row for each place of the source
//     fully connected   (W [e; q])_j                W (T_max, d_e + d_q): the last word, e, may speak too
//
// Three look at what stands in the source. The last two never see a key: they turn what the decoder knows
// into a place, "look at the fifth". (The last is in many a tutorial, the others are Luong's.) W [q; k] = W_q
// q + W_k k, with W's left and right part, so concat is lesson 11's additive score.
//
// With a pencil: the query q = (1, −1), and the keys k₁ = (2, 0) and k₂ = (0, 1).
//
//     dot                             scores 2, −1       weights 0.953, 0.047
//     general, W = (0 1; 1 0)         scores −2, 1       weights 0.047, 0.953: W exchanges a key's numbers
//     location, W = (1 0; 0 1)        scores 1, −1       weights 0.881, 0.119
//
// If the two keys change places, the weights of dot and general change places too. Location's stay.

/// e (B, 1, d_e), q (B, 1, d_q), k (B, T, d_k), and the weights of the score → (B, 1, T).
Tensor score(Kind kind, const std::vector<Tensor>& weights, const Tensor& e, const Tensor& q,
             const Tensor& k) {
  const auto place = [&](const Tensor& x) {  // a source shorter than T_max uses the first rows of W
    return matmul(x, transpose(slice(weights[0], 0, 0, k.size(1))));
  };
  if (kind == Kind::general) return matmul(matmul(q, weights[0]), transpose(k));
  if (kind == Kind::concat) {
    const Tensor beside = expand(q, {k.size(0), k.size(1), q.size(2)});  // the query beside every key
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
// In Luong's order the GRU steps first, and the *new* state h_t is the query. e_t embeds the word that goes
// in; the encoder's states h̄_j are keys and values at once, as in lesson 11:
//
//     h_t = GRU([e_t; h̃_{t−1}], h_{t−1})          step
//     c_t = attend(q = h_t, h̄)                    then attend
//     h̃_t = tanh(W_c [c_t; h_t])                  the *attention vector*: what was read, and what was known
//     logits = W_s h̃_t + b
//
// h̃_{t−1} beside the word is *input feeding*. It can be left out; part 4 shows what it does.

/// words (B), fed = h̃_{t−1}, before = h_{t−1} (B, …), source = h̄ (B, T, d_k) → logits and weights.
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

// nn/'s decoder takes the score as an option: `.score = dot()`, general(d_q, d_k), concat_score(d_q, d_k, U),
// location(d_q, T_max) or fully_connected(d_e, d_q, T_max), which wants `.word_in_query = true` as well.

void one_step(Kind kind, std::uint64_t seed, kit::Report& report) {
  const OneStep in(kind, seed);
  kit::check_by_hand(
      report, name_of(kind), [&] { return step_by_hand(in); }, [&] { return in.by_nn(); }, in.leaves(), seed);
}

// ---- 3. The line that makes it Bahdanau's -----------------------------------------------------------------
// The task is to look up. The source is a list of pairs, a letter and its digit. Then the letters come once
// more, in any order, and for each the decoder writes its digit:
//
//     source  k 3 c 0 p 7        questions  p k c        answers  7 3 0
//
// Training shows lists of 2 to 8 pairs, each time new ones. Now, in step_by_hand(), let `before` ask in place
// of h, look before the step, and feed c_t in place of h̃_{t−1}: the order is lesson 11's, attend and then
// step. That line makes a decoder Bahdanau's, whatever its score.

Result which_state_asks(const kit::Options& options, kit::Report& report) {
  const kit::Question old = report.ask(
      "the old state asks",
      "Two decoders with the score dot, in Luong's order and in Bahdanau's. What does the second get right?",
      {"as much as the first", "less than 60 % in lists of 8 pairs", "one answer in ten, by chance"});
  std::vector<Result> both;
  for (const Asks who : {Asks::new_state, Asks::old_state}) both.push_back(look_up(Kind::dot, who, options));
  print_table(both);
  const double right = both[1].at.at(8).symbols;
  report.at_most("old state asks: symbols, 8 pairs", right, 60, "%");
  report.answer(old, 'b', right <= 60 && right >= 20 && both[0].at.at(8).strings >= 99,
                "The old state has not heard the question: it goes in at the step, after the look. In lesson "
                "11 the old state had just written a letter, so it knew which one came next.");
  return std::move(both[0]);
}

// ---- 4. What is fed back ----------------------------------------------------------------------------------
// Without input feeding what was read at step t goes into the answer and is gone: h_{t+1} never hears of it.
// (In a translator the word that was written comes back.) On a *trail* each letter stands for another one,
// given as a capital, and only the first question is asked aloud:
//
//     source  a C f A c F        questions  a · · ·        answers  C F A C

void fed_back(const kit::Options& options, kit::Report& report) {
  const kit::Question trail = report.ask(
      "no input feeding", "Without input feeding, which of the four answers come out right?",
      {"all: the states h_t remember", "none", "the first; the others seldom", "the first and the last"});
  const Trail without = follow_trails(false, options), with = follow_trails(true, options);
  draw_trails_right(without, with, options);
  report.at_least("no input feeding: 1st answer, 8 pairs", without.answers[0], 99, "%");
  report.at_most("no input feeding: 2nd answer", without.answers[1], 40, "%");
  report.at_least("input feeding: whole trails, 8 pairs", with.whole, 99, "%");
  report.answer(trail, 'c', without.answers[0] >= 99 && without.answers[1] <= 40 && without.answers[3] <= 40,
                "The second answer is what the first one stands for. h_2 knows the question and the number "
                "of the step, not what was read at step 1.");
}

// ---- 5. The table of scores -------------------------------------------------------------------------------
// All scores in the same decoder, without input feeding. One is lesson 08's: in place of an additive score it
// is one line, `.score = scaled_dot()`. That is the homework of many courses, and where d_q ≠ d_k it fails:
// additive bears two widths, a product does not. There, take general.

void table_of_scores(Result dot, const kit::Options& options, kit::Report& report) {
  const kit::Question which = report.ask(
      "lists of 16 pairs",
      "Lists of 16 pairs are twice as long as any in training. Which scores still find all the digits?",
      {"those that see the keys: dot, general, concat", "concat alone: it has the most weights",
       "all five: each has learned the task", "none: no list of that length was ever shown"});
  const std::vector<Result> all = all_scores(std::move(dot), options);
  const bool found = judge_scores(all, report);
  report.answer(which, 'a', found,
                "They search by content, so neither the place nor the length of the list matters. The other "
                "two point at places, and where a letter stands is new in every list.");
  report.figure("weight that two questions share, 8 pairs: dot", all[0].at.at(8).shared, "%");
  report.figure("weight that two questions share, 8 pairs: location", all[3].at.at(8).shared, "%");
  two_widths(options, report);
}

// What to remember. A score compares or points, and only one that compares can search. Luong steps, then
// attends: the new state asks. What was read is lost unless it is fed back.
//
// Exercises: lessons/practise 12 (the attention vector; general's gradients; a step too late; a small
// finder).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("Five scores");
  three_scores(report);
  report.section("Step, then attend");
  for (const Kind kind : {Kind::dot, Kind::general, Kind::concat, Kind::location, Kind::fully_connected})
    one_step(kind, options.seed, report);
  report.section("The line that makes it Bahdanau's");
  Result dot = which_state_asks(options, report);
  report.section("What is fed back");
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
