// 26.1 where_it_stands: Debugging positions with a cache
// debug, 15 minutes
//
// In this attention, a query at position i of the text sees the keys at positions j with 0 ≤ i − j ≤ reach. From
// the score s, it subtracts a number that grows with the distance: the result is s − 0.1 · (i − j)².
//
// In training, with all queries at once, the attention is right. When a model writes with a cache of keys, there
// is a single new query, and all keys so far. Then the results differ from those in training. Find the mistake.
// The last query is always at the position of the last key.
#include "core/attention/score_lambda.hpp"
#include "lessons/grader/answer.hpp"

AttendOptions near_ones(Size queries, Size keys, Size reach) {
  //[ positions
  //: const auto score = score_mod([](auto s, auto at) {
  //:   const auto distance = at.i - at.j;
  //:   return s - 0.1 * distance * distance;
  //: });
  //: const auto seen = [reach](QueryKey p) {
  //:   const Size distance = p.i - p.j;
  //:   return distance >= 0 && distance <= reach;
  //: };
  const Size first = keys - queries;  // position of query 0: 0 in training, not with a cache
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
  return {.mask = BlockMask::where(queries, keys, seen), .score_mod = score};
}

// hint: In the lambda, at.i counts the queries from 0. With one query and 10 keys, which position in the text
//   does query 0 have?
// hint: The last query, query queries − 1, is at the position of the last key, keys − 1. So query i is at
//   position i + ____.
// hint: Let const Size first = keys - queries, and use first + i in the score and in the mask. Both need
//   positions.
//
// start: If there are as many queries as keys, everything is right. With one query and several keys, the
//   query is treated as the first word of the text. It sees key 0, and not the keys just before it.
//
// wrong: The mask uses the position of the query, but the score still counts the queries from 0.
// - const auto distance = at.i + offset - at.j;
// + const auto distance = at.i + 0.0 * offset - at.j;
// wrong: Your position is too large by one. So the query does not see the farthest key within reach, and a
//   query may see no key at all.
// - const Size first = keys - queries;
// + const Size first = keys - queries + 1;
// wrong: Your position is too small by one, so the newest word cannot see itself.
// - const Size first = keys - queries;
// + const Size first = keys - queries - 1;
// wrong: You took the number of keys as the position of query 0. With one query, that position is keys − 1,
//   and in training it is 0.
// - const Size first = keys - queries;
// + const Size first = keys;
// wrong: Your reach is too small by one. A key that is exactly `reach` positions back is visible.
// - return distance >= 0 && distance <= reach;
// + return distance >= 0 && distance < reach;
// wrong: Your reach grows with the offset. The reach is a distance, and it is the same in a long text and in
//   a short one.
// - return distance >= 0 && distance <= reach;
// + return distance >= 0 && distance <= reach + first;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the last `queries` words of a text with x.size(0) words, one pair at a time.
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
  judge.claim("is right if there are as many queries as keys", [&] {
    judge.each_size({{"words", 1, 7}, {"reach", 1, 4}, {"d", 2, 3}},
                    [&](const Sizes& n) { compare(judge, n[0], n[0], n[1], n[2]); });
  });
  judge.claim("computes the last of 6 words alone as among all words", [&] {
    judge.example("6 keys, one query, reach 2");
    compare(judge, 6, 1, 2, 2);
  });
  judge.claim("is right for any number of new words", [&] {
    judge.each_size({{"new words", 1, 4}, {"words before", 0, 9}, {"reach", 1, 5}},
                    [&](const Sizes& n) { compare(judge, n[0] + n[1], n[0], n[2], 3); });
  });
}
