// 07 masks: who may attend to whom
//
// 25 minutes to read, 10 seconds to run. Needs lessons 05 and 06 (weights, queries, keys, values). Afterwards
// you can write an attention that uses only the allowed keys, and checks that detect when it uses others.
//
// Often a query must not attend to every key. The strings of a batch must have the same length, so short strings are
// filled up with *padding*, which means nothing. And a model that predicts the next word must not see that word in
// its input.
//
// How can an attention leave a key out? And if it uses a key that it must not use, how would you notice?

#include <cmath>

#include "core/core.hpp"
#include "lessons/07_masks/checks.hpp"
#include "lessons/07_masks/clinic.hpp"
#include "lessons/07_masks/gallery.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/rows.hpp"

using namespace tapestry;
using namespace tapestry::lesson07;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. One hidden key by hand ----------------------------------------------------------------------------
// A query has three keys with the scores 1, 0 and 3. The third key is padding, so its weight must be 0. The powers
// that a softmax needs are e¹ = 2.718, e⁰ = 1 and e³ = 20.086. There are two ways to set the third weight to 0:
//
//     softmax over all three keys, then set the third weight to 0     0.114   0.042   0
//     softmax over the two allowed keys only                          0.731   0.269   0
//
// The first way has two faults. The weights add up to 0.156, not to 1. And they depend on the score of the padding,
// which is part of the sum in the softmax. So we apply the mask *before* the softmax. Let m be the largest allowed
// score:
//
//     weight_j = e^{s_j − m} / Σ_k e^{s_k − m}    for allowed keys j; the sum is over the allowed keys k
//     weight_j = 0                                for all other keys
//
// Subtracting m divides the numerator and the denominator by e^m. So the weights stay the same. And no power
// overflows, because no exponent is above 0.
//
// We call the scores of one query a row. A row without any allowed key gets the weights 0. The formula alone would
// give 0/0.
//
// A mask is a tensor of true and false. In all of Tapestry, true means that the query **may attend** to the key.
// where(mask, a, b) returns a where the mask is true, and b elsewhere. It ignores the values that it does not return,
// so these may be NaN.

Tensor zero_masked(const Mask& mask, const Tensor& x) { return where(mask, x, scalar(0, x.dtype())); }

Tensor masked_softmax_by_hand(const Tensor& scores, const Mask& mask) {
  const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
  const Tensor m = max(where(mask, scores.detach(), lowest), {-1}, Keep::yes);  // m cancels: no gradient
  const Tensor e = zero_masked(mask, exp(zero_masked(mask, scores - m)));
  const Tensor total = sum(e, {-1}, Keep::yes);
  return e / where(less(zero, total), total, scalar(1, scores.dtype()));  // less returns a mask: 0 < total
}

void one_hidden_key(std::uint64_t seed, kit::Report& report) {
  const Tensor scores = tensor({{1, 0, 3}}, f64);
  const Mask two = Mask::from(1, 3, [](Size, Size j) { return j < 2; });  // calls it for each query and key
  const Tensor after = zero_masked(two, softmax(scores, -1)), before = masked_softmax_by_hand(scores, two);
  const std::vector<double> e = exp(scores).to_vector(), a = after.to_vector(), b = before.to_vector();
  kit::check_worked_example(report, "powers", {{e[0], 2.718}, {e[2], 20.086}});
  kit::check_worked_example(report, "masked after", {{a[0], 0.114}, {a[1], 0.042}, {a[0] + a[1], 0.156}});
  kit::check_worked_example(report, "masked before", {{b[0], 0.731}, {b[1], 0.269}});
  const Mask lengths =
      ValidLengths{1, 3, 2, 4}.mask(4).reshape({4, 4});  // row 0 allows 1 of 4 keys, row 1 allows 3
  const Tensor rows = masked_softmax_by_hand(random_normal({4, 4}, seed, f64), lengths);
  kit::print_rows("weights", rows, 4);
  report.check("exactly 1, 3, 2, 4 weights are not 0", count_positive(rows) == std::vector<Size>{1, 3, 2, 4});
}

// ---- 2. The masks -----------------------------------------------------------------------------------------
// The scores have the shape (…, queries, keys), where … stands for any number of axes in front, such as the batch. A
// mask broadcasts to this shape. Masks can be combined:
//
//     a & b    true where both masks are true
//     a | b    true where at least one of them is true
//     !a       true where a is false
//
// A *causal* mask lets each query attend to its own position and to the positions before it. If there are fewer
// queries than keys, the queries belong to the last positions. So the last query may attend to every key.
//
// The picture shows five masks for six positions. A window of 3 allows a query's position and the two positions
// before it. A prefix of 3 lets every query attend to the first three positions, in addition to the causal mask.

void the_masks(const kit::Options& options) {
  const Mask length = ValidLengths{4}.mask(6).reshape({1, 6}).expand({6, 6});  // 4 positions, then padding
  const Mask causal = Mask::causal(6, 6);  // query i attends to keys 0 to i, never to later ones
  const Mask window = Mask::from(6, 6, [](Size i, Size j) { return j <= i && j > i - 3; });
  const Mask prefix = Mask::from(6, 6, [](Size, Size j) { return j < 3; }) | causal;
  draw_masks({length, causal, length & causal, window, prefix},
             {"length 4", "causal", "both, by &", "window of 3", "prefix of 3"}, options);
}

// ---- 3. Masking the scores is not enough ------------------------------------------------------------------
// A context is the sum Σ_j α_j v_j, and the weight α_j of padding is 0. So the padding seems to have no effect. But
// the keys and values of padding may be NaN, for example from a logarithm or from memory that was never set. What
// happens then?

/// Masks the scores only. q (…, Tq, d), k (…, Tk, d), v (…, Tk, d_v), mask (…, Tq, Tk) → (…, Tq, d_v)
Tensor masking_scores(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(k.size(-1)));
  return matmul(masked_softmax_by_hand(scores, mask), v);
}

/// Does the same, but sets keys and values that no query may use, and queries without any allowed key, to 0 first.
Tensor attend_by_hand(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor pairs = where(mask, scalar(1), scalar(0)), none = scalar(0);
  const Mask has_key = less(none, sum(pairs, {-1}, Keep::yes));             // (…, Tq, 1): queries
  const Mask is_used = less(none, sum(transpose(pairs), {-1}, Keep::yes));  // (…, Tk, 1): keys
  return masking_scores(zero_masked(has_key, q), zero_masked(is_used, k), zero_masked(is_used, v), mask);
}

void not_enough(std::uint64_t seed, kit::Report& report) {
  const kit::Question nan = report.ask(
      "NaN in the padding",
      "masking_scores() gets five keys. Two are padding: their weights are 0, their keys and values NaN. "
      "Which results become NaN?",
      {"no result, because the weights are 0", "the contexts",
       "the contexts and the gradients of the queries"});
  const NanEffect scores_only = effect_of_nan(masking_scores, seed),
                  by_hand = effect_of_nan(attend_by_hand, seed);
  report.figure("contexts that are NaN", scores_only.contexts, "%");
  report.figure("queries' gradients that are NaN", scores_only.gradients, "%");
  report.answer(
      nan, 'c', scores_only.contexts == 100 && scores_only.gradients == 100,
      "0 · NaN is NaN. A context multiplies the NaN value by the weight 0, and the gradient of a query multiplies "
      "the NaN key by 0.");
  const bool same = by_hand.change == 0 && by_hand.gradients == 0;
  report.check("attend_by_hand(): NaN in the padding changes no bit of the result", same);
  compare_with_nn("attend_by_hand()", attend_by_hand, seed, report);  // with nn/'s Attention{scaled_dot()}
}

// ---- 4. The clinic: one sound attention, seven broken ones ------------------------------------------------
// Some mistakes in an attention are hard to notice. To show this, we train models with broken attentions, so we need
// a task. A string is a row of pairs (key, value). Within one string, a key always has the same value. At each
// position, the model gets a pair and the key of the *next* pair. It must answer with the value of the next pair. It
// may use only the pairs up to this position:
//
//     position                  1     2     3     4
//     pair                     a 3   b 0   a 3   b 0
//     key of the next pair      b     a     b     …
//     right answer              –     3     0
//
// At position 2, the model is asked for the value of a. It finds a 3 at position 1, so the answer is 3. At position
// 1, b has not occurred yet, so the model cannot know the answer. Such positions do not count.
//
// Note that the right answer is in the input, one position after the question. Only the causal mask hides it. Shorter
// strings are padded. Some strings have no pair at all. Then the right answer is "nothing".
//
// The model has two *heads*: two attentions in parallel, each on its own half of the features of q, k and v.
//
// One model has a sound attention. Seven models have a broken one. They are our patients (patients.cpp), and each has
// one common mistake:
//
//     1 softmax over the batch    axis 0 instead of −1: the weights add up to 1 over the strings of the batch
//     2 transposed mask           query i may attend to the keys from i on, instead of the keys up to i
//     3 inverted polarity         in the mask of lengths, true means "hidden"; the causal mask is right
//     4 −1e9 for a mask           hidden scores become −1,000,000,000, followed by a plain softmax
//     5 heads by reshape          reshaped to (batch, head, position, width) without exchanging the axes
//     6 divided after product     softmax(q k) v / √d
//     7 target shifted by one     the attention is sound, but the target is the value of the position's own pair
//
// After training, we test each attention in two ways:
//
// - *As measured*: on fresh strings, in batches, at every position, as in training.
// - *In use*: on one string alone, where only the last position asks. There is no later pair in the input, as in a
//   program that uses the model.
//
// (While a model trains, the progress line shows a running mean of the loss, in which older steps count less.)

void the_clinic(const kit::Options& options, kit::Report& report) {
  const kit::Question low = report.ask(
      "noticed", "On fresh strings, how many of the seven patients give less than 90 % right answers?",
      {"six or seven", "two", "none"});
  const kit::Question useful =
      report.ask("in use", "How many of the other patients give more than 90 % right answers in use, too?",
                 {"all of them, since fresh strings are a fair test", "two of them", "none of them"});
  const std::vector<Outcome> all = train_all(patients(), options);
  draw(patients(), all, options);
  report.at_least("0 sound, in use", all[0].in_use, 99, "%");
  report.at_least("0 sound, no pairs", all[0].empty, 99, "%");
  report.at_most("4 −1e9 for a mask, no pairs", all[4].empty, 10, "%");
  report.answer(
      low, 'b', two_fail_as_measured(all),
      "Patient 3 attends to padding only. In patient 5, each head gets half of the string, and it gets "
      "most of that half at the last position, the only one that asks in use. Only these two end with a "
      "loss above 1.");
  report.answer(
      useful, 'b', two_work_in_use(all),
      "Patient 1 shared its weights with the batch, patient 2 used the future, and patient 7 repeats the value "
      "that it was given. Patients 4 and 6 remain. Patient 4 fails on empty strings, and patient 6 has a wrong "
      "scale, which is the topic of lesson 08.");
}

// ---- 5. The checks that catch them ------------------------------------------------------------------------
// Can you find these mistakes before you train? Each of these seven checks (checks.cpp) works without training, in
// milliseconds. They use three strings, one of them empty. Check i was written for patient i. An attention is right
// if all of this holds:
//
//     1 alone       a string gets the same result alone and in a batch
//     2 no future   the output at position i has a gradient of exactly 0 for all keys and values after i
//     3 padding     NaN in the padding changes no bit
//     4 empty row   a query that may attend to no key gets a context of exactly 0
//     5 by head     attend_by_hand(), called for one head after the other, gives the same result
//     6 averages    if all values are 1, every context is 1
//     7 target      the target of a position is the value of the next pair

void the_checks(const kit::Options& options, kit::Report& report) {
  const kit::Question tiny = report.ask(
      "−1e9", "In f32 and in f64, e^{−1e9} is exactly 0. Which checks does patient 4 (−1e9 for a mask) fail?",
      {"no check", "the check “empty row” only",
       "the checks “empty row”, “no future”, “padding” and “by head”"});
  const FailedChecks failed = check_all(patients(), attend_by_hand, options.seed);
  draw(patients(), failed, options);
  report.answer(
      tiny, 'c', failed.table[4] == std::vector<bool>{false, true, true, true, true, false, false},
      "In an empty row, all scores are −1e9, so all weights are equal. The query then averages over padding and "
      "over later positions.");
  report.check("the sound attention passes every check, and each patient fails the check written for it",
               failed.each_fails_its_check());
}

// What to remember. A mask is true where a query may attend, and it is applied before the softmax. Keys and values
// that no query may use must be set to 0 as well, because 0 · NaN is NaN. Test a model as it will be used, and check
// its attention before you train it.
//
// Exercises: lessons/practise 7 (a mask for a window and lengths; softmax with an empty row; a test for reading the
// future).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("One hidden key by hand");
  one_hidden_key(options.seed, report);
  report.section("The masks");
  the_masks(options);
  report.section("Masking the scores is not enough");
  not_enough(options.seed, report);
  report.section("The clinic: one sound attention, seven broken ones");
  the_clinic(options, report);
  report.section("The checks that catch them");
  the_checks(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("07_masks", "who may attend to whom");
  program.steps(500, 5);
  return program.run(argc, argv, lesson);
}
