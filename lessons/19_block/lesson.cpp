// 19 block: depth needs residuals, norms and a feed-forward
//
// 30 minutes to read, 70 seconds to run. Needs lesson 18 (heads), 03 (Adam, relu) and 01 (the chain rule).
// Afterwards you can write a layer norm with its rule, and a whole block, and say what each part is for.
//
// One attention answers one question about a sequence. The next question may depend on the answer, and takes
// a second attention on top. Why not pile up eight? In a transformer's *block* (Vaswani and others 2017)
// attention has three helpers: a norm, a residual and a feed-forward. What goes wrong without one of them?

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

// ---- 1. A norm with a pencil ------------------------------------------------------------------------------
// A *layer norm* (Ba, Kiros and Hinton 2016) brings the d numbers of each token to mean 0 and variance 1:
//
//     μ = mean of x     σ = √(mean of (x − μ)² + ε)     x̂ = (x − μ) / σ     norm(x) = γ ⊙ x̂ + β
//
// ε = 10⁻⁵ keeps σ away from 0. Scale γ and shift β are learned, and the same for all tokens. With a pencil:
//
//     x = (1, 2, 3)     μ = 2, σ = √((1 + 0 + 1) / 3) = 0.816     x̂ = (−1.225, 0, 1.225)
//
// Its rule. Let g_j be the derivative of the loss by x̂_j. A number x_i acts on x̂ in three ways: it stands
// in its own x̂_i; it moves μ, by ∂μ/∂x_i = 1/d; and it moves σ. The derivative of σ² = 1/d Σ_k (x_k − μ)² +
// ε is 2/d (x_i − μ): that x_i moves μ changes each square, but as Σ_k (x_k − μ) = 0 these changes add up to
// nothing. With ∂(σ²) = 2σ ∂σ:
//
//     ∂σ/∂x_i = x̂_i / d       ∂x̂_j/∂x_i = (1{i = j} − 1/d) / σ − (x_j − μ) / σ² · x̂_i / d
//                                        = (1{i = j} − 1/d − x̂_j x̂_i / d) / σ
//     gradient of x_i  =  Σ_j g_j ∂x̂_j/∂x_i  =  (g_i − mean of g − x̂_i · mean of g ⊙ x̂) / σ
//
// With g = (1, 0, 0): mean of g 0.333, mean of g ⊙ x̂ −0.408, and the gradient is
//
//     (1 − 0.333 − 0.5, −0.333, −0.333 + 0.5) / 0.816 = (0.204, −0.408, 0.204)
//
// It sums to 0, since adding 1 to every x_i leaves x̂ as it is. Doubling x does so too, so it is 0 along x̂.

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
      "ten times x", "Let x be (10, 20, 30): x̂ stays the same. What becomes of x's gradient, for the same g?",
      {"it stays the same", "it is ten times as large", "it is a tenth"});
  const Normed n = normalise(x);
  const auto x_hat = n.x_hat.to_vector(), of_x = gradient_of_x(n, g).to_vector();
  const double both = mean(g * n.x_hat).item();
  kit::check_worked_example(report, "the norm",
                            {{n.sigma.item(), 0.816}, {x_hat[0], -1.225}, {x_hat[2], 1.225}});
  kit::check_worked_example(report, "its means",
                            {{mean(g).item(), 0.333}, {both, -0.408}, {x_hat[0] * both, 0.5}});
  kit::check_worked_example(report, "its gradient", {{of_x[0], 0.204}, {of_x[1], -0.408}, {of_x[2], 0.204}});
  check_rule(report, normalise, gradient_of_x, seed);
  const double ratio = gradient_of_x(normalise(10 * x), g).at({0}) / of_x[0];
  report.figure("gradient of 10 x ÷ gradient of x", ratio);
  report.answer(tenfold, 'c', std::abs(ratio - 0.1) < 1e-4,
                "σ is ten times as large. In front of a norm, what is large is moved little.");
}

// ---- 2. A block, part by part -----------------------------------------------------------------------------
// First come lesson 18's heads, in which tokens look at each other. Then the *feed-forward*, for each token
// by itself: two linear layers with a relu between (here from 32 numbers to 64 and back). A *residual* adds
// what a part makes to what went in: the part has to find only what should change. For the norm there are two
// places, after the sum (2017), or in front of the part (today); then one more follows the last block:
//
//     feed(x) = W₂ relu(W₁ x + b₁) + b₂      post   x ← norm(x + part(x))      pre   x ← x + part(norm(x))
//
// With pre, nothing but sums stands in the way of x from the first block to the last.

Tensor norm_by_hand(const Tensor& x, const Norm& norm) {
  return norm.parameters().front() * normalise(x).x_hat + norm.parameters().back();  // γ, β
}

Tensor feed_by_hand(const Tensor& x, const FeedForward& layer) {
  return linear(relu(linear(x, layer.in.weight, layer.in.bias)), layer.out.weight, layer.out.bias);
}

/// With the weights of nn/'s block. Parts says what is left out: {.residual, .norm, .feed_forward}.
Tensor block_by_hand(const Tensor& x, const TransformerBlock& block, const Parts& parts) {
  const auto with = [&](const Tensor& in, const std::optional<Norm>& norm, const auto& part) {
    const Tensor added = part(parts.norm == NormPlace::pre ? norm_by_hand(in, *norm) : in);
    const Tensor sum = parts.residual ? in + added : added;
    return parts.norm == NormPlace::post ? norm_by_hand(sum, *norm) : sum;
  };
  const Tensor y = with(x, block.self_norm, [&](const Tensor& in) { return block.self(in, in, in).context; });
  if (!parts.feed_forward) return y;
  return with(y, block.feed_forward_norm,
              [&](const Tensor& in) { return feed_by_hand(in, *block.feed_forward); });
}

// ---- 3. Follow a pointer twice ----------------------------------------------------------------------------
// Ten cards lie in a row. Each shows a digit and the number of a card, and no two show the same number. For
// each card there are three questions:
//
//     once     which digit is on the card that it points to?
//     twice    and on the card that *that* one points to?
//     sum      what is the last digit of their sum?
//
// Naming the digit that is most frequent in the row, whatever the question, is right at 28 %.

void pointers(const kit::Options& options, kit::Report& report) {
  const kit::Question twice = report.ask(
      "one block", "One block with two heads is trained on all three. How often is \"twice\" right?",
      {"nearly always: a head for each pointer", "little more than these 28 %", "half of the time"});
  report.check_quoted("naming the most frequent digit", most_frequent(options), 28, 0.1, "%");
  const Result one = one_block(options, report);
  report.answer(twice, 'b', one.right[kTwice] <= 40 && one.right[kOnce] >= 99,
                "All heads of a layer ask at once. Whom to ask second is known only after the first answer.");
}

// ---- 4. What each part brings -----------------------------------------------------------------------------
// Now two blocks, and eight, which is more than the task needs. Parts are added one at a time, and then one
// is taken out of the whole. All are trained alike.

void parts(const kit::Options& options, kit::Report& report) {
  const kit::Question eight = report.ask(
      "eight attentions", "Two attentions, one on the other, can learn \"twice\". What do eight learn?",
      {"less: not even \"once\"", "as much: six of them hand on what they get", "more: \"sum\" as well"});
  const Ledger ledger = each_part(options, report);
  report.answer(eight, 'a', ledger.eight[kAlone].right[kOnce] <= 40,
                "An attention hands out averages. Handing on one token as it is would have to be learned.");
}

// With two blocks only the sum is missing, and the feed-forward brings it: adding two digits takes a table of
// ten by ten, and a table is no average. (Many attentions find a way to add without it: a softmax is not
// linear.) With eight, residuals and norms are both needed, and neither is enough. With its norms after the
// sums the whole fails as well, at this learning rate. (Compare the rows without residuals, and without
// norms, at two blocks and at eight: a part may be of no use, or do harm, until another one is there.)

// ---- 5. What residuals keep -------------------------------------------------------------------------------
// Averages of averages are all alike: without residuals the ten cards become one and the same vector (Dong,
// Cordonnier and Loukas 2021). From there on it does not matter where one looks, so queries and keys get no
// gradient. Measured before training, in f64: how *unlike* the ten tokens are after each block, |x − their
// mean| / |x|, and the length of the gradient of each block's W^Q and W^K.

void depth(const kit::Options& options, kit::Report& report) {
  const kit::Question first = report.ask(
      "no norms", "Eight blocks have residuals, no norms. What gradient do W^Q and W^K of the first one get?",
      {"next to none: it fades from block to block", "more than a thousand times as much as with norms",
       "about as much as with norms: residuals hand it on"});
  const double ratio = look_into_depth(options, report);
  report.answer(first, 'b', ratio >= 1000,
                "Each block adds to the sum of those below: tokens grow, and scores with their square.");
}

// ---- 6. What norms allow ----------------------------------------------------------------------------------
// A gradient says what a tiny step does. Without norms a small change at the bottom changes all that is
// above, so only tiny steps do what it says. Until here kit::train let the rate rise slowly and cut long
// gradients, which helps. Now Adam has neither, and we look for the largest rate that learns; without norms
// for a small one, too, with more steps. (With post, a gradient passes every norm on its way down: Xiong and
// others 2020.)

// What to remember. A norm shows each part tokens of one size, and its rule takes out of the gradient what
// would only shift or stretch a token. A residual keeps the token and lets gradients through. The
// feed-forward computes with what a token has read.
//
// Exercises: lessons/practise 19 (a block; another norm's rule; how x grows; a small stack; your engine).

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("A norm with a pencil");
  pencil(options.seed, report);
  report.section("A block, part by part");
  check_blocks(report, block_by_hand, options.seed);
  report.section("Follow a pointer twice");
  pointers(options, report);
  report.section("What each part brings");
  parts(options, report);
  report.section("What residuals keep");
  depth(options, report);
  report.section("What norms allow");
  try_rates(0.3, options, report);  // to learn is to end with a loss of at most 0.3
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("19_block", "depth needs residuals, norms and a feed-forward");
  program.steps(350, 2);
  return program.run(argc, argv, lesson);
}
