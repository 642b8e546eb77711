// 05 pooling: attention is a weighted average
//
// Your eye is drawn to the one red cup among grey papers: nobody asked it to, the cup stands out. Then you
// want to read, and look for the book: now it is you who decides. Psychologists call the first *involuntary*
// attention and the second *voluntary*. In formulas both are one thing, an average with weights; they differ
// in who sets the weights. Either the things looked at do so alone, or a question has its say.
//
// You will: 1 pool fifty numbers with weights that the keys set alone; 2 let a query ask, with a formula from
// 1964, and check its gradients; 3 find the same in nn/; 4 learn how near is near, without cheating; 5 see
// the fit, and where each query looked.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"

using namespace tapestry;

namespace {

constexpr DType f64 = DType::f64;

// ---- The data ---------------------------------------------------------------------------------------------
//
// Somebody measured y at fifty places x, with an error each time: y = 2 sin x + x + ε, where ε is normal with
// deviation 0.5. One place lies at random in each tenth of a unit from 0 to 5. We know the curve, the method
// does not: what would y be at a place where nobody measured?
//
// In the words of attention: the fifty x are **keys**, the fifty y their **values**, and a place that we ask
// about is a **query**. Some y are wrong by a whole unit, so no single one is to be trusted: we average.

constexpr Size kPoints = 50, kQueries = 51;
constexpr double kNoise = 0.5, kEnd = 5;

double curve(double x) { return 2 * std::sin(x) + x; }

Tensor curve_at(const Tensor& x) {
  std::vector<double> y = x.to_vector();
  for (double& value : y) value = curve(value);
  return tensor(y, x.shape(), f64);
}

struct Points {
  Tensor x, y;  // (n) keys and values, x rising
};

Points measure(std::uint64_t seed) {
  const Tensor cell = arange(0, kPoints, 1, f64) + random_uniform({kPoints}, seed, 0, 1, f64);
  const Tensor x = cell * (kEnd / kPoints);
  return {x, curve_at(x) + kNoise * random_normal({kPoints}, seed, f64)};
}

/// The mean squared distance from the curve without noise.
double error(const Tensor& answers, const Tensor& queries) {
  return mean_squared_error(answers, curve_at(queries)).item();
}

// ---- 1. Keys alone: average and max pooling ---------------------------------------------------------------
//
// Every attention in these lessons is three steps (a mask comes later):
//
//     s_ij = score(q_i, k_j)          how much does key j matter to query i?
//     α_ij = exp s_ij / Σ_j exp s_ij  softmax: positive weights that add up to 1
//     c_i  = Σ_j α_ij v_j             the weighted average of the values
//
// Since the weights are positive and add up to 1, c_i lies between the smallest value and the largest: an
// attention invents nothing, it mixes what is there.
//
// Shapes are written with Tq, the number of queries, and Tk, the number of keys: here 51 and 50.

struct Pooled {
  Tensor answers;  // (Tq)
  Tensor weights;  // (Tq, Tk): a row for each query
};

/// From scores (Tq, Tk) and values (Tk) on. A pair outside the mask gets weight 0.
Pooled pool(const Tensor& scores, const Tensor& values, const Mask& mask = {}) {
  const Tensor weights = mask.defined() ? masked_softmax(scores, mask) : softmax(scores, -1);
  return {squeeze(matmul(weights, unsqueeze(values, 1)), 1), weights};
}

// In an involuntary attention the score sees the key and not the query: s_ij = β · salience(k_j). With β = 0
// all weights are 1/50, and the result is the plain mean, *average pooling*. The larger β, the more of the
// weight goes to the key that stands out most; in the limit it gets all of it, *max pooling*: the answer is
// the value of the key with the largest salience, which need not be the largest value. Here the salience of a
// key is x itself: what was measured last shouts loudest.
//
// Whatever the salience is, two queries get the same answer. So the best that keys alone can do is the best
// constant, and its error is the variance of the curve: no learning gets below that.

Tensor salience_scores(const Tensor& queries, const Tensor& keys, double beta) {
  return expand(unsqueeze(beta * keys, 0), {queries.size(0), keys.size(0)});
}

double keys_alone(const Points& points, const Tensor& queries, kit::Report& report) {
  double mean_error = 0;
  bool constant = true;
  fmt::print("      β   largest weight   answer to every query   squared error on the curve\n");
  for (const double beta : {0.0, 1.0, 1000.0}) {
    const Pooled pooled = pool(salience_scores(queries, points.x, beta), points.y);
    const double answer = pooled.answers.at({0}), squared = error(pooled.answers, queries);
    constant &= max(abs(pooled.answers - answer)).item() < 1e-12;
    fmt::print("  {:>5}   {:>14.3f}   {:>21.3f}   {:>26.3f}\n", beta, max(pooled.weights).item(), answer,
               squared);
    if (beta == 0) {
      mean_error = squared;
      report.check("β = 0 is the plain mean", std::abs(answer - mean(points.y).item()) < 1e-12);
    }
  }
  report.check("keys alone: all queries get one answer", constant);
  const double floor = var(curve_at(queries)).item();
  report.figure("squared error of the best constant there is", floor);
  report.check("and the plain mean is no better than that", mean_error >= floor);
  return mean_error;
}

// ---- 2. A query asks: Nadaraya and Watson -----------------------------------------------------------------
//
// To know y at q, ask the points near q. Nadaraya and Watson (both 1964, each on his own) average with a
// kernel, a bump of width σ around the query:
//
//     ŷ(q) = Σ_j K(q − k_j) v_j / Σ_j K(q − k_j)         K(u) = exp(−u² / 2σ²)
//
// That *is* an attention: exp(s) divided by the sum of exp(s) is a softmax, and the score is the exponent,
//
//     s_ij = −(q_i − k_j)² / 2σ²
//
// The score now sees both. Open the square: −q²/2σ² is the same for all keys, and a softmax does not see what
// is added to all its scores. What is left of the question is q·k / σ², a product. Later lessons keep only
// the product; here is where it comes from.
//
// σ must stay positive, so the number that we shall learn is log σ.

Tensor gaussian_scores(const Tensor& queries, const Tensor& keys, const Tensor& log_sigma) {
  const Tensor distance = unsqueeze(queries, 1) - unsqueeze(keys, 0);  // (Tq, 1) − (1, Tk)
  return -0.5 * distance * distance * exp(-2 * log_sigma);
}

void a_query_asks(const Points& points, const Tensor& queries, std::uint64_t seed, kit::Report& report) {
  const Tensor log_sigma = scalar(std::log(0.3), f64);
  const Pooled pooled = pool(gaussian_scores(queries, points.x, log_sigma), points.y);

  // The query at 2, by hand: five of its fifty keys.
  const Size query = 20;
  fmt::print("  the query {:.1f} at σ = 0.3, every third key around it:\n", queries.at({query}));
  for (Size j = 14; j <= 26; j += 3)
    fmt::print("    key {:.3f}   value {:6.3f}   weight {:.4f}\n", points.x.at({j}), points.y.at({j}),
               pooled.weights.at({query, j}));
  fmt::print("  answer {:.3f}, and the curve is at {:.3f}\n", pooled.answers.at({query}),
             curve(queries.at({query})));

  const Tensor kernel = exp(gaussian_scores(queries, points.x, log_sigma));  // K, as in 1964
  const Tensor by_kernel = sum(kernel * points.y, {-1}) / sum(kernel, {-1});
  report.check("kernel form and softmax form agree to 1e-12",
               max(abs(by_kernel - pooled.answers)).item() < 1e-12);

  const Tensor product = unsqueeze(queries, 1) * points.x - 0.5 * points.x * points.x;  // without q²
  const Pooled opened = pool(product * exp(-2 * log_sigma), points.y);
  report.check("without q² the weights are the same to 1e-12",
               max(abs(opened.weights - pooled.weights)).item() < 1e-12);

  // Lesson 2's check: every derivative against differences, for a few points.
  const GradcheckResult check =
      gradcheck([](const Tensor& q, const Tensor& k, const Tensor& v,
                   const Tensor& width) { return pool(gaussian_scores(q, k, width), v).answers; },
                {random_normal({3}, seed, f64), random_normal({5}, seed + 1, f64),
                 random_normal({5}, seed + 2, f64), log_sigma},
                GradcheckOptions{.tolerance = 1e-7, .seed = seed});
  if (!check.ok()) fmt::print("{}", check.report());
  report.check(fmt::format("gradcheck of q, k, v and log σ, {} derivatives", check.compared), check.ok());
}

// ---- 3. The same with nn/ ---------------------------------------------------------------------------------
//
// nn/'s Attention is this pipeline for queries, keys and values that are vectors, with any number of batch
// axes in front. It gives the weights and the answers, which the field calls the *context*. What changes from
// attention to attention is the score, and so a score is what it is built from. Ours is there, with ‖q − k‖²
// in place of (q − k)², and log σ as its parameter:
//
//     Attention attention{nadaraya_watson(0.3, Sigma::learned)};
//
// A score may also be any function of (queries, keys), if you have one that nobody has written before:
//
//     Attention attention{[](const Tensor& q, const Tensor& k) { return matmul(q, transpose(k)); }};

/// One feature in each query, key and value.
Tensor as_vectors(const Tensor& x) { return unsqueeze(x, 1); }

void with_nn(const Points& points, const Tensor& queries, std::uint64_t seed, kit::Report& report) {
  Attention attention{nadaraya_watson(0.3, Sigma::learned)};
  attention.initialise(seed, f64);
  const std::vector<Tensor> learned = attention.parameters();  // log σ, of shape (1)
  const Tensor cotangent = random_normal({kQueries}, seed + 3, f64);
  Tape tape;
  const Pooled ours = pool(gaussian_scores(queries, points.x, learned[0]), points.y);
  const Attended library = attention(as_vectors(queries), as_vectors(points.x), as_vectors(points.y));
  const Tensor answers = squeeze(library.context, 1);
  const double weights = max(abs(ours.weights - library.weights)).item();
  const double values = max(abs(ours.answers - answers)).item();
  // gradients() is a backward that returns the gradients; keep, since the tape is read twice.
  const double by_hand = tape.gradients(ours.answers, cotangent, learned, {.keep = true})[0].item();
  const double by_nn = tape.gradients(answers, cotangent, learned)[0].item();
  fmt::print("  weights differ by {:.0e}, answers by {:.0e}, the gradient of log σ by {:.0e}\n", weights,
             values, std::abs(by_hand - by_nn));
  report.check("nn/ gives the same to 1e-12",
               weights < 1e-12 && values < 1e-12 && std::abs(by_hand - by_nn) < 1e-12 * std::abs(by_hand));
}

// ---- 4. Learning σ ----------------------------------------------------------------------------------------
//
// How near is near? A small σ trusts the nearest point and its noise; a large one averages hills with
// valleys. σ is the only parameter of this model, and there is a loss to train it with: predict the value of
// each measured point.
//
// But not from itself! A point is its own nearest neighbour, at distance 0. If it may look at itself, the
// loss falls to nothing by σ → 0: everything is learned by heart, the errors with the rest, and a new query
// gets its neighbour's error. So point i is predicted from the 49 others: *leave one out*. In an attention
// that is a mask, false on the diagonal, and true everywhere else. (true = may attend, in all of Tapestry.)

enum class Itself { left_out, seen };

struct Learned {
  double sigma, loss;  // the loss is the mean squared error on the points, with or without themselves
};

Learned learn_sigma(const Points& points, Itself itself, std::int64_t steps) {
  Attention attention{nadaraya_watson(1, Sigma::learned)};  // from σ = 1
  attention.initialise(1, f64);
  const Mask others =
      Mask::from(kPoints, kPoints, [&](Size i, Size j) { return i != j || itself == Itself::seen; });
  const Tensor x = as_vectors(points.x), y = as_vectors(points.y);
  Adam adam(attention.parameters(), {.learning_rate = 0.03});
  kit::Progress progress(steps);
  double loss = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    Tape tape;
    const Tensor wrong = mean_squared_error(attention(x, x, y, others).context, y);
    tape.backward(wrong);
    adam.step();
    loss = wrong.item();
    progress.step(loss);
  }
  progress.finish();
  return {std::exp(attention.parameters()[0].item()), loss};
}

Pooled ask(const Points& points, const Tensor& queries, double sigma) {
  return pool(gaussian_scores(queries, points.x, scalar(std::log(sigma), f64)), points.y);
}

// ---- 5. The fit, and where each query looked --------------------------------------------------------------

kit::Chart fit_chart(const Points& points, const Tensor& queries, const Pooled& pooled) {
  const std::vector<double> x = queries.to_vector();
  kit::Chart chart{"Fifty points pooled: keys alone, and with a query", "x", "y"};
  chart.series.push_back({"measured", points.x.to_vector(), points.y.to_vector(), kit::Mark::points});
  chart.series.push_back({"true curve", x, curve_at(queries).to_vector(), kit::Mark::line});
  chart.series.push_back(
      {"plain mean", {0, kEnd}, {mean(points.y).item(), mean(points.y).item()}, kit::Mark::line});
  chart.series.push_back({"a query asks", x, pooled.answers.to_vector(), kit::Mark::line});
  return chart;
}

// Rows are queries, columns keys, both in order of x: the weights lie in a band on the diagonal, as wide as
// σ. Involuntary attention would have painted all rows alike. (A column of the map holds two neighbouring
// keys, so that it fits on the screen.)

kit::Heatmap weight_map(const Points& points, const Tensor& queries, const Tensor& weights) {
  kit::Heatmap map{"Weights: each query (row) looks at the keys near it"};
  for (Size j = 0; j < kPoints; j += 2)
    map.columns.push_back(fmt::format("{:.1f}", (points.x.at({j}) + points.x.at({j + 1})) / 2));
  for (Size i = 0; i < kQueries; i += 2) {
    map.rows.push_back(fmt::format("{:.1f}", queries.at({i})));
    for (Size j = 0; j < kPoints; j += 2) map.values.push_back(weights.at({i, j}) + weights.at({i, j + 1}));
  }
  map.most = *std::max_element(map.values.begin(), map.values.end());
  return map;
}

void lesson(const kit::Options& options, kit::Report& report) {
  const Points points = measure(options.seed);
  const Tensor queries = arange(0, kQueries, 1, f64) * (kEnd / (kQueries - 1));

  report.section("Keys alone: average and max pooling");
  const double mean_error = keys_alone(points, queries, report);

  report.section("A query asks: Nadaraya and Watson");
  a_query_asks(points, queries, options.seed, report);

  report.section("The same with nn/");
  with_nn(points, queries, options.seed, report);

  report.section("Learning σ");
  const Learned honest = learn_sigma(points, Itself::left_out, options.steps);
  const Learned cheating = learn_sigma(points, Itself::seen, options.steps);
  const Pooled pooled = ask(points, queries, honest.sigma);
  const double start_error = error(ask(points, queries, 1).answers, queries);
  const double honest_error = error(pooled.answers, queries);
  const double cheating_error = error(ask(points, queries, cheating.sigma).answers, queries);
  fmt::print("                                  σ   loss on the points   squared error on the curve\n");
  fmt::print("  at the start               {:.3f}   {:>18}   {:>26.3f}\n", 1.0, "", start_error);
  fmt::print("  each point may see itself  {:.3f}   {:>18.3f}   {:>26.3f}\n", cheating.sigma, cheating.loss,
             cheating_error);
  fmt::print("  itself left out            {:.3f}   {:>18.3f}   {:>26.3f}\n", honest.sigma, honest.loss,
             honest_error);
  fmt::print(
      "  (on the points ε alone makes a loss of about {}² = {}: the noise that nobody can predict.\n  Fifty "
      "draws scatter, and near the ends a point left out is missed more: seeds 1 to 5 give 0.23 to 0.41)\n",
      kNoise, kNoise * kNoise);
  report.figure("squared error on the curve, plain mean", mean_error);
  report.at_most("when a query asks, as a share of that", honest_error / mean_error, 1.0 / 3);
  report.at_least("error if it may see itself ÷ if it may not", cheating_error / honest_error, 1);

  report.section("The fit, and where each query looked");
  kit::show(fit_chart(points, queries, pooled), options.out / "fit.svg");
  kit::show(weight_map(points, queries, pooled.weights), options.out / "weights.svg");
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("05_pooling", "attention is a weighted average");
  program.steps(300, 100);
  return program.run(argc, argv, lesson);
}
