// 19 block: depth needs residuals, norms and a feed-forward
//
// 30 minutes to read, 75 seconds to run. Needs lessons 18 (heads), 03 (Adam, relu) and 01 (the chain rule).
// Afterwards you can write a layer norm with its backward rule, and a whole transformer block, and you can
// explain what each of its components is for.
//
// One attention layer answers one question about a sequence. If a second question depends on the first answer, the
// model needs a second attention layer on top of the first. So why not stack eight of them? In a transformer's
// *block* (Vaswani and others 2017), attention is combined with three more components: norms, residuals and a
// feed-forward network. What goes wrong if one of them is missing?

#include <cmath>
#include <optional>

#include "core/core.hpp"
#include "lessons/19_block/depth.hpp"
#include "lessons/19_block/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson19;

namespace {

// ---- 1. A layer norm by hand ------------------------------------------------------------------------------
// A *layer norm* (Ba, Kiros and Hinton 2016) shifts and scales the d numbers of each token so that they have
// mean 0 and variance 1:
//
//     μ = mean of x     σ = √(mean of (x − μ)² + ε)     x̂ = (x − μ) / σ     norm(x) = γ ⊙ x̂ + β
//
// ε = 10⁻⁵ keeps σ away from 0. The scale γ and the shift β are learned. They are the same for all tokens. Here
// is a token of three numbers:
//
//     x = (1, 2, 3)     μ = 2, σ = √((1 + 0 + 1) / 3) = 0.816     x̂ = (−1.225, 0, 1.225)
//
// Now we derive the gradient. Let g_j be the derivative of the loss with respect to x̂_j. A number x_i changes
// x̂ in three ways:
//
// - It is part of its own x̂_i.
// - It changes μ, with ∂μ/∂x_i = 1/d.
// - It changes σ. We have σ² = 1/d Σ_k (x_k − μ)² + ε. The derivative of σ² with respect to x_i is 2/d (x_i − μ). (A
//   change of μ changes each square, too, but these changes sum to 0, because Σ_k (x_k − μ) = 0.)
//
// Since ∂(σ²) = 2σ ∂σ, we get:
//
//     ∂σ/∂x_i = x̂_i / d       ∂x̂_j/∂x_i = (1{i = j} − 1/d) / σ − (x_j − μ) / σ² · x̂_i / d
//                                        = (1{i = j} − 1/d − x̂_j x̂_i / d) / σ
//     gradient of x_i  =  Σ_j g_j ∂x̂_j/∂x_i  =  (g_i − mean of g − x̂_i · mean of g ⊙ x̂) / σ
//
// For g = (1, 0, 0), the mean of g is 0.333 and the mean of g ⊙ x̂ is −0.408. The gradient is:
//
//     (1 − 0.333 − 0.5, −0.333, −0.333 + 0.5) / 0.816 = (0.204, −0.408, 0.204)
//
// The gradient sums to 0, because adding 1 to every x_i does not change x̂. Doubling x hardly changes x̂ either
// (only through ε), so the dot product of the gradient and x̂ is nearly 0 as well.

Normed normalise(const Tensor& x) {
  const Tensor centred = x - mean(x, {-1}, Keep::yes);  // Keep::yes: (…, 1), not (…)
  const Tensor sigma = sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5);
  return {centred / sigma, sigma};
}

Tensor gradient_of_x(const Normed& n, const Tensor& g) {
  return (g - mean(g, {-1}, Keep::yes) - n.x_hat * mean(g * n.x_hat, {-1}, Keep::yes)) / n.sigma;
}

void pencil(std::uint64_t seed, kit::Report& report) {
  const Tensor x = tensor({1, 2, 3}, DType::f64), g = tensor({1, 0, 0}, DType::f64);
  const kit::Question tenfold = report.ask(
      "ten times x",
      "Let x be (10, 20, 30). x̂ is the same as for (1, 2, 3). For the same g, how large is the gradient of x, "
      "compared with its size for (1, 2, 3)?",
      {"the same size", "ten times as large", "a tenth as large"});
  const Normed n = normalise(x);
  const auto x_hat = n.x_hat.to_vector(), of_x = gradient_of_x(n, g).to_vector();
  const double both = mean(g * n.x_hat).item();
  kit::check_worked_example(report, "layer norm",
                            {{n.sigma.item(), 0.816}, {x_hat[0], -1.225}, {x_hat[2], 1.225}});
  kit::check_worked_example(report, "means in its gradient",
                            {{mean(g).item(), 0.333}, {both, -0.408}, {x_hat[0] * both, 0.5}});
  kit::check_worked_example(report, "gradient of x", {{of_x[0], 0.204}, {of_x[1], -0.408}, {of_x[2], 0.204}});
  check_rule(report, normalise, gradient_of_x, seed);
  const double ratio = gradient_of_x(normalise(10 * x), g).at({0}) / of_x[0];
  report.figure("gradient of 10 x ÷ gradient of x", ratio);
  report.answer(
      tenfold, 'c', std::abs(ratio - 0.1) < 1e-4,
      "σ is ten times as large, and the gradient is divided by σ. So the larger the input of a layer "
      "norm, the smaller the input's gradient.");
}

// ---- 2. A block, component by component -------------------------------------------------------------------
// A block has two *sublayers*. The first is the attention from lesson 18, in which the tokens exchange information.
// The second is the *feed-forward* network, which processes each token separately. It consists of two linear
// layers with a relu between them (here from 32 numbers to 64 and back to 32).
//
// A *residual* connection adds a sublayer's input to its output, so the sublayer only has to compute the change.
// The norm can be applied in two places: after the sum (*post-norm*, 2017), or before the sublayer (*pre-norm*,
// common today). With pre-norm, one more norm follows the last block:
//
//     feed(x) = W₂ relu(W₁ x + b₁) + b₂      post   x ← norm(x + sublayer(x))      pre   x ← x + sublayer(norm(x))
//
// With pre-norm, x passes only through sums from the first block to the last. So the gradient passes through these
// sums unchanged, too, and reaches the first block.

Tensor norm_by_hand(const Tensor& x, const Norm& norm) {
  return norm.parameters().front() * normalise(x).x_hat + norm.parameters().back();  // γ, β
}

Tensor feed_by_hand(const Tensor& x, const FeedForward& layer) {
  return linear(relu(linear(x, layer.in.weight, layer.in.bias)), layer.out.weight, layer.out.bias);
}

/// Uses the weights of nn/'s block. `parts` selects the components: {.residual, .norm, .feed_forward}.
Tensor block_by_hand(const Tensor& x, const TransformerBlock& block, const Parts& parts) {
  const auto with = [&](const Tensor& in, const std::optional<Norm>& norm, const auto& part) {
    const Tensor added = part(parts.norm == NormPlace::pre ? norm_by_hand(in, *norm) : in);
    const Tensor sum = parts.residual ? in + added : added;
    return parts.norm == NormPlace::post ? norm_by_hand(sum, *norm) : sum;
  };
  const Tensor y =
      with(x, block.self_norm, [&](const Tensor& in) { return (*block.self)(in, in, in).context; });
  if (!parts.feed_forward) return y;
  return with(y, block.feed_forward_norm,
              [&](const Tensor& in) { return feed_by_hand(in, *block.feed_forward); });
}

// ---- 3. Follow a pointer twice ----------------------------------------------------------------------------
// Ten cards lie in a row. Each card shows a digit and the number of a card, its pointer. No two cards of a row
// have the same pointer. We ask three questions about each card:
//
//     once     Which digit is on the card that this card points to?
//     twice    Which digit is on the card that *that* card points to?
//     sum      What is the last digit of the sum of these two digits?
//
// A model that always answers with the most frequent digit of the row answers 28 % of the "once" and "twice" questions
// correctly.

void pointers(const kit::Options& options, kit::Report& report) {
  const kit::Question twice = report.ask(
      "one block",
      "We train one block with two heads on all three questions. How often does it answer \"twice\" correctly? "
      "(Always answering with the most frequent digit of the row would be correct in 28 % of cases.)",
      {"nearly always, because each head can follow one pointer", "in a little more than 28 % of cases",
       "in half of the cases"});
  report.check_quoted("answering with the most frequent digit", most_frequent(options), 28, 0.1, "%");
  const Result one = one_block(options, report);
  report.answer(
      twice, 'b', one.right[kTwice] <= 40 && one.right[kOnce] >= 99,
      "All heads of a layer attend at the same time. But which card to attend to second is known only "
      "after the first attention.");
}

// ---- 4. The effect of each component ----------------------------------------------------------------------
// Now we train two blocks, and then eight, which is more than the task needs. We start with attention alone,
// add the other components one at a time, and then remove or move one component of the whole block. All models are
// trained in the same way.

void parts(const kit::Options& options, kit::Report& report) {
  const kit::Question eight = report.ask(
      "eight attentions",
      "Two attention layers, without any other components, can learn \"twice\". What do eight such layers learn?",
      {"less than two layers: not even \"once\"",
       "as much as two layers, because the other six pass their input on",
       "more than two layers: \"sum\" as well"});
  const Ledger ledger = each_part(options, report);
  report.answer(
      eight, 'a', ledger.eight[kAlone].right[kOnce] <= 40,
      "An attention layer averages. Without a residual, each layer must learn to pass a token on unchanged.");
}

// At seed 1, these rows of the tables show the percentages of right answers with eight blocks:
//
//     eight blocks              loss     once    twice      sum   (% right)
//     attention alone          2.025     27.1     27.1     12.6
//     + residual               2.298     12.2     12.9     10.8
//     + norm                   0.132    100.0    100.0     92.7
//     + feed-forward (whole)   0.016    100.0    100.0    100.0
//     whole, no residual       2.262     14.9     14.6     11.6
//     whole, no norm           2.877     10.4      9.9     10.1
//     whole, norm after        2.061     24.8     26.2     14.4
//
// At other seeds, the numbers differ, but the whole block is always right on nearly all of "twice". If residuals or
// norms are missing, the model does not learn "once".
//
// With two blocks of attention, residuals and norms, the model does not learn the sum. With the feed-forward, it
// does. The last digit of a sum is a nonlinear function of the two digits, a lookup in a 10 × 10 table. One averaging
// step does not compute it. (Models with many attention layers find a way to add without a feed-forward, because
// softmax is not linear.)
//
// With eight blocks, residuals and norms are both needed, and neither is enough alone. Post-norm also fails with
// eight blocks at this learning rate.
//
// Compare the rows without residuals and without norms, at two blocks and at eight. Without norms, two blocks learn
// "sum", but eight do not even learn "once". So a component's effect depends on depth and on the other components. A
// component may be useless or even harmful until another one is added.

// ---- 5. Residuals keep tokens different -------------------------------------------------------------------
// Each attention layer averages, and averages of averages become more and more alike. Without residuals, all
// ten cards become the same vector (Dong, Cordonnier and Loukas 2021). From then on, it does not matter where a
// token attends, so W^Q and W^K get almost no gradient.
//
// We measure this before training, in f64. The first quantity is the *spread* of the ten tokens after each
// block, |x − mean of the tokens| / |x|. The second is the norm of the gradient of each block's W^Q and W^K.

void depth(const kit::Options& options, kit::Report& report) {
  const kit::Question first = report.ask(
      "no norms",
      "Eight blocks have residuals, but no norms. How large is the gradient of W^Q and W^K in the first block, "
      "compared with eight blocks that have norms?",
      {"near 0, because it shrinks from block to block", "more than a thousand times as large",
       "about as large, because residuals pass the gradient on"});
  const double ratio = look_into_depth(options, report);
  report.answer(
      first, 'b', ratio >= 1000,
      "Each block adds its output to x, so x grows from block to block. Scores are products of two such vectors, "
      "so they grow with the squared norm of x, and the gradient of W^Q and W^K grows with them.");
}

// ---- 6. Norms allow larger learning rates -----------------------------------------------------------------
// A gradient predicts the effect of a very small step only. Without norms, a small change in the first block changes
// everything above it. So the prediction is good only for even smaller steps.
//
// So far, kit::train has raised the learning rate slowly (warm-up) and limited the norm of the gradient
// (clipping). Both help. Now we use Adam without either, and look for the largest learning rate with which the
// model still learns. Without norms, we also try a small rate with more steps. (With post-norm, the gradient passes
// through every norm on its way back: Xiong and others 2020.)

// What to remember. A norm gives each sublayer tokens of the same size. Its gradient rule removes the directions
// that would only shift or scale a token. A residual keeps the token and lets gradients through. The
// feed-forward network computes with the information that attention has added to a token.
//
// Exercises: lessons/practise 19 (a pre-norm block; the gradient of RMS norm; the variance after eight parts;
// follow two pointers with few weights; a transformer block for your engine).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A layer norm by hand");
  pencil(options.seed, report);
  report.section("A block, component by component");
  check_blocks(report, block_by_hand, options.seed);
  report.section("Follow a pointer twice");
  pointers(options, report);
  report.section("The effect of each component");
  parts(options, report);
  report.section("Residuals keep tokens different");
  depth(options, report);
  report.section("Norms allow larger learning rates");
  try_rates(0.3, options, report);  // a model has learned if its final loss is at most 0.3
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("19_block", "depth needs residuals, norms and a feed-forward");
  program.steps(350, 2);
  return program.run(argc, argv, lesson);
}
