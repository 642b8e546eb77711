// 21.1 induction_score: how much a head looks at what came next
// implement, 15 minutes
//
// The induction score of a head says how much weight it puts on places that come right after an earlier copy
// of the present symbol: for each place t whose symbol stands at an earlier place too, add up the weights of
// t on all places j + 1 with j < t and ids[j] = ids[t]; the score is the mean over these places t. If no
// symbol comes twice, the score is 0.
//
// weights (T, T) are causal, a row for each query, and weights.at({query, key}) is one of them as a double.
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
      sum += weights.at({static_cast<Size>(t), static_cast<Size>(j + 1)});  // what came after the copy
    }
    if (seen) repeated += 1;  // once for each place, however many copies it has
  }
  return repeated == 0 ? 0 : sum / repeated;
  //]
}

// hint: In d a f d, which place does an induction head look at from the second d? Which places have no such
//   place to look at?
// hint: For each t go through all j < t. If ids[j] == ids[t], add weights.at({____, ____}).
// hint: The row is t, the column is j + 1. Divide by the number of places t that have at least one copy.
//
// wrong: You add the weight on the copy itself. A head that finds the earlier d reads d there; an induction
//   head reads what came next.
// - sum += weights.at({static_cast<Size>(t), static_cast<Size>(j + 1)});
// + sum += weights.at({static_cast<Size>(t), static_cast<Size>(j)});
// wrong: Query and key are exchanged. Causal weights are 0 where the key is ahead of its query, so nearly
//   all that you add is 0.
// - sum += weights.at({static_cast<Size>(t), static_cast<Size>(j + 1)});
// + sum += weights.at({static_cast<Size>(j + 1), static_cast<Size>(t)});
// wrong: You divide by all places. A symbol that comes for the first time has no copy to look behind, so
//   even a perfect head would stay below 1.
// - if (seen) repeated += 1;
// + repeated += 1;
// wrong: You stop at the first copy. In d a d a d the last d has two copies, and the head may share its
//   weight between the places after both.
// - sum += weights.at({static_cast<Size>(t), static_cast<Size>(j + 1)});
// + sum += weights.at({static_cast<Size>(t), static_cast<Size>(j + 1)});
// + break;
// wrong: You divide by the number of copies. A head that shares its weight between two right places would
//   get a score of a half, although all of its weight is right. Count each place t once.
// - seen = true;
// + repeated += 1;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Key by key: a key is right if the symbol before it is the query's.
double by_keys(const Tensor& weights, const std::vector<Size>& ids) {
  const Size time = static_cast<Size>(ids.size());
  const auto id = [&](Size place) { return ids[static_cast<std::size_t>(place)]; };
  std::vector<double> places;
  for (Size query = 0; query < time; ++query) {
    double right = 0;
    int keys = 0;
    for (Size key = 1; key <= query; ++key)
      if (id(key - 1) == id(query)) right += weights.at({query, key}), ++keys;
    if (keys > 0) places.push_back(right);
  }
  double sum = 0;
  for (const double place : places) sum += place;
  return places.empty() ? 0 : sum / static_cast<double>(places.size());
}

Tensor causal_weights(Judge& judge, Size time) {
  return masked_softmax(judge.normal({time, time}), Mask::causal(time, time));
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("finds the places after both copies of a d", [&] {
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
  judge.claim("is 0 where no symbol comes twice", [&] {
    judge.example("three different symbols");
    judge.same(induction_score(causal_weights(judge, 3), {4, 2, 0}), 0, "the score");
  });
  judge.claim("is right for any sequence and any causal weights", [&] {
    judge.each_size({{"places", 1, 12}, {"symbols", 1, 5}}, [&](const Sizes& n) {
      std::vector<Size> ids;
      for (Size t = 0; t < n[0]; ++t) ids.push_back(judge.random().below(n[1]));
      const Tensor weights = causal_weights(judge, n[0]);
      judge.same(induction_score(weights, ids), by_keys(weights, ids), "the score");
    });
  });
}
