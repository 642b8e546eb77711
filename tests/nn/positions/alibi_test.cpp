// ALiBi's slopes, as the paper's text and as its code have them.
#include <cmath>

#include "core/attention/attend.hpp"
#include "core/core.hpp"
#include "nn/positions/relative.hpp"
#include "tests/catch.hpp"

using namespace tapestry;

namespace {

/// −log₂ of each slope, to nine decimals.
std::vector<double> exponents(Size heads, AlibiSlopes slopes) {
  std::vector<double> out;
  for (const double slope : AlibiPositions({}, {.heads = heads}, slopes).slopes())
    out.push_back(std::round(-std::log2(slope) * 1e9) / 1e9);
  return out;
}

}  // namespace

TEST_CASE("ALiBi's interleaved slopes are those of the paper's code") {
  // Worked out by hand from get_slopes() of the authors' repository: slopes of the power of two below, then every second
  // one of the power of two above.
  const auto code = [](Size heads) { return exponents(heads, AlibiSlopes::interleaved); };
  CHECK(code(1) == std::vector<double>{8});
  CHECK(code(2) == std::vector<double>{4, 8});
  CHECK(code(3) == std::vector<double>{4, 8, 2});
  CHECK(code(6) == std::vector<double>{2, 4, 6, 8, 1, 3});
  CHECK(code(8) == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(code(12) == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5});
  CHECK(code(16).back() == 8);
}

TEST_CASE("ALiBi's geometric slopes are one sequence for any number of heads") {
  const std::vector<double> twelve = exponents(12, AlibiSlopes::geometric);
  for (std::size_t h = 0; h < 12; ++h)
    CHECK(twelve[h] == Approx(8.0 * static_cast<double>(h + 1) / 12).margin(1e-8));
  CHECK(exponents(4, AlibiSlopes::geometric) == exponents(4, AlibiSlopes::interleaved));
}

TEST_CASE("alibi() passes its slopes on") {
  const auto slope_of_last_head = [](const PositionScheme& scheme) {
    const auto positions = scheme.pairs({}, {.heads = 3});
    const auto score = positions->as_score_mod(2, 2);
    REQUIRE(score);
    const Tensor q = zeros({1, 3, 2, 1}, DType::f64), k = q, v = tensor({{1, 0}, {0, 1}}, DType::f64);
    // Query 1 sees keys 0 and 1 at distances 1 and 0: the log-odds of its weights are the slope.
    const Tensor weights =
        attend(q, k, expand(reshape(v, {1, 1, 2, 2}), {1, 3, 2, 2}), {.score_mod = *score});
    return std::log(weights.at({0, 2, 1, 1}) / weights.at({0, 2, 1, 0}));
  };
  CHECK(slope_of_last_head(alibi()) == Approx(0x1p-8));
  CHECK(slope_of_last_head(alibi(AlibiSlopes::interleaved)) == Approx(0x1p-2));
}
