// The gallery's mechanisms by ops, and those that compute their own score. The default arguments are the
// numbers of the list. If a mechanism learns its number, the argument is the initial value.
#pragma once

#include "lessons/26_programmable/mechanism.hpp"

namespace lesson26 {

using tapestry::Size, tapestry::kit::Mechanism;

Mechanism rotary(double base = 10000);
Mechanism cosine(double gain = 5);
Mechanism normed_additive(double gain = 2);
/// `spread` is the standard deviation of u, the weight of the coverage.
Mechanism coverage(double spread = 1);
/// `deviation` is the standard deviation of the Gaussian, in positions.
Mechanism local_p(double deviation = 2);
Mechanism differential(double lambda = 0.5);
/// Each head keeps 1 − `mix` of its own scores, and `mix` is spread evenly over all heads.
Mechanism talking_heads(double mix = 0.5);
/// `factor` multiplies the sum that is subtracted from the scores; it is 1 in the paper.
Mechanism selective(double factor = 1);
/// `bias` is added to −log n.
Mechanism sigmoid_attention(double bias = 0);
/// The larger `open` is, the closer the gates are to 1.
Mechanism output_gate(double open = 0);

}  // namespace lesson26
