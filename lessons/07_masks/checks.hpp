// The checks of lesson 07: seven tests without training. Each is designed to catch one of the broken attentions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/07_masks/patients.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson07 {

/// A slow attention that is known to be right. Its arguments are q (…, Tq, d), k (…, Tk, d), v (…, Tk, d_v) and
/// mask (…, Tq, Tk).
using Reference = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask)>;

/// Returns the number of positive elements in each row of a matrix.
std::vector<Size> count_positive(const Tensor& rows);
/// Compares an attention by hand with nn/'s: gradcheck, values and gradients. One query has an empty row.
void compare_with_nn(const std::string& name, const Reference& by_hand, std::uint64_t seed,
                     kit::Report& report);

struct FailedChecks {
  std::vector<std::string> checks;       ///< Names of the checks. Check i was written for patient i + 1.
  std::vector<std::vector<bool>> table;  ///< For each patient, the checks that it fails.

  /// Returns true if the first attention passes all checks and each other one fails the check written for it.
  bool each_fails_its_check() const;
};

/// Runs every check on every patient. One of the checks compares with the reference, head by head.
FailedChecks check_all(const std::vector<Patient>& patients, const Reference& reference, std::uint64_t seed);

struct NanEffect {
  double contexts, gradients;  ///< Percentage of NaN in the contexts and in the gradients of the queries.
  double change;               ///< Largest change of a context; infinity where it became NaN.
};

/// Calls an attention with three queries and five keys. The last two keys are padding, and their keys and values are
/// NaN.
NanEffect effect_of_nan(const Reference& attention, std::uint64_t seed);

/// Draws which check fails which patient, in checks.svg.
void draw(const std::vector<Patient>& patients, const FailedChecks& failed, const kit::Options& options);

}  // namespace tapestry::lesson07
