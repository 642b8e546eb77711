// 34.2 mean_of_means: two ranks, and a loss that is not the batch's
// debug, 15 minutes
//
// Each rank has the mean loss of its rows, over `count` answers, and its gradient g, a row (P). `sum` adds a row of
// numbers over all ranks, as an all-reduce does; each rank calls it once, and waits for the others. The program is to
// give each rank the gradient of the mean over all answers of the batch. With equal counts it does; ranks whose texts
// are longer or shorter pull too little or too much, and a rank without any answer (count 0, g has no meaning then, it
// may be NaN or ∞) spoils all. Mend it. A NaN on a rank that has answers must still reach all.
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
  row.push_back(count);                                                   // behind the gradient: its share
  std::vector<double> all = sum(row);
  const double answers = all.back();
  all.pop_back();
  for (double& one : all) one /= answers;
  return all;
  //]
}

// start: Each rank counts the same, whatever it has: a mean of means.
//
// hint: Rank 0 has 1 answer with gradient 4, rank 1 has 3 answers with gradient 0. What is the mean over four answers?
// hint: ∇L = Σ c_r ∇L_r / Σ c_r: which two sums are needed, and what goes into the row?
// hint: 0 · NaN is NaN, and NaN plus anything, too. A rank with count 0 has to put ____ into the row.
//
// wrong: The gradients are weighed by their counts, and then divided by the number of ranks.
// - row.push_back(count);
// + row.push_back(1);
// wrong: Only the divisor is right: each gradient is to be multiplied by its own count before the sum.
// - for (const double one : g) row.push_back(count > 0 ? count * one : 0);
// + for (const double one : g) row.push_back(one);
// wrong: 0 · NaN is NaN: a rank without answers has to hand over zeros.
// - for (const double one : g) row.push_back(count > 0 ? count * one : 0);
// + for (const double one : g) row.push_back(count * one);
// wrong: A rank without answers may have ∞ as well, and 0 · ∞ is NaN: ask for the count, not for NaN.
// - for (const double one : g) row.push_back(count > 0 ? count * one : 0);
// + for (const double one : g) row.push_back(std::isnan(one) ? 0 : count * one);
// wrong: A NaN on a rank that has answers is hidden: training is broken, and nobody is told. Ask for the count.
// - for (const double one : g) row.push_back(count > 0 ? count * one : 0);
// + for (const double one : g) row.push_back(std::isfinite(one) ? count * one : 0);
// wrong: A rank without answers has to call sum, too: the others would wait for it for ever.
// - std::vector<double> row;
// + if (count == 0) return g;
// + std::vector<double> row;
// wrong: The sum of the counts still stands behind the gradient: take it off.
// - all.pop_back();
// wrong: What is divided by is this rank's own count, not that of all.
// - const double answers = all.back();
// + const double answers = count;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

/// Plays the ranks one after the other: first what each hands over, then what each makes of the sum. A rank without
/// answers has `nothing` for its gradient; `broken`: the first rank's begins with NaN.
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
      judge.that(false, "a rank never asks for the sum, and the others wait for it for ever", {});
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

/// One rank alone: each sum is what it hands over.
void count_calls(Judge& judge, double count) {
  int calls = 0;
  global_gradient(judge.normal({2}).to_vector(), count, [&](const std::vector<double>& row) {
    ++calls;
    return row;
  });
  judge.that(
      calls != 0,
      fmt::format("a rank with {:g} answers never calls sum, and the others wait for it for ever", count),
      {count});
  judge.that(calls == 1,
             fmt::format("call sum once on each rank, with all that is to be added in one row: it is called "
                         "{} times",
                         calls),
             {static_cast<double>(calls)});
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("calls sum once on each rank", [&] {
    for (const double count : {1.0, 0.0}) count_calls(judge, count);
  });
  judge.claim("is right with equal counts", [&] { play(judge, {1, 1}, 2); });
  judge.claim("weighs ranks by their answers", [&] { play(judge, {1, 3}, 1); });
  judge.claim("takes a rank without answers", [&] { play(judge, {2, 0}, 1); });
  judge.claim("takes one whose gradient is ∞, too", [&] { play(judge, {2, 0}, 1, kInfinity); });
  judge.claim("hides no NaN of a rank that has answers", [&] { play(judge, {2, 1}, 2, kNaN, true); });
  judge.claim("is right for any counts", [&] {
    judge.each_size({{"ranks", 1, 5}, {"numbers", 1, 4}}, [&](const Sizes& n) {
      std::vector<double> counts{static_cast<double>(judge.random().between(1, 9))};
      for (Size r = 1; r < n[0]; ++r) counts.push_back(static_cast<double>(judge.random().below(9)));
      play(judge, counts, n[1]);
    });
  });
}
