// The position schemes of a single head, and checks of the chapter's functions against nn/.
#include "lessons/17_positions/schemes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/check/by_hand.hpp"

namespace tapestry::lesson17 {
namespace {

constexpr DType f64 = DType::f64;

using Attend = std::function<Tensor(const Tensor& x, const Head& head)>;

Head unpack(MultiHeadAttention& layer) {
  Head head{layer.query.weight, layer.key.weight, layer.value.weight, layer.output.weight};
  const PairPositions* positions = layer.attention.positions() ? &*layer.attention.positions() : nullptr;
  head.shaw = dynamic_cast<const ShawPositions*>(positions);
  head.t5 = dynamic_cast<const BucketPositions*>(positions);
  head.alibi = dynamic_cast<const AlibiPositions*>(positions) != nullptr;
  head.rotary = dynamic_cast<const RotaryPositions*>(positions) != nullptr;
  return head;
}

void check_scheme(const char* name, const PositionScheme& scheme, const Attend& by_hand, std::uint64_t seed,
                  kit::Report& report) {
  MultiHeadAttention layer({.width = 6, .heads = 1, .bias = Bias::no, .attend = {.positions = scheme}});
  layer.initialise(seed, f64);
  const Head head = unpack(layer);
  const Tensor x = variable(random_normal({2, 7, 6}, seed, f64), "x");
  std::vector<Tensor> leaves = layer.parameters();
  leaves.push_back(x);
  kit::check_by_hand(
      report, name, [&] { return by_hand(x, head); }, [&] { return layer(x, x, x).context; }, leaves, seed);
}

void check_buckets(kit::Report& report) {
  for (const auto& [buckets, farthest] : {std::pair<Size, Size>{32, 128}, std::pair<Size, Size>{16, 16}}) {
    fmt::print("  buckets of the distances 0 … 31 to the left, with {} buckets up to {}:\n   ", buckets,
               farthest);
    const BucketPositions library({}, {}, buckets, farthest);
    bool same = true;
    for (Size far = 0; far < 32; ++far) {
      fmt::print(" {}", bucket_of(-far, buckets, farthest));
      same &= bucket_of(-far, buckets, farthest) == library.bucket(-far) &&
              bucket_of(far, buckets, farthest) == library.bucket(far);
    }
    fmt::print("\n");
    report.check("nn/'s buckets are equal, left and right", same);
  }
}

}  // namespace

Size clipped_row(Size distance) { return std::clamp(distance, -kReach, kReach) + kReach; }

Size bucket_of(Size distance, Size buckets, Size farthest) {
  const Size side = buckets / 2, single = side / 2, far = std::abs(distance), first = distance > 0 ? side : 0;
  if (far < single) return first + far;
  const auto log_of = [&](Size x) { return std::log(static_cast<double>(x) / static_cast<double>(single)); };
  const double share = log_of(far) / log_of(farthest) * static_cast<double>(side - single);
  return first + std::min(side - 1, single + static_cast<Size>(share));
}

Size bucket(Size distance) { return bucket_of(distance, kBuckets, kFarthest); }

void check_sinusoids(const std::function<Tensor(Size, Size)>& table_of, const Angles& angles,
                     const Rotate& rotate, const kit::Options& options, kit::Report& report) {
  constexpr Size kPlaces = 32, kWide = 32;
  const Tensor table = table_of(kPlaces, kWide);
  report.check("nn/'s sinusoids are equal, to 1e-12",
               kit::largest(table - sinusoids(0, kPlaces, kWide, f64)) < 1e-12);
  const Tensor pairs = reshape(table, {kPlaces, kWide / 2, 2});
  const Tensor hands = concat({select(pairs, 2, 1), select(pairs, 2, 0)}, 1);  // all cosines, then all sines
  const Tensor on = rotate(slice(hands, 0, 0, kPlaces - 3), select(angles(4, kWide), 0, 3));
  report.check("three positions on: one rotation for all positions",
               kit::largest(on - slice(hands, 0, 3, kPlaces)) < 1e-12);
  const Tensor products = matmul(table, transpose(table));
  report.check("PE[p] · PE[q] depends only on p − q",
               kit::largest(slice(slice(products, 0, 3, kPlaces), 1, 3, kPlaces) -
                            slice(slice(products, 0, 0, kPlaces - 3), 1, 0, kPlaces - 3)) < 1e-12);
  kit::Heatmap map{"Sines of 16 hands at 32 positions", kit::numbered(kWide / 2), kit::numbered(kPlaces),
                   select(pairs, 2, 0).to_vector()};
  map.least = -1;
  map.row_axis = "position", map.column_axis = "hand, from fast to slow";
  kit::show(map, options.out / "sinusoids.svg");
}

void check_schemes(const Attend& attend, const Angles& angles, const Rotate& rotate, std::uint64_t seed,
                   kit::Report& report) {
  check_scheme("none", no_positions(), attend, seed, report);
  check_scheme("Shaw", shaw(kReach), attend, seed, report);
  check_scheme("T5", t5_buckets(kBuckets, kFarthest), attend, seed, report);
  check_scheme("ALiBi", alibi(), attend, seed, report);
  check_scheme("rotary", rotary(), attend, seed, report);
  // With the same query and the same key at all positions, a score depends only on the distance of the pair.
  const auto everywhere = [&](std::uint64_t stream) {
    return rotate(expand(random_normal({1, 6}, stream, f64), {12, 6}), angles(12, 6));
  };
  const Tensor scores = matmul(everywhere(seed), transpose(everywhere(seed + 1)));
  report.check("rotary: equal scores after moving both by seven",
               kit::largest(slice(slice(scores, 0, 7, 12), 1, 7, 12) -
                            slice(slice(scores, 0, 0, 5), 1, 0, 5)) < 1e-12);
  check_buckets(report);
}

}  // namespace tapestry::lesson17
