// The clinic of lesson 07: each patient is trained to look values up, and tested in two ways.
#pragma once

#include <cstdint>
#include <vector>

#include "lessons/07_masks/pair_strings.hpp"
#include "lessons/07_masks/patients.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson07 {

/// `rows` strings of twelve columns, with twelve keys and twelve values.
kit::PairStrings draw_strings(std::uint64_t seed, std::uint64_t stream, Size rows);

/// What each place is to answer: the value `ahead` columns further on; kNothing in the last column of a
/// string without pairs; kNotCounted where nobody can know.
std::vector<std::int64_t> targets(const kit::PairStrings& strings, Size ahead);
constexpr std::int64_t kNothing = 12, kNotCounted = -1;

struct Outcome {
  double loss = 0;      ///< the mean of the last twenty steps
  double measured = 0;  ///< right answers in per cent, on fresh strings that are batched as in training
  double in_use = 0;    ///< the same one string at a time, with nothing after the place that asks
  double empty = 0;     ///< the same for strings without pairs
};

/// Trains one after the other, with the same strings from the same first values.
std::vector<Outcome> treat(const std::vector<Patient>& patients, const kit::Options& options);

/// As measured only 3 and 5 are noticed.
bool two_are_noticed(const std::vector<Outcome>& outcomes);
/// In use only 4 and 6 of the others are right.
bool two_are_useful(const std::vector<Outcome>& outcomes);

/// To clinic.svg.
void draw(const std::vector<Patient>& patients, const std::vector<Outcome>& outcomes,
          const kit::Options& options);

}  // namespace tapestry::lesson07
