// Loads saved values into existing tensors: either all values or none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/io/state.hpp"

namespace tapestry {

/// Treatment of values whose dtype differs from that of the existing tensor: they cause an error, or are converted.
enum class OtherTypes { refused, converted };

/// Copies the `given` values to the `living` tensors with the same names. A living tensor that has no values yet takes
/// the given dtype.
///
/// All names, shapes and dtypes are checked first, so that a model is never half loaded. If there are faults, throws
/// one Error before anything is written. Its message starts with `what` and lists up to 20 faults: first the caller's
/// `faults`, then missing names and wrong shapes or dtypes, then unknown names.
void restore(const State& living, const State& given, std::string_view what,
             OtherTypes types = OtherTypes::refused, std::vector<std::string> faults = {});

}  // namespace tapestry
