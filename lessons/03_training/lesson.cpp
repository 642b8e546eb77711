// 03 training: train a network with SGD, momentum and Adam
//
// 30 minutes to read, 5 seconds to run. Needs lesson 01 (gradient descent, the gradients of a matrix product) and
// lesson 02 (gradcheck, softmax). Afterwards you can write a network, its loss and three optimisers from plain ops,
// and you know two checks that catch most mistakes before a long training run.
//
// Lesson 01 fitted a straight line with small steps against the gradient. Does the same method work for a curved
// border, with a thousand weights? And is there a better way to use a gradient than such a step?

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/core.hpp"
#include "lessons/03_training/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson03;
using kit::draw_spirals;  // draws random points; different streams give different points
using kit::Points;        // x (N, 2), points of the plane, and labels (N), the spiral of each point: 0 or 1

namespace {

constexpr DType f64 = DType::f64;

// ---- 1. The cross-entropy loss by hand --------------------------------------------------------------------
// The task of this lesson: points of the plane lie on two spirals, which wind around each other. Given a point, on
// which spiral does it lie? The two spirals are the two *classes*. No straight border separates them.
//
// For each point, our network will compute one number per class, called a *logit*. Softmax turns the logits into
// probabilities. The *cross-entropy* loss is −log of the probability of the true class, where log is the natural
// logarithm. The loss is 0 if that probability is 1, and it grows without bound as the probability approaches 0. Take
// the logits z = (1, 0):
//
//     e^1 = 2.718, e^0 = 1, their sum is 3.718         p = (0.731, 0.269)
//     the first class is true: −log 0.731 = 0.313      the second is true: −log 0.269 = 1.313
//
// What is the gradient of the loss with respect to the logits? Let y be the true class:
//
//     −log p_y = log Σ_k e^{z_k} − z_y
//
// The derivative of the first term with respect to z_c is e^{z_c} / Σ_k e^{z_k} = p_c. The derivative of the second
// term is −1 if c = y, and 0 otherwise. We write 1{c = y} for a number that is 1 if c = y, and 0 otherwise. So the
// gradient of logit z_c is p_c − 1{c = y}: the predicted probability minus the true one.
//
// If the second class is true in our example, the gradient is (0.731, 0.269 − 1) = (0.731, −0.731). A step against
// this gradient makes the first logit smaller and the second one larger. So the probability of the true class grows.
//
// The loss of a *batch* of B points is the mean of their losses. So each row of the gradient is divided by B:
//
//     loss = 1/B Σ_b (log Σ_k e^{z_bk} − z_{b,y_b})        ∂loss/∂z_bc = (p_bc − 1{c = y_b}) / B

Tensor cross_entropy_by_hand(const Tensor& z, const Indices& labels) {  // (B, C) logits, (B) labels
  const Tensor of_the_true_class = sum(z * one_hot(labels, z.size(1), z.dtype()), {-1});  // one_hot: 1 at y
  return mean(logsumexp(z, {-1}) - of_the_true_class);  // log Σ exp, computed so that exp never overflows
}

void worked_examples(kit::Report& report) {
  const Tensor z = variable(tensor({{1, 0}}, f64));
  const auto p = [&](Size c) { return softmax(z.detach(), -1).at({0, c}); };
  const Tensor first = cross_entropy_by_hand(z.detach(), Indices({0}));
  Tape tape;
  const Tensor second = cross_entropy_by_hand(z, Indices({1}));
  tape.backward(second);
  const double e = std::exp(1.0), dz0 = z.grad().at({0, 0}), dz1 = z.grad().at({0, 1});
  kit::check_worked_example(report, "probabilities",
                            {{e, 2.718}, {e + 1, 3.718}, {p(0), 0.731}, {p(1), 0.269}});
  kit::check_worked_example(report, "one point's loss and gradient",
                            {{first.item(), 0.313}, {second.item(), 1.313}, {dz0, 0.731}, {dz1, -0.731}});
}

// Which network can have a curved border? A *multi-layer perceptron* can. Each of its layers multiplies its input by
// a matrix and adds a vector, the *bias*. Such a layer is called *linear*. Between two linear layers, relu replaces
// each negative number by 0:
//
//     h₁ = relu(x W₁ᵀ + b₁)      h₂ = relu(h₁ W₂ᵀ + b₂)      z = h₂ W₃ᵀ + b₃        x (B, 2), z (B, 2)
//
// Without relu, the three layers together would be no better than one: a linear function of a linear function is
// linear, and so the border would be straight.
//
// The first two matrices start with random numbers. If they started with equal numbers, all numbers of h₁ would be
// equal and would get equal gradients. Then training could never make them different.

Tensor network_by_hand(const Network& network, const Tensor& x) {  // experiment.hpp has it with nn/'s layers
  const auto layer = [](const Linear& linear, const Tensor& input) {
    return matmul(input, transpose(linear.weight)) + linear.bias;
  };
  return layer(network.last, relu(layer(network.second, relu(layer(network.first, x)))));
}

// ---- 2. Two checks before training ------------------------------------------------------------------------
// The first check is the loss before the first step, because you can predict it. Set the last layer to zero. Then all
// logits are 0, each of C classes has the probability 1/C, and the loss must be −log 1/C = log C. For two classes,
// this is 0.6931. If the loss is different, look for a wrong number of classes, or for a loss that is a sum instead
// of a mean.
//
// Can a last layer of zeros still learn? Yes. Let dz be the gradient of the logits. By lesson 01's rule for a matrix
// product, the gradient of W₃ is dzᵀ h₂, which is not 0. So after one step, W₃ is not 0 either. From then on,
// gradients pass through it to the other layers.
//
// If the last layer starts with random numbers instead, the network prefers one class at each point, and it is wrong
// about half of the time. The first loss is then larger, because −log penalises a wrong prediction more than it
// rewards a right one.
//
// (The initialiser kaiming draws normal numbers with the standard deviation √(2 / inputs). relu sets about half of a
// layer's outputs to 0, and the factor 2 compensates for this.)
//
// The second check is to *overfit* a small batch. More than a thousand weights must be able to memorise sixteen
// points, so the loss on these points must fall to nearly 0. If the program has a bug, how does this loss show it?

void two_checks(const Points& points, std::uint64_t seed, kit::Report& report) {
  const double from_zeros = first_loss(zeros, seed, 1), from_random = first_loss(kaiming, seed, 20);
  report.check_quoted("first loss with the last layer at zero", from_zeros, 0.6931, 1e-4);
  report.at_least("first loss with a random last layer (mean of 20 networks)", from_random, from_zeros);
  report.at_most("loss on sixteen memorised points", loss_after_overfitting(points, seed, false), 1e-3);
  const kit::Question bug = report.ask(
      "labels out of step",
      "Suppose that a bug draws new labels for the sixteen points at each of the 500 steps. What does the loss do?",
      {"it stays near log 2", "it falls to zero, but more slowly", "it grows without bound"});
  const double with_bug = loss_after_overfitting(points, seed, true);
  report.figure("the same loss with new labels at each step", with_bug);
  report.answer(
      bug, 'a', with_bug > from_zeros / 2 && with_bug < 2 * from_zeros,
      "If the labels are random, the best prediction is one half for each class. No shape is wrong, so the "
      "program reports no error. Of the two checks, only this one shows the bug.");
}

// ---- 3. SGD, momentum and Adam ----------------------------------------------------------------------------
// After the backward pass, each weight w has a gradient g. An *optimiser* uses g to change w.
//
// *Stochastic gradient descent*, SGD (Robbins and Monro 1951), takes the step from lesson 01, w ← w − η g. The
// gradient comes from a batch that is drawn at random at each step.
//
// *Momentum* (Polyak 1964) adds up gradients. A loss often has the form of a long valley, which is steep across and
// nearly flat along its floor. A step that is short enough for the steep direction is too short for the flat
// direction. So momentum keeps a sum u of the gradients, in which older gradients fade. It starts at 0, and μ is less
// than 1:
//
//     u ← μ u + g        w ← w − η u
//
// Across the valley, the gradients change their sign from step to step, so they cancel. Along the valley, the
// gradient is nearly the same g at each step. So u approaches g (1 + μ + μ² + …) = g / (1 − μ).
//
// *Adam* (Kingma and Ba 2015) keeps two running means for each weight: m is a mean of g, and v is a mean of g².
//
//     m ← β₁ m + (1 − β₁) g        v ← β₂ v + (1 − β₂) g²        w ← w − η m / √v
//
// Why divide by √v? The ratio m / √v stays the same if all gradients are multiplied by a constant. So the length of a
// step does not depend on the scale of the gradients.
//
// Both means start at 0, so they are too small at first. For example, let β₁ = 0.9 and g = 4. After one step, m is
// 0.9 · 0 + 0.1 · 4, only a tenth of g. In general, after t steps, the coefficients of the gradients in each mean add
// up to only 1 − βᵗ. So Adam divides m by 1 − β₁ᵗ and v by 1 − β₂ᵗ before it takes the ratio. In the example, this
// gives 4 again.
//
// Here are the steps of all three with η = 0.1, μ = 0.9, and a gradient that is 4 at every step:
//
// - SGD moves w by 0.4 at each step.
// - Momentum moves w by 0.4, and then by 0.1 · (0.9 · 4 + 4) = 0.76.
// - Adam's corrected means are 4 and 4², so Adam moves w by 0.1 · 4 / √4² = 0.1.
//
// By how much would Adam move w if the gradient were 400? The program prints the answer.

StepByHand sgd_by_hand(double eta) {
  return [eta](Tensor& w) { assign(w, w.detach() - eta * w.grad()); };  // as in lesson 01
}

StepByHand momentum_by_hand(double eta, double mu) {
  return [eta, mu, u = scalar(0, f64)](Tensor& w) mutable {
    u = mu * u + w.grad();
    assign(w, w.detach() - eta * u);
  };
}

StepByHand adam_by_hand(double eta, double beta1 = 0.9, double beta2 = 0.999) {
  constexpr double kEpsilon = 1e-8;  // avoids 0 / 0
  return [=, t = 0, m = scalar(0, f64), v = scalar(0, f64)](Tensor& w) mutable {
    const Tensor g = w.grad();
    ++t;
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const Tensor mean = m / (1 - std::pow(beta1, t)), square = v / (1 - std::pow(beta2, t));
    assign(w, w.detach() - eta * mean / (sqrt(square) + kEpsilon));
  };
}

void optimisers_by_hand(std::uint64_t seed, kit::Report& report) {
  const StepByHand momentum = momentum_by_hand(0.1, 0.9), adam = adam_by_hand(0.1);
  fmt::print("  Adam's first step: {:.3f} for a gradient of 4, {:.3f} for a gradient of 400\n",
             length_of_step(adam, 4, 1), length_of_step(adam, 400, 1));
  kit::check_worked_example(report, "momentum's first two steps",
                            {{length_of_step(momentum, 4, 1), 0.4}, {length_of_step(momentum, 4, 2), 0.76}});
  kit::check_worked_example(
      report, "the first steps of SGD and Adam",
      {{length_of_step(sgd_by_hand(0.1), 4, 1), 0.4}, {length_of_step(adam, 4, 1), 0.1}});
  const auto& [sgd_rate, momentum_rate, adam_rate] = kRates;  // η of each optimiser
  const std::array<StepByHand, 3> ours{sgd_by_hand(sgd_rate), momentum_by_hand(momentum_rate, 0.9),
                                       adam_by_hand(adam_rate)};
  report.at_most("largest difference from optim/'s weights after 200 steps",
                 difference_from_library(ours, seed, 200), 1e-12);
}

// ---- 4. Training on two spirals ---------------------------------------------------------------------------
// The three optimisers start from the same weights and receive the same batches. We measure the *accuracy*: the
// percentage of points for which the network names the right spiral. We use *held-out* points, which are not used for
// training. Guessing is right half of the time.

void training(const Points& points, const kit::Options& options, kit::Report& report) {
  const kit::Question slow = report.ask(
      "SGD and momentum",
      "Momentum has a smaller learning rate than SGD: 0.03 instead of 0.1. When does SGD reach 99 % accuracy "
      "for good?",
      {"sooner than momentum", "at about the same step as momentum",
       "after at least twice as many steps as momentum, or never"});
  const auto [sgd, momentum, adam] = train_all(points, options, report);
  report.answer(
      slow, 'c', slower(sgd, momentum, 2),
      "Along a valley, momentum moves by up to 0.03 / (1 − 0.9) = 0.3 times the gradient. SGD moves by 0.1 "
      "times the gradient.");
  const kit::Question unit = report.ask(
      "a hundred times the loss",
      "Now we multiply the loss by 100 and keep the learning rates. Which of momentum and Adam still learns?",
      {"both, because the minimum is at the same place", "Adam alone",
       "neither, because each step is too long"});
  const auto [heavy, adaptive] = train_on_a_hundredfold(points, options, report);
  report.answer(
      unit, 'b', heavy < 75 && adaptive >= 99,
      "For momentum, the effect is a learning rate that is a hundred times larger. In Adam's m / √v, the factor 100 "
      "cancels. In the same way, it cancels if one layer's gradients are larger than another layer's.");
}

// What to remember. The gradient of cross-entropy is predicted minus true probabilities, divided by B. Before you
// train, predict the first loss and overfit one batch. Momentum adds up gradients that repeat. Adam's step does not
// depend on the scale of the gradients.
//
// Exercises: lessons/practise 3 (the gradient for soft labels; debug a descent that oscillates; losses to know before
// training; cross-entropy, optimisers and embeddings for your own engine; a milestone: it learns two spirals).

void lesson(const kit::Options& options, kit::Report& report) {
  const Points points = draw_spirals(options.seed, 1, 1000);
  report.section("The cross-entropy loss by hand");
  worked_examples(report);
  compare_with_nn(network_by_hand, cross_entropy_by_hand, options.seed, report);
  report.section("Two checks before training");
  two_checks(points, options.seed, report);
  report.section("SGD, momentum and Adam");
  optimisers_by_hand(options.seed, report);
  report.section("Training on two spirals");
  training(points, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("03_training", "train a network with SGD, momentum and Adam");
  program.steps(4000, 20);
  return program.run(argc, argv, lesson);
}
