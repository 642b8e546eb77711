// The checks of lesson 07: seven tests without training, each made for one patient of the clinic.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/07_masks/patients.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson07 {

/// A slow attention that is known to be right: q (…, Tq, d), k (…, Tk, d), v (…, Tk, d_v), mask (…, Tq, Tk).
using Reference = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask)>;

/// How many numbers of each row (rows, columns) are above 0.
std::vector<Size> not_zero(const Tensor& rows);
/// An attention by hand against nn/'s: gradcheck, values, gradients, where one query has an empty row.
void compare_with_nn(const std::string& name, const Reference& by_hand, std::uint64_t seed,
                     kit::Report& report);

struct Caught {
  std::vector<std::string> checks;       ///< their names; check i was made for patient i + 1
  std::vector<std::vector<bool>> table;  ///< a row for each patient: which checks fail it

  /// Whether the first patient passes all, and each other one fails the check that was made for it.
  bool as_made() const;
};

/// Every check on every patient. One of the checks compares with the reference, head by head.
Caught check_all(const std::vector<Patient>& patients, const Reference& reference, std::uint64_t seed);

struct Poisoned {
  double contexts, gradients;  ///< how many of the numbers are NaN, in per cent; gradients: of the queries
  double moved;                ///< the largest change of a context; infinity where it became NaN
};

/// What becomes of three queries on five keys, of which the last two are padding, if the keys and values
/// there are NaN.
Poisoned poison(const Reference& attention, std::uint64_t seed);

/// To checks.svg.
void draw(const std::vector<Patient>& patients, const Caught& caught, const kit::Options& options);

}  // namespace tapestry::lesson07
