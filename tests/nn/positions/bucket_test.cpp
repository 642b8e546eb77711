// Relative positions by hand: T5's buckets up to the farthest, ALiBi's slopes, Shaw's reach.
#include <cmath>

#include "nn/positions/positions.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;

namespace {

struct Root : Module {};

/// Weight b of bucket b: added to scores of 0, a pair's score is its bucket.
std::vector<double> buckets(bool causal, Size count, Size farthest, Size queries, Size keys) {
  Root root;
  BucketPositions positions({root, "p"},
                            PairShape{.heads = 1, .head_width = 4, .value_width = 4, .causal = causal}, count,
                            farthest);
  root.initialise(1, DType::f64);
  Tensor weight = positions.weight;
  assign(weight, reshape(arange(0, static_cast<double>(count), 1, DType::f64), {count, 1}));
  return positions.as_score_mod(queries, keys)->by_ops(zeros({1, 1, queries, keys}, DType::f64)).to_vector();
}

/// How far the last distance of each bucket is.
using Ends = std::vector<Size>;

Size bucket_in(const Ends& ends, Size distance) {
  Size bucket = 0;
  while (bucket < static_cast<Size>(ends.size()) && distance > ends[static_cast<std::size_t>(bucket)])
    ++bucket;
  return bucket;
}

}  // namespace

TEST_CASE("T5's buckets are those of its formula, from the nearest to beyond the farthest") {
  constexpr Size kTime = 300;
  // 32 buckets to 128, half of them exact: 8 + ⌊8 ln(n / 8) / ln 16⌋ each way, 16 + ⌊16 ln(n / 16) / ln 8⌋
  // causally.
  const Ends both{0, 1, 2, 3, 4, 5, 6, 7, 11, 15, 22, 31, 45, 63, 90},  // and 91 on
      causal{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
             18, 20, 23, 26, 30, 34, 39, 45, 51, 58, 66, 76, 86, 98, 112};  // and 113 on
  const auto found = buckets(false, 32, 128, kTime, kTime), ahead = buckets(true, 32, 128, kTime, kTime);
  for (Size i = 0; i < kTime; ++i)
    for (Size j = 0; j < kTime; ++j) {
      const auto at = static_cast<std::size_t>(i * kTime + j);
      const Size bucket = bucket_in(both, std::abs(i - j)) + (j > i ? 16 : 0);
      if (found[at] != static_cast<double>(bucket) ||
          (j <= i && ahead[at] != static_cast<double>(bucket_in(causal, i - j)))) {
        CAPTURE(i, j);
        CHECK(found[at] == static_cast<double>(bucket));
        CHECK(ahead[at] == static_cast<double>(bucket_in(causal, i - j)));
      }
    }
  CHECK(found.size() == kTime * kTime);
}

TEST_CASE("T5's buckets count from the last query, which stands at the last key") {
  const auto whole = buckets(true, 8, 20, 9, 9), last = buckets(true, 8, 20, 1, 9);
  CHECK(last == std::vector<double>(whole.end() - 9, whole.end()));
  const auto square = buckets(false, 8, 20, 9, 9), two = buckets(false, 8, 20, 2, 9);
  CHECK(two == std::vector<double>(square.end() - 18, square.end()));
}

TEST_CASE("ALiBi's slopes are powers of a half, and count distances from the last query") {
  Root root;
  const AlibiPositions positions({root, "p"}, PairShape{.heads = 4, .causal = true}, AlibiSlopes::geometric);
  const Tensor found = positions.as_score_mod(2, 5)->by_ops(zeros({1, 4, 2, 5}, DType::f64));
  const double slopes[] = {1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256};
  for (Size h = 0; h < 4; ++h)
    for (Size i = 0; i < 2; ++i)
      for (Size j = 0; j < 5; ++j)
        CHECK(found.at({0, h, i, j}) ==
              Approx(-slopes[h] * std::abs(static_cast<double>(i + 3 - j))).margin(1e-15));
}

TEST_CASE("Shaw's vectors are told by distance up to their reach, and are those at the reach beyond") {
  Root root;
  ShawPositions positions({root, "p"}, PairShape{.heads = 1, .head_width = 4, .value_width = 2}, 2);
  root.initialise(1, DType::f64);
  const Tensor q = random_normal({1, 3, 4}, 1, DType::f64), weights = random_normal({1, 3, 7}, 2, DType::f64);
  const Tensor scores = positions.score(q, 7), contexts = positions.context(weights);
  for (Size i = 0; i < 3; ++i) {
    std::vector<double> context(2, 0.0);
    for (Size j = 0; j < 7; ++j) {
      const Size distance = j - (i + 4);  // query i stands at key i + 4
      const Size row = (distance < -2 ? -2 : distance > 2 ? 2 : distance) + 2;
      double score = 0;
      for (Size n = 0; n < 4; ++n) score += q.at({0, i, n}) * positions.key.at({row, n}) / 2;  // √4
      CHECK(scores.at({0, i, j}) == Approx(score).margin(1e-14));
      for (Size n = 0; n < 2; ++n)
        context[static_cast<std::size_t>(n)] += weights.at({0, i, j}) * positions.value.at({row, n});
    }
    for (Size n = 0; n < 2; ++n)
      CHECK(contexts.at({0, i, n}) == Approx(context[static_cast<std::size_t>(n)]));
  }
}
