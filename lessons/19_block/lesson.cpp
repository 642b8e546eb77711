// 19 block: depth needs residuals, norms and a feed-forward
//
// 30 minutes to read, 75 seconds to run. Needs lessons 18 (heads), 03 (Adam, relu) and 01 (the chain rule).
// Afterwards you can write a layer norm with its backward rule, and a whole transformer block, and you can
// explain what each of its components is for.
//
// One attention layer answers one question about a sequence. A second layer gets the result of the first, so it can
// answer a question that depends on the first answer. So why not stack eight of them?
//
// In a transformer's *block* (Vaswani and others 2017), attention is combined with three more components: norms,
// residuals and a feed-forward network. What goes wrong if one of them is missing?

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
// ⊙ multiplies two vectors element by element. ε = 10⁻⁵ keeps σ away from 0. The scale γ and the shift β are
// learned, and they are the same for all tokens. Here is a token of three numbers:
//
//     x = (1, 2, 3)     μ = 2, σ = √((1 + 0 + 1) / 3) = 0.816     x̂ = (−1.225, 0, 1.225)
//
// Now we derive the gradient of x. The derivatives of γ ⊙ x̂ + β are easy, so we start behind them: let g_j be the
// derivative of the loss with respect to x̂_j. A number x_i changes x̂ in three ways:
//
// - It is part of its own x̂_i.
// - It changes μ, with ∂μ/∂x_i = 1/d.
// - It changes σ. We have σ² = 1/d Σ_k (x_k − μ)² + ε. The derivative of σ² with respect to x_i is 2/d (x_i − μ).
//   (A change of μ changes each square, too. But these changes sum to 0, because Σ_k (x_k − μ) = 0.) The
//   derivative of σ² is also 2σ ∂σ/∂x_i. So ∂σ/∂x_i = (x_i − μ) / (d σ) = x̂_i / d.
//
// Together, with δ_ij = 1 for i = j and 0 otherwise:
//
//     ∂x̂_j/∂x_i  =  (δ_ij − 1/d) / σ − (x_j − μ) / σ² · x̂_i / d
//                 =  (δ_ij − 1/d − x̂_j x̂_i / d) / σ
//
// The chain rule multiplies this by g_j and sums over j. The sums over j, divided by d, are means:
//
//     gradient of x_i  =  Σ_j g_j ∂x̂_j/∂x_i  =  (g_i − mean of g − x̂_i · mean of g ⊙ x̂) / σ
//
// For g = (1, 0, 0), the mean of g is 0.333, and the mean of g ⊙ x̂ is −0.408. So x̂ · mean of g ⊙ x̂ is
// (0.5, 0, −0.5), and the gradient is:
//
//     (1 − 0.333 − 0.5, −0.333, −0.333 + 0.5) / 0.816 = (0.204, −0.408, 0.204)
//
// We can check this result. Adding the same number to every x_i does not change x̂, so the gradient must sum to 0.
// Doubling x hardly changes x̂ either (only through ε). So the dot product of the gradient and x must be nearly 0.
// Both hold: 0.204 − 0.408 + 0.204 = 0, and 0.204 − 2 · 0.408 + 3 · 0.204 = 0.

Normed normalise(const Tensor& x) {
  const Tensor centred = x - mean(x, {-1}, Keep::yes);  // Keep::yes: (…, 1), not (…)
  const Tensor sigma = sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5);
  return {centred / sigma, sigma};
}

Tensor gradient_of_x(const Normed& n, const Tensor& g) {
  return (g - mean(g, {-1}, Keep::yes) - n.x_hat * mean(g * n.x_hat, {-1}, Keep::yes)) / n.sigma;
}

void layer_norm_by_hand(std::uint64_t seed, kit::Report& report) {
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
// layers with a relu between them (here from 32 numbers to 64 and back to 32):
//
//     feed_forward(x) = W₂ relu(W₁ x + b₁) + b₂
//
// A *residual* connection adds a sublayer's input to its output, so the sublayer only has to compute the change.
//
// The norm can be applied in two places. *Post-norm*, as in the paper of 2017, normalises the sum. *Pre-norm*,
// which is common today, normalises the input of the sublayer. With pre-norm, one more norm follows the last
// block:
//
//     post-norm     x ← norm(x + sublayer(x))
//     pre-norm      x ← x + sublayer(norm(x))
//
// With pre-norm, x itself is never normalised between the first block and the last: each sublayer only adds
// something to it. The derivative of a sum with respect to each term is 1. So the gradient passes through all
// these sums unchanged and reaches the first block.

Tensor norm_by_hand(const Tensor& x, const Norm& norm) {
  return norm.parameters().front() * normalise(x).x_hat + norm.parameters().back();  // γ, β
}

Tensor feed_forward_by_hand(const Tensor& x, const FeedForward& layer) {
  return linear(relu(linear(x, layer.in.weight, layer.in.bias)), layer.out.weight, layer.out.bias);
}

/// Uses the weights of nn/'s block. `parts` selects the components: {.residual, .norm, .feed_forward}.
Tensor block_by_hand(const Tensor& x, const TransformerBlock& block, const Parts& parts) {
  const auto apply = [&](const auto& sublayer, const std::optional<Norm>& norm, const Tensor& in) {
    const Tensor out = sublayer(parts.norm == NormPosition::pre ? norm_by_hand(in, *norm) : in);
    const Tensor sum = parts.residual ? in + out : out;
    return parts.norm == NormPosition::post ? norm_by_hand(sum, *norm) : sum;
  };
  const auto attention = [&](const Tensor& in) { return (*block.self)(in, in, in).context; };
  const auto feed_forward = [&](const Tensor& in) { return feed_forward_by_hand(in, *block.feed_forward); };
  const Tensor y = apply(attention, block.self_norm, x);
  return parts.feed_forward ? apply(feed_forward, block.feed_forward_norm, y) : y;
}

// ---- 3. Follow a pointer twice ----------------------------------------------------------------------------
// Ten cards lie in a row, numbered from 0. Each card shows a digit and the number of a card, its pointer. No two
// cards of a row have the same pointer. We ask three questions about each card:
//
//     once     Which digit is on the card that this card points to?
//     twice    Follow the pointer of that card, too. Which digit is on the card where you arrive?
//     sum      What is the last digit of the sum of these two digits?
//
// For example, here are the first four cards of a row:
//
//     card        0   1   2   3  …
//     pointer     2   0   3   1  …
//     digit       5   8   7   6  …
//
// Card 0 points to card 2, and card 2 points to card 3. So the answers for card 0 are 7, 6, and 3, the last digit
// of 7 + 6.
//
// A model that always answers with the most frequent digit of the row answers 28 % of the "once" and "twice"
// questions correctly.

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
// Now we train two blocks, and then eight, which is more than the task needs. We start with attention alone and
// add the other components one at a time. In the last rows, we remove one component from the whole block, or move
// the norm. All models are trained in the same way.

void parts(const kit::Options& options, kit::Report& report) {
  const kit::Question eight = report.ask(
      "eight attentions",
      "Two attention layers, without any other components, can learn \"twice\". What do eight such layers learn?",
      {"less than two layers: not even \"once\"",
       "as much as two layers, because the other six pass their input on",
       "more than two layers: \"sum\" as well"});
  const AblationResults results = train_each_recipe(options, report);
  report.answer(
      eight, 'a', results.eight[kAlone].right[kOnce] <= 40,
      "An attention layer averages. Without a residual, each layer must learn to pass a token on unchanged.");
}

// At seed 1, these are the percentages of right answers:
//
//     two blocks                loss     once    twice      sum   (% right)
//     attention alone          0.751    100.0     99.6     19.5
//     + residual               0.676    100.0    100.0     28.7
//     + norm                   0.737    100.0     99.8     20.4
//     + feed-forward (whole)   0.064    100.0     99.9     99.5
//     whole, no residual       1.428     99.6     23.5     23.1
//     whole, no norm           0.002    100.0    100.0    100.0
//     whole, norm after        0.089    100.0     98.8     98.3
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
// At other seeds, the numbers differ. But eight whole blocks always answer nearly all "twice" questions correctly,
// and eight blocks without residuals or without norms do not learn "once".
//
// *The feed-forward.* Two blocks of attention, residuals and norms do not learn the sum. With the feed-forward,
// they do. The last digit of a sum is a nonlinear function of the two digits, a lookup in a 10 × 10 table. A
// weighted average does not compute it. (With eight blocks, attention finds a way to add without a feed-forward,
// because softmax is not linear.)
//
// *Residuals and norms.* Eight blocks need both, and neither is enough alone. Post-norm also fails with eight
// blocks at this learning rate.
//
// *Depth.* Without norms, two blocks learn "sum", but eight do not even learn "once". So the effect of a component
// depends on the depth and on the other components. A component may even be harmful until another one is added:
// at seed 1, two layers of attention alone learn "twice". With norms and the feed-forward, but without residuals,
// they do not.

// ---- 5. Residuals keep tokens different -------------------------------------------------------------------
// Each attention layer averages, and averages of averages become more and more alike. Without residuals, all
// ten cards become the same vector (Dong, Cordonnier and Loukas 2021). This is called *rank collapse*. From then
// on, it does not matter where a token attends. So the scores have almost no effect on the loss, and W^Q and W^K
// get almost no gradient.
//
// We measure this before training, in f64. The first quantity is the *spread* of the ten tokens after each
// block: |x − mean of the tokens| / |x|, where |x| is the root of the sum of all squares. It is 0 if all tokens
// are equal. The second quantity is the norm of the gradient of each block's W^Q and W^K.

void depth(const kit::Options& options, kit::Report& report) {
  const kit::Question first = report.ask(
      "no norms",
      "Eight blocks have residuals, but no norms. How large is the gradient of W^Q and W^K in the first block, "
      "compared with eight blocks that have norms?",
      {"near 0, because it shrinks from block to block", "more than a thousand times as large",
       "about as large, because residuals pass the gradient on"});
  const double ratio = measure_depth(options, report);
  report.answer(
      first, 'b', ratio >= 1000,
      "Each block adds its output to x, so x grows from block to block. Scores are products of two such vectors, "
      "so they grow with the squared norm of x, and the gradient of W^Q and W^K grows with them.");
}

// At seed 1, the spread after some of the eight blocks is:
//
//     block                     0        2        4        6        8
//     whole                  0.94     0.85      0.8     0.77     0.77
//     no residual            0.94     0.13  8.4e-07    3e-16  2.4e-16
//     no norm                0.94     0.76     0.56     0.38      0.3
//
// Without residuals, all tokens are equal after the fifth block, up to rounding errors. The gradients of the last
// blocks are then as small as rounding errors, too.
//
// At seed 1, the norm of the first block's gradient is 0.065 for the whole block, and 1.2e+04 without norms.

// ---- 6. Norms allow larger learning rates -----------------------------------------------------------------
// A gradient predicts the effect of a small step. The larger the step, the worse the prediction. Without norms, the
// states grow from block to block, so even a small change of a weight in the first block changes the states above
// it a lot. Then the prediction holds only for very small steps.
//
// So far, kit::train has raised the learning rate slowly (warm-up) and limited the norm of the gradient
// (clipping). Both help. Now we use Adam without either, and look for the largest learning rate with which the
// model still learns. Without norms, we also try a small rate with four times as many steps.

// At seed 1, these are the losses at the end. "Norm before" is pre-norm, and "norm after" is post-norm:
//
//     learning rate            0.002    0.004    0.008    0.016    0.032
//     norm before  4 blocks    0.331    0.015    0.007    0.010    0.132
//     norm after   4 blocks    1.388    0.066    1.940    2.306    2.303
//     no norm      4 blocks    2.260    2.192    2.181    2.227     > 10
//
// Post-norm needs a learning rate that is smaller and chosen more exactly. With post-norm, the gradient passes
// through every norm on its way back (Xiong and others 2020). Four blocks without norms do not learn at any of
// these rates, and also not at a smaller rate with more steps.

// What to remember. A norm gives each sublayer tokens of the same size. Its gradient rule removes the directions
// that would only shift or scale a token. A residual keeps the token and lets gradients through. The
// feed-forward network computes with the information that attention has added to a token.
//
// Exercises: lessons/practise 19 (a pre-norm block; the gradient of RMS norm; the variance after eight sublayers;
// follow two pointers with few weights; a transformer block for your engine).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A layer norm by hand");
  layer_norm_by_hand(options.seed, report);
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
