// 03 training: an optimiser is three lines
//
// Lesson 01 fitted a line: backward said how the loss moves with each weight, and every weight took a small
// step the other way. Nothing more happens when a network is trained, however large. This lesson trains one
// that draws a curved border, and looks at the two things that lesson 01 passed over: how to take the step,
// and how to know, before an hour is spent, that what is being trained is what was meant.
//
// You will: 1 write a network and its loss from plain ops; 2 know the first loss before you see it; 3 make a
// network learn one batch by heart; 4 write three optimisers, and find them again in optim/; 5 train with
// each, and look at the border that one of them drew; 6 see what Adam is good for.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "core/core.hpp"
#include "lessons/03_training/spirals.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/contour.hpp"
#include "nn/linear.hpp"
#include "optim/adam.hpp"
#include "optim/sgd.hpp"

using namespace tapestry;

namespace {

// ---- 1. A network and its loss, from plain ops ------------------------------------------------------------
//
// The task: points of the plane lie on two spirals, wound into each other. Given a point, which spiral is it
// on? No straight border separates them. A *multi-layer perceptron* folds the plane until one does: each
// layer multiplies by a matrix and adds a vector, and where the result is negative, 0 takes its place (relu).
// Without these folds, three matrices would be no more than one.
//
//     h₁ = relu(x W₁ᵀ + b₁)      h₂ = relu(h₁ W₂ᵀ + b₂)      z = h₂ W₃ᵀ + b₃
//
// x is (B, 2): a *batch* of B points. z is (B, C): for each point one number for each of the C classes, a
// *logit*. Logits may be anything. The softmax makes probabilities of them, p_c = exp z_c / Σ_k exp z_k, and
// the loss asks for the probability that the true class y got. Its negative logarithm, averaged over the
// batch, is the *cross-entropy*:
//
//     loss = mean of  −log p_y  =  mean of  (log Σ_k exp z_k) − z_y
//
// It is 0 if the true class always got all the probability, and it has no upper end.

constexpr Size kClasses = 2, kWidth = 32;

/// The same network from nn/'s layers (Linear is x Wᵀ + b). A matrix starts from random numbers; `kaiming`
/// makes them so large that layers with relu neither blow up what passes through nor let it fade. The last
/// layer is a choice: section 2.
struct Network : Module {
  explicit Network(const Initialiser& first_values)
      : last{{*this, "last"}, kWidth, kClasses, Bias::yes, first_values} {}

  Tensor operator()(const Tensor& x) const { return last(relu(second(relu(first(x))))); }

  Linear first{{*this, "first"}, 2, kWidth, Bias::yes, kaiming};
  Linear second{{*this, "second"}, kWidth, kWidth, Bias::yes, kaiming};
  Linear last;
};

Tensor network_by_hand(const Network& of, const Tensor& x) {
  const auto layer = [](const Tensor& input, const Tensor& w, const Tensor& b) {
    return matmul(input, transpose(w)) + b;
  };
  const Tensor h1 = relu(layer(x, of.first.weight, of.first.bias));
  const Tensor h2 = relu(layer(h1, of.second.weight, of.second.bias));
  return layer(h2, of.last.weight, of.last.bias);
}

Tensor cross_entropy_by_hand(const Tensor& z, const Indices& labels) {
  const Tensor of_the_true_class = sum(z * one_hot(labels, z.size(1), z.dtype()), {-1});  // (B): z_y
  return mean(logsumexp(z, {-1}) - of_the_true_class);
}

using kit::draw, kit::draw_spirals;  // a batch of some points; new points (each stream is a draw of its own)
using kit::Points;  // x (N, 2), points of the plane, and labels (N), the spiral that each lies on

void check_network(std::uint64_t seed, kit::Report& report) {
  Network network(kaiming);
  network.initialise(seed, DType::f64);
  const Points batch = draw_spirals(seed, 3, 8, DType::f64);
  const auto by_hand = [&](const Tensor& x) {
    return cross_entropy_by_hand(network_by_hand(network, x), batch.labels);
  };
  const GradcheckResult check = gradcheck(by_hand, batch.x, network.parameters());
  if (!check.ok()) fmt::print("{}", check.report());
  report.check(fmt::format("gradcheck of network and loss, {} derivatives", check.compared), check.ok());
  const double ours = by_hand(batch.x).item();
  const double library = cross_entropy(network(batch.x), batch.labels).item();
  fmt::print("  loss by hand {:.12f}, with nn/'s Linear and cross_entropy {:.12f}\n", ours, library);
  report.check("the same to 1e-12", std::abs(ours - library) < 1e-12);
}

// ---- 2. The first loss is known beforehand ----------------------------------------------------------------
//
// Who knows nothing but the number of classes gives each the probability 1/C, and pays −log 1/C = log C. For
// two classes that is 0.6931. So set the last layer to zero: then z = 0 whatever the point, the softmax is
// 1/C exactly, and the first loss *must* be log C. If it is not, the number of classes is wrong, or the loss
// adds up where it should average, or takes logits for probabilities. It costs one line to look.
//
// If the last layer starts like the others, the network starts out with opinions. They are right half of the
// time, and the logarithm punishes a wrong one more than it rewards a right one. On average over many
// networks the first loss is higher, and the first steps are spent on unlearning.
//
// Does a layer of zeros learn at all? Yes: the gradient of W₃ is (p − one_hot(y))ᵀ h₂, and h₂ is not zero.
// What the layers below get is multiplied by W₃, so they wait for one step. With *all* layers at zero
// only the last bias would ever move.

/// The mean over `networks` networks, before any training.
double first_loss(const Initialiser& last_layer, std::uint64_t seed, std::uint64_t networks) {
  const Points points = draw_spirals(seed, 1, 1000, DType::f64);
  double total = 0;
  for (std::uint64_t i = 0; i < networks; ++i) {
    Network network(last_layer);
    network.initialise(networks * seed + i, DType::f64);
    total += cross_entropy(network(points.x), points.labels).item();
  }
  return total / static_cast<double>(networks);
}

// ---- 3. One batch by heart --------------------------------------------------------------------------------
//
// The second look, before any training: sixteen points, always the same, must be learned by heart, down to a
// loss of nothing. There are some 1,200 weights for sixteen labels; if that does not work, nothing will. It
// takes less than a second, and catches most of what can go wrong between the data and the step. As an
// example, let labels and points get out of step: the labels are drawn anew at every step. Backward is right,
// the optimiser is right, no shape complains, and the loss stays where it was.

double learn_by_heart(const Points& points, std::uint64_t seed, bool labels_out_of_step) {
  constexpr Size kPoints = 16, kSteps = 500;
  Network network(zeros);
  network.initialise(seed);
  Adam adam(network.parameters(), {.learning_rate = 1e-2});
  const Points batch = draw(points, kit::Random(seed, 91), kPoints);
  double last = 0;
  for (Size step = 1; step <= kSteps; ++step) {
    const auto stream = static_cast<std::uint64_t>(1000 + step);
    const Indices labels =
        labels_out_of_step ? draw(points, kit::Random(seed, stream), kPoints).labels : batch.labels;
    Tape tape;
    const Tensor loss = cross_entropy(network(batch.x), labels);
    tape.backward(loss);
    adam.step();
    last = loss.item();
  }
  return last;
}

// ---- 4. Three optimisers by hand, and optim/'s ------------------------------------------------------------
//
// After backward, each weight w has its gradient g. An optimiser decides what to do with it. The weight is a
// leaf of the tape, so it may not be overwritten by chance: assign() is the one door, and detach() says that
// this use of w is not to be recorded.

using Weights = std::vector<Tensor>;

Weights zeros_like(const Weights& weights) {
  Weights result;
  for (const Tensor& w : weights) result.push_back(zeros(w.shape(), w.dtype()));
  return result;
}

// *Stochastic gradient descent* (Robbins and Monro 1951): a step against the gradient, η times as long.
// "Stochastic", since a batch drawn at random gives the gradient only about; that is cheap, and right on
// average.
struct SgdByHand {
  double eta;

  void operator()(Weights& weights) {
    for (Tensor& w : weights) {
      const Tensor g = w.grad();
      assign(w, w.detach() - eta * g);  // w ← w − η g
    }
  }
};

// *Momentum* (Polyak 1964): the loss is often a long valley, steep across and flat along. Steps short enough
// for the walls are too short for the floor. So keep a running sum b of the gradients, in which older ones
// fade. Across the valley they change sign and cancel; along it they add up, to 1/(1 − μ) times the step.
struct MomentumByHand {
  double eta, mu;
  Weights b = {};

  void operator()(Weights& weights) {
    if (b.empty()) b = zeros_like(weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Tensor g = weights[i].grad();
      b[i] = mu * b[i] + g;                                  // b ← μ b + g
      assign(weights[i], weights[i].detach() - eta * b[i]);  // w ← w − η b
    }
  }
};

// *Adam* (Kingma and Ba 2015): one η for all weights is a compromise, if the gradients of one layer are a
// thousand times those of another. Adam keeps two running means for each weight, of g and of g², and divides
// the one by the root of the other: what is left has no scale. Where g keeps its sign, the step is about η;
// where it wavers, shorter. Both means start at 0, and so are too small at first; 1 − βᵗ makes up for that.
struct AdamByHand {
  AdamOptions o;
  Weights m = {}, v = {};
  int t = 0;

  void operator()(Weights& weights) {
    if (t++ == 0) m = v = zeros_like(weights);
    const double m_start = 1 - std::pow(o.beta1, t), v_start = 1 - std::pow(o.beta2, t);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Tensor g = weights[i].grad();
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;      // m ← β₁ m + (1 − β₁) g
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;  // v ← β₂ v + (1 − β₂) g²
      assign(weights[i], weights[i].detach() -        // w ← w − η m̂ / (√v̂ + ε)
                             o.learning_rate * (m[i] / m_start) / (sqrt(v[i] / v_start) + o.epsilon));
    }
  }
};

// optim/ has the same three. There the three lines run over all weights at once, in one pass and on all
// threads; and step() consumes the gradients, which here is a line of its own: backward *adds* to a gradient
// that is there, and who forgets to clear it trains on the sum of all gradients so far.

struct Optimisers {
  const char* name;
  std::function<void(Weights&)> by_hand;
  std::function<std::unique_ptr<Optimiser>(Weights)> library;
};

std::vector<Optimisers> three_optimisers() {
  const SGDOptions plain{.learning_rate = 0.1}, heavy{.learning_rate = 0.03, .momentum = 0.9};
  const AdamOptions adam{.learning_rate = 5e-3};
  return {{"SGD", SgdByHand{plain.learning_rate},
           [=](Weights weights) { return std::make_unique<SGD>(std::move(weights), plain); }},
          {"SGD with momentum", MomentumByHand{heavy.learning_rate, heavy.momentum},
           [=](Weights weights) { return std::make_unique<SGD>(std::move(weights), heavy); }},
          {"Adam", AdamByHand{adam},
           [=](Weights weights) { return std::make_unique<Adam>(std::move(weights), adam); }}};
}

constexpr Size kBatch = 64;

Points batch_at(const Points& points, std::uint64_t seed, Size step) {
  return draw(points, kit::Random(seed, static_cast<std::uint64_t>(10'000 + step)), kBatch);
}

/// Two networks from the same start on the same batches in f64, one by hand, one with optim/: the largest
/// difference between their weights after `steps`.
double apart(Optimisers pair, std::uint64_t seed, Size steps) {
  const Points points = draw_spirals(seed, 1, 1000, DType::f64);
  Network ours(zeros), theirs(zeros);
  ours.initialise(seed, DType::f64);
  theirs.initialise(seed, DType::f64);
  Weights weights = ours.parameters();
  const std::unique_ptr<Optimiser> optimiser = pair.library(theirs.parameters());
  for (Size step = 1; step <= steps; ++step) {
    const Points batch = batch_at(points, seed, step);
    {
      Tape tape;
      tape.backward(cross_entropy(ours(batch.x), batch.labels));
      pair.by_hand(weights);
      for (const Tensor& w : weights) w.clear_grad();
    }
    Tape tape;
    tape.backward(cross_entropy(theirs(batch.x), batch.labels));
    optimiser->step();
  }
  return kit::farthest(weights, theirs.parameters());
}

// ---- 5. Training ------------------------------------------------------------------------------------------
//
// The three start from the same weights and see the same batches. What counts is not the loss on the points
// that they learn from, but how many of 2,000 *other* points, *held out* from training, they put on the right
// spiral: a network that only learned by heart would guess there, and be right half of the time.
//
// On the held-out points momentum and Adam arrive in a fraction of SGD's steps, and neither of the two beats
// the other there; SGD's loss is still more than ten times Adam's at the end.
//
// The border between the spirals is where the network gives both the probability ½.

double accuracy(const Network& network, const Points& points) {
  return kit::percent_equal(argmax(network(points.x)), points.labels);
}

/// Trains on `unit` times the loss, and returns the loss over the steps, each point the mean of about a
/// hundredth of them.
kit::Series train(Network& network, const Optimisers& pair, const Points& points, const kit::Options& options,
                  double unit = 1) {
  network.initialise(options.seed);
  const std::unique_ptr<Optimiser> optimiser = pair.library(network.parameters());
  const Size stretch = std::max<Size>(1, options.steps / 100);
  kit::Series curve{pair.name};
  double total = 0;
  kit::Progress progress(options.steps, {.unit = "points"});
  for (Size step = 1; step <= options.steps; ++step) {
    const Points batch = batch_at(points, options.seed, step);
    Tape tape;
    const Tensor loss = cross_entropy(network(batch.x), batch.labels);
    tape.backward(unit * loss);
    optimiser->step();
    progress.step(loss.item(), kBatch);
    total += loss.item();
    if (step % stretch == 0) {
      curve.x.push_back(static_cast<double>(step));
      curve.y.push_back(total / static_cast<double>(stretch));
      total = 0;
    }
  }
  progress.finish();
  return curve;
}

void show_border(const Network& network, const Points& points, const kit::Options& options) {
  kit::Chart chart{"Two spirals, and the border that Adam's network drew", "", ""};
  for (Size label = 0; label < kClasses; ++label) {
    const Tensor of_one = slice(points.x, 0, label, points.x.size(0), kClasses);
    chart.series.push_back({label == 0 ? "first spiral" : "second spiral", select(of_one, 1, 0).to_vector(),
                            select(of_one, 1, 1).to_vector(), kit::Mark::points});
  }
  const kit::Grid grid{-1.15, 1.15, 120};
  const Tensor probability = softmax(network(tensor(grid.places(), {grid.side * grid.side, 2})), -1);
  chart.series.push_back(kit::contour("border", grid, select(probability, -1, 1).to_vector(), 0.5));
  kit::show(chart, options.out / "border.svg");
}

// ---- 6. The same with a hundred times the loss ------------------------------------------------------------
//
// What makes Adam the usual choice shows when the loss is counted in another unit: with a hundred times the
// loss, all gradients are a hundred times as long. For SGD, with momentum or without, that is a hundred times
// the step, and what you should see is a network that guesses; Adam divides the factor out again.

void lesson(const kit::Options& options, kit::Report& report) {
  const Points points = draw_spirals(options.seed, 1, 1000), unseen = draw_spirals(options.seed, 2, 2000);

  report.section("A network and its loss, from plain ops");
  check_network(options.seed, report);

  report.section("The first loss is known beforehand");
  const double from_zeros = first_loss(zeros, options.seed, 1);
  report.quoted("first loss, last layer at zero", from_zeros, 0.6931, 1e-4);
  report.check("it is log(classes) to 1e-12",
               std::abs(from_zeros - std::log(static_cast<double>(kClasses))) < 1e-12);
  const double with_opinions = first_loss(kaiming, options.seed, 20);
  report.figure("first loss, last layer like the others", with_opinions);
  report.check("that is higher (mean of 20 networks)", with_opinions > from_zeros);

  report.section("One batch by heart");
  report.at_most("loss on sixteen points", learn_by_heart(points, options.seed, false), 1e-3);
  const double out_of_step = learn_by_heart(points, options.seed, true);
  report.figure("the same, labels out of step", out_of_step);
  report.check("the bug shows: hardly below the first loss", out_of_step > from_zeros / 2);

  report.section("Three optimisers by hand, and optim/'s");
  constexpr Size kCompared = 200;
  const std::vector<Optimisers> all = three_optimisers();
  for (const Optimisers& pair : all)
    report.at_most(fmt::format("{}: weights apart after {} steps", pair.name, kCompared),
                   apart(pair, options.seed, kCompared), 1e-12);

  report.section("Training");
  kit::Chart losses{"Loss of three optimisers, same start and same batches", "step", "loss"};
  losses.y_scale = kit::Scale::log;
  Network plain(zeros), heavy(zeros), adaptive(zeros);
  losses.series.push_back(train(plain, all[0], points, options));
  losses.series.push_back(train(heavy, all[1], points, options));
  losses.series.push_back(train(adaptive, all[2], points, options));
  report.figure("SGD: held-out points right", accuracy(plain, unseen), "%");
  report.at_least("momentum: held-out points right", accuracy(heavy, unseen), 99, "%");
  report.at_least("Adam: held-out points right", accuracy(adaptive, unseen), 99, "%");
  report.at_least("SGD's last loss ÷ Adam's", losses.series[0].y.back() / losses.series[2].y.back(), 10);
  losses.levels.push_back({std::log(static_cast<double>(kClasses)), "log 2: knowing nothing"});
  kit::show(losses, options.out / "losses.svg");
  show_border(adaptive, points, options);

  report.section("The same with a hundred times the loss");
  Network heavy_again(zeros), adaptive_again(zeros);
  train(heavy_again, all[1], points, options, 100);
  train(adaptive_again, all[2], points, options, 100);
  report.figure("momentum: held-out points right", accuracy(heavy_again, unseen), "%");
  report.at_least("Adam: held-out points right", accuracy(adaptive_again, unseen), 99, "%");
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("03_training", "an optimiser is three lines");
  program.steps(4000, 20);
  return program.run(argc, argv, lesson);
}
