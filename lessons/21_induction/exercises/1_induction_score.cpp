// 21.1 induction_score: The induction score
// implement, 15 minutes
//
// The induction score of a head, also called its prefix matching score (Olsson et al. 2022), measures how much weight
// the head puts on the positions directly after earlier copies of the current symbol. Consider each position t whose
// symbol also occurs at an earlier position. Add the weights from query t to all keys j + 1 with j < t and
// ids[j] = ids[t]. The score is the mean of these sums over all such positions t. If no symbol occurs twice, the score
// is 0.
//
// `weights` (T, T) are the head's attention weights, with one row per query; weights on later keys are 0.
// weights.at({query, key}) returns one weight as a double.
#include "lessons/grader/answer.hpp"

double induction_score(const Tensor& weights, const std::vector<Size>& ids) {
  //[ about ten lines
  //: return not_written_yet();
  double sum = 0, repeated = 0;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    bool seen = false;
    for (std::size_t j = 0; j < t; ++j) {
      if (ids[j] != ids[t]) continue;
      seen = true;
      sum += weights.at({static_cast<Size>(t), static_cast<Size>(j + 1)});  // the position after the copy
    }
    if (seen) repeated += 1;  // once per position t, even with several copies
  }
  return repeated == 0 ? 0 : sum / repeated;
  //]
}

// hint: In d a f d, which position does an induction head attend to from the second d? Which positions t have no
//   earlier copy of their symbol?
// hint: For each t, go through all j < t. If ids[j] == ids[t], add weights.at({____, ____}).
// hint: The row is t and the column is j + 1. Divide by the number of positions t with at least one earlier copy.
//
// wrong: You add the weight on the copy itself. An induction head attends to the position after the copy.
// - sum += weights.at({static_cast<Size>(t), static_cast<Size>(j + 1)});
// + sum += weights.at({static_cast<Size>(t), static_cast<Size>(j)});
// wrong: You exchanged query and key. Causal weights are 0 where the key comes after the query, so nearly
//   everything that you add is 0.
// - sum += weights.at({static_cast<Size>(t), static_cast<Size>(j + 1)});
// + sum += weights.at({static_cast<Size>(j + 1), static_cast<Size>(t)});
// wrong: You divide by the number of all positions. A symbol that occurs for the first time has no earlier copy,
//   so even a perfect head would have a score below 1.
// - if (seen) repeated += 1;
// + repeated += 1;
// wrong: You stop at the first copy. In d a d a d, the last d has two copies, and the head may divide its
//   weight between the positions after both.
// - sum += weights.at({static_cast<Size>(t), static_cast<Size>(j + 1)});
// + sum += weights.at({static_cast<Size>(t), static_cast<Size>(j + 1)});
// + break;
// wrong: You divide by the number of copies. A position t with two earlier copies then counts twice in the
//   denominator, so even a perfect head would have a score below 1. Count each position t once.
// - seen = true;
// + repeated += 1;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Checks one key at a time: a key counts if the symbol before it equals the query's symbol.
double by_keys(const Tensor& weights, const std::vector<Size>& ids) {
  const Size time = static_cast<Size>(ids.size());
  const auto id = [&](Size position) { return ids[static_cast<std::size_t>(position)]; };
  std::vector<double> sums;
  for (Size query = 0; query < time; ++query) {
    double right = 0;
    int keys = 0;
    for (Size key = 1; key <= query; ++key)
      if (id(key - 1) == id(query)) right += weights.at({query, key}), ++keys;
    if (keys > 0) sums.push_back(right);
  }
  double sum = 0;
  for (const double of_query : sums) sum += of_query;
  return sums.empty() ? 0 : sum / static_cast<double>(sums.size());
}

Tensor causal_weights(Judge& judge, Size time) {
  return masked_softmax(judge.normal({time, time}), Mask::causal(time, time));
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("counts the positions after both copies of a symbol", [&] {
    const Tensor weights = tensor({{1, 0, 0, 0, 0},
                                   {0.5, 0.5, 0, 0, 0},
                                   {0.125, 0.75, 0.125, 0, 0},
                                   {0.25, 0.25, 0.25, 0.25, 0},
                                   {0.0625, 0.5, 0.0625, 0.25, 0.125}},
                                  DType::f64);
    judge.example(
        "d a d f d with the weights of the second d (1/8, 3/4, 1/8, 0, 0) and of the third "
        "(1/16, 1/2, 1/16, 1/4, 1/8)");
    judge.same(induction_score(weights, {3, 0, 3, 5, 3}), 0.75, "the score");  // 3/4, and 1/2 + 1/4
  });
  judge.claim("returns 0 if no symbol occurs twice", [&] {
    judge.example("three different symbols");
    judge.same(induction_score(causal_weights(judge, 3), {4, 2, 0}), 0, "the score");
  });
  judge.claim("computes the score for other sequences and causal weights", [&] {
    judge.each_size({{"positions", 1, 12}, {"symbols", 1, 5}}, [&](const Sizes& n) {
      std::vector<Size> ids;
      for (Size t = 0; t < n[0]; ++t) ids.push_back(judge.random().below(n[1]));
      const Tensor weights = causal_weights(judge, n[0]);
      judge.same(induction_score(weights, ids), by_keys(weights, ids), "the score");
    });
  });
}
