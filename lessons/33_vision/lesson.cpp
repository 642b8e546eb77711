// 33 vision: attend to places and channels
//
// 20 minutes to read, 75 seconds to run. Needs lesson 11 (attend, then step), 17 (positions) and 07 (masks).
// Afterwards you can use a picture as the input of any attention in this course, gate its channels, and build a
// captioner, a model that describes pictures. You can also find out which parts of a picture it needs, by covering
// them.
//
// So far, all attention was over the tokens of a sequence. What are the tokens of a picture? When a captioner
// writes "red square left of blue circle", it should attend to the square while it writes "square".
//
// There is a second question. In red light, the whole picture is reddish. To name a colour, the captioner must
// know the colour of the light. How does this information get to every part of the picture?

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

// ---- 1. Patches as tokens ---------------------------------------------------------------------------------
// A picture is a tensor (H, W, C): rows, columns, and C numbers for each pixel, for example red, green and
// blue. We cut it into *patches* of p × p pixels, and write each patch as one row of p · p · C numbers. These
// rows are the tokens of the picture (Dosovitskiy and others 2021). We call the position of a patch in the
// picture a *place*.
//
// For example, take 4 × 4 pixels with one number each, and p = 2:
//
//      0   1 |  2   3
//      4   5 |  6   7         patches    (0, 1, 4, 5)    (2, 3, 6, 7)
//     -------+--------                   (8, 9, 12, 13)  (10, 11, 14, 15)
//      8   9 | 10  11
//     12  13 | 14  15
//
// How does the code do this? First, reshape() splits the axis of rows in two: the row of patches, and the row
// within a patch. It splits the columns in the same way. Then permute() moves the two axes of the patches to
// the front. These two steps are views. Only the last reshape() must copy numbers:
//
//     (H, W, C)  →  (H/p, p, W/p, p, C)  →  (H/p, W/p, p, p, C)  →  (H/p · W/p, p · p · C)

/// (B, H, W, C) → (B, places, p · p · C)
Tensor cut(const Tensor& x, Size p) {
  const Size rows = x.size(1) / p, columns = x.size(2) / p;
  const Tensor split = reshape(x, {x.size(0), rows, p, columns, p, x.size(3)});
  return reshape(permute(split, {0, 1, 3, 2, 4, 5}), {x.size(0), rows * columns, p * p * x.size(3)});
}

// A linear layer maps each patch to a vector. Then we add a learned vector for the place, a position vector
// (lesson 17). If the windows overlap, such a linear layer is a *convolution*. The step that cuts out the windows
// is called im2col (nn/vision/windows.hpp).

void words(kit::Report& report) {
  const kit::Question strips = report.ask(
      "without permute",
      "Suppose we leave out permute() in the example. Then the code is reshape(x, {4, 4}). What is "
      "each of its four rows?",
      {"one of the four patches, as before", "a row of the picture", "a column of the picture"});
  const Tensor x = reshape(arange(0, 16, 1, f64), {1, 4, 4, 1}), plain = reshape(x, {4, 4});
  const std::vector<double> numbers = cut(x, 2).to_vector();
  kit::check_worked_example(report, "patches",
                            {{numbers[2], 4}, {numbers[4], 2}, {numbers[11], 13}, {numbers[15], 15}});
  report.answer(strips, 'b', plain.at({0, 2}) == 2 && plain.at({1, 0}) == 4,
                "The shape is right, and there is no error. But each token is a strip that is one pixel "
                "high.");
}

// ---- 2. Channel attention ---------------------------------------------------------------------------------
// After the linear layer, each place has C features, its *channels*. One channel may respond to red edges, and
// another to blue edges. *Channel attention* (also called squeeze and excite: Hu, Shen and Sun 2018) multiplies
// each channel by a *gate*, a number between 0 and 1 that is the same at all places. It computes the gates from the
// mean of the whole picture. They are sigmoids, not a softmax, so each channel has its own gate.
//
//     z = mean of x over the places          g = sigmoid(W₂ relu(W₁ z + b₁) + b₂)          y = g ⊙ x
//
// For an example by hand, take two places, a red and a blue channel, one hidden unit and no biases. Let W₁ be
// (1, −1) and W₂ be (−ln 3, ln 3). There is more red than blue, so the gate makes the red channel weaker, at both
// places:
//
//     x = (3, 1), (1, 1)                     the two places
//     z = (2, 1)                             relu(W₁ z) = relu(2 − 1) = 1
//     g = sigmoid(−ln 3, ln 3)               = (0.25, 0.75)
//     y = (0.75, 0.75), (0.25, 0.75)

/// x (B, places, C) → y (B, places, C)
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

// *Spatial attention* computes a gate for each place in a similar way, from the mean and the maximum of the channels
// at the place and around it. CBAM (Woo and others 2018) applies first the channel gates and then the spatial gates.
// nn/vision/gates.hpp has all three. But all these gates are computed once for a picture, and a caption needs
// different places for different words.

// ---- 3. Attention over places, for each word --------------------------------------------------------------
// For different words we use the attention from lesson 11: the decoder's state s is the query, and the features h_j
// of the places are the keys and values (Xu and others 2015). With the gates of section 2, the features and the
// weights are
//
//     h = gated(relu(W patch + b)) + a vector for the place          α = softmax of v · tanh(W_q s + W_k h_j)
//
// The decoder's initial state is the same for all pictures, except for one captioner of section 4. So the decoder
// knows only those parts of a picture that it has attended to.

Tensor attend_to_places(const Tensor& pictures, const Tensor& s, const Captioner& net) {
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
  assign(net.channels.first.bias, full({3}, 2, f64));  // so that every hidden unit of the gate is above 0
  const Tensor pictures = 0.3 * random_normal({2, kSide, kSide, kParts}, seed + 1, f64);
  const Tensor s = variable(random_normal({2, 4}, seed, f64), "s");
  std::vector<Tensor> leaves = net.attention_parameters();
  leaves.push_back(s);
  kit::check_by_hand(
      report, "patches, gate, attention", [&] { return attend_to_places(pictures, s, net); },
      [&] { return net.attend(pictures, s); }, leaves, seed);
}

// ---- 4. Captions in coloured light ------------------------------------------------------------------------
// A picture has 4 × 4 places of 8 × 8 pixels. It shows two things in one row or one column. Each thing has one of
// six colours and one of four shapes. The caption names first the thing that is further left, or further up, for
// example "red square above white cross".
//
// The light of a picture multiplies red, green and blue by three numbers between a fifth and 1. So a colour alone
// does not show what the thing is painted with: a grey pixel can belong to a white thing in weak light, or to a
// yellow thing in blue light. One place shows the light: an empty frame, which is white in every picture.
//
// We train five captioners, named by what they attend to:
//
// - "neither" gives all places equal weights and has no channel gate.
// - "channels" gives all places equal weights and has the gate.
// - "places" attends to places and has no gate.
// - "places, mean first" is the same, but its initial state is computed from the mean of all places.
// - "both" attends to places and has the gate.
//
// A caption counts as right if every word is right.

Captioners train(double darkest, const kit::Options& options, kit::Report& report) {
  const kit::Question gate_alone =
      report.ask("the gate alone",
                 "The captioner \"channels\" has a gate, but gives equal weights to all places. How many of "
                 "its captions are right?",
                 {"nearly all", "about half", "hardly more than with \"neither\""});
  Captioners all(darkest, options);
  const double both = all.right(kBoth), places = all.right(kPlacesAlone), neither = all.right(kNeither);
  const double told = all.right(kPlacesAndMean), channels = all.right(kChannelsAlone);
  report.at_least("both: captions right", both, 95, "%");
  report.at_least("both: points more than channels alone", both - channels, 50);
  report.at_most("channels alone: points more than neither", channels - neither, 10);
  report.at_least("places, initial state from the mean: captions right", told, 95, "%");
  report.figure("places alone, which depends on the seed: captions right", places, "%");
  report.answer(gate_alone, 'c', channels - neither <= 10 && channels <= 40,
                "The mean of all places contains both colours and both shapes, but not which colour "
                "belongs to which shape.");
  return all;
}

// At seed 1, the five captioners reach:
//
//     attends to            captions right
//     neither                       22.2 %
//     channels                      23.4 %
//     places                        57.7 %
//     places, mean first           100.0 %
//     both                         100.0 %
//
// At other seeds, the numbers of the first three differ. The last two are always right in nearly all
// captions.
//
// The captioner with places alone gets a third of the captions right with one seed, and nearly all with another. It
// could attend to the frame first and keep the light in its state. But it must learn two things at once: attention
// to the frame reduces the loss only if the state already uses the information. Why is this easier for the other two?
// Section 5 examines "both".

// ---- 5. Where the captioner looks, and what it needs ------------------------------------------------------
// The attention weights at a word show which places the decoder used, but not whether it needed them (lesson 11). To
// find out whether the decoder needs a place, we cover the place. Here we mask the place of the frame in the
// decoder's attention. The gates are still computed from all places.

void measure_attention(const Captioners& all, kit::Report& report) {
  const kit::Question covered = report.ask(
      "the frame covered",
      "The decoder of the captioner \"both\" may not attend to the frame. How many of its captions "
      "are still right?",
      {"as many as with the frame", "as many as with \"places\", which has no gate", "hardly any"});
  const kit::Question above =
      report.ask("left, above",
                 "The word \"left\" or \"above\" depends on the places of both things. When the captioner "
                 "\"both\" writes it, how much of the attention weight is on the first thing?",
                 {"about half", "nearly all", "little or none"});
  const Captioners::AttentionShares both = all.attention_shares(kBoth);
  report.at_least("at colours and shapes: weight on the thing", both.named, 90, "%");
  report.figure("at colours: weight on the frame", both.frame, "%");
  const double lost = all.right(kBoth) - all.right_without_frame(kBoth);
  report.at_most("points lost with the frame covered", lost, 2);
  report.answer(covered, 'a', lost <= 2,
                "The gate brings information about the light to every place, so the decoder doesn't need "
                "the frame.");
  report.figure("at \"left\" and \"above\": weight on the first thing", both.first, "%");
  report.answer(above, 'c', both.first <= 20,
                "The decoder has already attended to the first thing, and its state contains the place: the "
                "features of a place include its position vector.");
}

// So the two captioners that are nearly always right get the information about the light without attending to the
// frame. With a gate, the mean of the picture affects the features of every place. With "mean first", as in the paper,
// the mean is in the initial state.
//
// The picture looked.svg shows the weights for one caption, word by word. At "left" and "above", most of the weight
// is on the second thing, whose place is still unknown to the decoder.

// What to remember. Patches are the tokens of a picture, for any attention. A gate over channels brings information
// about the whole picture to every place. Attention over places finds the part that a word needs. To find out whether
// a model needs a part of its input, cover this part.
//
// Exercises: lessons/practise 33 (im2col: sliding windows; the gradient of a channel gate; counting patches,
// scores and parameters; a small captioner).

void lesson(double darkest, const kit::Options& options, kit::Report& report) {
  report.section("Patches as tokens");
  words(report);
  report.section("Channel attention");
  channels(report);
  report.section("Attention over places, for each word");
  captioner(options.seed, report);
  report.section("Captions in coloured light");
  const Captioners all = train(darkest, options, report);
  report.section("Where the captioner looks, and what it needs");
  measure_attention(all, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("33_vision", "attend to places and channels");
  program.steps(4000, 4);
  double darkest = 0.2;
  program.add("--light", darkest, "smallest factor of the light for red, green and blue; 1: white light",
              0.01, 1);
  return program.run(argc, argv, [&](const auto& in, auto& report) { lesson(darkest, in, report); });
}
