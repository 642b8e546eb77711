// Measures the capacity of a memory matrix: after P pairs of random keys and values have been written, how many reads
// with a key return its value? No model is trained.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/attention/linear_attend.hpp"
#include "core/core.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson30 {

inline constexpr Size kCodes = 64;      ///< number of different values, the *codes*
inline constexpr Size kCodeWidth = 64;  ///< e: width of a value

/// P key-value pairs for each of B independent memories. Each value is one of kCodes random unit vectors.
struct Pairs {
  Tensor keys;       ///< (B, P, d): random unit vectors
  Tensor values;     ///< (B, P, e)
  Indices code_ids;  ///< (B, P): the index of each value in `codes`
  Tensor codes;      ///< (kCodes, e)
};
/// Draws `pairs` pairs for each of `batch` memories, with keys of `width` numbers.
Pairs draw_pairs(Size batch, Size pairs, Size width, std::uint64_t seed);

/// Writes the pairs of each memory to a matrix (d, e) in order, and then reads at each key. Returns the reads (B, P,
/// e).
Tensor read_back(const Pairs& pairs, WriteRule rule);
/// Reads at each key by softmax attention over all pairs. The scores are multiplied by 40, so that the largest weight
/// is nearly 1. Returns the reads (B, P, e).
Tensor read_by_softmax(const Pairs& pairs);
/// Returns the percentage of right reads for each pair, in the order of writing. A read is right if it is nearest to
/// the code that was written.
std::vector<double> accuracy_by_position(const Pairs& pairs, const Tensor& read);

/// Results of measure_capacity() for 32 pairs and d = 32.
struct RecallResult {
  double sum_rule_accuracy = 0, delta_rule_accuracy = 0;  ///< percentages of right reads
  double sum_rule_error = 0;  ///< mean of ‖read − value‖² with the sum rule
};
/// Measures the accuracy for d/8 to 4 d pairs: of the sum rule with d = 16, 32 and 64, and of the delta rule and of
/// softmax with d = 32. For 32 pairs and d = 32, also measures the accuracy by the age of a pair, which is the number
/// of pairs written after it. Prints a table, checks the results, and draws capacity.svg and age.svg.
RecallResult measure_capacity(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson30
