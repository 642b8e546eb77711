// The gallery's mechanisms by element. The default arguments are the numbers of the list.
#pragma once

#include "lessons/26_programmable/mechanism.hpp"

namespace lesson26 {

using tapestry::Size, tapestry::kit::Mechanism;

// Masks. Every number is at least 1, except a prompt and a reach, which may be 0.
Mechanism causal();
Mechanism sliding_window(Size window = 6);
Mechanism dilated(Size step = 3);
Mechanism prefix(Size prompt = 7);
/// Three texts of these lengths; the positions after them are a fourth text.
Mechanism documents(Size one = 5, Size two = 4, Size three = 7);
Mechanism block_diagonal(Size block = 6);
Mechanism global_and_window(Size global = 2, Size reach = 3);
Mechanism tree(Size children = 2);

// Changes of the score. A number "at first" is the initial value of a learned number.
/// `steepest` is the slope of the first head.
Mechanism alibi_bias(double steepest = 0.25);
/// `farthest` is at most 8.
Mechanism relative_bias(Size farthest = 8);
/// `farthest` must be more than 8. From this distance on, all distances share the last bucket.
Mechanism buckets(double farthest = 128);
Mechanism soft_cap(double cap = 2);
Mechanism distance_decay(double amount_at_first = 1, double rate_at_first = 1);
Mechanism learned_temperature(double at_first = 0.5);
/// The larger `open` is, the less is forgotten.
Mechanism forgetting(double open = 0);
Mechanism sink(double at_first = 0);

}  // namespace lesson26
