// 26.1 where_it_stands: right in training, wrong while it writes
// debug, 15 minutes
//
// This attention looks back at no more than `reach` words, and takes off more the farther a word is: s − 0.1
// · (i − j)², for keys j with 0 ≤ i − j ≤ reach, where i and j are places in the text. In training, with all
// queries at once, it is right. When a model writes with a cache of keys, one new query comes with all the
// keys so far, and the answers are others than in training. Find what is wrong. Of so many queries and keys,
// the last query stands at the last key's place.
#include "core/attention/score_lambda.hpp"
#include "lessons/grader/answer.hpp"

AttendOptions near_ones(Size queries, Size keys, Size reach) {
  //[ places
  //: const auto score = score_mod([](auto s, auto at) {
  //:   const auto distance = at.i - at.j;
  //:   return s - 0.1 * distance * distance;
  //: });
  //: const auto seen = [reach](QueryKey p) {
  //:   const Size distance = p.i - p.j;
  //:   return distance >= 0 && distance <= reach;
  //: };
  const Size first = keys - queries;  // where query 0 stands: 0 in training, not with a cache
  const double offset = static_cast<double>(first);
  const auto score = score_mod([offset](auto s, auto at) {
    const auto distance = at.i + offset - at.j;
    return s - 0.1 * distance * distance;
  });
  const auto seen = [first, reach](QueryKey p) {
    const Size distance = p.i + first - p.j;
    return distance >= 0 && distance <= reach;
  };
  //]
  return {.mask = BlockMask::where(queries, keys, seen), .score = score};
}

// hint: In the lambda at.i counts queries from 0. With one query and 10 keys, which place in the text does
//   query 0 have?
// hint: The last query stands at the last key's place: query queries − 1 at place keys − 1. So query i stands
//   at i + ____.
// hint: const Size first = keys - queries; then first + i in the score and in the mask. Both ask for places.
//
// start: With as many queries as keys all is right. With one query and several keys, the query is taken for
//   the first word of the text: it sees key 0, and not those just before it.
//
// wrong: The mask knows where the query stands, and the score still counts queries from 0.
// - const auto distance = at.i + offset - at.j;
// + const auto distance = at.i + 0.0 * offset - at.j;
// wrong: The place is one too far on: the query does not see the first key within reach, and may see no key
//   of its own.
// - const Size first = keys - queries;
// + const Size first = keys - queries + 1;
// wrong: The place is one short: the newest word cannot see itself.
// - const Size first = keys - queries;
// + const Size first = keys - queries - 1;
// wrong: You took the number of keys for the place of query 0. That is right for one query only if you count
//   from 1, and wrong in training.
// - const Size first = keys - queries;
// + const Size first = keys;
// wrong: The reach is one short: a key that stands `reach` places back is still seen.
// - return distance >= 0 && distance <= reach;
// + return distance >= 0 && distance < reach;
// wrong: The reach has grown with the offset: it is a distance, and the same in a long text as in a short
//   one.
// - return distance >= 0 && distance <= reach;
// + return distance >= 0 && distance <= reach + first;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The last `queries` words of a text of x.size(0), one pair at a time.
Tensor by_loops(const Tensor& x, Size queries, Size reach) {
  const Size words = x.size(0), width = x.size(1);
  std::vector<double> out;
  for (Size i = words - queries; i < words; ++i) {
    std::vector<double> row(static_cast<std::size_t>(width), 0.0);
    double sum = 0;
    for (Size j = std::max<Size>(0, i - reach); j <= i; ++j) {
      double s = 0;
      for (Size c = 0; c < width; ++c) s += x.at({i, c}) * x.at({j, c});
      const double weight =
          std::exp(s / std::sqrt(static_cast<double>(width)) - 0.1 * static_cast<double>((i - j) * (i - j)));
      sum += weight;
      for (Size c = 0; c < width; ++c) row[static_cast<std::size_t>(c)] += weight * x.at({j, c});
    }
    for (const double value : row) out.push_back(value / sum);
  }
  return tensor(out, {queries, width}, DType::f64);
}

void compare(Judge& judge, Size words, Size queries, Size reach, Size width) {
  const Tensor x = judge.normal({words, width}), last = slice(x, 0, words - queries, words);
  judge.same(attend(last, x, x, near_ones(queries, words, reach)), by_loops(x, queries, reach),
             "the contexts");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("is right with as many queries as keys", [&] {
    judge.each_size({{"words", 1, 7}, {"reach", 1, 4}, {"d", 2, 3}},
                    [&](const Sizes& n) { compare(judge, n[0], n[0], n[1], n[2]); });
  });
  judge.claim("gives the newest of 6 words what it had among all", [&] {
    judge.example("6 keys, one query, reach 2");
    compare(judge, 6, 1, 2, 2);
  });
  judge.claim("does so for any number of new words", [&] {
    judge.each_size({{"new words", 1, 4}, {"words before", 0, 9}, {"reach", 1, 5}},
                    [&](const Sizes& n) { compare(judge, n[0] + n[1], n[0], n[2], 3); });
  });
}
