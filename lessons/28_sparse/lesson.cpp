// 28 sparse: exact zeros
//
// 20 minutes to read, 10 seconds to run. Needs lesson 06 (scores, softmax), 03 (training) and 02 (rules and
// gradcheck). Afterwards you can compute weights that are exactly 0 for most keys, derive their gradient, and
// say when the zeros help and when they prevent learning.
//
// Softmax gives every key some weight, however low its score is. With ten keys, that hardly matters. With ten
// thousand, the small weights of the keys that do not match add up. Their sum is called the *tail*. Can a
// weight be exactly 0, and can the model still learn by gradient descent?

#include <algorithm>
#include <cmath>

#include "core/core.hpp"
#include "core/tape/op.hpp"
#include "lessons/28_sparse/experiment.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"
#include "lessons/kit/check/worked_example.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/rows.hpp"

using namespace tapestry;
using namespace tapestry::lesson28;

namespace {
constexpr DType f64 = DType::f64;

// ---- 1. Sparsemax and entmax by hand ----------------------------------------------------------------------
// Weights w are numbers ≥ 0 that sum to 1. The set of all such w is called the *simplex*. *Sparsemax*
// (Martins and Astudillo 2016) returns the point of the simplex that is nearest to the scores s: the w with
// the smallest ½ Σ (w_j − s_j)².
//
// Which w is the nearest? Take two keys i and j that both have some weight, and move a small weight ε from i
// to j. Then the sum changes by about ε ((w_j − s_j) − (w_i − s_i)). At the minimum, it must not fall, whether
// ε is positive or negative. So w_j − s_j is the same number for all keys with weight. We call this number −τ.
// All other keys have the weight 0:
//
//     w_j = max(s_j − τ, 0),   with the τ that makes Σ w_j = 1
//
// So τ is a *threshold*. If a score is above the threshold, the difference is the weight of the key. If it is
// below, the weight is 0. The keys with a weight above 0 are called the *support*.
//
// To find τ, we put keys into the support one at a time, starting with the largest score. If the support were
// complete, its weights s_j − τ would sum to 1, which determines τ. If the next score is above this τ, we add
// its key. For the scores s = (1, 0.8, 0.1, −0.5):
//
//     support {1}           τ = 1 − 1 = 0                 0.8 is above τ: add it
//     support {1, 0.8}      τ = (1 + 0.8 − 1) / 2 = 0.4   0.1 is below τ: stop       w = (0.6, 0.4, 0, 0)
//
// α-*entmax* (Peters, Niculae and Martins 2019) is a family of functions from softmax (α = 1) to sparsemax
// (α = 2). It returns the w with the largest Σ w_j s_j + H(w), where H = Σ (w_j − w_j^α) / (α (α − 1)). The
// first sum is largest if one key has all the weight, and H is largest for equal weights. So w is a compromise.
//
// We find w as before. If we move weight between two keys of the support, the sum must not rise. So its
// derivative by w_j, s_j − w_j^(α − 1) / (α − 1) plus a constant, is the same for all keys of the support. We
// solve for w_j and write τ for the unknown constant:
//
//     w_j = max((α − 1) s_j − τ, 0)^(1 / (α − 1))           α = 1.5:   w_j = max(s_j / 2 − τ, 0)²
//
// With α = 2, this is sparsemax. With α = 1.5, the condition Σ w_j = 1 is a quadratic equation for τ. For k
// keys in the support, with z = s / 2, it is k τ² − 2τ Σz + Σz² = 1. The smaller solution is τ, because z − τ
// must be positive.

/// Returns the threshold τ for the scores of one query.
double threshold(std::vector<double> scores, double alpha) {
  std::sort(scores.rbegin(), scores.rend());  // the largest first
  double tau = 0, k = 0, sum = 0, squares = 0;
  for (const double score : scores) {
    const double z = (alpha - 1) * score;
    if (k > 0 && z <= tau) break;
    k += 1, sum += z, squares += z * z;
    tau = alpha == 2 ? (sum - 1) / k : (sum - std::sqrt(sum * sum - k * (squares - 1))) / k;
  }
  return tau;
}

/// Scores (queries, keys) → weights, off the tape. α must be 1.5 or 2.
Tensor entmax_weights(const Tensor& scores, double alpha) {
  std::vector<double> thresholds;
  for (Size i = 0; i < scores.size(0); ++i)
    thresholds.push_back(threshold(select(scores, 0, i).to_vector(), alpha));
  const Tensor tau = tensor(thresholds, {scores.size(0), 1}, scores.dtype());
  return pow(relu((alpha - 1) * scores.detach() - tau), 1 / (alpha - 1));
}

void worked_example(const kit::Options& options, kit::Report& report) {
  const kit::Question enters =
      report.ask("the third key",
                 "The third score rises from 0.1 to 0.7, above the threshold. How does sparsemax change the "
                 "weights of the first two keys, 0.6 and 0.4?",
                 {"not at all, because their scores stay the same", "both fall by the same amount",
                  "both fall by the same factor, as with softmax"});
  const auto with = [](double third) { return tensor({{1, 0.8, third, -0.5}}, f64); };
  const Tensor s = with(0.1), entmax = entmax_weights(s, 1.5), sparse = entmax_weights(s, 2);
  kit::print_rows("softmax", softmax(s, -1), 3);
  kit::print_rows("entmax-1.5", entmax, 3);
  kit::print_rows("sparsemax", sparse, 3);
  kit::check_worked_example(report, "sparsemax",
                            {{threshold(s.to_vector(), 2), 0.4}, {sparse.at({0, 0}), 0.6}});
  report.check("the zeros are exact", entmax.at({0, 3}) == 0 && sparse.at({0, 2}) == 0);
  const double under = entmax_weights(with(0.39), 2).at({0, 2}),
               over = entmax_weights(with(0.41), 2).at({0, 2});
  const Tensor three = entmax_weights(with(0.7), 2);
  kit::check_worked_example(report, "sparsemax with 0.7",
                            {{three.at({0, 0}), 0.5}, {three.at({0, 1}), 0.3}, {three.at({0, 2}), 0.2}});
  report.answer(enters, 'b', under == 0 && over > 0 && over < 0.01,
                "From 0.4 on, the third key is in the support. Its weight grows from 0, without a jump. The "
                "threshold rises with it, to 0.5, so the first two weights fall by 0.1 each, to 0.5 and 0.3. "
                "With softmax, all weights would be divided by the same number.");
  draw_two_keys(options);
}

// The picture two_keys.svg shows the weight of the first of two keys, plotted over the difference of their
// scores. With softmax, it is never 0 or 1. With sparsemax, it is 0 or 1 if the difference is 1 or more. With
// entmax-1.5, the difference must be 2 or more, and the curve has no kink.

// ---- 2. One gradient rule for all of them -----------------------------------------------------------------
// How do the weights change when the scores change by small numbers ∂s_j? Usually the support stays the same,
// and only τ changes. On the support, sparsemax has ∂w_j = ∂s_j − ∂τ. For entmax-1.5, the derivative of a
// square gives ∂w_j = 2 √w_j (½ ∂s_j − ∂τ) = √w_j (∂s_j − 2 ∂τ). Both have the form
//
//     ∂w_j = r_j (∂s_j − t),        with the same t for all keys
//
// The weights always sum to 1, so Σ ∂w_j = 0. Therefore t = Σ_i r_i ∂s_i / Σ_i r_i.
//
// For sparsemax, r = 1 on the support and 0 outside it. For entmax-1.5, r = √w. In general, α-entmax has
// r = w^(2 − α) on the support. With α = 1, this is r = w, which is softmax's rule (lesson 02).
//
// The Jacobian ∂w_j/∂s_i = r_j (1{i = j} − r_i / Σ r) is symmetric, so vjp and jvp have the same form. With
// g_j = ∂loss/∂w_j, the gradient is
//
//     gradient of s  =  r ⊙ (g − Σ_i r_i g_i / Σ_i r_i)

Tensor rule(const Tensor& g, const Tensor& w, double alpha) {
  const Tensor zero = scalar(0, w.dtype()), r = where(less(zero, w), pow(w, 2 - alpha), zero);
  return r * (g - sum(r * g, {-1}, Keep::yes) / sum(r, {-1}, Keep::yes));
}

Tensor entmax(const Tensor& scores, double alpha) {
  const auto of_scores = [alpha](const Tensor& g, const Tensor& w) { return rule(g, w, alpha); };
  return op<"entmax_by_hand">({}, entmax_weights(scores, alpha), wrt(scores, of_scores));
}

// core/ has both functions as ops. nn/ has them as normalisers that respect a mask: sparsemax_weights and
// entmax15_weights.
void one_rule(std::uint64_t seed, kit::Report& report) {
  const kit::Question outside =
      report.ask("a key outside the support",
                 "Sparsemax gives a key the weight 0, but with more weight the loss would be smaller. What "
                 "gradient does its score get?",
                 {"a gradient that raises the score, as with softmax",
                  "a gradient that raises the score, but a small one", "a gradient of 0"});
  const Tensor scores = variable(random_normal({5, 6}, seed, f64), "scores");
  const auto compare = [&](const char* name, double alpha, const Normaliser& of_nn) {
    const auto by_hand = [&] { return entmax(scores, alpha); };
    kit::check_by_hand(
        report, name, by_hand, [&] { return of_nn(scores, {}); }, {scores}, seed);
  };
  compare("sparsemax", 2, sparsemax_weights);
  compare("entmax-1.5", 1.5, entmax15_weights);
  const auto by_tape = kit::gradients([&] { return softmax(scores, -1); }, {scores}, seed);  // for g, below
  const Tensor g = random_normal({5, 6}, seed, f64), w1 = softmax(scores.detach(), -1);
  report.check("the rule with α = 1 equals softmax's gradient",
               kit::farthest({rule(g, w1, 1)}, by_tape) < 1e-12);
  const Tensor w = tensor({{0.6, 0.4, 0, 0}}, f64), moved = rule(tensor({{1, 0, 0, 0}}, f64), w, 2);
  kit::check_worked_example(report, "sparsemax's gradient",
                            {{moved.at({0, 0}), 0.5}, {moved.at({0, 1}), -0.5}});
  report.answer(outside, 'c', rule(tensor({{0, 0, 0, -9}}, f64), w, 2).at({0, 3}) == 0,
                "A slightly higher score is still below the threshold, so the weight stays 0. The key gets "
                "weight again only if the threshold falls below its score.");
}

// For w = (0.6, 0.4, 0, 0) and g = (1, 0, 0, 0), the mean of g over sparsemax's support is ½, and the
// gradient is (½, −½, 0, 0).

// ---- 3. Your receipts in a pile ---------------------------------------------------------------------------
// A pile has 64 receipts of 16 customers, and three of the receipts are yours. How much did you pay on
// average?
//
// Each customer has two learned vectors, a query and a key. The query q belongs to the customer who asks, and
// the key k of a receipt belongs to its customer. The score is q · k, and the value is the amount, 0 to 9. An
// answer counts as right if three times the answer, rounded, is the total that you paid.
//
// The model should give a weight of ⅓ to each of your receipts, and 0 to all others. Suppose that your three
// scores are all s, and all other scores are lower by a *gap* c. How large must the gap be, with n receipts?
//
//     sparsemax      ⅓ = s − τ. The others get 0 if s − c ≤ τ, so if c ≥ ⅓
//     entmax-1.5     √⅓ = s/2 − τ. The others get 0 if (s − c)/2 ≤ τ, so if c ≥ 2 √⅓ = 1.155
//     softmax        the others never get 0: their weights are e^−c times yours
//
// For sparsemax and entmax, the gap does not depend on n. For softmax it does. We call the sum of the weights
// of your receipts their *mass*. The n − 3 others have the mass (n − 3) e^−c / 3 times yours. With a fixed gap,
// these *odds* grow in proportion to the number of the others. To keep them small, the gap must grow with ln n.
std::vector<TrainingRun> receipts(double deviation, const kit::Options& options, kit::Report& report) {
  const auto is_zero = [](double c) {
    return entmax_weights(tensor({{c, c, c, 0}}, f64), 1.5).at({0, 3}) == 0;
  };
  report.check("entmax-1.5: the others get 0 from a gap of 1.155 on", is_zero(1.155) && !is_zero(1.154));
  const kit::Question thousand = report.ask(
      "1,024 receipts",
      "Softmax is trained on piles of 64 receipts, where your receipts have a mass of about 0.98. "
      "What is their mass in a pile of 1,024?",
      {"about 0.98, because the model has learned who you are", "about 0.95", "between 0.6 and 0.8"});
  const std::vector<TrainingRun> runs = train_each(deviation, options, report);
  const double mass = runs[kSoftmax].at[2].mass;
  report.answer(thousand, 'c', mass > 0.6 && mass < 0.8,
                "Each of the other receipts keeps its small weight, and now there are 1,021 of them "
                "instead of 61.");
  return runs;
}

// At seed 1, these rows of the table show what happens to the mass of your receipts ("own mass") in larger
// piles. The last column counts the non-zero weights:
//
//                               receipts       right    own mass        non-zero
//     softmax                         64     100.0 %       0.979            64.0
//                                    256      77.6 %       0.917           256.0
//                                   1024      31.2 %       0.732          1024.0
//                                   4096      14.4 %       0.404          4096.0
//     entmax-1.5                    4096     100.0 %       1.000            14.5
//     sparsemax                     4096     100.0 %       1.000             3.0
//
// At other seeds, the numbers differ slightly, but only softmax loses mass.
//
// Longer training with softmax widens the gap, but more and more slowly, because the loss is already small.
// With six times the steps, the odds are about five times as small. So the same mass is lost only in a pile
// about five times as large. With sparsemax, no mass is lost.
//
// The picture mass.svg shows these numbers. Its points are predicted from the mass at 64 receipts: only the
// number of the others changes, so the odds grow in proportion.

// ---- 4. The size of the initial scores --------------------------------------------------------------------
// In section 3, all queries and keys started with a standard deviation of 0.03. Then all initial weights are near
// 1/64, so all keys are in the support. Embeddings usually start with a standard deviation of 1. What happens with
// that?

void initial_scores(const std::vector<TrainingRun>& small, const kit::Options& options, kit::Report& report) {
  const kit::Question large =
      report.ask("deviation 1",
                 "Now the queries and keys start with a standard deviation of 1. How many of sparsemax's "
                 "answers are right after training?",
                 {"nearly all", "as many as softmax's answers after the same start",
                  "fewer than softmax's answers after the same start"});
  const std::vector<TrainingRun> runs = train_from_larger(small, options, report);
  report.answer(large, 'c',
                runs[2].at[0].right < runs[3].at[0].right - 5 && runs[2].before.own_supported < 40,
                "Before training, about five of the 64 receipts are in the support, and most of them are not "
                "yours. With softmax, every receipt has some weight and so gets a gradient.");
}

// A key outside the support gets no gradient, and before training the support is random. Suppose that for your
// query, the keys with your name are outside the support. Then no gradient tells the model that these receipts
// are yours. To avoid this, the queries and keys in section 3 started so small.
//
// In the table, "initial support" is the number of weights that are not 0 before training, and "own with
// weight" is the percentage of your receipts among them. The picture support.svg shows the number of weights
// that are not 0 during training. From small scores, sparsemax starts with all 64 receipts and ends with your
// three.

// What to remember. Sparsemax and entmax set a threshold: keys above it get weight, and all other keys get
// exactly 0. So more keys that do not match cost nothing, as long as they stay below the threshold. One
// gradient rule serves sparsemax, entmax and softmax. A key outside the support gets no gradient, so start
// with small scores.
//
// Exercises: lessons/practise 28 (entmax for any α; sparsemax's loss; thresholds, gaps and odds; three receipts
// among 1,024).

void lesson(double deviation, const kit::Options& options, kit::Report& report) {
  report.section("Sparsemax and entmax by hand");
  worked_example(options, report);
  report.section("One gradient rule for all of them");
  one_rule(options.seed, report);
  report.section("Your receipts in a pile");
  const std::vector<TrainingRun> runs = receipts(deviation, options, report);
  report.section("The size of the initial scores");
  initial_scores(runs, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("28_sparse", "exact zeros");
  program.steps(500, 4);
  double deviation = 0.03;
  program.add("--deviation", deviation, "standard deviation of the initial queries and keys", 0.001, 10);
  return program.run(argc, argv, [&](const auto& in, auto& report) { lesson(deviation, in, report); });
}
