// Measures how many key-value pairs a memory matrix can store, so that a read with a key still finds the value of this
// key. Keys and values are random vectors. No model is trained.
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

/// P pairs of a key and a value in each of B independent memories. Each value is one of kCodes random unit vectors.
struct Pairs {
  Tensor keys;       ///< (B, P, d): random unit vectors
  Tensor values;     ///< (B, P, e)
  Indices code_ids;  ///< (B, P): the index of each value in `codes`
  Tensor codes;      ///< (kCodes, e)
};
/// Draws pairs for B = `batch`, P = `pairs` and d = `width`.
Pairs draw_pairs(Size batch, Size pairs, Size width, std::uint64_t seed);

/// Writes the pairs of each memory to a matrix (d, e) with the sum rule or the delta rule. Then multiplies each key by
/// the matrix of its memory. Returns the reads (B, P, e).
Tensor read_back(const Pairs& pairs, WriteRule rule);
/// Reads with each key by softmax attention over all pairs. The scores are multiplied by 40, so that the largest weight
/// is nearly 1. Returns the reads (B, P, e).
Tensor read_by_softmax(const Pairs& pairs);
/// Returns, for each position in the order of writing, the percentage of memories whose read is nearest to the right
/// code.
std::vector<double> accuracy_by_position(const Pairs& pairs, const Tensor& read);

/// Results of measure_capacity() for 32 pairs and d = 32.
struct RecallResult {
  double sum_rule_accuracy = 0, delta_rule_accuracy = 0;  ///< percentages of right reads
  double sum_rule_error = 0;  ///< mean of ‖read − value‖² with the sum rule
};
/// Measures the percentage of right reads for several numbers of pairs. The sum rule is measured for d = 16, 32 and 64;
/// the delta rule and softmax are measured for d = 32. For 32 pairs and d = 32, measures also how the percentage
/// depends on the age of a pair, which is the number of pairs written after it. Checks the results and draws
/// capacity.svg and age.svg.
RecallResult measure_capacity(const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson30
