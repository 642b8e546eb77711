#include "nn/positions/relative.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/attention/score_lambda.hpp"
#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

/// Returns f(j − p_i) for each pair, (queries, keys); query i is at position p_i = i + (keys − queries).
template <class F>
Indices by_distance(Size queries, Size keys, F f) {
  std::vector<std::int64_t> ids;
  ids.reserve(static_cast<std::size_t>(queries * keys));
  for (Size i = keys - queries; i < keys; ++i)
    for (Size j = 0; j < keys; ++j) ids.push_back(f(j - i));
  return Indices(ids, {queries, keys});
}

/// Returns x[…, t, :] · b[t] for each position t: x (…, T, n), b (T, n, m) → (…, T, m).
Tensor product_per_position(const Tensor& x, const Tensor& b) {
  const Size time = x.size(-2), width = x.size(-1);
  Dims shape = x.shape();
  shape.back() = b.size(-1);
  const Size rows = time > 0 ? shape.count() / std::max<Size>(1, time * shape.back()) : 0;
  const Tensor by_position = transpose(reshape(x, {rows, time, width}), 0, 1);
  return reshape(transpose(matmul(by_position, b), 0, 1), shape);
}

}  // namespace

ShawPositions::ShawPositions(Parent parent, const PairShape& shape, Size reach)
    : PairPositions(std::move(parent)),
      key{*this, "key", {2 * reach + 1, shape.head_width}, xavier},
      value{*this, "value", {2 * reach + 1, shape.value_width}, xavier},
      reach_(reach) {}

Tensor ShawPositions::score(const Tensor& query, Size keys) const {
  const auto row = [reach = reach_](Size distance) { return std::clamp(distance, -reach, reach) + reach; };
  const Tensor vectors = embedding(key, by_distance(query.size(-2), keys, row));
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  return product_per_position(query * scale, transpose(vectors));
}

Tensor ShawPositions::context(const Tensor& weights) const {
  const auto row = [reach = reach_](Size distance) { return std::clamp(distance, -reach, reach) + reach; };
  return product_per_position(weights,
                              embedding(value, by_distance(weights.size(-2), weights.size(-1), row)));
}

BucketPositions::BucketPositions(Parent parent, const PairShape& shape, Size buckets, Size farthest)
    : PairPositions(std::move(parent)),
      weight{*this, "weight", {buckets, shape.heads}, normal(0.02)},
      buckets_(buckets),
      farthest_(farthest),
      causal_(shape.causal) {
  const Size least = causal_ ? 2 : 4;
  if (buckets < least || buckets % 2 != 0 || farthest <= buckets / 2)
    fail("[t5_buckets{}] buckets must be even and at least {}, and farthest above buckets / 2, got {} and {}",
         in_quotes(), least, buckets, farthest);
}

Size BucketPositions::bucket(Size distance) const {
  // Unless attention is causal, half of the buckets are for later keys.
  const Size buckets = causal_ ? buckets_ : buckets_ / 2;
  const Size first = !causal_ && distance > 0 ? buckets : 0;
  const Size far = causal_ ? std::max<Size>(0, -distance) : std::abs(distance);
  const Size exact = buckets / 2;
  if (far < exact) return first + far;
  const double grown = std::log(static_cast<double>(far) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(farthest_) / static_cast<double>(exact)) *
                       static_cast<double>(buckets - exact);
  return first + std::min(buckets - 1, exact + static_cast<Size>(grown));
}

std::optional<ScoreMod> BucketPositions::as_score_mod(Size queries, Size keys) const {
  std::vector<std::int64_t> buckets;
  for (Size distance = 1 - keys; distance < queries; ++distance) buckets.push_back(bucket(distance));
  const auto first = static_cast<double>(queries - 1);
  return score_mod([first](auto s, auto at, auto weights,
                           auto bucket_of) { return s + weights(bucket_of(at.j - at.i + first), at.h); },
                   learned(weight), Indices(buckets, {static_cast<Size>(buckets.size())}));
}

void BucketPositions::share(const PairPositions& other) {
  weight.tie(dynamic_cast<const BucketPositions&>(other).weight);
}

std::vector<double> AlibiPositions::slopes() const {
  Size first = heads_;  // number of heads in the first geometric sequence
  if (slopes_ == AlibiSlopes::interleaved)
    for (first = 1; 2 * first <= heads_;) first *= 2;
  std::vector<double> slopes;
  for (Size h = 1; h <= heads_; ++h) {
    const auto step =
        static_cast<double>(h <= first ? 2 * h : 2 * (h - first) - 1);  // exponent in units of −4 / first
    slopes.push_back(std::exp2(-4.0 * step / static_cast<double>(first)));
  }
  return slopes;
}

std::optional<ScoreMod> AlibiPositions::as_score_mod(Size queries, Size keys) const {
  const auto ahead = static_cast<double>(keys - queries);
  return score_mod(
      [ahead](auto s, auto at, auto slope_of) { return s - slope_of(at.h) * abs(at.i + ahead - at.j); },
      tensor(slopes(), {heads_}, DType::f64));
}

PositionScheme shaw(Size reach) {
  if (reach < 0) fail("[shaw] reach must be at least 0, got {}", reach);
  return {.pairs = [=](Parent parent, const PairShape& shape) {
    return std::make_unique<ShawPositions>(std::move(parent), shape, reach);
  }};
}

PositionScheme t5_buckets(Size buckets, Size farthest) {
  return {.pairs = [=](Parent parent, const PairShape& shape) {
    return std::make_unique<BucketPositions>(std::move(parent), shape, buckets, farthest);
  }};
}

PositionScheme alibi(AlibiSlopes slopes) {
  return {.pairs = [=](Parent parent, const PairShape& shape) {
    return std::make_unique<AlibiPositions>(std::move(parent), shape, slopes);
  }};
}

}  // namespace tapestry
