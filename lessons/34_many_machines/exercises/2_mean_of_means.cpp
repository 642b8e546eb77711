// 34.2 mean_of_means: two ranks, and a loss that is not the batch's
// debug, 15 minutes
//
// Each rank has the mean loss of its rows, over `count` answers, and its gradient g, a row (P). `sum` adds a row of
// numbers over all ranks, as an all-reduce does, and all ranks call it equally often. The program is to give each
// rank the gradient of the mean over all answers of the batch. With equal counts it does; ranks whose texts are longer
// or shorter pull too little or too much, and a rank without any answer (count 0, g has no meaning then, it may be
// NaN) spoils all. Mend it.
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
// wrong: What is divided by is this rank's own count, not that of all.
// - const double answers = all.back();
// + const double answers = count;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// Plays the ranks one after the other: first what each hands over, then what each makes of the sum.
void play(Judge& judge, const std::vector<double>& counts, Size numbers) {
  const auto size = static_cast<std::size_t>(numbers);
  std::vector<std::vector<double>> g(counts.size()), rows(counts.size());
  std::vector<double> expected(size);
  double answers = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    g[r] = judge.normal({numbers}).to_vector();
    for (std::size_t i = 0; i < size; ++i)
      if (counts[r] > 0)
        expected[i] += counts[r] * g[r][i];
      else
        g[r][i] = std::numeric_limits<double>::quiet_NaN();
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
      judge.that(false, "a rank never asks for the sum", {});
    } catch (const Handed&) {
      sums.resize(rows[r].size());
      for (std::size_t i = 0; i < rows[r].size(); ++i) sums[i] += rows[r][i];
    }
  for (std::size_t r = 0; r < counts.size(); ++r) {
    int calls = 0;
    const std::vector<double> came = global_gradient(g[r], counts[r], [&](const std::vector<double>&) {
      ++calls;
      return sums;
    });
    judge.that(calls == 1, "one sum is enough: put all that is to be added into one row",
               {static_cast<double>(calls)});
    judge.same(came, expected,
               fmt::format("with counts {:g}, the gradient on rank {}", fmt::join(counts, ", "), r));
  }
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("is right with equal counts", [&] { play(judge, {1, 1}, 2); });
  judge.claim("weighs ranks by their answers", [&] { play(judge, {1, 3}, 1); });
  judge.claim("takes a rank without answers", [&] { play(judge, {2, 0}, 1); });
  judge.claim("is right for any counts", [&] {
    judge.each_size({{"ranks", 1, 5}, {"numbers", 1, 4}}, [&](const Sizes& n) {
      std::vector<double> counts{static_cast<double>(judge.random().between(1, 9))};
      for (Size r = 1; r < n[0]; ++r) counts.push_back(static_cast<double>(judge.random().below(9)));
      play(judge, counts, n[1]);
    });
  });
}
