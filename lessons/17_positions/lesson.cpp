// 17 positions: order is an input
//
// 40 minutes to read, 40 seconds to run. Needs lessons 16 (self-attention knows no order) and 08 (√d).
// Afterwards you can tell attention of places or distances in six ways, and say which of them can do a task.
//
// Self-attention takes "dog bites man" for "man bites dog". So order has to be told: to each word, "you are
// the fifth", or to each query and key, "this key stands three places before you". Does it matter which?

#include <cmath>

#include "core/core.hpp"
#include "lessons/17_positions/experiment.hpp"
#include "lessons/17_positions/schemes.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson17;
using kit::mean_right;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. A place as a vector -------------------------------------------------------------------------------
// The simplest way to say "fifth" is a vector for it, *added* to the word. It can be learned, a row of a
// table for each place. Or it can be a formula (Vaswani et al. 2017): d / 2 hands of a clock. Hand i turns by
// ω_i from place to place, and is told by its sine and its cosine:
//
//     PE[p, 2i] = sin(p ω_i),  PE[p, 2i + 1] = cos(p ω_i)        ω_i = 10000^{−2i/d},  i = 0 … d/2 − 1
//
// Fast hands tell neighbours apart, slow ones the beginning from the end. With a pencil, one hand (d = 2):
//
//     PE[1] = (0.841, 0.540)    PE[1] · PE[2] = 0.841 · 0.909 − 0.540 · 0.416 = 0.540
//     PE[2] = (0.909, −0.416)   PE[2] · PE[3] = 0.909 · 0.141 + 0.416 · 0.990 = 0.540
//     PE[3] = (0.141, −0.990)
//
// Neighbours have the same product wherever they stand: sin a sin b + cos a cos b = cos(a − b), here cos 1.
// And to go k places on is to turn each hand by k ω_i, from every place alike. A point (a, b) turned by φ is
//
//     (a cos φ − b sin φ, a sin φ + b cos φ)        so (cos x, sin x) becomes (cos(x + φ), sin(x + φ))
//
// W_K, a matrix, can learn such a turn: "three places back". (The table has the sine first, which changes the
// order of numbers alone. A hand is the point (cos, sin), and in part 2 points turn the same way.)

Tensor angles(Size places, Size width) {  // p ω_i (places, width / 2)
  const Tensor hand = arange(0, static_cast<double>(width / 2), 1, f64);
  const Tensor speed = exp(-2 * std::log(10000.0) / static_cast<double>(width) * hand);
  return unsqueeze(arange(0, static_cast<double>(places), 1, f64), 1) * speed;
}

Tensor sinusoids_by_hand(Size places, Size width) {
  const Tensor angle = angles(places, width);
  return reshape(stack({sin(angle), cos(angle)}, 2), {places, width});
}

/// Points (a, b) turned by their angles: all a are the first half of x's numbers, all b the second.
Tensor turned(const Tensor& x, const Tensor& angle) {
  const Size half = x.size(-1) / 2;
  const Tensor a = slice(x, -1, 0, half), b = slice(x, -1, half, 2 * half);
  return concat({a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)}, -1);
}

void as_a_vector(const kit::Options& options, kit::Report& report) {
  const Tensor pe = sinusoids_by_hand(4, 2), meet = matmul(pe, transpose(pe));
  std::vector<kit::Written> figures = {{meet.at({1, 2}), 0.540}, {meet.at({2, 3}), 0.540}};
  const std::vector<double> rows = pe.to_vector(), text = {0, 1, 0.841, 0.540, 0.909, -0.416, 0.141, -0.990};
  for (std::size_t i = 0; i < rows.size(); ++i) figures.push_back({rows[i], text[i]});
  kit::check_worked_example(report, "one hand", figures);
  check_sinusoids(sinusoids_by_hand, angles, turned, options, report);
}

// ---- 2. A distance for each pair --------------------------------------------------------------------------
// Often it matters how far away a word stands, not where. So tell query i and key j their distance j − i:
//
//     Shaw      s_ij = q_i · (k_j + a^K_{j−i}) / √d,   c_i = Σ_j α_ij (v_j + a^V_{j−i})
//               learned vectors for the distances −r … r; farther ones count as ±r (Shaw et al. 2018)
//     T5        s_ij = q_i · k_j / √d + b_{j−i}        a learned number for each *bucket* of distances: near
//               ones have buckets of their own, far ones share, more and more of them (Raffel et al. 2020)
//     ALiBi     s_ij = q_i · k_j / √d − m |i − j|      nothing to learn: m = 2^{−8h/H} for head h = 1 … H, so
//               that some heads see near and some far (Press et al. 2022)
//     rotary    s_ij = (R_i q_i) · (R_j k_j) / √d      R_p turns by p ω_i as above, so that only the distance
//               is left: (R_i q) · (R_j k) = q · (R_{j−i} k) (Su et al. 2021)
//
// Raffel's T5 has no √d; its W_Q begins smaller by as much (one of lesson 08's ways). Here and in nn/ its
// numbers join scores with √d. For rotary a point (a, b) is made of the numbers i and i + d/2, as in nn/; the
// sinusoids' stood side by side. Either will do: W_Q and W_K can learn any order.

/// For each pair the row of `table` that `row` names for its distance: (n, n, columns of the table).
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
  if (head.rotary) q = turned(q, angles(n, d)), k = turned(k, angles(n, d));
  Tensor scores = matmul(q, transpose(k));
  if (head.shaw) scores = scores + sum(unsqueeze(q, 2) * by_distance(head.shaw->key, n, within_reach), {-1});
  scores = scores / std::sqrt(static_cast<double>(d));
  if (head.t5) scores = scores + squeeze(by_distance(head.t5->weight, n, bucket), 2);
  const Tensor place = arange(0, static_cast<double>(n), 1, f64);
  if (head.alibi) scores = scores - std::exp2(-8) * abs(unsqueeze(place, 1) - place);  // h = H = 1
  const Tensor weights = softmax(scores, -1);
  Tensor c = matmul(weights, matmul(x, transpose(head.w_v)));
  if (head.shaw) c = c + sum(unsqueeze(weights, 3) * by_distance(head.shaw->value, n, within_reach), {2});
  return matmul(c, transpose(head.w_o));
}

// ---- 3. Two tasks, eight models ---------------------------------------------------------------------------
// Sixteen random symbols of 64 kinds come in, and at each place one of them is to be named:
//
//     reverse    at place t the symbol of place n − 1 − t        absolute: where you stand says where to look
//     shift      at place t the symbol of place t − 3            relative: the same step from everywhere
//
// Each model has two layers of attention with four heads each (lesson 18). They differ in nothing but the
// scheme. T5 comes twice: 32 buckets up to the distance 128, as published, and 16 up to 16. Without order a
// model can at best name the symbol that stands most often at the places beside its own: right at 13 %.

Table two_tasks(const kit::Options& options, kit::Report& report) {
  const kit::Question shift = report.ask(
      "ALiBi and the shift",
      "The shift asks for a distance, and ALiBi tells distances. Does it learn the shift?",
      {"yes, like Shaw's", "half: it cannot tell left from right", "hardly better than without order"});
  const kit::Question reverse = report.ask(
      "who can reverse", "Reverse asks where one stands. Shaw, T5 and rotary tell distances. Who learns it?",
      {"Shaw alone", "all three: at the edges a distance says where one stands", "none of them"});
  const Table table = train_all(options, report);
  report.check_quoted("the ceiling without order", without_order(options), 13, 0.05, "%");
  report.answer(
      shift, 'c', mean_right(table["ALiBi"].shift_16) <= 20,
      "Its score falls with |i − j|: three to the left is three to the right, and what is nearer always "
      "gets more. (In a causal model nothing stands to the right. There ALiBi is at home.)");
  const auto reversed = [&](const char* name) { return mean_right(table[name].reverse_16); };
  report.answer(
      reverse, 'a', reversed("Shaw") >= 90 && reversed("T5, 32 to 128") <= 40 && reversed("rotary") <= 40,
      "In aaaa… all values are equal, and any weights give that value back. T5, ALiBi and rotary change "
      "weights alone, so there all places read the same (last column, before training). Shaw's a^V are "
      "values: Σ α a^V says how much of the string lies to the left and to the right. (A random string gives "
      "the others a clue or two, such as a neighbour that is missing at the edge.)");
  return table;
}

// ---- 4. Twice as long -------------------------------------------------------------------------------------

void twice_as_long(const Table& table, const kit::Options& options, kit::Report& report) {
  const kit::Question learned = report.ask(
      "learned places", "The same models get strings of 32. Learned places: is the shift right from 16 on?",
      {"yes: three places back is three places back", "hardly ever", "half of the time"});
  const kit::Question farther = report.ask(
      "farther than ever", "Whose shift holds at 32: T5's with buckets up to 128, or Shaw's, that reaches 8?",
      {"Shaw's", "T5's", "both", "neither"});
  draw_longer(table, options);
  judge_longer(table, report);
  const auto shifted = [&](const char* name) { return mean_right(table[name].shift_32); };
  report.answer(
      learned, 'b', mean_right(table["learned"].shift_32, kTrained) <= 20,
      "A vector that was never trained is still random. And sinusoids turn to where they never were.");
  report.answer(
      farther, 'a', shifted("Shaw") >= 99 && shifted("T5, 32 to 128") <= 95,
      "For Shaw all beyond 8 is one, and trained. T5 has buckets beyond 16 that were never trained; "
      "\"16 to 16\" has none.");
  const Tensor turns = angles(20, 16) / (2 * std::acos(-1));
  kit::check_worked_example(report, "19 places", {{turns.at({19, 0}), 3.02}, {turns.at({19, 1}), 0.96}});
}

// And rotary? Its clock comes round: after 19 places the fastest of a head's hands has made 3.02 turns, and
// the next one 0.96 of a turn. To a head that watches these two, 22 to the left and 16 to the right look like
// 3 to the left. At n = 16 there are no such pairs. At 32 its map has two lines too many, and only the places
// 16 to 21, from where neither key exists, are safe. So no scheme wins everywhere.

// What to remember. Order is told to words (places) or to pairs (distances). Who changes weights alone cannot
// say where one stands. What was never seen in training, a place, a bucket or an angle, means nothing.
//
// Exercises: lessons/practise 17 (rotary; T5's buckets; what aaaa says; a scheme of your own).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A place as a vector");
  as_a_vector(options, report);
  report.section("A distance for each pair");
  check_schemes(attend_by_hand, angles, turned, options.seed, report);
  report.section("Two tasks, eight models");
  const Table table = two_tasks(options, report);
  report.section("Twice as long");
  twice_as_long(table, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("17_positions", "order is an input");
  program.steps(500, 2);
  return program.run(argc, argv, lesson);
}
