#include "core/simd/score_tiles.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace {

std::string text(const Dims& shape) {
  std::string out = "(";
  for (const Size size : shape) out += (out.size() > 1 ? "," : "") + std::to_string(size);
  return out + ")";
}

}  // namespace

void fail_read(const Dims& shape, int axis, Size index, Size query, Size key) {
  if (axis < 0)
    throw std::out_of_range("[score_mod] a source " + text(shape) + " is read with " + std::to_string(index) +
                            " indices: give one for each axis");
  throw std::out_of_range("[score_mod] index " + std::to_string(index) + " is outside axis " +
                          std::to_string(axis) + " of a source " + text(shape) + ", for query " +
                          std::to_string(query) + " and key " + std::to_string(key) +
                          ": clamp it, or mask the pair");
}

void fail_score(double score, Size batch, Size head, Size query, Size key) {
  throw std::domain_error("[score_mod] the score of query " + std::to_string(query) + " and key " +
                          std::to_string(key) + " (batch row " + std::to_string(batch) + ", head " +
                          std::to_string(head) + ") became " + (score == score ? "infinity" : "NaN") +
                          ": see what the lambda divides by, or takes the logarithm of");
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
