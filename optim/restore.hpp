// Saved values written into living tensors: all of them or none.
#pragma once

#include <string_view>

#include "core/io/safetensors.hpp"

namespace tapestry {

/// Writes the given values into the living tensors of the same names. Names that are missing, that nothing
/// here has, and shapes or types that differ are all listed in one Error that starts with `where`, and then
/// nothing was written. (A living tensor without values takes the given type.)
void restore(const State& living, const State& given, std::string_view where);

}  // namespace tapestry
