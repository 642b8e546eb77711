// 28 sparse: exact zeros
//
// 20 minutes to read, 10 seconds to run. Needs lesson 06 (scores, softmax), 03 (training) and 02 (rules and
// gradcheck). Afterwards you can turn scores into weights of which most are exactly 0, derive the rule of any
// such function, and say when zeros help and when they stop the learning.
//
// Softmax gives every key some weight, however badly it fits. With ten keys that hardly matters. With ten
// thousand, small weights add up: the *tail*. Can weights be exactly 0, and still be learned by gradient?

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

// ---- 1. A water level with a pencil -----------------------------------------------------------------------
// Weights w are numbers ≥ 0 that sum to 1; all such w are the *simplex*. *Sparsemax* (Martins and Astudillo
// 2016) takes the one that is nearest to the scores s: the smallest ½ Σ (w_j − s_j)². There, moving a little
// weight between two keys that have some must not bring w nearer, so w_j − s_j is the same for all of them.
// Call it −τ. A key that would get less than 0 gets 0:
//
//     w_j = max(s_j − τ, 0),   with the τ that makes Σ w_j = 1
//
// So τ is a *level*: what stands above it is the weight, what lies below is drowned. The keys above it are the
// *support*. To find τ, let keys in from the largest score on, as long as the next one stands above the level
// of those before it. Take a pencil, s = (1, 0.8, 0.1, −0.5):
//
//     {1}           τ = 1 − 1 = 0                 0.8 stands above it: let it in
//     {1, 0.8}      τ = (1 + 0.8 − 1) / 2 = 0.4   0.1 does not: done        w = (0.6, 0.4, 0, 0)
//
// Between softmax and sparsemax lies α-*entmax* (Peters, Niculae and Martins 2019). It takes the w with the
// largest Σ w_j s_j + H(w), where H = Σ (w_j − w_j^α) / (α (α − 1)) rewards equal weights. Again all keys with
// weight must gain alike, so s_j − w_j^(α − 1) / (α − 1) is the same for them, and
//
//     w_j = max((α − 1) s_j − τ, 0)^(1 / (α − 1))           α = 1.5:   w_j = max(s_j / 2 − τ, 0)²
//
// With α = 2 this is sparsemax; as α falls to 1, it becomes softmax. With α = 1.5, Σ w_j = 1 is a quadratic
// equation for τ. Write z for s / 2: with k keys let in, k τ² − 2τ Σz + Σz² = 1.

/// Scores of one query → τ.
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

/// Scores (queries, keys) → weights, off the tape. α is 1.5 or 2.
Tensor above_level(const Tensor& scores, double alpha) {
  std::vector<double> levels;
  for (Size i = 0; i < scores.size(0); ++i) levels.push_back(level(select(scores, 0, i).to_vector(), alpha));
  const Tensor tau = tensor(levels, {scores.size(0), 1}, scores.dtype());
  return pow(relu((alpha - 1) * scores.detach() - tau), 1 / (alpha - 1));
}

void pencil(const kit::Options& options, kit::Report& report) {
  const kit::Question enters =
      report.ask("the third key", "The third score, 0.1, rises slowly. When does its key get weight?",
                 {"at once", "from 0.4 on", "from 0.8 on, at the second's height"});
  const auto with = [](double third) { return tensor({{1, 0.8, third, -0.5}}, f64); };
  const Tensor s = with(0.1), entmax = above_level(s, 1.5), sparse = above_level(s, 2);
  kit::print_rows("softmax", softmax(s, -1), 3);
  kit::print_rows("entmax-1.5", entmax, 3);
  kit::print_rows("sparsemax", sparse, 3);
  kit::check_worked_example(report, "sparsemax", {{level(s.to_vector(), 2), 0.4}, {sparse.at({0, 0}), 0.6}});
  report.check("the zeros are exact", entmax.at({0, 3}) == 0 && sparse.at({0, 2}) == 0);
  const double under = above_level(with(0.39), 2).at({0, 2}), over = above_level(with(0.41), 2).at({0, 2});
  report.answer(enters, 'b', under == 0 && over > 0 && over < 0.01,
                "When it reaches the level; and its weight grows from 0, without a jump.");
  draw_two_keys(options);
}

// ---- 2. One rule for all of them --------------------------------------------------------------------------
// Let the scores move a little. The support stays as it is, but for the moment in which a key enters. On it
// sparsemax has ∂w_j = ∂s_j − ∂τ, and entmax-1.5 ∂w_j = 2 √w_j (½ ∂s_j − ∂τ) = √w_j (∂s_j − 2 ∂τ). Both are
//
//     ∂w_j = r_j (∂s_j − t),   t the same for all;     Σ ∂w_j = 0, so   t = Σ_i r_i ∂s_i / Σ_i r_i
//
// with r = 1 on the support and 0 outside, or r = √w; α-entmax has r = w^(2 − α), and r = w is softmax. As
// ∂w_j/∂s_i = r_j (1{i = j} − r_i / Σ r) is symmetric, the gradient has the same form. With g_j = ∂loss/∂w_j:
//
//     gradient of s  =  r ⊙ (g − Σ_i r_i g_i / Σ_i r_i)
//
// For w = (0.6, 0.4, 0, 0) and g = (1, 0, 0, 0) sparsemax has the mean ½, and the gradient (½, −½, 0, 0).

Tensor rule(const Tensor& g, const Tensor& w, double alpha) {
  const Tensor zero = scalar(0, w.dtype()), r = where(less(zero, w), pow(w, 2 - alpha), zero);
  return r * (g - sum(r * g, {-1}, Keep::yes) / sum(r, {-1}, Keep::yes));
}

Tensor entmax(const Tensor& scores, double alpha) {
  const auto of_scores = [alpha](const Tensor& g, const Tensor& w) { return rule(g, w, alpha); };
  return op<"entmax_by_hand">({}, above_level(scores, alpha), wrt(scores, of_scores));
}

// core/ has both as ops, and nn/ as normalisers that heed a mask: sparsemax_weights and entmax15_weights.
void one_rule(std::uint64_t seed, kit::Report& report) {
  const kit::Question drowned = report.ask(
      "a drowned key", "A key has weight 0, and more would be better. What gradient does its score get?",
      {"one that lifts it, as with softmax", "one that lifts it, but small", "none at all"});
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
  report.check("softmax's rule with α = 1", kit::farthest({rule(g, w1, 1)}, by_tape) < 1e-12);
  const Tensor w = tensor({{0.6, 0.4, 0, 0}}, f64), moved = rule(tensor({{1, 0, 0, 0}}, f64), w, 2);
  kit::check_worked_example(report, "its gradient", {{moved.at({0, 0}), 0.5}, {moved.at({0, 1}), -0.5}});
  report.answer(drowned, 'c', rule(tensor({{0, 0, 0, -9}}, f64), w, 2).at({0, 3}) == 0,
                "A little more does not lift it above the level. It waits until others sink.");
}

// ---- 3. Your receipts in a pile ---------------------------------------------------------------------------
// A pile has 64 receipts of 16 customers, three of them yours: what did you pay on average? The query is a
// vector of the customer who asks, the key one of the receipt's customer, both learned; the score is q · k,
// the value the amount, 0 to 9. An answer is right if three times it rounds to what you paid in all. Wanted
// are weights of ⅓ for yours. Let these score higher than all others by a gap c. How large must it be?
//
//     sparsemax      τ = s − ⅓, so from c = ⅓ on the others are drowned       however many they are
//     entmax-1.5     √⅓ = s/2 − τ, so from c = 2 √⅓ = 1.155 on                the same
//     softmax        the others' mass is to yours as (n − 3) e^−c to 3        never
//
// So softmax needs a gap that grows with ln n; at one gap, the *odds* (n − 3) e^−c / 3 grow with the others.
std::vector<Run> receipts(double deviation, const kit::Options& options, kit::Report& report) {
  const auto drowned = [](double c) { return above_level(tensor({{c, c, c, 0}}, f64), 1.5).at({0, 3}) == 0; };
  report.check("entmax-1.5 drowns from a gap of 1.155 on", drowned(1.155) && !drowned(1.154));
  const kit::Question thousand = report.ask(
      "1,024 receipts", "Trained among 64, softmax gives yours a mass of about 0.98. How much among 1,024?",
      {"the same: it has learned who you are", "about 0.95", "between 0.6 and 0.8"});
  const std::vector<Run> runs = train_each(deviation, options, report);
  const double mass = runs[kSoftmax].at[2].mass;
  report.answer(thousand, 'c', mass > 0.6 && mass < 0.8,
                "Each of the others keeps its small weight, and there are 1,021 of them, not 61.");
  return runs;
}

// Who trains softmax longer widens the gap, but ever more slowly, since the loss hardly complains. Six times
// the steps put the fall off, to piles about five times as large. Sparsemax has nothing to put off.

// ---- 4. Where it begins -----------------------------------------------------------------------------------
// A drowned key gets no gradient, and at first nobody knows which keys count. So all numbers began with
// deviation 0.03, and all weights near 1/64. Embeddings usually begin with deviation 1.

void beginnings(const std::vector<Run>& small, const kit::Options& options, kit::Report& report) {
  const kit::Question large = report.ask(
      "deviation 1", "Sparsemax begins with deviation 1. How many answers are right after training?",
      {"nearly all", "as many as with softmax from there", "fewer than with softmax from there"});
  const std::vector<Run> runs = start_larger(small, options, report);
  report.answer(
      large, 'c', runs[2].at[0].right < runs[3].at[0].right - 5 && runs[2].first.seen < 40,
      "At first about five of 64 are above the level, mostly not yours. Softmax shows all, if dimly.");
}

// What to remember. Sparsemax and entmax are levels: what stands above has weight, all else exactly 0, so more
// distractors cost nothing. One rule serves all. A drowned key gets no gradient: begin with small scores.
//
// Exercises: lessons/practise 28 (any entmax; a loss of its own; levels and gaps; few reads).

void lesson(double deviation, const kit::Options& options, kit::Report& report) {
  report.section("A water level with a pencil");
  pencil(options, report);
  report.section("One rule for all of them");
  one_rule(options.seed, report);
  report.section("Your receipts in a pile");
  const std::vector<Run> runs = receipts(deviation, options, report);
  report.section("Where it begins");
  beginnings(runs, options, report);
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("28_sparse", "exact zeros");
  program.steps(500, 4);
  double deviation = 0.03;
  program.add("--deviation", deviation, "of the first numbers of queries and keys", 0.001, 10);
  return program.run(argc, argv, [&](const auto& in, auto& report) { lesson(deviation, in, report); });
}
