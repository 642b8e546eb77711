// 26 programmable: your score, your mask, full speed
//
// 30 minutes to read, 150 seconds to run. Needs lesson 25 (tiles), 17 (positions) and 20 (a language model,
// its cache). Afterwards you can write an attention that nobody has written before as one lambda, check it,
// and train it.
//
// Papers keep inventing attentions, and most differ from softmax(Q Kᵀ / √d) V in one line. That line is easy
// to write with tensors, but then the matrix of all pairs is there again, which lesson 25 avoided. So here
// the line goes into the tiles. How can a kernel run a formula, and its derivative, that it has never seen?
//
// The files: my_attention.cpp is yours to change; gallery_element.cpp and gallery_ops.cpp have mechanisms to start from;
// tasks.cpp the texts.

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"
#include "lessons/26_programmable/experiment.hpp"
#include "lessons/26_programmable/my_attention.hpp"
#include "lessons/26_programmable/train_my_attention.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "nn/attention/attention.hpp"

namespace lesson26 {

using namespace tapestry;
using Learned = std::vector<Tensor>;

// ---- 1. One formula, three levels -------------------------------------------------------------------------
// Let nearness count in place of the product (Nadaraya 1964, Watson 1964): s_ij = −‖q_i − k_j‖². With a
// pencil: q = (1, 0) and the keys (1, 1) and (3, 0) give −1 and −4.
//
// **By ops.** A function of queries and keys gives the scores. This always works, and it says best what is
// meant. Mind the shapes: unsqueeze makes (…, Tq, 1, d) and (…, 1, Tk, d) of (…, T, d).

Mechanism nearness_by_ops() {
  return {.name = "by ops", .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned&) {
            const Attention attention{[](const Tensor& query, const Tensor& key) {
              const Tensor apart = unsqueeze(query, -2) - unsqueeze(key, -3);
              return -sum(apart * apart, {-1});
            }};
            return attention(q, k, v).context;
          }};
}

// **By mechanism.** A sum over units is a lambda of one unit: q and k are then numbers (several at once, one
// on each SIMD lane). attend() runs it in lesson 25's tiles, forward and backward.

Mechanism nearness_by_mechanism() {
  return {.name = "by mechanism", .pairs = [](const Learned&) {
            return pair_score([](auto q, auto k) { return -(q - k) * (q - k); });
          }};
}

// **By element.** Once more: −‖q − k‖² = 2 q·k − ‖k‖² − ‖q‖², and softmax ignores ‖q‖², the same in a whole
// row. The pencil: 2 · 1 − 2 = 0 and 2 · 3 − 9 = −3, as far apart as −1 and −4. What is left is the usual
// product, and something done to each score. The lambda gets the score s, its place `at` (batch row b, head
// h, query i, key j), and a reader for each tensor it wants. What is to be learned, or as ‖k‖² has a gradient
// to pass on, is handed over as learned(…), for C++ cannot see what a lambda captures.

Mechanism nearness_by_element() {
  return {.name = "by element", .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned&) {
            const auto score =
                score_mod([](auto s, auto at, auto square) { return s - square(at.b, at.h, at.j); },
                          learned(sum(k * k, {-1})));
            return attend(q, k, v, {.scale = 2, .score = score});
          }};
}

// The lambda says `auto`, so it can be run on other numbers than floats: on *duals*, pairs of a value and a
// slope, for which + and · and tanh are defined by the rules of differentiation. With slope 1 at s it gives
// ∂/∂s: for f(s) = s² at s = 3, (3, 1) · (3, 1) = (9, 3 · 1 + 1 · 3) = (9, 6). So use select(condition, a, b)
// for `if`: one SIMD lane may go left and its neighbour right.
//
// Each level is checked: gradcheck compares some numbers of each gradient with differences, and says how many;
// plain ops are the same formula over whole tensors, without tiles; and with a cache the last queries alone
// must find what they found among all. Then each is timed.

void show_levels(const kit::Options& options, kit::Report& report) {
  const kit::Question largest =
      report.ask("bytes of a formula",
                 "512 words, 4 heads of width 16. What is the largest tensor of the first level, by ops?",
                 {"4 · 512 · 16 numbers, as the queries", "4 · 512 · 512 · 16, a vector for each pair",
                  "4 · 512 · 512, a number for each pair"});
  const Tensor q = tensor({1, 0}, DType::f64), keys = tensor({{1, 1}, {3, 0}}, DType::f64);
  const Tensor apart = q - keys, near = -sum(apart * apart, {-1}),
               product = 2.0 * squeeze(matmul(keys, unsqueeze(q, 1)), 1) - sum(keys * keys, {-1});
  kit::check_worked_example(
      report, "one query, two keys",
      {{near.at({0}), -1}, {near.at({1}), -4}, {product.at({0}), 0}, {product.at({1}), -3}});
  compare_levels({nearness_by_ops(), nearness_by_mechanism(), nearness_by_element()}, options, report);
  const Tensor each = unsqueeze(zeros({4, 512, 16}), -2) - unsqueeze(zeros({4, 512, 16}), -3);
  report.answer(largest, 'b', each.shape().count() == 4 * 512 * 512 * 16,
                "16 million numbers, and backward keeps them. The other two levels hold no more than tiles.");
}

// ---- 2. Train short, test long ----------------------------------------------------------------------------
// A language model is trained on texts of 64 words, and has to go on for longer ones. Sinusoids (lesson 17)
// give each place a vector, of place 65 another one than of all before. ALiBi (Press et al. 2022) only says
// how far a key is, and takes more off the farther it is, by another slope in each head. As a lambda it is one
// line. (With a cache there are fewer queries than keys, and query 0 stands at place keys − queries: `first`.)

LearnedScoreMod alibi_as_lambda() {
  return {{}, [](const Learned&, Size queries, Size keys) {
            const auto first = static_cast<double>(keys - queries);
            return score_mod(
                [first](auto s, auto at, auto slope) { return s - slope(at.h) * abs(at.i + first - at.j); },
                tensor({0.5, 0.25, 1.0 / 8, 1.0 / 16, 1.0 / 32, 1.0 / 64, 1.0 / 128, 1.0 / 256}));
          }};
}

// Any transformer takes such a program as its blocks' `score_mod`; what it learns comes first, here nothing.
// In the made-up text three words in five follow from the one before the last, by a rule that is always the
// same; and each string has a theme, six of 64 words that it keeps coming back to.

void longer(const kit::Options& options, kit::Report& report) {
  const kit::Question alibi =
      report.ask("ALiBi at 256 words",
                 "Trained at 64 words, tested at 256. What becomes of ALiBi's mean loss of a word?",
                 {"it is no larger", "it is larger: no head has seen such distances"});
  const kit::Question sine = report.ask("sinusoids at 256 words", "And with sinusoids?",
                                        {"it is no larger either", "a little larger, by a few hundredths",
                                         "much larger, by tenths or whole units"});
  const Lengthened more = train_short(alibi_as_lambda(), options, report);
  report.at_most("ALiBi: loss at 256 words, less that at 64", more.alibi, 0);
  report.answer(
      alibi, 'a', more.alibi <= 0,
      "A place far away is nothing new to it: it counts still less. And more of the theme was seen.");
  report.at_least("sinusoidal: loss at 256 words, less that at 64", more.sinusoidal, 0.3);
  report.answer(sine, 'c', more.sinusoidal >= 0.3,
                "From place 65 on it reads vectors that no step ever met.");
}

// ---- 3. A puzzle, and your own mechanism ------------------------------------------------------------------
// Seven voices speak in turn, one symbol each, round and round. Each voice has a favourite symbol, another
// one in each string, and says it two times in five; otherwise it says anything. At each place: what is the
// favourite of the voice that speaks next? Who wants to know must gather all that this voice has said, 6, 13,
// 20, 27 … places back, and nothing else. my_attention.cpp says it in a lambda: a number for each head and each
// remainder of the distance by 7, which start at 0. Which remainder matters, training finds; the map shows
// it (queries and keys are 0 there; a pair is the stronger in colour, the more it gets beyond an even share).

void solve_puzzle(const kit::Options& options, kit::Report& report) {
  const kit::Question schemes =
      report.ask("every seventh",
                 "How many of sinusoids, T5's buckets, ALiBi and rotary come beyond 70 % of the favourites?",
                 {"none", "rotary and the sinusoids, which go round", "all four, with training enough"});
  const std::optional<Solved> solved = solve_voices(options, report);
  report.at_least(fmt::format("{}: favourites known", my_attention().name), solved ? solved->own : 0, 99,
                  "%");
  report.at_most("the best of the built-in schemes", solved ? solved->best_built_in : 100, 70, "%");
  report.answer(schemes, 'a', solved && solved->best_built_in <= 70,
                "ALiBi and T5 know near from far. Sinusoids turn, but no hand makes a turn in seven places.");
}

// ---- 4. The gallery ---------------------------------------------------------------------------------------
// 24 mechanisms from papers, each of at most 15 lines; the list says on which of the three levels. Look for
// the one nearest to yours, put it into my_attention.cpp, and run `lessons/run 26 --my-attention`: it is checked, timed,
// trained and drawn.
//
// What to remember. A lambda of a score runs in the tiles, and on duals it gives its own slope. What is
// learned is handed over. With a cache the first query is not at place 0.
//
// Exercises: lessons/practise 26 (a score that forgets where it is; a learned sink; a window; every fifth).

}  // namespace lesson26

int main(int argc, char** argv) {
  using namespace lesson26;
  kit::Lesson program("26_programmable", "your score, your mask, full speed");
  program.steps(420, 2);
  bool only_gallery = false, only_my_attention = false;
  std::string task = "voices";
  program.add_flag("--my-attention,--mine", only_my_attention,
                   "my_attention.cpp alone: check, time, train and draw it");
  program.add("--task", task, "What --my-attention trains on: the puzzle, or lesson 20's digits",
              {"voices", "sorting"});
  program.add_flag("--gallery", only_gallery, "The gallery alone, with pictures of all of it");
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    if (only_my_attention && only_gallery)
      throw kit::UsageError("--my-attention and --gallery are two parts of the lesson: give one of them");
    if (program.given("--task") && !only_my_attention)
      throw kit::UsageError("--task is what --my-attention trains on: give --my-attention too");
    if (only_my_attention || only_gallery) report.part_of_lesson();
    if (only_my_attention) return train_my_attention(my_attention(), task, options, report);
    if (only_gallery) return show_gallery(options, report, true);
    report.section("One formula, three levels");
    show_levels(options, report);
    report.section("Train short, test long");
    longer(options, report);
    report.section("A puzzle, and your own mechanism");
    solve_puzzle(options, report);
    report.section("The gallery");
    show_gallery(options, report, false);
  });
}
