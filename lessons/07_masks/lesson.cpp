// 07 masks: who may attend to whom
//
// 25 minutes to read, 10 seconds to run. Needs lessons 05 and 06 (weights, queries, keys, values). Afterwards
// you can write an attention that looks only where it may, and checks that find where it does not.
//
// Often a query must not look at every key: the filling of short texts, *padding*, means nothing, and a model
// that predicts the next word must not read it. How is a key left out? And if it is read, who would notice?

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
// A query scores three keys with 1, 0 and 3, and the third is padding. With a pencil: e¹ is 2.718, e⁰ is 1,
// e³ is 20.086. There are two ways to leave the third key out.
//
//     softmax over all three, then a 0 in the third place       0.114   0.042   0
//     softmax over the two that are allowed                     0.731   0.269   0
//
// The first leaves weights that add up to 0.156, and the padding has a say in all of them. So the mask comes
// *before* the softmax. With m, the largest score that is allowed:
//
//     weight_j = e^{s_j − m} / Σ_k e^{s_k − m}    j and k among the keys that are allowed; 0 for all others
//
// Dividing by e^m changes no weight, and no power becomes too large. A row (one query's scores) without any
// allowed key gets weights of 0, not 0/0. A mask is true where a query **may attend**, in all of Tapestry.
// where(mask, a, b) takes a where it is true, b elsewhere, and does not touch the rest, which may be NaN.

Tensor zero_masked(const Mask& mask, const Tensor& x) { return where(mask, x, scalar(0, x.dtype())); }

Tensor masked_softmax_by_hand(const Tensor& scores, const Mask& mask) {
  const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
  const Tensor m = max(where(mask, scores.detach(), lowest), {-1}, Keep::yes);  // it cancels: no gradient
  const Tensor e = zero_masked(mask, exp(zero_masked(mask, scores - m)));
  const Tensor total = sum(e, {-1}, Keep::yes);
  return e / where(less(zero, total), total, scalar(1, scores.dtype()));  // less makes a mask: is 0 < total?
}

void one_hidden_key(std::uint64_t seed, kit::Report& report) {
  const Tensor scores = tensor({{1, 0, 3}}, f64);
  const Mask two = Mask::from(1, 3, [](Size, Size j) { return j < 2; });  // asks for each query and key
  const Tensor after = zero_masked(two, softmax(scores, -1)), before = masked_softmax_by_hand(scores, two);
  const std::vector<double> e = exp(scores).to_vector(), a = after.to_vector(), b = before.to_vector();
  kit::check_worked_example(report, "powers", {{e[0], 2.718}, {e[2], 20.086}});
  kit::check_worked_example(report, "masked after", {{a[0], 0.114}, {a[1], 0.042}, {a[0] + a[1], 0.156}});
  kit::check_worked_example(report, "masked before", {{b[0], 0.731}, {b[1], 0.269}});
  const Mask lengths = ValidLengths{1, 3, 2, 4}.mask(4).reshape({4, 4});
  const Tensor rows = masked_softmax_by_hand(random_normal({4, 4}, seed, f64), lengths);
  kit::print_rows("weights", rows, 4);
  report.check("exactly 1, 3, 2, 4 weights are not 0", not_zero(rows) == std::vector<Size>{1, 3, 2, 4});
}

// ---- 2. The masks -----------------------------------------------------------------------------------------
// A mask broadcasts to the scores, (…, queries, keys). With & both must allow, with | one is enough, ! turns
// it round. With fewer queries than keys a causal mask is aligned at the bottom right: the last query sees all.

void the_masks(const kit::Options& options) {
  const Mask length = ValidLengths{4}.mask(6).reshape({1, 6}).expand({6, 6});  // four tokens, then padding
  const Mask causal = Mask::causal(6, 6);  // query i sees keys up to i: nobody reads the future
  const Mask window = Mask::from(6, 6, [](Size i, Size j) { return j <= i && j > i - 3; });
  const Mask prefix = Mask::from(6, 6, [](Size, Size j) { return j < 3; }) | causal;
  draw_masks({length, causal, length & causal, window, prefix},
             {"length 4", "causal", "both, by &", "window of 3", "prefix of 3"}, options);
}

// ---- 3. Masking the scores is not enough ------------------------------------------------------------------
// A context is Σ_j α_j v_j, and padding has α_j = 0. But padding may hold NaN, from a log or unset memory.

/// q (…, Tq, d), k (…, Tk, d), v (…, Tk, d_v), mask (…, Tq, Tk) → (…, Tq, d_v)
Tensor masking_scores(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(k.size(-1)));
  return matmul(masked_softmax_by_hand(scores, mask), v);
}

/// The same, without the keys and values that no query sees and without the queries that see no key.
Tensor attend_by_hand(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor pairs = where(mask, scalar(1), scalar(0)), none = scalar(0);
  const Mask seeing = less(none, sum(pairs, {-1}, Keep::yes));           // (…, Tq, 1)
  const Mask seen = less(none, sum(transpose(pairs), {-1}, Keep::yes));  // (…, Tk, 1)
  return masking_scores(zero_masked(seeing, q), zero_masked(seen, k), zero_masked(seen, v), mask);
}

void not_enough(std::uint64_t seed, kit::Report& report) {
  const kit::Question nan = report.ask(
      "NaN in the padding",
      "masking_scores() where two of five keys are padding: weight 0, key and value NaN. What becomes NaN?",
      {"nothing: the weights are 0", "the contexts", "the contexts and the queries' gradients"});
  const Poisoned alone = poison(masking_scores, seed), by_hand = poison(attend_by_hand, seed);
  report.figure("contexts that are NaN", alone.contexts, "%");
  report.figure("queries' gradients that are NaN", alone.gradients, "%");
  report.answer(
      nan, 'c', alone.contexts == 100 && alone.gradients == 100,
      "0 · NaN is NaN. A context multiplies a value by its weight, a query's gradient a key by 0, too.");
  const bool same = by_hand.moved == 0 && by_hand.gradients == 0;
  report.check("attend_by_hand(): NaN in the padding changes no bit", same);
  compare_with_nn("attend_by_hand()", attend_by_hand, seed, report);  // with nn/'s Attention{scaled_dot()}
}

// ---- 4. The clinic: one sound attention, seven broken ones ------------------------------------------------
// A string is a row of pairs (key, value), and in one string a key always has the same value. At each place
// the model is told the key of the *next* pair, and says its value, from the pairs up to here:
//
//     pair                     a 3   b 0   a 3   b 0
//     asked: the next key       b     a     b     …
//     right answer              –     3     0              (– : b was not there yet; not counted)
//
// Strings are filled up with padding, and some have no pair: then the answer is "nothing". The answer stands
// in the input, one place further on, and only the mask hides it. The model has two *heads*: two attentions
// side by side, each on its half of q, k and v. Seven patients have a mistake that people make (patients.cpp):
//
//     1 softmax over the batch    axis 0 in place of −1: weights add up to 1 over the strings
//     2 transposed mask           query i sees the keys from i on, where it should see those up to i
//     3 inverted polarity         a mask of lengths in which true means "is hidden"; the causal one is right
//     4 −1e9 for a mask           hidden scores become −1,000,000,000, and the softmax is the plain one
//     5 heads by reshape          reshaped to (batch, head, place, width) where axes must be exchanged
//     6 divided after product     softmax(q k) v / √d
//     7 target shifted by one     sound; but each place has to say the value that it has just been shown
//
// They are tested twice: *as measured*, on fresh strings in batches at every place, and *in use*, one string
// alone with nothing after the place that asks. (A progress line's loss is a mean in which older steps fade.)

void the_clinic(const kit::Options& options, kit::Report& report) {
  const kit::Question low = report.ask("noticed", "How many of the seven are below 90 % on fresh strings?",
                                       {"all, or nearly all", "two", "none"});
  const kit::Question useful = report.ask("in use", "How many of the others are above 90 % in use, too?",
                                          {"all: fresh strings are a fair test", "two", "none"});
  const std::vector<Outcome> all = treat(patients(), options);
  draw(patients(), all, options);
  report.at_least("0 sound, in use", all[0].in_use, 99, "%");
  report.at_least("0 sound, no pairs", all[0].empty, 99, "%");
  report.at_most("4 −1e9 for a mask, no pairs", all[4].empty, 10, "%");
  report.answer(low, 'b', two_are_noticed(all),
                "3 sees padding alone, in 5 a head half of the string: most of it at the last place, which "
                "alone asks in use. Only these two have a loss above 1.");
  report.answer(
      useful, 'b', two_are_useful(all),
      "1 shared its weights with the batch, 2 read the future, 7 repeats what it was shown. 4 fails "
      "where a string is empty. 6 is a matter of scale: lesson 08.");
}

// ---- 5. The checks that catch them ------------------------------------------------------------------------
// None of these checks (checks.cpp) trains. One of their three strings is empty. Number i is for patient i.
//
//     1 alone       a string alone gets what it gets in a batch
//     2 no future   the gradients, for what place i reads, are exactly 0 at all keys and values after i
//     3 padding     NaN in the padding changes no bit
//     4 empty row   a query that may see nothing reads exactly 0
//     5 by head     attend_by_hand() gives the same, one head after the other
//     6 averages    if all values are 1, what is read is 1
//     7 target      what a place has to say is the next pair's value

void the_checks(const kit::Options& options, kit::Report& report) {
  const kit::Question tiny = report.ask(
      "−1e9", "e^{−1e9} is exactly 0, in f32 and f64. Which checks does patient 4 (−1e9 for a mask) fail?",
      {"none", "empty row alone", "empty row, no future, padding and by head"});
  const Caught caught = check_all(patients(), attend_by_hand, options.seed);
  draw(patients(), caught, options);
  report.answer(
      tiny, 'c', caught.table[4] == std::vector<bool>{false, true, true, true, true, false, false},
      "In an empty row all scores are −1e9, so the weights are equal: over padding, and places to come.");
  report.check("the sound one passes all; each other fails the check that was made for it", caught.as_made());
}

// What to remember. A mask is true where a query may attend, and comes before the softmax. What nobody may
// see is taken out of keys and values as well. Measure in use, and check before you train.
//
// Exercises: lessons/practise 7 (a window and lengths; the empty row; a check that nobody reads the future).

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
