// Peak memory of this process.
#pragma once

namespace tapestry::kit {

/// Returns the peak resident memory of this process in MiB (WebAssembly: the heap size), or NaN if it is unknown.
double peak_memory();

}  // namespace tapestry::kit
