// Options of attend() two at a time: what each does alone is tested elsewhere.
#include "core/attention/attend.hpp"
#include "core/attention/score_lambda.hpp"
#include "core/check/gradcheck.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/core/attention/attention_checks.hpp"
#include "tests/sanitized.hpp"

using namespace tapestry;
using namespace tapestry::checks;

namespace {

using Make = std::function<AttendOptions(const std::vector<Tensor>& learned)>;

/// attend() in tiles against the same by plain ops; with first differences where the sizes are small.
void check_against_ops(const Make& make, const std::vector<Dims>& shapes, double tolerance = 1e-12) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    inputs.push_back(random_normal(shapes[i], i + 1, DType::f64) * 0.5);
  const auto call = [&](bool tiles) {
    return Function([=](const std::vector<Tensor>& x) {
      set_random(5);
      const AttendOptions options = make({x.begin() + 3, x.end()});
      return tiles ? attend(x[0], x[1], x[2], options) : attend_by_ops(x[0], x[1], x[2], options);
    });
  };
  check_near(run(call(true), inputs), run(call(false), inputs), tolerance);
  if (inputs[0].count() > 100) return;
  const auto checked = gradcheck(
      [&](std::span<const Tensor> x) {
        return call(true)({x.begin(), x.end()});
      },
      inputs);
  INFO(checked.report());
  CHECK(checked.ok());
}

/// (queries, keys): one tile, and several with ends that fill no register.
const std::vector<std::pair<Size, Size>> kOptionSizes{{4, 5}, {61, 133}};

}  // namespace

TEST_CASE("dropout with a score that learns: every gradient is that of plain ops", "[unsanitized]") {
  for (const auto& [queries, keys] : kOptionSizes)
    for (const bool masked : {false, true}) {
      CAPTURE(queries, keys, masked);
      check_against_ops(
          [&, queries = queries, keys = keys](const std::vector<Tensor>& t) {
            AttendOptions options{
                .score_mod = score_mod(
                    [](auto s, auto at, auto slope, auto bias) { return s * slope(at.h) + bias(at.j); },
                    learned(t[0]), learned(t[1])),
                .dropout = 0.4};
            if (masked) options.mask = BlockMask::causal(queries, keys);
            return options;
          },
          {{2, 2, queries, 3}, {2, 2, keys, 3}, {2, 2, keys, 2}, {2}, {keys}});
    }
}

TEST_CASE("dropout with a sink and a score that learns") {
  for (const auto& [queries, keys] : kOptionSizes)
    check_against_ops(
        [](const std::vector<Tensor>& t) {
          return AttendOptions{
              .score_mod =
                  score_mod([](auto s, auto at, auto slope) { return s * slope(at.h); }, learned(t[0])),
              .sink = learned(t[1]),
              .dropout = 0.3};
        },
        {{1, 2, queries, 3}, {1, 2, keys, 3}, {1, 2, keys, 2}, {2}, {2}});
}

TEST_CASE("a pair score with a score that learns, a mask and dropout", "[unsanitized]") {
  for (const auto& [queries, keys] : kOptionSizes)
    check_against_ops(
        [queries = queries, keys = keys](const std::vector<Tensor>& t) {
          return AttendOptions{
              .pair_score = pair_score([](auto q, auto k, auto v) { return v * tanh(q + k); }, learned(t[0])),
              .mask = BlockMask::causal(queries, keys),
              .score_mod = score_mod([](auto s, auto at, auto slope) { return s - slope(at.h) * at.j / 9; },
                                     learned(t[1])),
              .dropout = 0.4};
        },
        {{2, 2, queries, 5}, {2, 2, keys, 5}, {2, 2, keys, 2}, {5}, {2}});
}

// The units of a pair score fill no whole number of registers, and what is behind the last one counts for nothing: also
// where f(0, 0) differs from pair to pair, which softmax does not hide.
TEST_CASE("a pair score whose f(0, 0) depends on the place") {
  for (const Size width : {1, 3, 8, 13, 17})
    for (const auto& [queries, keys] : kOptionSizes) {
      if (kAddressSanitizer && width != 3 && width != 17) continue;
      CAPTURE(width, queries, keys);
      check_against_ops(
          [](const std::vector<Tensor>& t) {
            return AttendOptions{
                .pair_score = pair_score(
                    [](auto q, auto k, auto at, auto v) { return v * cos(q - k) + cos(q * k) * at.j / 7; },
                    learned(t[0]))};
          },
          {{2, 2, queries, width}, {2, 2, keys, width}, {2, 2, keys, 2}, {width}});
    }
}
