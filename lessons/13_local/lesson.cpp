// 13 local: look only near p_t
//
// 15 minutes to read, 40 seconds to run. Needs lesson 12 (Luong's decoder, the general score) and lesson 07
// (masks). Afterwards you can put a window over any attention, let a model learn where it stands, and say
// where such a model has no derivative.
//
// The attention of lessons 11 and 12 weighs the whole source for every word. That costs time with a long
// source, and it is not how one copies a text: the place to look at moves along. Luong, Pham and Manning
// (2015) therefore look only at the keys within D places of a position p_t. Who says where p_t is?

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
// Places count from 0: keys j = 0 … S − 1, queries t = 0, 1, … In *local-m* (monotonic) p_t = t. In *local-p*
// (predictive) the decoder's state h_t says where to look, as a share of the source's length S:
//
//     p_t = S · sigmoid(v_p · tanh(W_p h_t))          W_p (U, d_h), v_p (U)
//
// The sigmoid keeps p_t inside the source. But the window, |j − p_t| ≤ D, is a mask, true or false, and no
// gradient comes through it. So in local-p the weights also fade with the distance from p_t, by a Gaussian
// whose deviation is σ = D/2:
//
//     α_tj = softmax of the scores inside the window · exp(−(j − p_t)² / 2σ²)
//
// Take a pencil: five keys, all scores 0, D = 2, so σ = 1, and p = 1.5. Key 4 is out of sight, and the
// softmax gives the others ¼ each.
//
//     j              0       1       2       3       4
//     (j − p)²      2.25    0.25    0.25    2.25
//     fade          0.325   0.882   0.882   0.325
//     weight        0.081   0.221   0.221   0.081    0       sum 0.604
//
// The sum is less than 1, and stays so: the weights are *not* normalised again. Else a single key in the
// window would have weight 1 wherever it is, and p_t would learn nothing from it. As it is, "I would rather
// have had more of the key on my right" becomes "move right".

/// h (B, T, d_h), all sources of length S → p (B, T).
Tensor predict_positions(const Tensor& h, Size length, const Tensor& w_p, const Tensor& v_p) {
  return static_cast<double>(length) * sigmoid(sum(tanh(matmul(h, transpose(w_p))) * v_p, {-1}));
}

enum class Fade { no, yes };

/// scores (B, T, S), p (B, T) → weights (B, T, S).
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

// In nn/ a window is an option of any attention, `.local = local_m(D)` or local_p(D, d_h, U), and a decoder
// hands its `.attend = {.local = …}` on. The score below is lesson 12's general one; any other would do.

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
// When p_t moves to the right, keys enter the window at the right and leave it at the left.

void the_edge(std::uint64_t seed, kit::Report& report) {
  const kit::Question enters = report.ask(
      "a key enters", "Local-p, D = 2. p moves over 3, and key 5 enters. What becomes of its weight?",
      {"it rises from 0 without a jump: far from p the Gaussian is 0",
       "it jumps from 0 to a part of its softmax", "it jumps from 0 to its softmax"});
  const Tensor scores = random_normal({1, 1, 7}, seed, f64);
  const auto weights = [&](const Tensor& p) { return weights_near(scores, p, 2, Fade::yes); };
  const auto at = [](double p) { return tensor({{p}}, f64); };
  const double before = weights(at(3 - 1e-9)).at({0, 0, 5}), after = weights(at(3 + 1e-9)).at({0, 0, 5});
  const double softmax = weights_near(scores, at(3 + 1e-9), 2, Fade::no).at({0, 0, 5});
  report.check_quoted("the jump, as a share of its softmax", (after - before) / softmax, 0.135, 0.01);
  report.answer(enters, 'b', before == 0 && after > 0 && after < 0.2 * softmax,
                "At the edge the Gaussian is exp(−D² / 2σ²) = e⁻², whatever D is. The softmax takes what the "
                "key gets from the others, at one blow.");
  const GradcheckResult on = gradcheck(weights, {at(3)}), off = gradcheck(weights, {at(3.3)});
  report.check("gradcheck with p on the edge finds no derivative", !on.ok() || !on.kinks.empty());
  report.check("and passes at 0.3 from it", off.ok() && off.kinks.empty());
}

// At a jump of 0.135 there is no derivative. Everywhere else the tape is right, so part 1 compared where each
// p is a tenth of a place from the next edge. Training hardly ever meets a p_t that stands exactly on one.

// ---- 3. Neighbours ----------------------------------------------------------------------------------------
// What is a window good for? The source is a row of digits, and answer t is the sum of digits t − 1, t and
// t + 1, modulo 10. Keys and values are the digits' embeddings alone; no encoder mixes neighbours in. The
// decoder is lesson 12's. It hears the same "tick" at every step, so all it can do is count. One start in eight
// never gets beyond guessing; where D = 1 does not, it is started once more.

void neighbours(const kit::Options& options, kit::Report& report) {
  const kit::Question wider = report.ask(
      "D = 2",
      "With D = 1 the window holds just the digits that count, with D = 2 two more. How many are right then?",
      {"nearly all: what is needed is there, and the score picks it", "about half", "less than a third"});
  const std::vector<Counted> right = add_neighbours(options);  // D = 0, 1, 2, no window
  report.at_least("local-m, D = 1: digits right", right[1].symbols, 99, "%");
  report.at_most("local-m, D = 0: digits right", right[0].symbols, 20, "%");
  report.at_most("local-m, D = 2: digits right", right[2].symbols, 30, "%");
  report.at_most("no window: digits right", right[3].symbols, 20, "%");
  report.answer(wider, 'c', right[2].symbols <= 30 && right[1].symbols >= 99,
                "An embedding does not say where it stands: inside the window all keys look alike. Here the "
                "window is all that is known about order.");
}

// ---- 4. A text in which every letter is doubled -----------------------------------------------------------
// Now the source is "kkeeyyss", and the answer is "keys". Letter t stands at the places 2t and 2t + 1. All
// that the decoder is told of the source, at its start, is how long it is.

void doubled(const kit::Options& options, kit::Report& report) {
  const kit::Question monotonic =
      report.ask("local-m on a doubled text", "Local-m with D = 2: how many letters come out right?",
                 {"less than half", "nearly all: both copies of a letter are in the window", "none"});
  const kit::Question predictive =
      report.ask("local-p on a doubled text",
                 "In local-p all that p_t hears is the loss on the letters. Where does it go?",
                 {"to S/2, the middle of the source, at every t", "to t, as in local-m",
                  "to 2t + ½, between the two copies"});
  const Doubled result = undo_doubling(options);
  report.at_least("local-p, D = 2: whole texts right", result.predictive.rows, 99, "%");
  report.at_most("local-m, D = 2: letters right", result.monotonic.symbols, 50, "%");
  report.answer(
      monotonic, 'a', result.monotonic.symbols <= 50 && result.monotonic.symbols > 0,
      "At step t the window ends at t + 2, and letter t begins at 2t. From t = 3 on it is out of sight.");
  report.at_most("furthest p_t from 2t + ½, in places", result.furthest, 1);
  report.answer(predictive, 'c', result.furthest <= 1 && result.predictive.rows >= 99,
                "The slope of the Gaussian carries the loss to p_t. To know p_t / S the state has to count, "
                "and to remember S.");
}

// What to remember. A window is a mask around p_t. Local-m counts, local-p predicts, and only the fade lets
// it learn. At the window's edge a weight jumps. A window also tells what no embedding tells: order.
//
// Exercises: lessons/practise 13 (weights near p; the pull on p; what is in sight; few key reads).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A window by hand");
  by_hand(report);
  compare("local-m", local_m(1), options.seed, report);        // D = 1
  compare("local-p", local_p(2, 5, 4), options.seed, report);  // D, d_h, U
  report.section("Where there is no derivative");
  the_edge(options.seed, report);
  report.section("Neighbours");
  neighbours(options, report);
  report.section("A text in which every letter is doubled");
  doubled(options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("13_local", "look only near p_t");
  program.steps(3000, 10);
  return program.run(argc, argv, lesson);
}
