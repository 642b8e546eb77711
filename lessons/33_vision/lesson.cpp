// 33 vision: attend to places and channels
//
// 20 minutes to read, 40 seconds to run. Needs lesson 11 (attend, then step), 17 (positions) and 07 (masks).
// Afterwards you can hand a picture to any attention of this course, gate its channels, build a captioner,
// and find out by covering things what it really uses.
//
// All attention so far looked at words. What are the words of a picture? A captioner that writes "red square
// left of blue circle" should look at the square while it says "square". And there is a second question: in
// red light a picture is red everywhere. Who tells each place what light it is in?

#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "lessons/33_vision/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson33;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. The words of a picture ----------------------------------------------------------------------------
// A picture is (H, W, C): rows, columns, and C numbers for each pixel, say red, green and blue. Cut it into
// *patches* of p × p pixels, and write each as one row of p · p · C numbers: these are its words (Dosovitskiy
// and others 2021). Take a pencil: 4 × 4 pixels with one number each, p = 2.
//
//      0   1 |  2   3
//      4   5 |  6   7         patches    (0, 1, 4, 5)    (2, 3, 6, 7)
//     -------+--------                   (8, 9, 12, 13)  (10, 11, 14, 15)
//      8   9 | 10  11
//     12  13 | 14  15
//
// A pixel's row is split in two, row of the patch and row in the patch, and so is its column. Then the two
// numbers of the patch go in front. Both are views; only the last reshape has to copy:
//
//     (H, W, C)  →  (H/p, p, W/p, p, C)  →  (H/p, W/p, p, p, C)  →  (H/p · W/p, p · p · C)

/// (B, H, W, C) → (B, places, p · p · C)
Tensor cut(const Tensor& x, Size p) {
  const Size rows = x.size(1) / p, columns = x.size(2) / p;
  const Tensor split = reshape(x, {x.size(0), rows, p, columns, p, x.size(3)});
  return reshape(permute(split, {0, 1, 3, 2, 4, 5}), {x.size(0), rows * columns, p * p * x.size(3)});
}

// A linear layer makes a vector of each patch, and a learned vector says where it stood. A linear layer of
// windows that overlap is a *convolution*, and computing it so is called im2col (nn/vision/windows.hpp).

void words(kit::Report& report) {
  const kit::Question strips =
      report.ask("without permute", "Leave out permute: reshape(x, {4, 4}). What are the four words then?",
                 {"the same four", "the picture's rows", "the picture's columns"});
  const Tensor x = reshape(arange(0, 16, 1, f64), {1, 4, 4, 1}), plain = reshape(x, {4, 4});
  const std::vector<double> came = cut(x, 2).to_vector();
  kit::check_worked_example(report, "patches", {{came[2], 4}, {came[4], 2}, {came[11], 13}, {came[15], 15}});
  report.answer(strips, 'b', plain.at({0, 2}) == 2 && plain.at({1, 0}) == 4,
                "The shape is right, and there is no error, but each word is a strip one pixel high.");
}

// ---- 2. Which channels ------------------------------------------------------------------------------------
// A place has then C features, its *channels*: one may react to red edges, another to blue ones. *Channel
// attention* (squeeze and excite: Hu, Shen and Sun 2018) asks the whole picture which of them count, and
// multiplies each by a gate between 0 and 1, the same at all places. It is no softmax: several may be open.
//
//     z = mean of x over the places          g = sigmoid(W₂ relu(W₁ z + b₁) + b₂)          y = g ⊙ x
//
// With a pencil: two places, a red and a blue channel, one hidden unit, no biases, W₁ = (1, −1), and W₂ is
// (−ln 3, ln 3). There is more red than blue, so the red channel is turned down, everywhere:
//
//     x = (3, 1), (1, 1)     z = (2, 1)     relu(2 − 1) = 1     g = sigmoid(∓ ln 3) = (0.25, 0.75)
//     y = (0.75, 0.75), (0.25, 0.75)

/// x (B, places, C)
Tensor gated(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2) {
  const Tensor z = mean(x, {1}, Keep::yes);  // (B, 1, C)
  return x * sigmoid(linear(relu(linear(z, w1, b1)), w2, b2));
}

void channels(kit::Report& report) {
  const Tensor x = tensor({{{3, 1}, {1, 1}}}, f64), w1 = tensor({{1, -1}}, f64);
  const Tensor w2 = tensor({{-std::log(3.0)}, {std::log(3.0)}}, f64);
  const std::vector<double> y = gated(x, w1, zeros({1}, f64), w2, zeros({2}, f64)).to_vector();
  kit::check_worked_example(report, "gated channels",
                            {{y[0], 0.75}, {y[1], 0.75}, {y[2], 0.25}, {y[3], 0.75}});
}

// *Spatial attention* makes a gate for each place likewise, from the mean and the largest of the channels
// there and around it; first one and then the other is CBAM (Woo and others 2018; nn/vision/gates.hpp has all
// three). But that is one look for a whole picture, and a caption needs another one for each word.

// ---- 3. Which place, for this word ------------------------------------------------------------------------
// That is lesson 11: the decoder's state s asks, places are keys and values (Xu and others 2015). The first
// state is the same for all pictures, so the decoder knows nothing of one but what it has looked at.
//
//     h = gated(relu(W patch + b)), and where it stood added          α = softmax of v · tanh(W_q s + W_k h_j)

Tensor look(const Tensor& pictures, const Tensor& s, const Captioner& net) {
  const Linear &patch = net.patch, &first = net.channels.first, &second = net.channels.second;
  const Tensor x = relu(linear(cut(pictures, kPatch), patch.weight, patch.bias));
  const Tensor h = gated(x, first.weight, first.bias, second.weight, second.bias) + net.places;
  const Tensor query = unsqueeze(matmul(s, transpose(net.score().query.weight)), 1);  // (B, 1, U)
  const Tensor hidden = tanh(query + matmul(h, transpose(net.score().key.weight)));   // (B, places, U)
  const Tensor alpha = softmax(sum(hidden * net.score().vector, {-1}), -1);           // (B, places)
  return squeeze(matmul(unsqueeze(alpha, 1), h), 1);
}

void captioner(std::uint64_t seed, kit::Report& report) {
  Captioner net({}, {.features = 5, .gate = 3, .hidden = 4});
  net.initialise(seed, f64);
  assign(net.channels.first.bias, full({3}, 2, f64));  // so that no hidden unit of the gate is shut
  const Tensor pictures = 0.3 * random_normal({2, kSide, kSide, kParts}, seed + 1, f64);
  const Tensor s = variable(random_normal({2, 4}, seed, f64), "s");
  std::vector<Tensor> leaves = net.looking();
  leaves.push_back(s);
  kit::check_by_hand(
      report, "patches, gate, look", [&] { return look(pictures, s, net); },
      [&] { return net.look(pictures, s); }, leaves, seed);
}

// ---- 4. Red square left of blue circle --------------------------------------------------------------------
// A picture has 4 × 4 places of 8 × 8 pixels. Two things in six colours stand in one row or column; the one
// further left, or above, comes first in the caption. Light multiplies red, green and blue by numbers between
// a fifth and 1: one pixel may be white, or yellow in blue light. What light it is shows at one place only, at
// an empty frame that is known to be white. Of the captioners two give all places equal weights, and three
// have no gate. A caption counts that is right to the last word.

Captioners train(double darkest, const kit::Options& options, kit::Report& report) {
  const kit::Question gate_alone =
      report.ask("the gate alone", "A gate, and equal weights for all places. How many captions are right?",
                 {"nearly all", "about half", "no more than with neither"});
  Captioners all(darkest, options);
  const double both = all.right(kBoth), places = all.right(kPlacesAlone), neither = all.right(kNeither);
  const double told = all.right(kPlacesAndMean), channels = all.right(kChannelsAlone);
  report.at_least("both: captions right", both, 95, "%");
  report.at_least("both, more than channels alone, in points", both - channels, 50);
  report.at_most("channels alone, more than neither, in points", channels - neither, 10);
  report.at_least("places, and a first state made from the mean: captions right", told, 95, "%");
  report.figure("places alone, which depends on the seed: captions right", places, "%");
  report.answer(gate_alone, 'c', channels - neither <= 10 && channels <= 40,
                "A mean of all places has every colour in it, but not which shape each belongs to.");
  return all;
}

// Places alone get a third of the captions right at one seed, and nearly all at another. They could look at the
// frame and keep the light in mind, but have to learn both at once: a look there helps only a state that can use
// it. A gate gets the light with the mean in every picture, and so does the paper's first state, made from it.

// ---- 5. Where it looked, and what it used -----------------------------------------------------------------
// A map of weights for each word says what was read, not what was needed (lesson 11). To find out what is
// needed, cover it: the frame's place is masked for the decoder. The gate has seen it before.

void watch(const Captioners& all, kit::Report& report) {
  const kit::Question covered =
      report.ask("the frame covered", "The frame is covered. How many captions are still right, with both?",
                 {"as many as before", "as many as without a gate", "hardly any"});
  const kit::Question above = report.ask(
      "left, above",
      "Two places decide about \"left\" or \"above\". How much weight is on the first thing at that word?",
      {"about half", "nearly all", "little or none"});
  const Captioners::Watched both = all.watch(kBoth);
  report.at_least("colours and shapes: weight on the thing", both.named, 90, "%");
  report.figure("colours: weight on the frame", both.frame, "%");
  const double lost = all.right(kBoth) - all.right_without_frame(kBoth);
  report.at_most("points lost with the frame covered", lost, 2);
  report.answer(covered, 'a', lost <= 2,
                "The light has come to every place by the gate, and the decoder with it.");
  report.figure("\"left\" and \"above\": weight on the first thing", both.first, "%");
  report.answer(above, 'c', both.first <= 20,
                "The state remembers where it looked before: a place's features say where it stands.");
}

// What to remember. Patches are words to any attention. A gate over channels brings the whole picture to every
// place; attention over places finds what a word needs. To know what is used, cover it.
//
// Exercises: lessons/practise 33 (im2col; the pull of a gate; counts; a small captioner).

void lesson(double darkest, const kit::Options& options, kit::Report& report) {
  report.section("The words of a picture");
  words(report);
  report.section("Which channels");
  channels(report);
  report.section("Which place, for this word");
  captioner(options.seed, report);
  report.section("Red square left of blue circle");
  const Captioners all = train(darkest, options, report);
  report.section("Where it looked, and what it used");
  watch(all, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("33_vision", "attend to places and channels");
  program.steps(4000, 4);
  double darkest = 0.2;
  program.add("--light", darkest, "the least that light leaves of red, green and blue; 1: white", 0.01, 1);
  return program.run(argc, argv, [&](const auto& in, auto& report) { lesson(darkest, in, report); });
}
