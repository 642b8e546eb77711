// 21 induction: learning inside the context
//
// 12 minutes to read, 40 seconds to run. Needs lessons 18 (heads, and their removal) and 20 (the next token,
// the causal mask). Afterwards you can wire an induction head by hand, find one in a trained model, and prove
// its function by changing a single head.
//
// The weights of a trained model no longer change. Yet when the model gets a sequence that it has never seen
// before, and then the same sequence again, it predicts the second copy: it has learned from its own context.
// How? Elhage et al. (2021) and Olsson et al. (2022) found the mechanism in transformers of every size that
// they studied. It needs two heads in two layers.

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "lessons/21_induction/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/positions/positions.hpp"

using namespace tapestry;
using namespace tapestry::lesson21;

namespace {

// ---- 1. Two heads by hand ---------------------------------------------------------------------------------
// Which symbol follows "d a f d"? If we find the earlier d and move one place to the right, we get a. A
// single attention layer cannot do this. Its head can find the earlier d, but the value at this place is d,
// not a. Two heads in two layers can do it:
//
//     lower   at each place, attend to the previous place and store a note of the symbol there
//     upper   at d, attend to the places whose note is d, and return the symbols at these places
//
//     symbols              d     a     f     d
//     notes                -     d     a     f
//     scores at the last d 0     3     0     0        3 where the note is d
//     weights            0.04  0.87  0.04  0.04       e^3 is 20.09, and 20.09 / 23.09 is 0.87
//
// The lower head is called a *previous-token head*. Its attention depends on positions. The upper head is
// called an *induction head*. Its attention depends on content: its query is a symbol, and its keys are the
// notes of the lower head.

/// Returns the pattern (T, T) of a head with all weight exactly `back` places back. The first places get zeros.
Tensor exactly(Size back, Size time, DType type) {
  const Mask mask = Mask::from(time, time, [=](Size i, Size j) { return j == i - back; });
  return masked_softmax(zeros({time, time}, type), mask);
}

/// Takes symbols (T, V), one-hot for each place. Returns the results of the upper head, (T, V).
Tensor induction(const Tensor& symbols) {
  const Size time = symbols.size(0);
  const Tensor notes = matmul(exactly(1, time, symbols.dtype()), symbols);
  const Tensor scores = 3 * matmul(symbols, transpose(notes));
  return matmul(masked_softmax(scores, Mask::causal(time, time)), symbols);
}

void worked_example(kit::Report& report) {
  const Tensor read = induction(one_hot(Indices(kit::Ids{3, 0, 5, 3}, {4}), 6, DType::f64));  // of d a f d
  const double e = std::exp(3.0), a = read.at({3, 0}), f = read.at({3, 5});
  kit::check_worked_example(report, "result at the last d",
                            {{e, 20.09}, {e + 3, 23.09}, {a, 0.87}, {f, 0.04}});
}

// ---- 2. Attention alone -----------------------------------------------------------------------------------
// To study the mechanism, we leave out all parts that it does not need: feed-forward, norms and biases. The
// rest of the model is a sum, the *residual stream*. It starts as x, the embeddings of the symbols, and each
// head h of a layer adds its output:
//
//     x ← x + Σ_h A_h x W_V^h W_O^h        A_h = softmax of the causal scores of x + p
//
// The position vectors p (sinusoids, lesson 17) are added to queries and keys, but not to values (Press, Smith
// and Lewis 2021). So the attention weights may depend on positions, but the values carry only the content of
// x.
//
// Because the outputs of the heads are summed, we can change one head and leave the others as they are.
// Sections 5 and 6 do this: the argument `interventions` says which heads are changed, and how.

Tensor by_hand(const AttentionOnly& model, const Indices& ids, const Interventions& interventions) {
  const Size time = ids.shape()[1];
  Tensor x = embedding(model.words.weight, ids);  // (B, T, 64)
  const Tensor places = sinusoids(0, time, kWidth, x.dtype());
  for (Size layer = 0; layer < model.layers.size(); ++layer) {
    const MultiHeadAttention& weights = model.layers[layer];
    const Tensor placed = x + places;
    Tensor sum = x;
    for (Size h = 0; h < kHeads; ++h) {
      const Size head = layer * kHeads + h;
      const auto own = [&](const Linear& all, int axis) {  // this head's part of the matrix
        return transpose(slice(all.weight, axis, h * kHeadWidth, (h + 1) * kHeadWidth));
      };
      const Tensor q = matmul(placed, own(weights.query, 0)), k = matmul(placed, own(weights.key, 0));
      const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(kHeadWidth));
      Tensor pattern = masked_softmax(scores, Mask::causal(time, time));  // A_h (B, T, T)
      if (interventions.places_back.count(head))
        pattern = exactly(interventions.places_back.at(head), time, x.dtype());
      const Tensor output = matmul(matmul(pattern, matmul(x, own(weights.value, 0))), own(weights.output, 1));
      sum = sum + (interventions.mean_ablated.count(head) == 0 ? output : mean(output, {0, 1}));
    }
    x = sum;
  }
  return matmul(x, transpose(model.output.weight));
}

// ---- 3. One layer compared with two -----------------------------------------------------------------------
// A sequence has 64 places. It consists of a *round*, which is 8 to 24 of 32 symbols in random order, and of
// further copies of this round. The first round is random. From the second symbol of the second round on, every
// symbol can be predicted. We call this part *the repeat*, and the loss counts only the repeat. The rounds are
// drawn anew for every batch, so the model cannot memorise them.

void one_against_two(Trained& trained, const kit::Options& options, kit::Report& report) {
  const kit::Question one = report.ask(
      "one layer", "The model with one layer also has four heads. What does it learn about the repeat?",
      {"everything: it finds the earlier copy of the symbol and returns the symbol after it",
       "which symbols are in the round, but not which one comes next: a loss of about log 16 = 2.8 nats",
       "nothing: all 32 symbols stay equally likely, a loss of log 32 = 3.5 nats"});
  train_both(trained, options);
  report.at_least("loss on the repeat, one layer", trained.loss_of_one, 2, "nats");
  report.at_most("loss on the repeat, two layers", trained.loss_of_two, 0.3, "nats");
  report.answer(one, 'b', trained.loss_of_one > 2 && trained.loss_of_one < 3.2 && trained.loss_of_two < 0.3,
                "In a single layer, the heads get only symbols and positions. No head can use the notes of "
                "another head, because that needs a second layer.");
}

// At seed 1, the loss on the repeat is 2.776 nats with one layer and 0.004521 nats with two layers. At other
// seeds, the numbers differ, but two layers always learn the repeat and one layer never does.

// ---- 4. Scores of the heads -------------------------------------------------------------------------------
// Two numbers describe a head. Its *induction score* is the mean weight, in the repeat, on places directly
// after an earlier copy of the current symbol. Its *previous-token score* is the mean weight on the previous
// place.
//
// The loss contains neither of the two scores. A picture shows the scores of the heads and the loss during the
// training: compare the curves. The map of an induction head has diagonal stripes: each symbol of the repeat
// attends one place to the right of its earlier copies.

// ---- 5. Ablate heads --------------------------------------------------------------------------------------
// A map shows where a head attends. It does not show that the model's answer depends on the head (lesson 11).
// To test this dependence, we remove the information that the head contributes, and change nothing else in the
// model. This is called an *ablation*.
//
// How do we remove it? If we replaced the head's output by zeros, the later parts would get an input unlike
// any in training. Therefore we replace it by its mean over all sequences and places. The mean is the usual
// contribution of the head, but it contains no information about the current sequence or place.
//
// We remove the induction heads, then the other heads of the upper layer, and then the lower layer. We also
// remove each head by itself. The lower head whose removal raises the loss most is called the *note-taker*
// from here on.

Size note_taker(const Trained& trained, const HeadScores& scores, const kit::Options& options,
                kit::Report& report) {
  const kit::Question sharp = report.ask(
      "the note-taker",
      "We call one lower head the note-taker: without it, the loss rises most. How much of its weight is on the "
      "previous place?",
      {"nearly all, as in the head that we wired by hand", "between half and nearly all of its weight",
       "less than half"});
  const AblationLosses losses = ablate_heads(trained, scores, by_hand, options);
  report.at_least("loss without the induction heads", losses.induction, 2, "nats");
  report.at_most("loss without the upper layer's other heads", losses.others, 0.3, "nats");
  report.at_least("loss without the lower layer, so without notes", losses.lower, 2, "nats");
  report.figure("the note-taker's previous-token score", losses.previous);
  report.answer(
      sharp, 'c',
      losses.previous < 0.5 && losses.previous > 0.1 && scores.largest_induction > losses.previous,
      "Its map shows the rest of the weight on other places nearby. Even from such faint notes, an upper "
      "head computes sharper weights. Whether other lower heads share the work depends on the seed, as "
      "the losses show.");
  return losses.note_taker;
}

// At seed 1, removing each head by itself gives:
//
//     head           induction   previous token   loss without it
//     lower 1             0.06             0.06             0.005
//     lower 2             0.00             0.11             2.938
//     lower 3             0.06             0.06             0.005
//     lower 4             0.05             0.19             7.268
//     upper 1 (induction) 0.77             0.03             3.621
//     upper 2             0.06             0.06             0.005
//     upper 3             0.06             0.06             0.005
//     upper 4             0.06             0.06             0.005
//
// At this seed, the model needs only three of its eight heads: the induction head, the note-taker, and one
// more lower head. At another seed, other heads may do this work.

// ---- 6. Patch one attention pattern -----------------------------------------------------------------------
// Suppose that the note-taker's function is to attend to the previous place. Then we can replace its learned
// weights by a pattern that does exactly this, and the model should still work, although it was never trained
// with this pattern. Such a replacement of one inner value is called a *patch*.
//
// There is a second prediction: a wrong pattern must cause the particular mistake that the mechanism predicts.
// In both tests, all parameters of the model stay as they are.

void change_a_pattern(const Trained& trained, Size head, kit::Report& report) {
  const kit::Question two_back = report.ask(
      "two places back",
      "Now we patch the note-taker so that it attends exactly two places back and notes the symbol there. In "
      "d a f e … d, which symbol does the model predict most often after the second d?",
      {"f, the symbol after the next one", "a, the next symbol, as before",
       "any symbol, because no note fits"});
  const Patched one = patch(trained, head, 1, by_hand), two = patch(trained, head, 2, by_hand);
  report.figure("exactly one back: loss on the repeat", one.loss, "nats");
  report.at_least("exactly one back: predicts the next symbol", one.next, 60, "%");
  report.at_most("exactly two back: predicts the next symbol", two.next, 40, "%");
  report.at_least("exactly two back: predicts the symbol after the next", two.next_but_one, 50, "%");
  report.answer(
      two_back, 'a', two.next_but_one >= 50 && two.next <= 40,
      "Now the note d is at f, two places to the right of the earlier d. The upper head finds this note "
      "as before and returns the symbol at that place, f.");
}

// At seed 1, with the pattern of exactly one place back, the model predicts the next symbol in 100 % of the
// cases. With two places back, it predicts the next symbol in 0 % and the symbol after the next in 100 %. So
// the note-taker causes the prediction, and in the way that the mechanism says.

// What to remember. A previous-token head stores a note of the previous symbol at each place. An induction
// head in a higher layer finds the note and returns the symbol at its place. A map only suggests the
// function of a head. A patch that causes the predicted mistake proves it.
//
// Exercises: lessons/practise 21 (the induction score; replace a head by its mean; find the mistake in an
// induction head; continue a repeated sequence with few weights).

void lesson(const std::string& task, const kit::Options& options, kit::Report& report) {
  report.section("Two heads by hand");
  worked_example(report);
  report.section("Attention alone");
  check_model(by_hand, options.seed, report);
  if (task != "repeat") {  // tasks.cpp describes the other tasks
    report.part_of_lesson();
    report.section("Another task: " + task);
    return other_task(task, options, report);
  }
  report.section("One layer compared with two");
  Trained trained;
  one_against_two(trained, options, report);
  report.section("Scores of the heads");
  const HeadScores scores = show_heads(trained, options);
  report.at_least("largest induction score", scores.largest_induction, 0.5);
  report.section("Ablate heads");
  const Size head = note_taker(trained, scores, options, report);
  report.section("Patch one attention pattern");
  change_a_pattern(trained, head, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("21_induction", "learning inside the context");
  program.steps(1500, 8);
  std::string task = "repeat";
  program.add("--task", task, "the task to learn from the context", {"repeat", "bigram", "pairs", "gcd"});
  return program.run(
      argc, argv, [&](const kit::Options& options, kit::Report& report) { lesson(task, options, report); });
}
