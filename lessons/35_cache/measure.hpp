// Bytes of the cache and generated tokens per second, against the context length.
#pragma once

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson35 {

/// Measures an untrained model of each kind, with a cache of random keys and values. Prints a table and draws
/// bytes.svg and speed.svg. Returns the measured bytes of MHA divided by those of MLA at the longest context.
double measure_kinds(const kit::Options& options);

}  // namespace tapestry::lesson35
