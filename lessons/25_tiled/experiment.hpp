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

/// A score below every other score.
inline constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// Returns scale · Q Kᵀ.
Tensor scores_of(const Tensor& q, const Tensor& k);
/// Computes attention as in earlier lessons, with its whole (Tq, Tk) matrix. The baseline of all comparisons.
Tensor plain(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});
/// Returns the rows begin … end − 1 of (…, T, d).
Tensor rows(const Tensor& x, Size begin, Size end);

struct Inputs {
  Tensor q, k, v;  // (Tq, d), (Tk, d), (Tk, d), optionally with a heads axis in front
  std::vector<Tensor> leaves() const { return {q, k, v}; }
};
Inputs draw(const Dims& queries, const Dims& keys, std::uint64_t seed, DType dtype = DType::f64);

using Computed = std::function<Tensor()>;
/// The largest difference of two computations, in their values and in their gradients for a random cotangent.
double largest_difference(const Computed& a, const Computed& b, const Inputs& x, std::uint64_t seed);
/// Reports a check such as "what: differ by 3e-16, allowed 1e-12".
void equal(kit::Report& report, std::string_view what, double off, double allowed);

/// The results of a thousand scores near 1000, in both orders, and softmax's result.
void judge_online(std::array<double, 2> contexts, double log_sum_exp, const Tensor& scores,
                  const Tensor& values, kit::Report& report);
/// Adds the scores one after the other to the chapter's OnlineSoftmax.
template <class OnlineSoftmax>
void check_online(std::uint64_t seed, kit::Report& report) {
  const Tensor s = 1000 + 3 * random_normal({1000}, seed, DType::f64),
               v = random_normal({1000}, seed + 1, DType::f64);
  OnlineSoftmax forwards, backwards;
  for (Size j = 0; j < 1000; ++j) {
    forwards.add(s.at({j}), v.at({j}));
    backwards.add(s.at({999 - j}), v.at({999 - j}));
  }
  judge_online({forwards.context(), backwards.context()}, forwards.log_sum_exp(), s, v, report);
}

/// Checks core's attend_partial() and merge(), with a mask under which query i sees the keys 0 … 2i.
void check_merge(std::uint64_t seed, kit::Report& report);
/// Runs gradcheck on (q, k, v, tile) → context for three tile sizes, and compares it with plain(). Returns
/// whether all checks hold.
bool check_tiled(const std::function<Tensor(const Tensor&, const Tensor&, const Tensor&, Size)>& tiled,
                 std::uint64_t seed, kit::Report& report);
/// Compares attend() with plain(), forward and backward, in f32 and f64, with and without a causal mask.
void check_attend(std::uint64_t seed, kit::Report& report);
/// Checks that attend() computes as many tiles as a causal mask over `words` words has. Writes the order in
/// which the kernel visits them to visits.json.
void count_tiles(Size words, const kit::Options& options, kit::Report& report);

/// The costs of one way to attend, at the lengths 64, 128 … 4096.
struct Way {
  kit::Series memory, time;  // peak MiB beyond the inputs, µs of the fastest run
  kit::Series tiles;         // number of tiles computed in forward; empty for plain ops
};
struct Costs {
  Way ops, kernel, causal;
};
/// Measures, prints a table and the growth of the time, and draws memory.svg and time.svg.
Costs measure(const kit::Options& options, kit::Report& report);
/// Returns the slope on logarithmic axes over the last three lengths: p, if y ~ xᵖ.
double power(const kit::Series& curve);

}  // namespace tapestry::lesson25
