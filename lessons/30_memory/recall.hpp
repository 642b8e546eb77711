// What comes back from a matrix that nobody trained: random keys, random codes as values, and how many pairs.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/attention/linear_attend.hpp"
#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson30 {

/// Pairs of random unit keys (B, P, d) and codes (B, P, e), each one of kCodes random unit vectors.
struct Pairs {
  Tensor keys, values;
  Indices which;  // (B, P): the code of each
  Tensor codes;   // (kCodes, e)
};
inline constexpr Size kCodes = 64, kCodeWidth = 64;
Pairs draw_pairs(Size rows, Size pairs, Size width, std::uint64_t seed);

/// What keys read after all was written, (B, P, e): from the matrix of a rule, or from all pairs by softmax.
Tensor read_back(const Pairs& pairs, WriteRule rule);
Tensor read_by_softmax(const Pairs& pairs);
/// Per cent of reads whose nearest code is the right one: for each pair of a row, in the order of writing.
std::vector<double> right_by_place(const Pairs& pairs, const Tensor& read);

/// The share that comes back by the number of pairs, for d = 16, 32, 64, by the sum, the delta rule and softmax;
/// and for 32 pairs, d = 32, by how many were written since. Judges it, and draws capacity.svg and age.svg.
struct Capacity {
  double sum = 0, delta = 0;  ///< per cent right, 32 pairs, d = 32
  double noise = 0;  ///< of a read by the sum there: the square of its distance from what was written
};
Capacity measure_capacity(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson30
