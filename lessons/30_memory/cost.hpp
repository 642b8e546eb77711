// Measures time and memory of one head, forward and backward, for linear attention and attend() by text length.
#pragma once

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson30 {

/// The costs of linear_attend() with the sum rule, compared with those of attend().
struct Costs {
  double times_faster = 0;  ///< speed-up over attend() at the longest text
  double memory_power = 0;  ///< p if memory grows as Tᵖ, from the last doubling of T
  double crossing = 0;      ///< length in words at which both take the same time; NaN if there is none
};
/// Measures one causal head of width 64 for T = 64 … 16,384 (64 … 256 in a smoke run). Prints a table and draws
/// time.svg and memory.svg.
Costs measure_costs(const kit::Options& options);

}  // namespace tapestry::lesson30
