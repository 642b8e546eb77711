// Measures how many pairs can be read back from a matrix. The keys are random, the values are random codes, and no
// model is trained.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/attention/linear_attend.hpp"
#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson30 {

/// Pairs of random unit keys (B, P, d) and values (B, P, e). Each value is one of kCodes random unit vectors, the
/// codes.
struct Pairs {
  Tensor keys, values;
  Indices which;  // (B, P): the code of each pair
  Tensor codes;   // (kCodes, e)
};
inline constexpr Size kCodes = 64, kCodeWidth = 64;
Pairs draw_pairs(Size rows, Size pairs, Size width, std::uint64_t seed);

/// Writes all pairs to a matrix with a rule, then reads at each key. Returns (B, P, e).
Tensor read_back(const Pairs& pairs, WriteRule rule);
/// Reads at each key by softmax attention over all pairs. Returns (B, P, e).
Tensor read_by_softmax(const Pairs& pairs);
/// Returns, for each pair of a row in the order of writing, the percentage of reads whose nearest code is the right
/// one.
std::vector<double> right_by_place(const Pairs& pairs, const Tensor& read);

/// Results of measure_capacity() for 32 pairs and d = 32.
struct Capacity {
  double sum = 0, delta = 0;  ///< percentage of right reads
  double noise = 0;  ///< mean squared norm of the difference between a read with the sum rule and the value
};
/// Measures the percentage of right reads for several numbers of pairs: with the sum rule for d = 16, 32 and 64, and
/// with the delta rule and softmax for d = 32. For 32 pairs and d = 32, it also measures how this percentage depends
/// on the age of a pair, the number of pairs written after it. Judges the results and draws capacity.svg and age.svg.
Capacity measure_capacity(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson30
