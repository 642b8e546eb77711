// The comparisons and measurements of lesson 25: attention with its whole matrix, inputs, distances, memory
// and time.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson25 {

inline constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// Returns scale · Q Kᵀ.
Tensor scores_of(const Tensor& q, const Tensor& k);
/// Computes attention with its whole (Tq, Tk) matrix, as in earlier lessons. The baseline of all comparisons.
Tensor plain_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});
/// Returns the rows begin … end − 1 of (…, T, d).
Tensor rows(const Tensor& x, Size begin, Size end);

struct Inputs {
  Tensor q, k, v;  // (Tq, d), (Tk, d), (Tk, d), optionally with a heads axis in front
  std::vector<Tensor> leaves() const { return {q, k, v}; }
};
Inputs draw(const Dims& queries, const Dims& keys, std::uint64_t seed, DType dtype = DType::f64);

using Computation = std::function<Tensor()>;
/// Returns the largest difference of two computations, in their values and in their gradients for a random cotangent.
double largest_difference(const Computation& a, const Computation& b, const Inputs& x, std::uint64_t seed);
/// Reports a check such as "what: differ by 3e-16, allowed 1e-12".
void check_equal(kit::Report& report, std::string_view what, double difference, double allowed);

/// Compares an online softmax over these scores with softmax: the contexts in both orders, and the log-sum-exp.
void compare_online(std::array<double, 2> contexts, double log_sum_exp, const Tensor& scores,
                    const Tensor& values, kit::Report& report);
/// Checks the chapter's OnlineSoftmax on a thousand scores near 1000, added forwards and backwards.
template <class OnlineSoftmax>
void check_online(std::uint64_t seed, kit::Report& report) {
  const Tensor s = 1000 + 3 * random_normal({1000}, seed, DType::f64),
               v = random_normal({1000}, seed + 1, DType::f64);
  OnlineSoftmax forwards, backwards;
  for (Size j = 0; j < 1000; ++j) {
    forwards.add(s.at({j}), v.at({j}));
    backwards.add(s.at({999 - j}), v.at({999 - j}));
  }
  compare_online({forwards.context(), backwards.context()}, forwards.log_sum_exp(), s, v, report);
}

/// Checks core's attend_partial() and merge(), with a mask under which query i sees the keys 0 … 2i.
void check_merge(std::uint64_t seed, kit::Report& report);
/// Runs gradcheck on (q, k, v, tile) → context for three tile sizes, and compares it with plain_attention(). Returns
/// whether all checks hold.
bool check_tiled(const std::function<Tensor(const Tensor&, const Tensor&, const Tensor&, Size)>& tiled,
                 std::uint64_t seed, kit::Report& report);
/// Compares attend() with plain_attention(), forward and backward, in f32 and f64, with and without a causal mask.
void check_attend(std::uint64_t seed, kit::Report& report);
/// Checks that attend() computes as many tiles as a causal mask over `words` words has. Writes visits.json with the
/// order in which the kernel visits tiles.
void count_tiles(Size words, const kit::Options& options, kit::Report& report);

/// Costs of one implementation at the lengths 64, 128 … 4096.
struct MethodCosts {
  kit::Series memory, time;  // peak MiB beyond the inputs, µs of the fastest run
  kit::Series tiles;         // number of tiles computed in forward; empty for plain ops
};
struct Costs {
  MethodCosts ops, kernel, causal;
};
/// Measures, prints a table and the growth of the time, and draws memory.svg and time.svg.
Costs measure(const kit::Options& options, kit::Report& report);
/// Returns the slope over the last three lengths on logarithmic axes, which is p if y grows as xᵖ.
double growth_exponent(const kit::Series& curve);

}  // namespace tapestry::lesson25
