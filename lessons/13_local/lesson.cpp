// 13 local: attend only to the keys near a position p_t
//
// 15 minutes to read, 40 seconds to run. Needs lesson 12 (Luong's decoder, the general score) and lesson 07
// (masks). Afterwards you can put a window on any attention, let a model learn where to place the window, and
// say where such a model has no derivative.
//
// In lessons 11 and 12, the decoder gave weights to all keys of the source at every step. For a long source,
// that takes time. It is also not how a person copies a text: as the person writes, the place to look at
// moves along the text. Luong, Pham and Manning (2015) therefore attend only to the keys within D places of a
// position p_t. How does the decoder choose p_t?

#include <cmath>

#include "core/core.hpp"
#include "lessons/13_local/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson13;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. A window by hand ----------------------------------------------------------------------------------
// Keys are numbered j = 0 … S − 1, where S is the length of the source. Decoder steps are numbered t = 0, 1, …
// Only the keys with |j − p_t| ≤ D are in the *window*. There are two ways to choose p_t.
//
// *Local-m* (monotonic) sets p_t = t: the window moves one place at every step.
//
// *Local-p* (predictive) computes p_t from the decoder's state h_t, which has d_h numbers. A small network with
// U hidden units computes a fraction between 0 and 1, and p_t is this fraction of the source's length:
//
//     p_t = S · sigmoid(v_p · tanh(W_p h_t))          W_p (U, d_h), v_p (U)
//
// W_p and v_p are learned. The sigmoid keeps p_t inside the source.
//
// But the window is a mask. Its elements are true or false, so no gradient passes through it to p_t. So
// local-p also multiplies each weight by a Gaussian of the distance from p_t, with the standard deviation σ =
// D/2. A gradient does pass through this Gaussian:
//
//     α_tj = softmax of the scores inside the window · exp(−(j − p_t)² / 2σ²)
//
// In the table below, this Gaussian is called the *fade*.
//
// Here is an example by hand: five keys with all scores 0, D = 2 and so σ = 1, and p = 1.5. Key 4 is more
// than 2 places away, outside the window. The softmax gives the four other keys the weight ¼ each.
//
//     j              0       1       2       3       4
//     (j − p)²      2.25    0.25    0.25    2.25
//     fade          0.325   0.882   0.882   0.325
//     weight        0.081   0.221   0.221   0.081    0       sum 0.604
//
// The sum is less than 1, and we do *not* normalise the weights again. Why not? Suppose that only one key is
// in the window. After a second normalisation, its weight would be 1 wherever the key is, and p_t could learn
// nothing from that weight. Without it, a key to the right of p_t gets a larger weight when p_t moves to the
// right. So if the loss asks for more of that key, p_t moves to the right.

/// Computes p (B, T) from the states h (B, T, d_h). All sources have the length S.
Tensor predict_positions(const Tensor& h, Size length, const Tensor& w_p, const Tensor& v_p) {
  return static_cast<double>(length) * sigmoid(sum(tanh(matmul(h, transpose(w_p))) * v_p, {-1}));
}

enum class Fade { no, yes };

/// Computes weights (B, T, S) from scores (B, T, S) and p (B, T). `reach` is D.
Tensor weights_near(const Tensor& scores, const Tensor& p, Size reach, Fade fade) {
  const auto d = static_cast<double>(reach), sigma = d / 2;
  const Tensor away = arange(0, static_cast<double>(scores.size(-1)), 1, p.dtype()) - unsqueeze(p, -1);
  const Tensor chosen = masked_softmax(scores, !less(scalar(d, p.dtype()), abs(away)));  // not D < |j − p|
  return fade == Fade::yes ? chosen * exp(away * away / (-2 * sigma * sigma)) : chosen;
}

void by_hand(kit::Report& report) {
  const Tensor weights = weights_near(zeros({1, 1, 5}, f64), tensor({{1.5}}, f64), 2, Fade::yes);
  kit::check_worked_example(report, "five keys",
                            {{std::exp(-2.25 / 2), 0.325},
                             {std::exp(-0.25 / 2), 0.882},
                             {weights.at({0, 0, 0}), 0.081},
                             {weights.at({0, 0, 2}), 0.221},
                             {sum(weights).item(), 0.604}});
}

// In nn/, every attention has a window as an option: `.local = local_m(D)` or `.local = local_p(D, d_h, U)`.
// A decoder passes its option `.attend = {.local = …}` on to its attention. The score below is the general
// score from lesson 12, and any other score can be used in its place.

void compare(const char* name, const Local& local, std::uint64_t seed, kit::Report& report) {
  constexpr Size kKeys = 7;
  Attention attention(general(5, 3), {.local = local});
  attention.initialise(seed, f64);
  const std::vector<Tensor> own = attention.parameters();  // W of the score; then, in local-p, W_p and v_p
  const Fade fade = own.size() == 3 ? Fade::yes : Fade::no;
  const auto positions = [&](const Tensor& h) {
    return fade == Fade::yes ? predict_positions(h, kKeys, own[1], own[2])
                             : expand(arange(0, 4, 1, f64), {2, 4});
  };
  const Tensor h = fade == Fade::yes ? states_off_the_edges(positions, seed)  // why: part 2
                                     : variable(random_normal({2, 4, 5}, seed, f64), "h");
  const Tensor keys = variable(random_normal({2, kKeys, 3}, seed + 1, f64), "keys");
  std::vector<Tensor> leaves = own;
  leaves.insert(leaves.end(), {h, keys});
  kit::check_by_hand(
      report, name,
      [&] {
        const Tensor p = positions(h), scores = matmul(matmul(h, own[0]), transpose(keys));
        const Tensor weights = weights_near(scores, p, local.reach, fade);
        return concat({matmul(weights, keys), weights, unsqueeze(p, -1)}, -1);
      },
      [&] {
        const AttentionOutput nn = attention(h, keys, keys);
        return concat({nn.context, nn.weights, unsqueeze(nn.positions, -1)}, -1);
      },
      leaves, seed);
}

// ---- 2. Where there is no derivative ----------------------------------------------------------------------
// When p_t moves to the right, keys enter the window on the right and leave it on the left. What happens to the
// weight of a key at that moment?

void the_edge(std::uint64_t seed, kit::Report& report) {
  const kit::Question enters = report.ask(
      "a key enters",
      "In local-p with D = 2, p moves past 3, and key 5 enters the window. How does the weight of key 5 change?",
      {"it rises from 0 without a jump, because the Gaussian is 0 at the edge",
       "it jumps from 0 to a fraction of its softmax", "it jumps from 0 to its full softmax"});
  const Tensor scores = random_normal({1, 1, 7}, seed, f64);
  const auto weights = [&](const Tensor& p) { return weights_near(scores, p, 2, Fade::yes); };
  const auto at = [](double p) { return tensor({{p}}, f64); };
  const double before = weights(at(3 - 1e-9)).at({0, 0, 5}), after = weights(at(3 + 1e-9)).at({0, 0, 5});
  const double softmax = weights_near(scores, at(3 + 1e-9), 2, Fade::no).at({0, 0, 5});
  report.check_quoted("the jump, as a fraction of the key's softmax", (after - before) / softmax, 0.135,
                      0.01);
  report.answer(enters, 'b', before == 0 && after > 0 && after < 0.2 * softmax,
                "At the edge, the Gaussian is exp(−D² / 2σ²) = e⁻², for every D. So the weight of the new "
                "key jumps to e⁻² of its softmax. The softmax of every other key in the window drops at the "
                "same moment.");
  const GradcheckResult on = gradcheck(weights, {at(3)}), off = gradcheck(weights, {at(3.3)});
  report.check("gradcheck finds no derivative with p on the edge", !on.ok() || !on.kinks.empty());
  report.check("gradcheck passes with p at 0.3 from the edge", off.ok() && off.kinks.empty());
}

// At the edge of a window, the Gaussian is 0.135, not 0. So the weight of a key jumps from 0 to 0.135 of its
// softmax when the key enters, and there is no derivative. At all other positions, the tape computes the
// right gradient. That is why section 1 compared our code with nn/ at positions p that are at least a tenth
// of a place from the nearest edge. In training, p_t is hardly ever exactly on an edge.

// ---- 3. Adding neighbours ---------------------------------------------------------------------------------
// What is a window good for? In this task, the source is a row of digits. Answer t is the sum of the digits
// t − 1, t and t + 1, modulo 10.
//
// Keys and values are the embeddings of the digits alone. No encoder mixes neighbouring digits into them. The
// decoder is the one from lesson 12. Its input is the same token at every step, so all it can do on its own is
// count the steps.
//
// Some training runs never become better than guessing, about one in eight in our trials. If this happens with
// D = 1, we train that model once more from other initial weights.

void neighbours(const kit::Options& options, kit::Report& report) {
  const kit::Question wider =
      report.ask("D = 2",
                 "With D = 1, the window holds exactly the digits that are added. With D = 2, it holds two "
                 "more. What part of the answers is right with D = 2?",
                 {"nearly all: the digits are in the window, and the score picks them", "about half",
                  "less than a third"});
  const std::vector<Counted> right = add_neighbours(options);  // D = 0, 1, 2, no window
  report.at_least("local-m, D = 1: digits right", right[1].symbols, 99, "%");
  report.at_most("local-m, D = 0: digits right", right[0].symbols, 20, "%");
  report.at_most("local-m, D = 2: digits right", right[2].symbols, 30, "%");
  report.at_most("no window: digits right", right[3].symbols, 20, "%");
  report.answer(wider, 'c', right[2].symbols <= 30 && right[1].symbols >= 99,
                "The embedding of a digit says nothing about its place. So the score cannot tell the three "
                "middle keys from the two outer ones. In this model, only the window carries information "
                "about order.");
}

// At seed 1, the table reads:
//
//     window       digits right   whole rows right
//     D = 0              10.2 %              0.0 %
//     D = 1             100.0 %            100.0 %
//     D = 2              13.8 %              0.0 %
//     no window          10.4 %              0.0 %
//
// With D = 1, the three digits in the window are the three that are added, and equal weights are enough. At
// other seeds, the numbers differ, but only D = 1 solves the task.

// ---- 4. Undoing a doubling --------------------------------------------------------------------------------
// In the second task, the source is "kkeeyyss" and the answer is "keys". Letter t of the answer is at the
// places 2t and 2t + 1 of the source. The decoder's initial state contains the length of the source. Everything
// else about the source reaches the decoder through the window.

void doubled(const kit::Options& options, kit::Report& report) {
  const kit::Question monotonic = report.ask(
      "local-m on a doubled text", "Local-m has D = 2. What part of the letters does it write correctly?",
      {"less than half", "nearly all: both copies of a letter are in the window", "none"});
  const kit::Question predictive = report.ask(
      "local-p on a doubled text",
      "In local-p with D = 2, only the loss on the letters trains p_t. Which p_t does the model learn?",
      {"S/2, the middle of the source, at every t", "t, as in local-m",
       "2t + ½, between the two copies of letter t"});
  const Doubled result = undo_doubling(options);
  report.at_least("local-p, D = 2: whole sequences right", result.predictive.rows, 99, "%");
  report.at_most("local-m, D = 2: letters right", result.monotonic.symbols, 50, "%");
  report.answer(monotonic, 'a', result.monotonic.symbols <= 50 && result.monotonic.symbols > 0,
                "At step t, the window ends at place t + 2, but the first copy of letter t is at place 2t. "
                "For t ≥ 3, both copies are outside the window.");
  report.at_most("furthest p_t from 2t + ½, in places", result.furthest, 1);
  report.answer(predictive, 'c', result.furthest <= 1 && result.predictive.rows >= 99,
                "The Gaussian has a slope, so the gradient of the loss reaches p_t. To compute the fraction "
                "p_t / S, the decoder's state has to count the steps and remember S.");
}

// At seed 1, the two models write:
//
//     local-m     19.6 % of letters right,    0.0 % of whole sequences right
//     local-p    100.0 % of letters right,  100.0 % of whole sequences right
//
// The window of local-m moves one place per step, but the answer needs two places per step.

// What to remember. A window is a mask around a position p_t. In local-m, p_t is the number of the step. In
// local-p, the model predicts p_t, and only the fade lets p_t learn. A weight jumps when its key enters or
// leaves the window. A window also carries information that an embedding lacks: where a key is.
//
// Exercises: lessons/practise 13 (a window around p with a fade; the gradient of a position; the keys in a
// window; undoing a doubling with few key reads).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A window by hand");
  by_hand(report);
  compare("local-m", local_m(1), options.seed, report);        // D = 1
  compare("local-p", local_p(2, 5, 4), options.seed, report);  // D, d_h, U
  report.section("Where there is no derivative");
  the_edge(options.seed, report);
  report.section("Adding neighbours");
  neighbours(options, report);
  report.section("Undoing a doubling");
  doubled(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("13_local", "attend only to the keys near a position p_t");
  program.steps(3000, 10);
  return program.run(argc, argv, lesson);
}
