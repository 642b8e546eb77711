// What lesson 25 compares and measures: attention with its matrix, inputs, distances; memory and time.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson25 {

/// A score below all scores.
inline constexpr double kNever = -std::numeric_limits<double>::infinity();

/// scale · Q Kᵀ
Tensor scores_of(const Tensor& q, const Tensor& k);
/// Attention as all lessons had it, its (Tq, Tk) matrix written out: what the rest is compared with.
Tensor plain(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {});
/// Places begin … end − 1 of (…, T, d).
Tensor rows(const Tensor& x, Size begin, Size end);

struct Inputs {
  Tensor q, k, v;  // (Tq, d), (Tk, d), (Tk, d), with heads in front or without
  std::vector<Tensor> leaves() const { return {q, k, v}; }
};
Inputs draw(const Dims& queries, const Dims& keys, std::uint64_t seed, DType dtype = DType::f64);

using Computed = std::function<Tensor()>;
/// How far two computations are apart, in their values and in their gradients for a random cotangent.
double apart(const Computed& a, const Computed& b, const Inputs& x, std::uint64_t seed);
/// A check: "what: apart by 3e-16, allowed 1e-12".
void equal(kit::Report& report, std::string_view what, double off, double allowed);

/// What came of a thousand scores near 1000, from either end, beside softmax's.
void judge_online(std::array<double, 2> contexts, double log_sum_exp, const Tensor& scores,
                  const Tensor& values, kit::Report& report);
/// Takes them one after the other, by the chapter's Running.
template <class Running>
void check_online(std::uint64_t seed, kit::Report& report) {
  const Tensor s = 1000 + 3 * random_normal({1000}, seed, DType::f64),
               v = random_normal({1000}, seed + 1, DType::f64);
  Running forwards, backwards;
  for (Size j = 0; j < 1000; ++j) {
    forwards.take(s.at({j}), v.at({j}));
    backwards.take(s.at({999 - j}), v.at({999 - j}));
  }
  judge_online({forwards.context(), backwards.context()}, forwards.log_sum_exp(), s, v, report);
}

/// attend_partial() and merge(), core's, with a mask by which query i sees keys 0 … 2i.
void check_merge(std::uint64_t seed, kit::Report& report);
/// Gradcheck of (q, k, v, tile) → context at three sizes of tiles, and plain() beside it. Returns whether all
/// hold.
bool check_tiled(const std::function<Tensor(const Tensor&, const Tensor&, const Tensor&, Size)>& tiled,
                 std::uint64_t seed, kit::Report& report);
/// attend() beside plain(), both ways, f32 and f64, full and causal.
void check_attend(std::uint64_t seed, kit::Report& report);
/// The tiles that attend() computes of `words` words under a causal mask, as many as the mask says; saves the order
/// in which it comes to them, visits.json.
void count_tiles(Size words, const kit::Options& options, kit::Report& report);

/// One way to attend, over the lengths 64, 128 … 4096.
struct Way {
  kit::Series memory, time;  // MiB at the worst moment beyond the inputs, µs of the fastest run
  kit::Series tiles;         // that were computed forward; plain ops: none
};
struct Costs {
  Way ops, kernel, causal;
};
/// Measures, prints a table and how time grows, and draws memory.svg and time.svg.
Costs measure(const kit::Options& options, kit::Report& report);
/// The slope on logarithmic axes over the last three lengths: p, if y ~ xᵖ.
double power(const kit::Series& curve);

}  // namespace tapestry::lesson25
