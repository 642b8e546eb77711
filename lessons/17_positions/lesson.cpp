// 17 positions: tell attention the order of its tokens
//
// 30 minutes to read, 60 seconds to run. Needs lesson 16 (self-attention knows no order) and lesson 08 (the
// scale √d). Afterwards you can add positions or distances to attention in six ways, and say which of these
// schemes can do a given task.
//
// Self-attention cannot distinguish "dog bites man" from "man bites dog". So the model needs information about
// order. There are two kinds of *position schemes*. One kind tells each token its position: "you are the
// fifth". The other kind tells each pair of a query and a key their distance: "this key is three positions
// before you". Does it matter which kind we use?

#include <cmath>

#include "core/core.hpp"
#include "lessons/17_positions/experiment.hpp"
#include "lessons/17_positions/schemes.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson17;
using kit::mean_accuracy;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. A vector for each position ------------------------------------------------------------------------
// The simplest scheme has a vector for each position. The model *adds* this vector to the embedding of the token
// at this position. The vectors can be learned: then the model has a table with a row for each position.
//
// Or a formula computes the vectors, which are then called *sinusoids* (Vaswani et al. 2017). Imagine a clock with
// d/2 hands, numbered i = 0 … d/2 − 1. From one position to the next, hand i turns by the angle ω_i. So at
// position p its angle is p ω_i. The vector PE[p] contains the sine and the cosine of each hand's angle:
//
//     PE[p, 2i] = sin(p ω_i),  PE[p, 2i + 1] = cos(p ω_i)        ω_i = 10000^{−2i/d},  i = 0 … d/2 − 1
//
// Hand 0 is the fastest: with ω_0 = 1, it makes a full turn in about six positions. The slowest hand needs many
// thousands of positions for one turn. The fast hands distinguish positions that are close together. The slow
// hands distinguish the beginning of a long sequence from its end.
//
// Here is an example by hand with a single clock hand, d = 2:
//
//     PE[1] = (0.841, 0.540)    PE[1] · PE[2] = 0.841 · 0.909 − 0.540 · 0.416 = 0.540
//     PE[2] = (0.909, −0.416)   PE[2] · PE[3] = 0.909 · 0.141 + 0.416 · 0.990 = 0.540
//     PE[3] = (0.141, −0.990)
//
// The product is the same for any two neighbouring positions. It depends only on the difference of the angles:
//
//     sin a sin b + cos a cos b = cos(a − b)        for neighbours, cos 1 = 0.540
//
// So the product of two vectors shows the distance of their positions. But can attention find, for example, the
// key three positions before a query? To move on by k positions, hand i turns by the angle k ω_i, whatever the
// position is. A point (a, b) that is turned by an angle φ becomes
//
//     (a cos φ − b sin φ, a sin φ + b cos φ)        so (cos x, sin x) becomes (cos(x + φ), sin(x + φ))
//
// This is a product with a matrix. So one matrix turns PE[p] into PE[p + k], for every p, and W_K can learn this
// matrix. With k = 3, the key of position j becomes PE[j + 3]. If W_Q leaves PE[i] unchanged, the query of
// position i matches the key with j + 3 = i best. This is the key three positions before it.
//
// (PE stores the sine first, but a clock hand is the point (cos, sin). Only the order of the two numbers differs.
// In section 2, points turn in the same way.)

Tensor angles(Size positions, Size width) {  // p ω_i (positions, width / 2)
  const Tensor i = arange(0, static_cast<double>(width / 2), 1, f64);
  const Tensor omega = exp(-2 * std::log(10000.0) / static_cast<double>(width) * i);
  return unsqueeze(arange(0, static_cast<double>(positions), 1, f64), 1) * omega;
}

Tensor sinusoids_by_hand(Size positions, Size width) {
  const Tensor angle = angles(positions, width);
  return reshape(stack({sin(angle), cos(angle)}, 2), {positions, width});
}

/// Turns points (a, b) by their angles. The first half of x's numbers holds all a, and the second half all b.
Tensor rotate(const Tensor& x, const Tensor& angle) {
  const Size half = x.size(-1) / 2;
  const Tensor a = slice(x, -1, 0, half), b = slice(x, -1, half, 2 * half);
  return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, -1);
}

void position_vectors(const kit::Options& options, kit::Report& report) {
  const Tensor pe = sinusoids_by_hand(4, 2), products = matmul(pe, transpose(pe));
  std::vector<kit::Written> figures = {{products.at({1, 2}), 0.540}, {products.at({2, 3}), 0.540}};
  const std::vector<double> rows = pe.to_vector(), text = {0, 1, 0.841, 0.540, 0.909, -0.416, 0.141, -0.990};
  for (std::size_t i = 0; i < rows.size(); ++i) figures.push_back({rows[i], text[i]});
  kit::check_worked_example(report, "one hand", figures);
  check_sinusoids(sinusoids_by_hand, angles, rotate, options, report);
}

// ---- 2. A distance for each pair --------------------------------------------------------------------------
// Often the distance of two tokens matters more than their positions. So the schemes of this section use the
// distance j − i of query i and key j. It is negative for a key to the left. Here are four such schemes.
//
// **Shaw** (Shaw et al. 2018) adds learned vectors to the key and to the value. There are two vectors, a^K and
// a^V, for each distance from −r to r. All farther distances count as −r or r:
//
//     s_ij = q_i · (k_j + a^K_{j−i}) / √d          c_i = Σ_j α_ij (v_j + a^V_{j−i})
//
// **T5** (Raffel et al. 2020) adds a learned number b to the score. Each near distance has its own number. Far
// distances share numbers: they are grouped into *buckets*, which grow wider with the distance. From a largest
// distance on, all distances are in the last bucket. On the left side, 8 buckets up to the distance 16 contain
// the distances 0, 1, 2, 3, 4–5, 6–7, 8–11, and 12 or more.
//
//     s_ij = q_i · k_j / √d + b_{j−i}
//
// **ALiBi** (Press et al. 2022) learns nothing. It subtracts the distance, multiplied by a slope m, from the score.
// There are H *heads*: attentions that run in parallel (lesson 18). Each has a different slope. A head with a
// large slope attends to near keys, and a head with a small slope also attends to far keys.
//
//     s_ij = q_i · k_j / √d − m |i − j|            m = 2^{−8h/H} for head h = 1 … H
//
// **Rotary** positions (Su et al. 2021) turn the query and the key, as the hands of the clock in section 1. R_p
// turns a vector by the angles p ω_i. If query and key are turned by the same angle, their product does not
// change. So only the difference of their angles matters, and with it the distance:
//
//     s_ij = (R_i q_i) · (R_j k_j) / √d = q_i · (R_{j−i} k_j) / √d
//
// Two details depend on the implementation. The original T5 does not divide by √d. Its initial W_Q is smaller
// by this factor instead (one of the ways in lesson 08). Here and in nn/, the numbers b are added to scores
// that are divided by √d.
//
// For rotary, the numbers i and i + d/2 of a vector form a point (a, b), as in nn/. In the sinusoids, the two
// numbers of a hand are next to each other. Both orders work, because W_Q and W_K can learn any order.

/// Returns, for each pair, the row of `table` that `row` chooses for its distance: (n, n, columns of the
/// table).
template <class Row>
Tensor by_distance(const Tensor& table, Size n, const Row& row) {
  std::vector<std::int64_t> rows;
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; ++j) rows.push_back(row(j - i));
  return embedding(table, Indices(rows, {n, n}));
}

Tensor attend_by_hand(const Tensor& x, const Head& head) {  // (B, n, d), one head
  const Size n = x.size(1), d = x.size(2);
  Tensor q = matmul(x, transpose(head.w_q)), k = matmul(x, transpose(head.w_k));
  if (head.rotary) q = rotate(q, angles(n, d)), k = rotate(k, angles(n, d));
  Tensor scores = matmul(q, transpose(k));
  if (head.shaw) scores = scores + sum(unsqueeze(q, 2) * by_distance(head.shaw->key, n, clipped_row), {-1});
  scores = scores / std::sqrt(static_cast<double>(d));
  if (head.t5) scores = scores + squeeze(by_distance(head.t5->weight, n, bucket), 2);
  const Tensor position = arange(0, static_cast<double>(n), 1, f64);
  if (head.alibi) scores = scores - std::exp2(-8) * abs(unsqueeze(position, 1) - position);  // h = H = 1
  const Tensor weights = softmax(scores, -1);
  Tensor c = matmul(weights, matmul(x, transpose(head.w_v)));
  if (head.shaw) c = c + sum(unsqueeze(weights, 3) * by_distance(head.shaw->value, n, clipped_row), {2});
  return matmul(c, transpose(head.w_o));
}

// ---- 3. Two tasks and eight models ------------------------------------------------------------------------
// The input is a string of sixteen random symbols, from 64 kinds. At each position t, the model must name one
// symbol of the string:
//
//     reverse    the symbol at position n − 1 − t      absolute: the position t decides which key is right
//     shift      the symbol at position t − 3          relative: the distance is the same everywhere
//
// Each model has two layers of attention with four heads each (lesson 18). The models differ only in their
// position scheme. There are eight of them: no scheme, sinusoids, learned positions, Shaw, T5 twice, ALiBi and
// rotary. One T5 has 32 buckets up to the distance 128, as published, 16 of them on each side. The other has 16
// buckets up to the distance 16.
//
// What is the best accuracy without any information about order? Such a model can only name the symbol that is
// most frequent at the other positions. This answer is right at 13 % of the positions.

Table two_tasks(const kit::Options& options, kit::Report& report) {
  const kit::Question shift =
      report.ask("ALiBi and the shift",
                 "The shift needs the distance, and ALiBi's scores depend on the distance. How well does the "
                 "model with ALiBi learn the shift?",
                 {"as well as the model with Shaw's scheme",
                  "half of the answers are right, because it cannot distinguish left from right",
                  "hardly better than a model without order"});
  const kit::Question reverse = report.ask(
      "who can reverse",
      "Reversing needs positions. Shaw, T5 and rotary only have distances. Which of the three "
      "learn to reverse?",
      {"Shaw only", "all three, because near the edges the distances show the position", "none of them"});
  const Table table = train_all(options, report);
  report.check_quoted("highest accuracy without order", accuracy_without_order(options), 13, 0.05, "%");
  report.answer(shift, 'c', mean_accuracy(table["ALiBi"].shift_16) <= 20,
                "ALiBi subtracts m |i − j| from the score. That is the same for the keys three positions to "
                "the left and three to the right, and less for every nearer key. (ALiBi was designed for "
                "causal models, which have no keys to the right.)");
  const auto reversed = [&](const char* name) { return mean_accuracy(table[name].reverse_16); };
  report.answer(reverse, 'a',
                reversed("Shaw") >= 90 && reversed("T5, 32 to 128") <= 40 && reversed("rotary") <= 40,
                "Consider the string aaaa… All its values are equal, so their weighted average is the same "
                "for any weights. T5, ALiBi and rotary change only the weights, so the output is equal at "
                "all positions (last column of the table, before training). Shaw's a^V are part of the "
                "values: Σ α a^V depends on how much of the string is to the left and to the right. (In a "
                "random string, the other schemes have a few clues, such as a neighbour that is missing at "
                "the edge.)");
  return table;
}

// At seed 1, the first two columns of the table read:
//
//     % right           reverse 16    shift 16
//     none                    10.5        11.0
//     sinusoidal             100.0       100.0
//     learned                100.0       100.0
//     Shaw                   100.0       100.0
//     T5, 32 to 128           16.2       100.0
//     T5, 16 to 16            14.1       100.0
//     ALiBi                   11.2        12.8
//     rotary                  25.3       100.0
//
// At other seeds, the numbers differ. The program checks which tasks each scheme must solve, and which it must
// not solve.

// ---- 4. Twice the trained length --------------------------------------------------------------------------
// The models were trained on strings of 16 symbols. We now test the same models on strings of 32 symbols.

void twice_as_long(const Table& table, const kit::Options& options, kit::Report& report) {
  const kit::Question learned =
      report.ask("learned places",
                 "Consider the model with learned positions, on strings of 32. How often is the shift right "
                 "at the positions 16 to 31?",
                 {"nearly always, because three positions back is the same step everywhere", "hardly ever",
                  "half of the time"});
  const kit::Question farther =
      report.ask("farther than ever",
                 "T5 has buckets up to the distance 128. Shaw's vectors reach only to the distance 8. Which "
                 "of these two models still solves the shift at length 32?",
                 {"the model with Shaw's scheme", "the model with T5's scheme", "both", "neither"});
  draw_longer(table, options);
  check_longer(table, report);
  const auto shifted = [&](const char* name) { return mean_accuracy(table[name].shift_32); };
  report.answer(learned, 'b', mean_accuracy(table["learned"].shift_32, kTrained) <= 20,
                "The vectors for the positions 16 to 31 were never trained, so they still have their random "
                "initial values. Sinusoids fail too: at these positions, the hands have angles that never "
                "occurred in training.");
  report.answer(farther, 'a', shifted("Shaw") >= 99 && shifted("T5, 32 to 128") <= 95,
                "In Shaw's scheme, all distances beyond 8 to one side share one vector, which was trained. "
                "T5 up to 128 has buckets for distances beyond 16 that were never trained. T5 \"16 to 16\" "
                "has no such buckets.");
  const Tensor turns = angles(20, 16) / (2 * std::acos(-1));
  kit::check_worked_example(report, "19 positions", {{turns.at({19, 0}), 3.02}, {turns.at({19, 1}), 0.96}});
}

// At seed 1, on strings of twice the trained length, the models reach:
//
//     % right           reverse 32    shift 32
//     sinusoidal               1.5        45.7
//     learned                  2.4        45.9
//     Shaw                     6.0       100.0
//     T5, 32 to 128            6.8        80.4
//     T5, 16 to 16             8.2        99.1
//     rotary                   6.1        73.8
//
// No model reverses strings of 32: positions from 16 on and distances above 15 did not occur in training. In
// the shift, the distance is still 3, but keys at new distances must get no weight. Shaw and T5 "16 to 16"
// treat all far distances alike, so they solve it.
//
// The clock of rotary repeats. After 19 positions, the fastest hand of a head has made 3.02 turns, and
// the next hand 0.96 of a turn. So both hands nearly point in the same direction as before. A head that uses
// these two hands looks for the key 3 positions to the left. To this head, two other keys look nearly the same:
// the key 3 + 19 = 22 positions to the left, and the key 19 − 3 = 16 positions to the right.
//
// In strings of 16, there are no such pairs. In strings of 32, they are two additional lines in the map of
// rotary's weights. Only the positions 16 to 21 are safe, because neither of the two wrong keys exists for them.
//
// So no scheme is best everywhere.

// What to remember. A scheme adds the order either to tokens, as positions, or to pairs of tokens, as
// distances. A scheme that changes only the weights cannot distinguish the positions in a string of equal
// symbols. A position, a bucket or an angle that never occurred in training has no useful meaning.
//
// Exercises: lessons/practise 17 (rotary positions; T5's buckets of distances; the outputs for a string of one
// symbol; a position scheme that holds at four times the length).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A vector for each position");
  position_vectors(options, report);
  report.section("A distance for each pair");
  check_schemes(attend_by_hand, angles, rotate, options.seed, report);
  report.section("Two tasks and eight models");
  const Table table = two_tasks(options, report);
  report.section("Twice the trained length");
  twice_as_long(table, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("17_positions", "tell attention the order of its tokens");
  program.steps(500, 2);
  return program.run(argc, argv, lesson);
}
