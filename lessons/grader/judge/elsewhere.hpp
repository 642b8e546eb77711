// A call whose changes to the program's memory are undone.
#pragma once

#include <functional>
#include <optional>

#include "core/tensor/tensor.hpp"

namespace tapestry::grader {

/// Calls f in a copy of the program's memory and returns its tensor in f64. Variables that f changes are unchanged
/// afterwards. Returns nothing if f throws or ends the program. The copy is a forked process; in WebAssembly, the host
/// saves the memory before the call and restores it afterwards. Throws Error if no process can be started.
std::optional<Tensor> call_in_copy(const std::function<Tensor()>& f);

}  // namespace tapestry::grader
