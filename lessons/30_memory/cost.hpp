// What a head of linear attention costs beside attend(): time and memory, forward and backward, by the length.
#pragma once

#include "lessons/kit/kit.hpp"

namespace tapestry::lesson30 {

struct Costs {
  double times_faster = 0;  ///< than attend(), at the longest text
  double memory_power = 0;  ///< p, if memory of the chunks grows as Tᵖ: over the last doubling
  double crossing = 0;      ///< where both took as long, in words; NaN: nowhere
};
/// Measures one causal head of width 64 at T = 64 … 16,384. Prints a table, draws time.svg and memory.svg.
Costs measure_costs(const kit::Options& options);

}  // namespace tapestry::lesson30
