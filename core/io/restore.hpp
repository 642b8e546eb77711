// Loads saved values into existing tensors: all of them or none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/io/state.hpp"

namespace tapestry {

/// Treatment of values whose dtype differs from that of the existing tensor: an error, or a conversion.
enum class OtherTypes { refused, converted };

/// Copies the `given` values into the `living` tensors of the same names. Throws one Error, before anything is
/// written, that starts with `what` and lists up to 20 faults: first the caller's `faults`, then missing names,
/// unknown names, and wrong shapes or dtypes. A living tensor without values takes the given dtype.
void restore(const State& living, const State& given, std::string_view what,
             OtherTypes types = OtherTypes::refused, std::vector<std::string> faults = {});

}  // namespace tapestry
