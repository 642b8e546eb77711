// What this process has needed of the machine's memory.
#pragma once

namespace tapestry::kit {

/// The most memory that the process has held so far, in MiB; NaN where the system does not tell.
double peak_memory();

}  // namespace tapestry::kit
