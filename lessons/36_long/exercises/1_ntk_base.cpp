// 36.1 ntk_base: The base of NTK scaling
// derive, 10 minutes
//
// Pair i of a head with w rotated components turns by θ_i = base^{−2i/w} radians per position, for
// i = 0 … w/2 − 1. NTK scaling replaces the base by a larger one. Pair 0 keeps its frequency, and the slowest
// pair, i = w/2 − 1, becomes slower by exactly the factor s.
//
// Return the new base, given the old one (`base`), an even width w ≥ 4 and a factor s > 0. Write the formula for
// i = w/2 − 1 with the old base and with the new one, and solve for the new one.
#include "lessons/grader/answer.hpp"

double scaled_base(double base, Size width, double factor) {
  //[ one formula
  //: return not_written_yet();
  const double w = static_cast<double>(width);
  return base * std::pow(factor, w / (w - 2));  // (base'/base)^{−(w − 2)/w} = 1/s
  //]
}

// hint: Write the frequency of the slowest pair with the old base and with the new one. Which equation connects
//   them?
// hint: 2i = w − 2 for the slowest pair. So base'^{−(w−2)/w} = base^{−(w−2)/w} / ____.
// hint: Raise both sides to the power −w/(w − 2): base' = base · s^{____}.
//
// wrong: You multiply the base by s. Then the slowest pair becomes slower by s^{(w−2)/w} and not by s.
// - return base * std::pow(factor, w / (w - 2));
// + return base * std::pow(factor, w / w);
// wrong: Your exponent is inverted: it must be w / (w − 2), which is above 1.
// - return base * std::pow(factor, w / (w - 2));
// + return base * std::pow(factor, (w - 2) / w);
// wrong: Your base is smaller than the old one, so the pairs turn faster. For s > 1 they must turn more slowly.
// - return base * std::pow(factor, w / (w - 2));
// + return base / std::pow(factor, w / (w - 2));
// wrong: You count the pairs as if the slowest one were i = w/2. The last pair is i = w/2 − 1.
// - return base * std::pow(factor, w / (w - 2));
// + return base * std::pow(factor, w / (w - 1));

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/positions/rotary.hpp"

void judge(Judge& judge) {
  judge.claim("gives the base 20,000 for base 10,000, width 4 and s = √2", [&] {
    judge.example("base 10,000, width 4, s = √2");
    judge.same(scaled_base(10000, 4, std::sqrt(2.0)), 20000, "the base");
  });
  judge.claim("slows the slowest pair by the factor s, and gives the frequencies of nn/", [&] {
    judge.each_size(
        {{"pairs", 2, 40}},
        [&](const Sizes& n) {
          const Size width = 2 * n[0];
          const double base = judge.random().uniform(100, 100000), factor = judge.random().uniform(0.5, 16);
          const double found = scaled_base(base, width, factor);
          const double w = static_cast<double>(width), slowest = -(w - 2) / w;
          judge.same(std::pow(found, slowest) / std::pow(base, slowest), 1 / factor,
                     "new frequency of the slowest pair ÷ old frequency");
          const RotaryPositions library(Parent{}, {.head_width = width},
                                        {.base = base, .scaling = RotaryScaling::ntk, .factor = factor});
          std::vector<double> frequencies;
          for (double i = 0; i < w / 2; ++i) frequencies.push_back(std::pow(found, -2 * i / w));
          judge.same(frequencies, library.frequencies(width), "the frequencies");
        },
        {.f32 = false});
  });
}
