// The clinic of lesson 07: trains each patient to look values up, and tests it in two ways.
#pragma once

#include <cstdint>
#include <vector>

#include "lessons/07_masks/pair_strings.hpp"
#include "lessons/07_masks/patients.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson07 {

/// Draws `rows` strings of twelve columns, with twelve keys and twelve values.
kit::PairStrings draw_strings(std::uint64_t seed, std::uint64_t stream, Size rows);

/// Returns the target of each position: the value `ahead` columns further on. It is kNothing in the last column of a
/// string without pairs, and kIgnored where the pairs so far do not determine the answer.
std::vector<std::int64_t> targets(const kit::PairStrings& strings, Size ahead);
constexpr std::int64_t kNothing = 12, kIgnored = -1;

struct Outcome {
  double loss = 0;      ///< Mean loss of the last twenty steps.
  double measured = 0;  ///< Percentage of right answers on fresh strings, in batches as in training.
  double in_use = 0;    ///< The same for one string at a time, where only the last position asks.
  double empty = 0;     ///< The same as in_use, for strings without pairs.
};

/// Trains one model per attention, with the same strings and the same initial weights.
std::vector<Outcome> train_all(const std::vector<Patient>& patients, const kit::Options& options);

/// Returns true if, as measured, only patients 3 and 5 answer badly.
bool two_fail_as_measured(const std::vector<Outcome>& outcomes);
/// Returns true if, in use, only patients 4 and 6 of the remaining five answer correctly.
bool two_work_in_use(const std::vector<Outcome>& outcomes);

/// Draws the outcomes in clinic.svg.
void draw(const std::vector<Patient>& patients, const std::vector<Outcome>& outcomes,
          const kit::Options& options);

}  // namespace tapestry::lesson07
