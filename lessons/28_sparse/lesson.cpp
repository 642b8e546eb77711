// 28 sparse: exact zeros
//
// 20 minutes to read, 10 seconds to run. Needs lesson 06 (scores, softmax), 03 (training) and 02 (rules and
// gradcheck). Afterwards you can turn scores into weights of which most are exactly 0, derive the gradient of
// any such function, and say when the zeros help and when they stop the learning.
//
// Softmax gives every key some weight, however low its score is. With ten keys, that hardly matters. With ten
// thousand, the many small weights add up. We call them the *tail*. Can a weight be exactly 0, and can the
// model still learn by gradient descent?

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
// What does this w look like? Take two keys that both have some weight. If we move a little weight from one
// to the other, w must not come nearer to s. So w_j − s_j is the same number for all keys with weight. We
// call this number −τ. A key that would get a negative weight gets 0:
//
//     w_j = max(s_j − τ, 0),   with the τ that makes Σ w_j = 1
//
// So τ is a threshold. You can picture it as a water *level*. If a score is above the level, the difference
// is the weight of the key. If a score is below the level, the key is *drowned*: its weight is 0. The keys
// above the level are the *support*.
//
// To find τ, we let keys into the support one at a time, starting with the largest score. We continue as long
// as the next score is above the level of the keys that are already in. For the scores s = (1, 0.8, 0.1,
// −0.5):
//
//     {1}           τ = 1 − 1 = 0                 0.8 is above it: let it in
//     {1, 0.8}      τ = (1 + 0.8 − 1) / 2 = 0.4   0.1 is not: done          w = (0.6, 0.4, 0, 0)
//
// Between softmax and sparsemax lies α-*entmax* (Peters, Niculae and Martins 2019). It returns the w with the
// largest Σ w_j s_j + H(w), where H = Σ (w_j − w_j^α) / (α (α − 1)) rewards equal weights. Moving weight
// between two keys of the support must again gain nothing. So s_j − w_j^(α − 1) / (α − 1) is the same for all
// of them, and
//
//     w_j = max((α − 1) s_j − τ, 0)^(1 / (α − 1))           α = 1.5:   w_j = max(s_j / 2 − τ, 0)²
//
// With α = 2, this is sparsemax. As α falls to 1, it becomes softmax. With α = 1.5, the condition Σ w_j = 1
// is a quadratic equation for τ. We write z for s / 2. With k keys in the support: k τ² − 2τ Σz + Σz² = 1.

/// Returns the level τ for the scores of one query.
double level(std::vector<double> scores, double alpha) {
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
Tensor above_level(const Tensor& scores, double alpha) {
  std::vector<double> levels;
  for (Size i = 0; i < scores.size(0); ++i) levels.push_back(level(select(scores, 0, i).to_vector(), alpha));
  const Tensor tau = tensor(levels, {scores.size(0), 1}, scores.dtype());
  return pow(relu((alpha - 1) * scores.detach() - tau), 1 / (alpha - 1));
}

void pencil(const kit::Options& options, kit::Report& report) {
  const kit::Question enters =
      report.ask("the third key",
                 "The third score, 0.1, rises slowly. From which score on does sparsemax give its key a "
                 "weight above 0?",
                 {"from 0.1 on: any rise is enough", "from 0.4 on, the level",
                  "from 0.8 on, the score of the second key"});
  const auto with = [](double third) { return tensor({{1, 0.8, third, -0.5}}, f64); };
  const Tensor s = with(0.1), entmax = above_level(s, 1.5), sparse = above_level(s, 2);
  kit::print_rows("softmax", softmax(s, -1), 3);
  kit::print_rows("entmax-1.5", entmax, 3);
  kit::print_rows("sparsemax", sparse, 3);
  kit::check_worked_example(report, "sparsemax", {{level(s.to_vector(), 2), 0.4}, {sparse.at({0, 0}), 0.6}});
  report.check("the zeros are exact", entmax.at({0, 3}) == 0 && sparse.at({0, 2}) == 0);
  const double under = above_level(with(0.39), 2).at({0, 2}), over = above_level(with(0.41), 2).at({0, 2});
  report.answer(enters, 'b', under == 0 && over > 0 && over < 0.01,
                "The key gets weight when its score reaches the level. Its weight grows from 0, without "
                "a jump.");
  draw_two_keys(options);
}

// ---- 2. One gradient rule for all of them -----------------------------------------------------------------
// How do the weights change when the scores change a little? The support stays the same, except at the moment
// when a key enters or leaves it. On the support, sparsemax has ∂w_j = ∂s_j − ∂τ. Entmax-1.5 has ∂w_j = 2
// √w_j (½ ∂s_j − ∂τ) = √w_j (∂s_j − 2 ∂τ). Both have the form
//
//     ∂w_j = r_j (∂s_j − t),   t the same for all;     Σ ∂w_j = 0, so   t = Σ_i r_i ∂s_i / Σ_i r_i
//
// For sparsemax, r = 1 on the support and 0 outside it. For entmax-1.5, r = √w. In general, α-entmax has r =
// w^(2 − α) on the support, and r = w is softmax.
//
// The Jacobian ∂w_j/∂s_i = r_j (1{i = j} − r_i / Σ r) is symmetric. So the gradient has the same form. With
// g_j = ∂loss/∂w_j:
//
//     gradient of s  =  r ⊙ (g − Σ_i r_i g_i / Σ_i r_i)
//
// For w = (0.6, 0.4, 0, 0) and g = (1, 0, 0, 0), the mean of g over sparsemax's support is ½, and the
// gradient is (½, −½, 0, 0).

Tensor rule(const Tensor& g, const Tensor& w, double alpha) {
  const Tensor zero = scalar(0, w.dtype()), r = where(less(zero, w), pow(w, 2 - alpha), zero);
  return r * (g - sum(r * g, {-1}, Keep::yes) / sum(r, {-1}, Keep::yes));
}

Tensor entmax(const Tensor& scores, double alpha) {
  const auto of_scores = [alpha](const Tensor& g, const Tensor& w) { return rule(g, w, alpha); };
  return op<"entmax_by_hand">({}, above_level(scores, alpha), wrt(scores, of_scores));
}

// core/ has both functions as ops. nn/ has them as normalisers that respect a mask: sparsemax_weights and
// entmax15_weights.
void one_rule(std::uint64_t seed, kit::Report& report) {
  const kit::Question drowned =
      report.ask("a drowned key",
                 "Sparsemax gives a key the weight 0, but the loss would be smaller with more. What "
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
  report.answer(drowned, 'c', rule(tensor({{0, 0, 0, -9}}, f64), w, 2).at({0, 3}) == 0,
                "A slightly higher score is still below the level, so the weight stays 0. The key gets "
                "weight again only if the level sinks below its score.");
}

// ---- 3. Your receipts in a pile ---------------------------------------------------------------------------
// A pile has 64 receipts of 16 customers, and three of the receipts are yours. How much did you pay on
// average?
//
// The query is a learned vector for the customer who asks. The key is a learned vector for the customer of
// the receipt. The score is q · k, and the value is the amount, 0 to 9. An answer counts as right if three
// times the answer, rounded, is the total that you paid.
//
// The model should give a weight of ⅓ to each of your receipts. Suppose that their scores s are higher than
// all others by a gap c. How large must the gap be?
//
//     sparsemax      τ = s − ⅓, so the others are drowned if c ≥ ⅓            for any number of others
//     entmax-1.5     √⅓ = s/2 − τ, so they are drowned if c ≥ 2 √⅓ = 1.155    for any number of others
//     softmax        (mass of the others) : (mass of yours) is (n − 3) e^−c : 3, which is never 0
//
// So softmax needs a gap that grows with ln n. With a fixed gap, the *odds* (n − 3) e^−c / 3 grow in
// proportion to the number of the others.
std::vector<Run> receipts(double deviation, const kit::Options& options, kit::Report& report) {
  const auto drowned = [](double c) { return above_level(tensor({{c, c, c, 0}}, f64), 1.5).at({0, 3}) == 0; };
  report.check("entmax-1.5 drowns the others from a gap of 1.155 on", drowned(1.155) && !drowned(1.154));
  const kit::Question thousand =
      report.ask("1,024 receipts",
                 "Softmax is trained on piles of 64 receipts and gives yours a mass of about 0.98. What "
                 "mass does it give to yours in a pile of 1,024?",
                 {"about 0.98, since it has learned who you are", "about 0.95", "between 0.6 and 0.8"});
  const std::vector<Run> runs = train_each(deviation, options, report);
  const double mass = runs[kSoftmax].at[2].mass;
  report.answer(thousand, 'c', mass > 0.6 && mass < 0.8,
                "Each of the other receipts keeps its small weight, and now there are 1,021 of them "
                "instead of 61.");
  return runs;
}

// At seed 1, these rows of the table show what happens to the mass of your receipts ("own mass") in larger
// piles:
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
// With six times the steps, the mass falls later: at piles about five times as large. With sparsemax, the
// mass does not fall.

// ---- 4. The size of the initial scores --------------------------------------------------------------------
// A drowned key gets no gradient, and before training the model does not know which keys count. If one of
// your receipts is drowned at the start, the model can hardly learn that it is yours. That is why all queries
// and keys started with a standard deviation of 0.03: then all initial weights are near 1/64, and no key is
// drowned. Embeddings usually start with a standard deviation of 1.

void beginnings(const std::vector<Run>& small, const kit::Options& options, kit::Report& report) {
  const kit::Question large =
      report.ask("deviation 1",
                 "Now the queries and keys start with a standard deviation of 1. How many of sparsemax's "
                 "answers are right after training?",
                 {"nearly all", "as many as softmax's answers after the same start",
                  "fewer than softmax's answers after the same start"});
  const std::vector<Run> runs = start_larger(small, options, report);
  report.answer(large, 'c', runs[2].at[0].right < runs[3].at[0].right - 5 && runs[2].first.seen < 40,
                "Before training, about five of the 64 receipts are above the level, and most of them "
                "are not yours. With softmax, every receipt has some weight and so gets a gradient.");
}

// What to remember. Sparsemax and entmax set a level: keys above it get weight, and all other keys get
// exactly 0. So more distractors cost nothing, as long as they stay below the level. One gradient rule serves
// sparsemax, entmax and softmax. A drowned key gets no gradient, so start with small scores.
//
// Exercises: lessons/practise 28 (entmax for any α; sparsemax's loss; levels, gaps and odds; three receipts
// among 1,024).

void lesson(double deviation, const kit::Options& options, kit::Report& report) {
  report.section("Sparsemax and entmax by hand");
  pencil(options, report);
  report.section("One gradient rule for all of them");
  one_rule(options.seed, report);
  report.section("Your receipts in a pile");
  const std::vector<Run> runs = receipts(deviation, options, report);
  report.section("The size of the initial scores");
  beginnings(runs, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("28_sparse", "exact zeros");
  program.steps(500, 4);
  double deviation = 0.03;
  program.add("--deviation", deviation, "standard deviation of the initial queries and keys", 0.001, 10);
  return program.run(argc, argv, [&](const auto& in, auto& report) { lesson(deviation, in, report); });
}
