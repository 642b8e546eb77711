// 21 induction: learning inside the context
//
// 12 minutes to read, 40 seconds to run. Needs lessons 18 (heads, and what is left without one) and 20 (the
// next token, the causal mask). Afterwards you can wire an induction head, find one in a trained model, and
// prove what it does by changing one head and nothing else.
//
// A trained model's weights no longer change. Yet show it twice something that it has never seen, and the
// second time it knows what comes next: it has learned from its own context. How? Elhage et al. (2021) and
// Olsson et al. (2022) found the mechanism in transformers of every size: two heads, one above the other.

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

// ---- 1. Two heads with a pencil ---------------------------------------------------------------------------
// "d a f d": what comes next? Who finds the earlier d and steps one to the right says a. One attention can't:
// looking for d finds d, and reads d there. Two can:
//
//     lower   at each place, look one place back, and note which symbol stands there
//     upper   at d, look for the places that noted a d, and read the symbol that stands there
//
//     symbols           d     a     f     d
//     notes             -     d     a     f
//     scores of d       0     3     0     0        3 where the note is a d
//     weights         0.04  0.87  0.04  0.04       e^3 is 20.09, and 20.09 / 23.09 is 0.87
//
// The lower one, a *previous-token head*, works by place. The upper one, the *induction head*, works by
// content: its query is a symbol, its keys are the notes of the lower one.

/// The pattern (T, T) of a head that looks exactly `back` places back; the first places see nothing.
Tensor exactly(Size back, Size time, DType type) {
  const Mask mask = Mask::from(time, time, [=](Size i, Size j) { return j == i - back; });
  return masked_softmax(zeros({time, time}, type), mask);
}

/// symbols (T, V), a one for each place's symbol → what the upper head reads (T, V)
Tensor induction(const Tensor& symbols) {
  const Size time = symbols.size(0);
  const Tensor notes = matmul(exactly(1, time, symbols.dtype()), symbols);
  const Tensor scores = 3 * matmul(symbols, transpose(notes));
  return matmul(masked_softmax(scores, Mask::causal(time, time)), symbols);
}

void pencil(kit::Report& report) {
  const Tensor read = induction(one_hot(Indices(kit::Ids{3, 0, 5, 3}, {4}), 6, DType::f64));  // of d a f d
  const double e = std::exp(3.0), a = read.at({3, 0}), f = read.at({3, 5});
  kit::check_worked_example(report, "the last d", {{e, 20.09}, {e + 3, 23.09}, {a, 0.87}, {f, 0.04}});
}

// ---- 2. Attention alone -----------------------------------------------------------------------------------
// To see the mechanism bare, leave out all that it does not need: feed-forward, norms, biases. What is left
// is a sum, the *residual stream*: x begins as the symbols' vectors, and each head h adds its part:
//
//     x ← x + Σ_h A_h x W_V^h W_O^h        A_h = softmax of the causal scores of x + p
//
// The places p (sinusoids, lesson 17) enter queries and keys, never the values (Press, Smith and Lewis 2021):
// where to look may depend on places, but not what is carried. In a sum one head can be changed and the
// others stay. Parts 5 and 6 will do that: `instead` says which heads, and how.

Tensor by_hand(const AttentionOnly& model, const Indices& ids, const Instead& instead) {
  const Size time = ids.shape()[1];
  Tensor x = embedding(model.words.weight, ids);  // (B, T, 64)
  const Tensor places = sinusoids(0, time, kWidth, x.dtype());
  for (Size layer = 0; layer < model.layers.size(); ++layer) {
    const MultiHeadAttention& weights = model.layers[layer];
    const Tensor placed = x + places;
    Tensor sum = x;
    for (Size h = 0; h < kHeads; ++h) {
      const Size head = layer * kHeads + h;
      const auto own = [&](const Linear& all, int axis) {  // this head's part of a matrix
        return transpose(slice(all.weight, axis, h * kHeadWidth, (h + 1) * kHeadWidth));
      };
      const Tensor q = matmul(placed, own(weights.query, 0)), k = matmul(placed, own(weights.key, 0));
      const Tensor scores = matmul(q, transpose(k)) / std::sqrt(static_cast<double>(kHeadWidth));
      Tensor look = masked_softmax(scores, Mask::causal(time, time));  // A_h (B, T, T)
      if (instead.back.count(head)) look = exactly(instead.back.at(head), time, x.dtype());
      const Tensor said = matmul(matmul(look, matmul(x, own(weights.value, 0))), own(weights.output, 1));
      sum = sum + (instead.mean.count(head) == 0 ? said : mean(said, {0, 1}));
    }
    x = sum;
  }
  return matmul(x, transpose(model.output.weight));
}

// ---- 3. One layer against two -----------------------------------------------------------------------------
// A sequence of 64 places is a *round*, 8 to 24 of 32 symbols in random order, and the same round again and
// again. The first round is noise. From the second symbol of the second round on (*the repeat*) everything
// can be known, and the loss counts these places alone. Nothing can be learned by heart.

void one_against_two(Trained& trained, const kit::Options& options, kit::Report& report) {
  const kit::Question one =
      report.ask("one layer", "One layer has four heads, too. What does it learn about the repeat?",
                 {"all: it looks for the earlier copy of the symbol and reads what stands beside it",
                  "which symbols the round has, but not which comes next: about log 16 = 2.8 nats",
                  "nothing: any of 32 symbols, log 32 = 3.5 nats"});
  train_both(trained, options);
  report.at_least("loss on the repeat, one layer", trained.loss_of_one, 2, "nats");
  report.at_most("loss on the repeat, two layers", trained.loss_of_two, 0.3, "nats");
  report.answer(one, 'b', trained.loss_of_one > 2 && trained.loss_of_one < 3.2 && trained.loss_of_two < 0.3,
                "All its heads see symbols and places alone. No head can read another's notes, since none "
                "stands above another.");
}

// ---- 4. What heads look at --------------------------------------------------------------------------------
// Two numbers say what a head does. Its *induction score* is the weight that it puts, in the repeat, on
// places right after an earlier copy of the present symbol. Its *previous-token score* is the weight on the
// place before. The loss asked for neither. Compare their curves with that of the loss. In the map, an
// induction head makes stripes: from each symbol of the repeat one place right of its copies.

// ---- 5. Take heads out ------------------------------------------------------------------------------------
// A map shows what a head looks at, not that the answer depends on it (lesson 11). To know the cause, take
// away what the head knows, and nothing else. Zeros in its place would be something that the rest has never
// met. So it says its mean over all sequences and places: nothing of this sequence is left in it.

Size note_taker(const Trained& trained, const Looked& looked, const kit::Options& options,
                kit::Report& report) {
  const kit::Question sharp = report.ask(
      "the note-taker",
      "One lower head costs the most when it is taken out. How much of its weight lies on the place before?",
      {"nearly all, as wired by hand", "at least half: it has to outweigh all others", "less than half"});
  const TakenOut out = take_out(trained, looked, by_hand, options);
  report.at_least("loss without the induction heads", out.induction, 2, "nats");
  report.at_most("loss without the upper layer's other heads", out.others, 0.3, "nats");
  report.at_least("loss without the lower layer: no notes to read", out.lower, 2, "nats");
  report.figure("the note-taker's previous-token score", out.previous);
  report.answer(sharp, 'c', out.previous < 0.5 && out.previous > 0.1 && looked.most > out.previous,
                "The map shows the rest on places near by. Of faint notes the upper head makes a sharp look. "
                "Whether other lower heads share the job depends on the seed: see the losses.");
  return out.note_taker;
}

// ---- 6. Change what one head looks at ---------------------------------------------------------------------
// If the note-taker's job is to look one place back, a pattern that does exactly this must do in its place,
// though it was never trained. Such a change of one inner value is a *patch*. And a wrong pattern must give
// the very mistake that the mechanism foretells. Every weight stays as it was.

void change_a_pattern(const Trained& trained, Size head, kit::Report& report) {
  const kit::Question two_back = report.ask(
      "two places back",
      "Now this head looks exactly two places back, and notes that symbol. In d a f e … d, what does the "
      "model mostly say after the second d?",
      {"the symbol after the next: f", "the next, as before: a", "anything: no note fits"});
  const Patched one = patch(trained, head, 1, by_hand), two = patch(trained, head, 2, by_hand);
  report.figure("exactly one back: loss on the repeat", one.loss, "nats");
  report.at_least("exactly one back: says the next symbol", one.next, 60, "%");
  report.at_most("exactly two back: says the next symbol", two.next, 40, "%");
  report.at_least("exactly two back: says the one after", two.next_but_one, 50, "%");
  report.answer(two_back, 'a', two.next_but_one >= 50 && two.next <= 40,
                "The note d now stands at f, two places right of the copy. The upper head finds it as ever, "
                "and reads what stands there.");
}

// What to remember. A previous-token head notes what stood before; an induction head above it finds the note
// and reads what came next. A map suggests what a head does; a patch with a foretold mistake proves it.
//
// Exercises: lessons/practise 21 (the induction score; its mean; a head that reads the past; few weights).

void lesson(const std::string& task, const kit::Options& options, kit::Report& report) {
  report.section("Two heads with a pencil");
  pencil(report);
  report.section("Attention alone");
  check_model(by_hand, options.seed, report);
  if (task != "repeat") {  // tasks.cpp says what they are
    report.part_of_lesson();
    report.section("Another task: " + task);
    return other_task(task, options, report);
  }
  report.section("One layer against two");
  Trained trained;
  one_against_two(trained, options, report);
  report.section("What heads look at");
  const Looked looked = show_heads(trained, options);
  report.at_least("largest induction score", looked.most, 0.5);
  report.section("Take heads out");
  const Size head = note_taker(trained, looked, options, report);
  report.section("Change what one head looks at");
  change_a_pattern(trained, head, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("21_induction", "learning inside the context");
  program.steps(1500, 8);
  std::string task = "repeat";
  program.add("--task", task, "what is to be learned from the context", {"repeat", "bigram", "pairs", "gcd"});
  return program.run(
      argc, argv, [&](const kit::Options& options, kit::Report& report) { lesson(task, options, report); });
}
