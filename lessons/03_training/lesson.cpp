// 03 training: an optimiser is three lines
//
// 30 minutes to read, 5 seconds to run. Needs lesson 01 (gradient descent, the rule of a product of matrices)
// and lesson 02 (gradcheck, softmax). Afterwards you can write a network, its loss and three optimisers from
// plain ops, and know two looks that catch most mistakes before a training is worth its time.
//
// Lesson 01 fitted a straight line by small steps against the gradient. Does that still work for a curved
// border, with a thousand weights? And is such a step the best that can be done with a gradient?

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/core.hpp"
#include "lessons/03_training/experiment.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson03;
using kit::draw_spirals;  // new points; each stream is a draw of its own
using kit::Points;        // x (N, 2), points of the plane, and labels (N), the spiral that each lies on

namespace {

constexpr DType f64 = DType::f64;

// ---- 1. A loss with a pencil ------------------------------------------------------------------------------
// For a point a network gives one number for each class, a *logit*; softmax makes probabilities of them. The
// *cross-entropy* is −log of the probability that the true class y got: 0 if that is 1, and without end as it
// goes to 0. Take the logits z = (1, 0):
//
//     e^1 = 2.718, e^0 = 1, their sum is 3.718         p = (0.731, 0.269)
//     the first class is true: −log 0.731 = 0.313      the second is true: −log 0.269 = 1.313
//
// Its gradient: −log p_y = log Σ_k e^{z_k} − z_y. The first part moves with z_c by e^{z_c} / Σ_k e^{z_k} =
// p_c; the second by −1, and only if c is y. So ∂/∂z_c = p_c − 1{c = y}, where 1{…} is 1 if it holds and else
// 0. If the second class is true, that is (0.731, −0.731): a step against it takes from what got too much.
// Over a *batch* of B points losses are averaged, so each row of the gradient is divided by B:
//
//     loss = 1/B Σ_b (log Σ_k e^{z_bk} − z_{b,y_b})        ∂loss/∂z_bc = (p_bc − 1{c = y_b}) / B

Tensor cross_entropy_by_hand(const Tensor& z, const Indices& labels) {  // (B, C) logits, (B) labels
  const Tensor of_the_true_class = sum(z * one_hot(labels, z.size(1), z.dtype()), {-1});  // one_hot: 1 at y
  return mean(logsumexp(z, {-1}) - of_the_true_class);  // log Σ exp, written so that exp never overflows
}

void pencil(kit::Report& report) {
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

// The task: points of the plane lie on two spirals, wound into each other. Given a point, which spiral is it
// on? No straight border separates them. A *multi-layer perceptron* bends the border: each layer multiplies
// by a matrix and adds a vector, and where the result is negative, relu puts 0. (Without relu, three matrices
// would be no more than one, their product.) Each matrix starts from random numbers.
//
//     h₁ = relu(x W₁ᵀ + b₁)      h₂ = relu(h₁ W₂ᵀ + b₂)      z = h₂ W₃ᵀ + b₃        x (B, 2), z (B, 2)

Tensor network_by_hand(const Network& of, const Tensor& x) {  // experiment.hpp has it from nn/'s layers, too
  const auto layer = [](const Linear& linear, const Tensor& input) {
    return matmul(input, transpose(linear.weight)) + linear.bias;
  };
  return layer(of.last, relu(layer(of.second, relu(layer(of.first, x)))));
}

// ---- 2. Two looks before training -------------------------------------------------------------------------
// The first look: the first loss is known beforehand. Set the last layer to zero. Then all logits are 0, each
// of C classes gets 1/C, and the loss must be −log 1/C = log C: 0.6931 for two. If not, the number of classes
// is wrong, or the loss adds up where it should average. (The layer still learns: the gradient of W₃ is (p −
// 1{y})ᵀ h₂ / B, lesson 01's rule transposed.) Random numbers start higher: −log punishes a wrong opinion
// more than it rewards a right one. (kaiming draws normal numbers, with the standard deviation √(2 / inputs):
// relu turns about half of them to 0, and the 2 makes up for it.)
//
// The second look: sixteen points, always the same, must be learned by heart by more than a thousand weights.
// And if there is a bug, what does this look show?

void two_looks(const Points& points, std::uint64_t seed, kit::Report& report) {
  const double from_zeros = first_loss(zeros, seed, 1), with_opinions = first_loss(kaiming, seed, 20);
  report.check_quoted("first loss, last layer at zero", from_zeros, 0.6931, 1e-4);
  report.at_least("first loss, last layer like the others (mean of 20 networks)", with_opinions, from_zeros);
  report.at_most("loss on sixteen points, learned by heart", learn_by_heart(points, seed, false), 1e-3);
  const kit::Question bug =
      report.ask("labels out of step",
                 "A bug: at each of the 500 steps the sixteen labels are drawn anew. What does the loss do?",
                 {"it stays near log 2", "it falls to zero, only more slowly", "it grows without end"});
  const double out_of_step = learn_by_heart(points, seed, true);
  report.figure("the same, labels out of step", out_of_step);
  report.answer(bug, 'a', out_of_step > from_zeros / 2 && out_of_step < 2 * from_zeros,
                "The best answer to a coin is one half. No shape complains: only this look shows the bug.");
}

// ---- 3. Three optimisers ----------------------------------------------------------------------------------
// After backward each weight w has its gradient g. *Stochastic gradient descent*, SGD (Robbins and Monro
// 1951), is lesson 01's step, w ← w − η g, with a gradient that a batch drawn at random gives.
//
// *Momentum* (Polyak 1964). A loss is often a long valley, steep across and flat along. Steps short enough
// for the walls are too short for the floor. So keep a sum of gradients in which older ones fade: u ← μ u +
// g, w ← w − η u. Across the valley gradients change sign and cancel. Along it they add up to g / (1 − μ).
//
// *Adam* (Kingma and Ba 2015) keeps two running means for each weight, m ← β₁ m + (1 − β₁) g of g, and v of
// g² likewise with β₂, and steps by η m / √v, a ratio without a unit. Both begin at 0 and are too small at
// first. At step t they hold a share of 1 − βᵗ of what they should, so they are divided by it.
//
// With a pencil: η = 0.1, μ = 0.9, and a gradient that is 4 at every step. SGD moves by 0.4 each time;
// momentum by 0.4, then by 0.76, which is 0.1 times 0.9 · 4 + 4. Adam's means, corrected, are 4 and 4², so it
// moves by 0.1 · 4 / √4² = 0.1. By how much would it move if the gradient were 400?

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
  constexpr double kEpsilon = 1e-8;  // keeps 0 / 0 away
  return [=, t = 0, m = scalar(0, f64), v = scalar(0, f64)](Tensor& w) mutable {
    const Tensor g = w.grad();
    ++t;
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const Tensor mean = m / (1 - std::pow(beta1, t)), square = v / (1 - std::pow(beta2, t));
    assign(w, w.detach() - eta * mean / (sqrt(square) + kEpsilon));
  };
}

void by_hand(std::uint64_t seed, kit::Report& report) {
  const StepByHand momentum = momentum_by_hand(0.1, 0.9), adam = adam_by_hand(0.1);
  fmt::print("  Adam's first step: {:.3f} for a gradient of 4, {:.3f} for 400\n", moved(adam, 4, 1),
             moved(adam, 400, 1));
  kit::check_worked_example(report, "momentum's steps",
                            {{moved(momentum, 4, 1), 0.4}, {moved(momentum, 4, 2), 0.76}});
  kit::check_worked_example(report, "SGD's and Adam's",
                            {{moved(sgd_by_hand(0.1), 4, 1), 0.4}, {moved(adam, 4, 1), 0.1}});
  const auto& [eta1, eta2, eta3] = kRates;  // optim/'s step() also clears the gradients
  const std::array<StepByHand, 3> ours{sgd_by_hand(eta1), momentum_by_hand(eta2, 0.9), adam_by_hand(eta3)};
  report.at_most("by hand and optim/'s: weights apart after 200 steps", farthest(ours, seed, 200), 1e-12);
}

// ---- 4. Training ------------------------------------------------------------------------------------------
// The three start from the same weights and see the same batches. What counts is how many *other* points,
// *held out* from training, they put on the right spiral. Guessing is right half of the time.

void training(const Points& points, const kit::Options& options, kit::Report& report) {
  const kit::Question slow =
      report.ask("SGD beside momentum",
                 "Momentum has the smaller rate, 0.03 against 0.1. When has SGD 99 % right for good?",
                 {"sooner", "at about the same step", "after twice as many steps or more, if at all"});
  const auto [sgd, momentum, adam] = train_all(points, options, report);
  report.answer(slow, 'c', slower(sgd, momentum, 2),
                "Along the valley momentum moves by up to 0.03 / (1 − 0.9) = 0.3 times the gradient.");
  const kit::Question unit = report.ask(
      "a hundred times the loss", "Train on 100 times the loss, with the same rates. Who still learns?",
      {"momentum and Adam: the lowest point stays", "Adam alone", "neither: each step is too long"});
  const auto [heavy, adaptive] = train_on_a_hundredfold(points, options, report);
  report.answer(
      unit, 'b', heavy < 75 && adaptive >= 99,
      "For momentum the rate is now a hundred times as large. In m / √v the hundred cancels, as it does "
      "where one layer's gradients are larger than another's.");
}

// What to remember. The gradient of cross-entropy is (p − 1{y}) / B: said minus true. Know the first loss and
// learn one batch by heart before you train. Momentum adds up what repeats, and Adam has no unit.
//
// Exercises: lessons/practise 3 (soft labels; a descent that swings; figures to know first; your engine).

void lesson(const kit::Options& options, kit::Report& report) {
  const Points points = draw_spirals(options.seed, 1, 1000);
  report.section("A loss with a pencil");
  pencil(report);
  compare_with_nn(network_by_hand, cross_entropy_by_hand, options.seed, report);
  report.section("Two looks before training");
  two_looks(points, options.seed, report);
  report.section("Three optimisers");
  by_hand(options.seed, report);
  report.section("Training");
  training(points, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("03_training", "an optimiser is three lines");
  program.steps(4000, 20);
  return program.run(argc, argv, lesson);
}
