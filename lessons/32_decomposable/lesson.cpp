// 32 decomposable: compare two sentences without recurrence
//
// 15 minutes to read, 30 seconds to run. Needs lesson 16 (sequences that ask each other), 17 (positions) and
// 07 (masks). Afterwards you can align two sentences in both directions with one table of scores, build a
// model of attend, compare and aggregate, and say what such a model cannot know.
//
// "A red dog pushes a car." Does "an animal touches a vehicle" follow? Then it is *entailed*. "A blue animal
// touches a vehicle" may be so or not, it is *neutral*; "a cat pushes a car" is *contradicted*. Who answers
// looks for each word's counterpart, compares word with word, and adds up what was found. No memory is needed
// that reads from left to right. Is that all?

#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "lessons/32_decomposable/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/rows.hpp"

using namespace tapestry;
using namespace tapestry::lesson32;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. One table, read both ways -------------------------------------------------------------------------
// The first sentence, the *premise*, has words a_1 … a_n, the second, the *hypothesis*, b_1 … b_m, all of them
// vectors. Parikh, Täckström, Das and Uszkoreit (2016) *attend* in both directions with one table e:
//
//     e_ij = F(a_i) · F(b_j)                  F: a small feed-forward net, the same for all words
//     β_i = Σ_j softmax_j(e_ij) b_j           what the hypothesis has for a_i: a row's softmax
//     α_j = Σ_i softmax_i(e_ij) a_i           what the premise has for b_j: a column's softmax
//
// Take a pencil. Two words meet three, and the table is e = ((ln 3, 0, 0), (0, 0, ln 2)):
//
//            exp(e)             by rows                     by columns
//     a_1    3   1   1        0.6    0.2    0.2           0.75    0.5    0.333
//     a_2    1   1   2        0.25   0.25   0.5           0.25    0.5    0.667
//
// b_2 has no counterpart: its scores are equal, so its column is undecided, and rows give it little. The
// table need not be symmetric.

struct Aligned {
  Tensor beta, alpha;  // (B, n, d), (B, m, d)
};

/// f_a (B, n, h) and f_b (B, m, h) are F's; is_a (B, 1, n) and is_b (B, 1, m) are true for words, not padding.
Aligned attend(const Tensor& f_a, const Tensor& f_b, const Tensor& a, const Tensor& b, const Mask& is_a,
               const Mask& is_b) {
  const Tensor e = matmul(f_a, transpose(f_b));
  return {matmul(masked_softmax(e, is_b), b), matmul(masked_softmax(transpose(e), is_a), a)};
}

void pencil(kit::Report& report) {
  const Tensor e = tensor({{{std::log(3), 0, 0}, {0, 0, std::log(2)}}}, f64), two = eye(2, f64),
               three = eye(3, f64);
  const auto all = [](Size n) {
    return Mask::from(1, n, [](Size, Size) { return true; }).reshape({1, 1, n});
  };
  // F(a) is the table, F(b) and all words are one-hot: so e is e, and β and α are the weights.
  const Aligned w = attend(e, unsqueeze(three, 0), unsqueeze(two, 0), unsqueeze(three, 0), all(2), all(3));
  kit::print_rows("by rows", select(w.beta, 0, 0), 3);
  kit::print_rows("by columns", transpose(select(w.alpha, 0, 0)), 3);
  kit::check_worked_example(report, "by rows",
                            {{w.beta.at({0, 0, 0}), 0.6},
                             {w.beta.at({0, 0, 1}), 0.2},
                             {w.beta.at({0, 1, 0}), 0.25},
                             {w.beta.at({0, 1, 2}), 0.5}});
  kit::check_worked_example(report, "by columns",
                            {{w.alpha.at({0, 0, 0}), 0.75},
                             {w.alpha.at({0, 1, 0}), 0.5},
                             {w.alpha.at({0, 2, 0}), 0.333},
                             {w.alpha.at({0, 2, 1}), 0.667}});
}

// ---- 2. Attend, compare, aggregate ------------------------------------------------------------------------
// Two more nets do the rest. G *compares* each word with its counterpart, H *aggregates*: it sees only the two
// sums, and names one of three answers.
//
//     v_i = G([a_i; β_i]),   u_j = G([b_j; α_j])             answer = H([Σ_i v_i; Σ_j u_j])
//
// Nowhere does a word wait for another one: each step is done for all words at once. And the table is a
// product, which is why the model is called *decomposable*. (F would have to run for each pair if it read
// both words together, as lesson 11's score does.) Padding must not be summed: G of nothing is something.

Tensor add_up(const Tensor& x, const Mask& is_word) {
  const Mask rows = is_word.reshape({x.size(0), x.size(1), 1});
  return sum(where(rows, x, scalar(0, x.dtype())), {1});  // (B, h)
}

/// `net` lends its weights: f, g, h and a last linear layer, out.
Tensor answer(const Entailer& net, const Tensor& a, const Tensor& b, const Mask& is_a, const Mask& is_b) {
  const Aligned aligned = attend(net.f(a), net.f(b), a, b, is_a, is_b);
  const Tensor v = net.g(concat({a, aligned.beta}, -1)), u = net.g(concat({b, aligned.alpha}, -1));
  return net.out(net.h(concat({add_up(v, is_a), add_up(u, is_b)}, -1)));
}

// With nn/ it is Attention{dot()} called twice: F(a) asks F(b) for b, and F(b) asks F(a) for a (entailer.cpp).

void compare(std::uint64_t seed, kit::Report& report) {
  const kit::Question runs = report.ask(
      "how often F runs", "A premise of 30 words, a hypothesis of 20. For how many vectors is F computed?",
      {"50", "600", "1,200: in both directions"});
  Entailer net(Way::whole, {.width = 3, .hidden = 16});
  net.initialise(seed, f64);
  const Batch batch = batch_of(draw_pairs(kit::Random(seed), 6, Words::seen_together, seed));
  const Mask is_a = batch.premise_lengths.mask(kLongest), is_b = batch.hypothesis_lengths.mask(kLongest);
  kit::check_by_hand(
      report, "attend, compare, aggregate",
      [&] { return answer(net, net.read(batch.premise), net.read(batch.hypothesis), is_a, is_b); },
      [&] { return net(batch); }, net.parameters(), seed);
  const Tensor f_a = net.f(zeros({30, 3}, f64)), f_b = net.f(zeros({20, 3}, f64));
  report.figure("numbers in the table", static_cast<double>(matmul(f_a, transpose(f_b)).count()));
  report.answer(runs, 'a', f_a.size(0) + f_b.size(0) == 50,
                "Once for each word; the 600 numbers of the table are one matrix product.");
}

// ---- 3. Does it follow? -----------------------------------------------------------------------------------
// Sentences have the form of "red dog pushes car"; adjectives may be missing. Words come in groups: dog, cat,
// horse and cow are animals, and so for nouns, verbs and adjectives. To say less (a general word, no
// adjective) is entailed. To say more is neutral. A dog is no cat and no car: contradicted. One in five
// pairs of adjective and noun never stand together in training; in the column held out all sentences' pairs have
// one; part 4 explains twins. Beside the whole model stand three that lack a part: one that does not know the
// places of words, which the whole is told (part 4); one whose weights are all equal; and one that adds up words
// and leaves all else to H, here with 256 units a layer.

std::vector<Right> follow(Size hidden, const kit::Options& options, kit::Report& report) {
  const kit::Question bag =
      report.ask("a bag of words",
                 "The bag of words has more than twice the weights. How many of its answers are right?",
                 {"nearly all: no word is lost in a sum", "about four of five", "about half"});
  const std::vector<Right> all = train_each(hidden, options, report);
  report.answer(bag, 'b', all[3].held_out > 70 && all[3].held_out < 90,
                "H gets one vector for a sentence, and must find out which word stands to which. There are "
                "thousands of sums. Pairs of words, which G sees, are few.");
  return all;
}

// In both pictures "red" has no counterpart, and yet it points sharply, to the first noun: only equal scores
// spread, and learned ones need not be equal.

// ---- 4. Who pushes whom -----------------------------------------------------------------------------------
// "Dog pushes cat", "cat pushes dog": the same words, another story. Nothing in F, G, sums and softmax knows
// of order, so the paper's plain model cannot tell them apart. Here a learned vector for each place is added
// to each word (lesson 17). Twins are two such pairs, one entailed, one contradicted.

void whom(const std::vector<Right>& all, std::uint64_t seed, kit::Report& report) {
  const kit::Question exchanged =
      report.ask("without places",
                 "\"Dog pushes cat\". What does the model without places answer to \"cat pushes dog\"?",
                 {"contradicted, if it was trained on such pairs", "the same as to \"dog pushes cat\"",
                  "neutral, most often"});
  const double without = apart_from_twins(Way::no_places, seed), whole = apart_from_twins(Way::whole, seed);
  report.figure("answers to twins apart, without places", without);
  report.figure("answers to twins apart, the whole", whole);
  report.at_most("without places: twins", all[1].twins, 51, "%");
  report.answer(exchanged, 'b', without < 1e-12 && whole > 1e-6,
                "Not one number of its answer changes. One of two twins is wrong, whatever it learns.");
}

// What to remember. One table of scores aligns two sentences in both directions. Compare word with word, add
// up, decide: all words at once, and with few weights. A sum knows no order: places must be told.
//
// Exercises: lessons/practise 32 (align; what padding adds; what cannot be told; a small entailer).

void lesson(Size hidden, const kit::Options& options, kit::Report& report) {
  report.section("One table, read both ways");
  pencil(report);
  report.section("Attend, compare, aggregate");
  compare(options.seed, report);
  report.section("Does it follow?");
  const std::vector<Right> all = follow(hidden, options, report);
  report.section("Who pushes whom");
  whom(all, options.seed, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("32_decomposable", "compare two sentences without recurrence");
  program.steps(3000, 4);
  Size hidden = 64;
  program.add("--hidden", hidden, "units of each layer", 1, 1024);
  return program.run(argc, argv, [&](const auto& in, auto& report) { lesson(hidden, in, report); });
}
