// 26 programmable: write your own score and mask as a lambda, at full speed
//
// 30 minutes to read, 70 seconds to run. Needs lesson 25 (tiles), 17 (positions) and 20 (a language model
// and its cache). Afterwards you can write a new attention mechanism as one lambda, check it, and train it.
//
// Many papers propose a new attention mechanism, and most of these differ from softmax(Q Kᵀ / √d) V in one
// line. That line is easy to write with tensor ops. But then the tape stores the matrix of all pairs, which
// lesson 25 avoided.
//
// In this lesson, you pass your line as a lambda to the kernel of lesson 25, which runs it inside the tiles.
// (PyTorch's FlexAttention, Dong et al. 2024, has the same idea and also calls the lambda score_mod.) But the
// kernel was written before your line. How can it run the line, and also its derivative?
//
// The files of this lesson: my_attention.cpp is the file that you change. gallery_element.cpp and
// gallery_ops.cpp contain mechanisms from which you can start. tasks.cpp draws the texts.

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

// ---- 1. Three ways to write a score -----------------------------------------------------------------------
// As an example, we compare a query and a key by their distance instead of their product: s_ij = −‖q_i − k_j‖².
// (Lesson 05 pools in this way; Nadaraya 1964, Watson 1964.) For q = (1, 0), the keys (1, 1) and (3, 0) have the
// scores −1 and −4.
//
// There are three ways, or *levels*, to write such a score.
//
// **By ops.** A function computes the scores from the queries and keys with tensor ops. Every score can be
// written in this way, and the code is close to the formula. But the tape stores the whole matrix. About the
// shapes: unsqueeze turns the queries (…, Tq, d) into (…, Tq, 1, d), and the keys (…, Tk, d) into (…, 1, Tk, d), so
// that the subtraction broadcasts (lesson 01).

Mechanism nearness_by_ops() {
  return {.name = "by ops", .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned&) {
            const Attention attention{[](const Tensor& query, const Tensor& key) {
              const Tensor difference = unsqueeze(query, -2) - unsqueeze(key, -3);
              return -sum(difference * difference, {-1});
            }};
            return attention(q, k, v).context;
          }};
}

// **By mechanism.** Our score is a sum over the d components of q and k, −Σ_c (q_c − k_c)². We write one term of the
// sum as a lambda. Inside the lambda, q and k are numbers: a component of the query, and the same component of
// the key. (More exactly, they are SIMD vectors with one number in each lane.) attend() runs the lambda in the
// tiles of lesson 25, forward and backward.

Mechanism nearness_by_mechanism() {
  return {.name = "by mechanism", .pair_score = [](const Learned&) {
            return pair_score([](auto q, auto k) { return -(q - k) * (q - k); });
          }};
}

// **By element.** We can also write −‖q − k‖² = 2 q·k − ‖k‖² − ‖q‖². Softmax ignores ‖q‖², because it is the
// same in a whole row. So we leave it out. In our example, the scores become 2 · 1 − 2 = 0 and 2 · 3 − 9 = −3. Their
// difference is the same as that of −1 and −4, so the weights are the same, too.
//
// The rest is the usual product, followed by a change of each score. This change is the lambda. It receives
//
// - the score s,
// - its position `at`: batch row b, head h, query i and key j,
// - one function for each tensor from which it needs numbers. Here, square(b, h, j) returns ‖k_j‖².
//
// Tensors that need a gradient are passed as learned(…): trained tensors, and here ‖k‖², through which a gradient
// flows to k. They must be passed explicitly, because C++ code cannot inspect what a lambda captures.

Mechanism nearness_by_element() {
  return {.name = "by element", .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Learned&) {
            const auto score =
                score_mod([](auto s, auto at, auto square) { return s - square(at.b, at.h, at.j); },
                          learned(sum(k * k, {-1})));
            return attend(q, k, v, {.scale = 2, .score_mod = score});
          }};
}

// How does the kernel get the derivative? The parameters of the lambda are declared `auto`, so the lambda
// also accepts other types than float. For backward, the kernel calls it with *dual numbers*: pairs of a
// value and a derivative. Their operations follow the rules of differentiation. For example, the product rule is
//
//     (a, a') · (b, b') = (a b, a b' + a' b)
//
// The kernel gives s the derivative 1. Then the result is a pair of f(s) and ∂f/∂s. For f(s) = s² at s = 3, the
// lambda computes (3, 1) · (3, 1) = (9, 3 · 1 + 1 · 3) = (9, 6).
//
// In the lambda, write select(condition, a, b) instead of `if`, because the condition can be true in one SIMD
// lane and false in the next.
//
// Each level is checked in three ways:
//
// - gradcheck compares elements of each gradient with central differences, and reports how many.
// - The tiles must agree with plain ops, which compute the same formula for whole tensors.
// - With a cache of keys and values (lesson 20), the attention gets only the last queries. They must have the same
//   results as among all queries.
//
// Then each level is timed.

void show_levels(const kit::Options& options, kit::Report& report) {
  const kit::Question largest = report.ask(
      "bytes of a formula",
      "A text has 512 words, and there are 4 heads of width 16. How many numbers are in the largest tensor "
      "of the first level, by ops?",
      {"4 · 512 · 16, as in the queries", "4 · 512 · 512 · 16: a vector for each pair",
       "4 · 512 · 512: a number for each pair"});
  const Tensor q = tensor({1, 0}, DType::f64), keys = tensor({{1, 1}, {3, 0}}, DType::f64);
  const Tensor difference = q - keys, near = -sum(difference * difference, {-1}),
               product = 2.0 * squeeze(matmul(keys, unsqueeze(q, 1)), 1) - sum(keys * keys, {-1});
  kit::check_worked_example(
      report, "one query, two keys",
      {{near.at({0}), -1}, {near.at({1}), -4}, {product.at({0}), 0}, {product.at({1}), -3}});
  compare_levels({nearness_by_ops(), nearness_by_mechanism(), nearness_by_element()}, options, report);
  const Tensor each = unsqueeze(zeros({4, 512, 16}), -2) - unsqueeze(zeros({4, 512, 16}), -3);
  report.answer(
      largest, 'b', each.shape().count() == 4 * 512 * 512 * 16,
      "These are 16 million numbers, and they are kept for backward. The other two levels store only tiles "
      "of this matrix.");
}

// By ops, the largest tensor is the difference of the queries (…, Tq, 1, d) and the keys (…, 1, Tk, d). It has a
// vector for each pair. Only the sum over the d components leaves a single number for each pair.

// ---- 2. Trained on short texts, tested on long ones -------------------------------------------------------
// We train a language model on texts of 64 words and then test it on longer texts. With sinusoids (lesson
// 17), each position has a different vector. So the vector of the 65th word never occurred in training.
//
// ALiBi (Press et al. 2022) uses only the distance between query and key. From each score it subtracts the
// distance times a slope. Each of the eight heads has a different slope: 1/2, 1/4, … 1/256. As a lambda, ALiBi is
// one line.
//
// With a cache there are fewer queries than keys, and query 0 is at position keys − queries of the text. The
// code calls this position `first`.

LearnedScoreMod alibi_as_lambda() {
  return {{}, [](const Learned&, Size queries, Size keys) {
            const auto first = static_cast<double>(keys - queries);
            return score_mod(
                [first](auto s, auto at, auto slope) { return s - slope(at.h) * abs(at.i + first - at.j); },
                tensor({0.5, 0.25, 1.0 / 8, 1.0 / 16, 1.0 / 32, 1.0 / 64, 1.0 / 128, 1.0 / 256}));
          }};
}

// A transformer accepts such a score as the `score_mod` of its blocks. The first argument of the function
// holds its learned tensors; ALiBi has none.
//
// The text is artificial, with 64 words. Three words in five are determined by the word two positions before, by a
// rule that is the same in all texts. In addition, each text has a theme: six words that occur again and again.

void longer(const kit::Options& options, kit::Report& report) {
  const kit::Question alibi = report.ask(
      "ALiBi at 256 words",
      "The model with ALiBi is trained at 64 words and tested at 256. How does its mean loss per word at 256 "
      "words compare with that at 64?",
      {"not larger", "larger, because the heads never saw such distances"});
  const kit::Question sine = report.ask(
      "sinusoids at 256 words",
      "How does the mean loss per word of the model with sinusoids at 256 words compare with that at 64?",
      {"not larger", "larger by a few hundredths", "larger by some tenths, or by more than 1"});
  const LossIncrease more = train_short(alibi_as_lambda(), options, report);
  report.at_most("ALiBi: loss at 256 words minus loss at 64", more.alibi, 0);
  report.answer(
      alibi, 'a', more.alibi <= 0,
      "A larger distance is no new input for ALiBi: it only makes the score smaller. And a longer text shows more "
      "of its theme.");
  report.at_least("sinusoidal: loss at 256 words minus loss at 64", more.sinusoidal, 0.3);
  report.answer(sine, 'c', more.sinusoidal >= 0.3,
                "From position 65 on, the model receives position vectors that did not occur in training.");
}

// At seed 1, the losses of both models on texts of several lengths are:
//
//     loss of a text      32      64     128     256   words
//     ALiBi            2.520   2.449   2.422   2.408
//     sinusoidal       2.735   2.728   3.626   4.066
//
// At other seeds, the numbers differ. But the loss with ALiBi never rises from 64 to 256 words, and with
// sinusoids it always rises clearly. A longer text is easier to predict, because its beginning shows its theme.

// ---- 3. A puzzle for your own mechanism -------------------------------------------------------------------
// In the puzzle, seven voices speak in turn, one symbol each, again and again. Each voice has a favourite
// symbol, which is drawn anew for each string. The voice says its favourite two times in five, and otherwise
// a random symbol. At each position, the model must predict the favourite symbol of the voice that speaks
// next.
//
// To solve the puzzle, the model must count only what this voice has said. It speaks next, so it last spoke 6
// positions back, and before that 13, 20, 27 … positions back. All these distances have the remainder 6 when
// divided by 7.
//
// my_attention.cpp writes this as a lambda with a table. For each head, the table has a number for each of the
// seven remainders, which is added to the score. The numbers start at 0, and training finds the remainder that
// matters.
//
// The map shows the weights with all queries and keys set to 0, so only the table has an effect. The colour of a
// pair shows its weight as a multiple of the uniform weight. This is the weight of every key if all keys of the
// row have the same score.

void solve_puzzle(const kit::Options& options, kit::Report& report) {
  const kit::Question schemes = report.ask(
      "every seventh",
      "How many of the four built-in schemes (sinusoids, T5's buckets, ALiBi, rotary) predict more than "
      "70 % of the favourites?",
      {"none", "two: rotary and the sinusoids, which are periodic", "all four, if trained long enough"});
  const std::optional<PuzzleAccuracy> solved = solve_voices(options, report);
  report.at_least(fmt::format("{}: favourites predicted", my_attention().name), solved ? solved->own : 0, 99,
                  "%");
  report.at_most("best built-in scheme: favourites predicted", solved ? solved->best_built_in : 100, 70, "%");
  report.answer(
      schemes, 'a', solved && solved->best_built_in <= 70,
      "ALiBi and T5 distinguish near keys from far ones. Sinusoids and rotary use periodic functions, but "
      "none of their periods is seven positions.");
}

// At seed 1, these shares of the favourites are predicted:
//
//     by turns          99.9 % of favourites predicted from position 192 on
//     sinusoidal         7.1 %
//     T5                50.2 %
//     ALiBi             15.7 %
//     rotary            53.4 %
//
// At other seeds, the numbers differ, but only the score with the period of seven positions solves the
// puzzle.

// ---- 4. The gallery ---------------------------------------------------------------------------------------
// The gallery has 26 mechanisms from papers, each with at most 15 lines of code. The list says on which of
// the three levels each one is written. Choose the mechanism that is most like yours and copy it into
// my_attention.cpp. Then run `lessons/run 26 --my-attention`, which checks, times, trains and draws it.

// What to remember. attend() runs a lambda of the score inside its tiles, and calls it with dual numbers to
// get the derivative. Pass tensors that need a gradient as learned(…). With a cache, the first query is not
// at position 0.
//
// Exercises: lessons/practise 26 (debugging positions with a cache; a learned attention sink; a sliding
// window with learned slopes; a small score for five voices).

}  // namespace lesson26

int main(int argc, char** argv) {
  using namespace lesson26;
  kit::Lesson program("26_programmable", "write your own score and mask as a lambda, at full speed");
  program.steps(420, 2);
  bool only_gallery = false, only_my_attention = false;
  std::string task = "voices";
  program.add_flag("--my-attention,--mine", only_my_attention,
                   "Only check, time, train and draw the mechanism in my_attention.cpp");
  program.add("--task", task, "Task for --my-attention: the puzzle (voices), or lesson 20's digits (sorting)",
              {"voices", "sorting"});
  program.add_flag("--gallery", only_gallery, "Only run the gallery, and draw all of its mechanisms");
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    if (only_my_attention && only_gallery)
      throw kit::UsageError("--my-attention and --gallery exclude each other; give one of them");
    if (program.given("--task") && !only_my_attention)
      throw kit::UsageError("--task needs --my-attention; add it, or leave out --task");
    if (only_my_attention || only_gallery) report.part_of_lesson();
    if (only_my_attention) return train_my_attention(my_attention(), task, options, report);
    if (only_gallery) return show_gallery(options, report, true);
    report.section("Three ways to write a score");
    show_levels(options, report);
    report.section("Trained on short texts, tested on long ones");
    longer(options, report);
    report.section("A puzzle for your own mechanism");
    solve_puzzle(options, report);
    report.section("The gallery");
    show_gallery(options, report, false);
  });
}
