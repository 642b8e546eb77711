// Saved values written into living tensors: all of them or none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/io/state.hpp"

namespace tapestry {

/// Whether values of another type than the living tensor's are refused, or converted to it.
enum class OtherTypes { refused, converted };

/// Writes the given values into the living tensors of the same names. Names that are missing, that nothing
/// here has, and shapes or types that differ are all listed in one Error, behind the caller's own `faults`;
/// it starts with `what` does not fit, and then nothing was written. (A living tensor without values takes
/// the given type.)
void restore(const State& living, const State& given, std::string_view what,
             OtherTypes types = OtherTypes::refused, std::vector<std::string> faults = {});

}  // namespace tapestry
