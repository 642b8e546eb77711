// Errors of a user's score lambda.
#include "core/simd/attention/score_tiles.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace {

std::string text(const Dims& shape) {
  std::string out = "(";
  for (const Size size : shape) out += (out.size() > 1 ? "," : "") + std::to_string(size);
  return out + ")";
}

std::string text(const QueryKey& pair) {
  return "query " + std::to_string(pair.i) + " and key " + std::to_string(pair.j) + " (batch row " +
         std::to_string(pair.b) + ", head " + std::to_string(pair.h) + ")";
}

/// Formats an index, as an integer if it is one.
std::string number(double index) {
  const bool whole = std::abs(index) < 1e15 && index == std::trunc(index);
  return whole ? std::to_string(static_cast<Size>(index)) : std::to_string(index);
}

}  // namespace

void fail_rank(const Dims& shape, Size indices) {
  throw std::out_of_range("[score_mod] a table " + text(shape) + " is read with " + std::to_string(indices) +
                          " indices: give one for each axis");
}

void fail_remainder() {
  throw std::domain_error("[score_mod] the right operand of % must not be 0, got 0; use another divisor");
}

void fail_read(const Dims& shape, int axis, double index, const QueryKey& pair) {
  if (index >= 0 && index < static_cast<double>(shape[axis]))
    throw std::out_of_range("[score_mod] index " + number(index) + " of axis " + std::to_string(axis) +
                            " of a table " + text(shape) + " must be a whole number, for " + text(pair) +
                            "; round it with floor");
  throw std::out_of_range("[score_mod] index " + number(index) + " is outside axis " + std::to_string(axis) +
                          " of a table " + text(shape) + ", for " + text(pair) +
                          ": clamp it, or mask the pair");
}

void fail_score(double score, const QueryKey& pair) {
  throw std::domain_error(
      "[score_mod] the score of " + text(pair) + " became " + (score == score ? "infinity" : "NaN") +
      "; check what the lambda divides by, takes the logarithm of, or reads from a table");
}

void fail_pair_score(double score, const QueryKey& pair) {
  throw std::domain_error("[pair_score] the score of " + text(pair) +
                          " must be a finite number or −∞ for a finite query and key, got " +
                          (score == score ? "infinity" : "NaN") +
                          "; check the lambda's weights, and what it divides by or takes the logarithm of");
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
