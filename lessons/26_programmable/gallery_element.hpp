// The gallery's mechanisms by element, each with the numbers of the list where nothing else is said.
#pragma once

#include "lessons/26_programmable/mechanism.hpp"

namespace lesson26 {

using tapestry::Size, tapestry::kit::Mechanism;

// Which pairs. Every number is at least 1, but for a prompt and a reach, which may be 0.
Mechanism causal();
Mechanism sliding_window(Size window = 6);
Mechanism dilated(Size step = 3);
Mechanism prefix(Size prompt = 7);
/// Three texts of so many places; what follows is a fourth.
Mechanism documents(Size one = 5, Size two = 4, Size three = 7);
Mechanism block_diagonal(Size block = 6);
Mechanism global_and_window(Size global = 2, Size reach = 3);
Mechanism tree(Size children = 2);

// What is done to the score. A number "at first" is what training begins with.
/// `steepest` is the slope of the first head.
Mechanism alibi_bias(double steepest = 0.25);
/// `farthest` is 8 at most.
Mechanism relative_bias(Size farthest = 8);
/// `farthest`, more than 8, is the first distance of which all that lies beyond has the last number.
Mechanism buckets(double farthest = 128);
Mechanism soft_cap(double cap = 2);
Mechanism distance_decay(double amount_at_first = 1, double rate_at_first = 1);
Mechanism learned_temperature(double at_first = 0.5);
/// The larger `open`, the less is forgotten.
Mechanism forgetting(double open = 0);
Mechanism sink();

}  // namespace lesson26
