// 03 training: an optimiser is three lines
//
// 15 minutes to read, 5 seconds to run. Needs lesson 01 (gradient descent, broadcasting, the rule of a
// product of matrices) and lesson 02 (gradcheck, the rule of softmax). Afterwards you can write a network,
// its loss and three optimisers from plain ops, and know two looks that catch most mistakes before a training
// is worth its time.
//
// Lesson 01 fitted a straight line: backward said how the loss moves with each weight, and every weight took
// a small step the other way. Does that still work when the border that is asked for is curved, and there are
// a thousand weights? And is "a small step the other way" the best that can be done with a gradient?

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "lessons/03_training/experiment.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/pencil.hpp"
#include "lessons/kit/kit.hpp"

using namespace tapestry;
using namespace tapestry::lesson03;
using kit::draw_spirals;  // new points; each stream is a draw of its own
using kit::Points;        // x (N, 2), points of the plane, and labels (N), the spiral that each lies on

namespace {

constexpr DType f64 = DType::f64;

// ---- 1. A loss with a pencil ------------------------------------------------------------------------------
//
// For a point a network gives one number for each class, a *logit*. Logits may be anything; softmax makes
// probabilities of them. The *cross-entropy* is the negative logarithm of the probability that the true class
// y got. It is 0 if that is 1, and grows without end as it goes to 0. Take the logits z = (1, 0):
//
//     e^1 = 2.718, e^0 = 1, their sum is 3.718         p = (0.731, 0.269)
//     the first class is true: −log 0.731 = 0.313      the second is true: −log 0.269 = 1.313
//
// Its gradient: −log p_y = log Σ_k e^{z_k} − z_y. The first part moves with z_c by e^{z_c} / Σ_k e^{z_k} =
// p_c; the second by −1, and only if c is y. So ∂/∂z_c = p_c − 1{c = y}: if the second class is true, that is
// (0.731, −0.731). Too much probability is pushed down, too little is pushed up. Over a *batch* of B points
// the losses are averaged, so each row of the gradient is divided by B:
//
//     loss = 1/B Σ_b (log Σ_k e^{z_bk} − z_{b,y_b})        ∂loss/∂z_bc = (p_bc − 1{c = y_b}) / B

Tensor cross_entropy_by_hand(const Tensor& z, const Indices& labels) {  // (B, C) logits, (B) labels
  const Tensor of_the_true_class = sum(z * one_hot(labels, z.size(1), z.dtype()), {-1});  // one_hot: 1 at y
  return mean(logsumexp(z, {-1}) - of_the_true_class);  // log Σ exp, written so that exp never overflows
}

void pencil(kit::Report& report) {
  const Tensor z = variable(tensor({{1, 0}}, f64));
  const Tensor p = softmax(z.detach(), -1);
  const double first = cross_entropy_by_hand(z.detach(), Indices({0})).item();
  Tape tape;
  const Tensor second = cross_entropy_by_hand(z, Indices({1}));
  tape.backward(second);
  kit::check_pencil(report, "one point, two logits",
                    {{std::exp(1.0), 2.718},
                     {std::exp(1.0) + 1, 3.718},
                     {p.at({0, 0}), 0.731},
                     {p.at({0, 1}), 0.269},
                     {first, 0.313},
                     {second.item(), 1.313},
                     {z.grad().at({0, 0}), 0.731},
                     {z.grad().at({0, 1}), -0.731}});
}

// The task: points of the plane lie on two spirals, wound into each other. Given a point, which spiral is it
// on? No straight border separates them. A *multi-layer perceptron* bends the border: each layer multiplies
// by a matrix and adds a vector, and where the result is negative, relu puts 0 in its place. Without relu
// three matrices would be no more than one, their product.
//
//     h₁ = relu(x W₁ᵀ + b₁)      h₂ = relu(h₁ W₂ᵀ + b₂)      z = h₂ W₃ᵀ + b₃        x (B, 2), z (B, 2)
//
// experiment.hpp has the same network from nn/'s layers: a Linear is x Wᵀ + b. Matrices start from random
// numbers: `kaiming` makes them so large that values keep about their size from layer to layer with relu.

Tensor network_by_hand(const Network& of, const Tensor& x) {
  const auto layer = [](const Tensor& input, const Tensor& w, const Tensor& b) {
    return matmul(input, transpose(w)) + b;
  };
  const Tensor h1 = relu(layer(x, of.first.weight, of.first.bias));
  const Tensor h2 = relu(layer(h1, of.second.weight, of.second.bias));
  return layer(h2, of.last.weight, of.last.bias);
}

void with_nn(std::uint64_t seed, kit::Report& report) {
  Network network(kaiming);
  network.initialise(seed, f64);
  const Points batch = draw_spirals(seed, 3, 8, f64);
  kit::check_by_hand(
      report, "network and loss",
      [&] { return cross_entropy_by_hand(network_by_hand(network, batch.x), batch.labels); },
      [&] { return cross_entropy(network(batch.x), batch.labels); }, network.parameters(), seed);
}

// ---- 2. Two looks before training -------------------------------------------------------------------------
//
// The first look: the first loss is known beforehand. Set the last layer to zero. Then all logits are 0
// whatever the point, each of C classes gets 1/C, and the loss must be −log 1/C = log C: 0.6931 for two. If
// it is not, the number of classes is wrong, or the loss adds up where it should average. (The layer still
// learns: the gradient of W₃ is (p − 1{y})ᵀ h₂ / B, and h₂ is not zero.)
//
// The second look: sixteen points, always the same, must be learned by heart. There are more than a thousand
// weights for sixteen labels; if that does not work, nothing will.

void two_looks(const Points& points, std::uint64_t seed, kit::Report& report) {
  const double from_zeros = first_loss(zeros, seed, 1);
  report.quoted("first loss, last layer at zero", from_zeros, 0.6931, 1e-4);
  const kit::Question opinions = report.ask(
      "a last layer of random numbers",
      "Now the last layer starts from random numbers, as the others do. On average over many untrained "
      "networks, which first loss do you expect?",
      {"log 2: they know nothing either", "more than log 2", "less than log 2: some are right by luck"});
  const double with_opinions = first_loss(kaiming, seed, 20);
  report.figure("first loss, last layer like the others (mean of 20 networks)", with_opinions);
  report.answer(
      opinions, 'b', with_opinions > from_zeros,
      "It has opinions, right half of the time, and the logarithm punishes a wrong one more than it rewards a "
      "right one.");

  report.at_most("loss on sixteen points, learned by heart", learn_by_heart(points, seed, false), 1e-3);
  const kit::Question bug = report.ask(
      "labels out of step",
      "Now a bug: at every step the sixteen labels are drawn anew, so they do not belong to the points. "
      "What does the loss do in the same 500 steps?",
      {"it stays near log 2", "it falls to zero, only more slowly", "it grows without end"});
  const double out_of_step = learn_by_heart(points, seed, true);
  report.figure("the same, labels out of step", out_of_step);
  report.answer(
      bug, 'a', out_of_step > from_zeros / 2 && out_of_step < 2 * from_zeros,
      "The best answer to labels that are tossed like a coin is one half. No shape complains, and backward and "
      "optimiser are right: only this look shows such a bug.");
}

// ---- 3. Three optimisers ----------------------------------------------------------------------------------
//
// After backward each weight w has its gradient g, and an optimiser decides what to do with it.
//
// *Stochastic gradient descent*, SGD (Robbins and Monro 1951), is lesson 01's step: w ← w − η g, with the
// learning rate η. "Stochastic", since a batch drawn at random gives the gradient only on average.
//
// *Momentum* (Polyak 1964). A loss is often a long valley, steep across and flat along. Steps short enough
// for the walls are too short for the floor. So keep a sum of gradients in which older ones fade: b ← μ b +
// g, w ← w − η b. Across the valley gradients change sign and cancel; along it they add up, to 1/(1 − μ)
// times g.
//
// *Adam* (Kingma and Ba 2015) keeps two running means for each weight, m of g and v of g², and steps by m /
// √v: a ratio that has no unit. Both begin at 0, so they are too small at first; dividing by 1 − βᵗ mends
// that.
//
// With a pencil: η = 0.1, μ = 0.9, and a weight whose gradient is 4 at every step. SGD moves by 0.4 each time;
// momentum by 0.4, then by 0.76, which is 0.1 times 0.9 · 4 + 4. Adam's first means, corrected, are 4 and 4², so
// it moves by 0.1 · 4 / √4² = 0.1. By how much would it move if the gradient were 400?
//
// Each is written for one weight here, and keeps what it must remember of it.

StepByHand sgd_by_hand(double eta) {
  return [eta](Tensor& w) { assign(w, w.detach() - eta * w.grad()); };  // as in lesson 01
}

StepByHand momentum_by_hand(double eta, double mu) {
  return [eta, mu, b = scalar(0, f64)](Tensor& w) mutable {
    b = mu * b + w.grad();
    assign(w, w.detach() - eta * b);
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
  fmt::print("  Adam's first step: {:.3f} for a gradient of 4, {:.3f} for 400\n",
             moved(adam_by_hand(0.1), 4, 1), moved(adam_by_hand(0.1), 400, 1));
  kit::check_pencil(report, "first steps",
                    {{moved(sgd_by_hand(0.1), 4, 1), 0.4},
                     {moved(momentum_by_hand(0.1, 0.9), 4, 1), 0.4},
                     {moved(momentum_by_hand(0.1, 0.9), 4, 2), 0.76},
                     {moved(adam_by_hand(0.1), 4, 1), 0.1}});
  // optim/ has the same three, in one pass over all weights. Its step() also clears the gradients, to which
  // backward would otherwise add.
  const auto& [eta1, eta2, eta3] = kRates;
  const double apart =
      farthest({sgd_by_hand(eta1), momentum_by_hand(eta2, 0.9), adam_by_hand(eta3)}, seed, 200);
  report.at_most("by hand and optim/'s: weights apart after 200 steps", apart, 1e-12);
}

// ---- 4. Training ------------------------------------------------------------------------------------------
//
// The three start from the same weights and see the same batches. What counts is how many *other* points,
// *held out* from training, they put on the right spiral. Guessing is right half of the time.

void training(const Points& points, const kit::Options& options, kit::Report& report) {
  const Points held_out = draw_spirals(options.seed, 2, 2000);
  const kit::Question slow = report.ask(
      "SGD beside momentum",
      "Momentum has the smaller rate, 0.03 against 0.1. How many steps does SGD need until 99 % of the held-out "
      "points are right and stay so?",
      {"fewer than momentum", "about as many", "twice as many or more, if it gets there"});
  const auto [sgd, momentum, adam] = train_all(points, held_out, options);
  print({&sgd, &momentum, &adam});
  report.answer(
      slow, 'c', slower(sgd, momentum, 2),
      "Along the valley momentum moves by up to 0.03 / (1 − 0.9) = 0.3 times the gradient. Across it the "
      "gradients change sign, and the step stays short.");
  report.at_least("momentum: held-out points right", momentum.last(), 99, "%");
  report.at_least("Adam: held-out points right", adam.last(), 99, "%");
  report.at_least("SGD's last loss ÷ Adam's", sgd.loss.y.back() / adam.loss.y.back(), 10);
  show_curves({&sgd, &momentum, &adam}, options);
  show_border(*adam.network, points, options);

  const kit::Question unit = report.ask(
      "a hundred times the loss",
      "Count the loss in another unit: train on 100 times the loss, with the same rates. Who still learns?",
      {"momentum and Adam: the lowest point stays", "Adam alone", "neither: each step is too long"});
  const double heavy = train(Kind::momentum, points, held_out, options, 100).last();
  const double adaptive = train(Kind::adam, points, held_out, options, 100).last();
  report.figure("momentum: held-out points right", heavy, "%");
  report.at_least("Adam: held-out points right", adaptive, 99, "%");
  report.answer(
      unit, 'b', heavy < 75 && adaptive >= 99,
      "For SGD and momentum the rate is now a hundred times as large. In m / √v the hundred cancels. "
      "Layers may differ in the size of their gradients, too, and Adam suits each of them.");
}

// What to remember. The gradient of cross-entropy is (p − 1{y}) / B: what was said minus what is true. Know
// the first loss, and learn one batch by heart, before you train. Momentum adds up what repeats; Adam has no
// unit.
//
// Exercises: lessons/practise 3 (soft labels; a descent that swings; figures to know beforehand; your engine).

void lesson(const kit::Options& options, kit::Report& report) {
  const Points points = draw_spirals(options.seed, 1, 1000);
  report.section("A loss with a pencil");
  pencil(report);
  with_nn(options.seed, report);
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
