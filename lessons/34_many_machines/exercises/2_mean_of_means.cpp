// 34.2 mean_of_means: The gradient of a global mean
// debug, 15 minutes
//
// Each rank has `count` answers, and the gradient g (P) of the mean loss over them. sum(row) is an all-reduce: it
// returns the sum of the rows of all ranks. Each rank must call it once, and the call waits for all ranks.
//
// On each rank, the function must return the gradient of the mean loss over the answers of all ranks. It does so if
// all counts are equal. But there are two mistakes. With different counts, the result is wrong, because every rank
// counts the same. And a rank without answers (count 0) makes the whole result invalid: its g has no meaning and may
// be NaN or ∞.
//
// Correct both mistakes. A NaN on a rank with answers must still reach all ranks.
#include "lessons/grader/answer.hpp"

using Sum = std::function<std::vector<double>(const std::vector<double>&)>;

std::vector<double> global_gradient(const std::vector<double>& g, double count, const Sum& sum) {
  //[ the gradient of the mean over all ranks' answers
  //: std::vector<double> row;
  //: for (const double one : g) row.push_back(one);
  //: row.push_back(1);  // behind the gradient: one for each rank
  //: std::vector<double> all = sum(row);
  //: const double ranks = all.back();
  //: all.pop_back();
  //: for (double& one : all) one /= ranks;
  //: return all;
  std::vector<double> row;
  for (const double one : g) row.push_back(count > 0 ? count * one : 0);  // 0 · NaN is NaN
  row.push_back(count);                                                   // behind the gradient: its weight
  std::vector<double> all = sum(row);
  const double answers = all.back();
  all.pop_back();
  for (double& one : all) one /= answers;
  return all;
  //]
}

// start: Each rank has the same weight, whatever its count is: that is a mean of means.
//
// hint: Rank 0 has 1 answer with the gradient 4, and rank 1 has 3 answers with the gradient 0. What is the mean over
//   all four answers?
// hint: ∇L = Σ c_r ∇L_r / Σ c_r. Which two sums do you need, and what must the row contain?
// hint: 0 · NaN is NaN, and NaN plus any number is NaN. A rank with count 0 must put ____ into the row.
//
// wrong: You weighted the gradients with their counts, but then you divided by the number of ranks.
// - row.push_back(count);
// + row.push_back(1);
// wrong: Only the divisor is right. Each gradient must be multiplied by its rank's count before the sum.
// - for (const double one : g) row.push_back(count > 0 ? count * one : 0);
// + for (const double one : g) row.push_back(one);
// wrong: 0 · NaN is NaN, so a rank without answers must put zeros into the row.
// - for (const double one : g) row.push_back(count > 0 ? count * one : 0);
// + for (const double one : g) row.push_back(count * one);
// wrong: A rank without answers may have ∞ as well, and 0 · ∞ is NaN. Test the count, not for NaN.
// - for (const double one : g) row.push_back(count > 0 ? count * one : 0);
// + for (const double one : g) row.push_back(std::isnan(one) ? 0 : count * one);
// wrong: This hides a NaN on a rank that has answers, so no rank notices that the training has failed. Test the
//   count.
// - for (const double one : g) row.push_back(count > 0 ? count * one : 0);
// + for (const double one : g) row.push_back(std::isfinite(one) ? count * one : 0);
// wrong: A rank without answers must call sum too. Otherwise the other ranks wait for it forever.
// - std::vector<double> row;
// + if (count == 0) return g;
// + std::vector<double> row;
// wrong: The sum of the counts is still in the result, behind the gradient. Remove it.
// - all.pop_back();
// wrong: You divided by this rank's count. Divide by the sum of all counts.
// - const double answers = all.back();
// + const double answers = count;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

/// Simulates the ranks one after the other: first the row of each rank, then each rank's result from the sum. A rank
/// without answers has `nothing` as its gradient. With `broken`, the first rank's gradient starts with NaN.
void play(Judge& judge, const std::vector<double>& counts, Size numbers, double nothing = kNaN,
          bool broken = false) {
  const auto size = static_cast<std::size_t>(numbers);
  std::vector<std::vector<double>> g(counts.size()), rows(counts.size());
  std::vector<double> expected(size);
  double answers = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    g[r] = judge.normal({numbers}).to_vector();
    if (broken && r == 0) g[r][0] = kNaN;
    for (std::size_t i = 0; i < size; ++i)
      if (counts[r] > 0)
        expected[i] += counts[r] * g[r][i];
      else
        g[r][i] = nothing;
    answers += counts[r];
  }
  for (double& one : expected) one /= answers;
  struct Handed {};
  std::vector<double> sums;
  for (std::size_t r = 0; r < counts.size(); ++r) try {
      global_gradient(g[r], counts[r], [&](const std::vector<double>& row) -> std::vector<double> {
        rows[r] = row;
        throw Handed{};
      });
      judge.that(false, "a rank never calls sum, and the other ranks wait for it forever", {});
    } catch (const Handed&) {
      sums.resize(rows[r].size());
      for (std::size_t i = 0; i < rows[r].size(); ++i) sums[i] += rows[r][i];
    }
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const std::vector<double> came =
        global_gradient(g[r], counts[r], [&](const std::vector<double>&) { return sums; });
    judge.same(came, expected,
               fmt::format("the gradient on rank {}, with counts {:g}", r, fmt::join(counts, ", ")));
  }
}

/// Simulates one rank alone: each sum is the rank's row.
void count_calls(Judge& judge, double count) {
  int calls = 0;
  global_gradient(judge.normal({2}).to_vector(), count, [&](const std::vector<double>& row) {
    ++calls;
    return row;
  });
  judge.that(
      calls != 0,
      fmt::format("a rank with {:g} answers never calls sum, and the other ranks wait for it forever", count),
      {count});
  judge.that(
      calls == 1,
      fmt::format("each rank must call sum once, with all numbers in one row; it called sum {} times", calls),
      {static_cast<double>(calls)});
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("calls sum once on each rank", [&] {
    for (const double count : {1.0, 0.0}) count_calls(judge, count);
  });
  judge.claim("is right with equal counts", [&] { play(judge, {1, 1}, 2); });
  judge.claim("weights ranks by their answers", [&] { play(judge, {1, 3}, 1); });
  judge.claim("handles a rank without answers", [&] { play(judge, {2, 0}, 1); });
  judge.claim("handles a rank without answers whose gradient is ∞", [&] {
    play(judge, {2, 0}, 1, kInfinity);
  });
  judge.claim("does not hide a NaN on a rank that has answers", [&] { play(judge, {2, 1}, 2, kNaN, true); });
  judge.claim("is right for any counts", [&] {
    judge.each_size({{"ranks", 1, 5}, {"numbers", 1, 4}}, [&](const Sizes& n) {
      std::vector<double> counts{static_cast<double>(judge.random().between(1, 9))};
      for (Size r = 1; r < n[0]; ++r) counts.push_back(static_cast<double>(judge.random().below(9)));
      play(judge, counts, n[1]);
    });
  });
}
