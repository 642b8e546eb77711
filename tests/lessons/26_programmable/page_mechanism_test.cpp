// The mechanisms that nn/attention/README.md shows: they do what their formulas say, and pass the lesson's check.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "core/attention/score_lambda.hpp"
#include "core/core.hpp"
#include "lessons/26_programmable/mechanism.hpp"
#include "nn/attention/masking.hpp"
#include "tests/catch.hpp"

using namespace tapestry;

namespace {

// What stands between "// README" and "// end" stands in the page, too: tests/readme/readme_test.cpp looks.

// README
kit::Mechanism my_attention() {
  return {.name = "decay",
          .heads = 4,
          .learned = {{"rate", {4}, constant(1)}},  // name, shape, first values
          .score_mod =
              [](const std::vector<Tensor>& p, Size queries, Size keys) {
                const auto first = static_cast<double>(keys - queries);  // where query 0 stands
                return score_mod(
                    [first](auto s, auto at, auto rate) {
                      return s - rate(at.h) * log(1 + abs(at.i + first - at.j));
                    },
                    learned(p[0]));
              },
          .mask = BlockMask::causal};
}
// end

kit::Mechanism by_softplus() {
  return {
      .name = "softplus",
      .mask = BlockMask::causal,
      // README
      .normalise =
          [](const Tensor& scores, const Mask& mask) {
            const Tensor positive = zero_masked(mask, softplus(zero_masked(mask, scores)));
            return positive / (sum(positive, {-1}, Keep::yes) + 1e-9);  // a query may see no key
          }
      // end
  };
}

/// What `share` makes of the scaled score, head, query and key, over the sum of its row: the weights of causal
/// attention by plain loops, beside those of the mechanism.
template <class Share>
void check_weights(const kit::Mechanism& mechanism, const Share& share) {
  constexpr Size kWords = 7;
  const std::vector<Tensor> in = kit::random_inputs(mechanism, kWords, 3, DType::f64);
  const std::vector<Tensor> learned(in.begin() + 3, in.end());
  const Tensor weights = kit::weights_of(mechanism, in[0], in[1], learned);
  for (Size h = 0; h < mechanism.heads; ++h)
    for (Size i = 0; i < kWords; ++i) {
      std::vector<double> row(kWords);
      double total = 0;
      for (Size j = 0; j <= i; ++j) {
        double s = 0;
        for (Size u = 0; u < mechanism.width; ++u) s += in[0].at({0, h, i, u}) * in[1].at({0, h, j, u});
        s /= std::sqrt(static_cast<double>(mechanism.width));
        total += row[static_cast<std::size_t>(j)] = share(s, learned, h, i, j);
      }
      for (Size j = 0; j < kWords; ++j) {
        INFO("head " << h << ", query " << i << ", key " << j);
        CHECK(weights.at({0, h, i, j}) ==
              Approx(row[static_cast<std::size_t>(j)] / total).epsilon(1e-7).margin(1e-12));
      }
    }
}

void check_passes(const kit::Mechanism& mechanism) {
  std::ostringstream out;
  kit::Report report(out);
  const bool ok = kit::check(mechanism, report);
  INFO(out.str());
  CHECK(ok);
}

}  // namespace

TEST_CASE("the page's mechanism takes from a score what grows with the distance", "[mechanism]") {
  check_weights(my_attention(), [](double s, const std::vector<Tensor>& learned, Size h, Size i, Size j) {
    return std::exp(s - learned[0].at({h}) * std::log(1 + std::abs(static_cast<double>(i - j))));
  });
  check_passes(my_attention());
}

TEST_CASE("the page's normaliser divides softplus by its sum", "[mechanism]") {
  check_weights(by_softplus(), [](double s, const std::vector<Tensor>&, Size, Size, Size) {
    return std::log1p(std::exp(s));
  });
  check_passes(by_softplus());
}
