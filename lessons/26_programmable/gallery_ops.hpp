// The gallery's mechanisms by ops and of their own score, each with the numbers of the list where nothing else is
// said. Where a mechanism learns its number, training begins with it.
#pragma once

#include "lessons/26_programmable/mechanism.hpp"

namespace lesson26 {

using tapestry::Size, tapestry::kit::Mechanism;

Mechanism rotary(double base = 10000);
Mechanism cosine(double gain = 5);
Mechanism normed_additive(double gain = 2);
/// `spread` is the standard deviation of u, by which the past counts.
Mechanism coverage(double spread = 1);
/// `deviation` is that of the Gaussian, in places.
Mechanism local_p(double deviation = 2);
Mechanism differential(double lambda = 0.5);
/// Heads keep 1 − `mix` of their own, and share the rest evenly.
Mechanism talking_heads(double mix = 0.5);
/// `bias` comes on top of −log n.
Mechanism sigmoid_attention(double bias = 0);

}  // namespace lesson26
