// 36.2 yarn_ramp: YaRN's frequencies
// implement, 15 minutes
//
// YaRN (Peng et al. 2023) changes the frequency θ_i of a rotary pair, in radians per position, according to r_i, the
// number of turns that the pair makes over the trained length L. If r_i ≥ fast, the frequency stays θ_i. If r_i ≤ slow,
// it becomes θ_i / s. Between the two, the weight γ_i of the old frequency grows linearly with r_i:
//
//     r_i = L θ_i / 2π,    γ_i = (r_i − slow) / (fast − slow), clamped to [0, 1],    θ'_i = γ_i θ_i + (1 − γ_i) θ_i / s
//
// Return the new frequencies θ'_i in the order of the given θ_i (`thetas`). L is `length`, and s ≥ 1 is `factor`.
// slow is less than fast.
#include "lessons/grader/answer.hpp"

std::vector<double> yarn_frequencies(const std::vector<double>& thetas, double length, double factor,
                                     double slow, double fast) {
  //[ about seven lines
  //: return not_written_yet();
  std::vector<double> scaled;
  for (const double theta : thetas) {
    const double turns = length * theta / (2 * std::numbers::pi);
    const double old_weight = std::clamp((turns - slow) / (fast - slow), 0.0, 1.0);
    scaled.push_back(old_weight * theta + (1 - old_weight) * theta / factor);
  }
  return scaled;
  //]
}

// hint: How many radians does pair i turn over L positions? And how many turns is that?
// hint: const double old_weight = std::clamp((turns − ____) / (____ − ____), 0.0, 1.0)
// hint: The new frequency is old_weight · θ + (1 − old_weight) · ____.
//
// wrong: You compare radians with `slow` and `fast`. They are numbers of turns, so divide by 2π.
// - const double turns = length * theta / (2 * std::numbers::pi);
// + const double turns = length * theta;
// wrong: γ must be clamped to [0, 1]. Otherwise, a pair with more than `fast` turns becomes faster than in training.
// - const double old_weight = std::clamp((turns - slow) / (fast - slow), 0.0, 1.0);
// + const double old_weight = (turns - slow) / (fast - slow);
// wrong: You divide the frequencies of the fast pairs and keep those of the slow ones. A slow pair would then reach
//   angles beyond those in training.
// - scaled.push_back(old_weight * theta + (1 - old_weight) * theta / factor);
// + scaled.push_back((1 - old_weight) * theta + old_weight * theta / factor);
// wrong: You divide r_i by fast − slow without subtracting `slow` first. At r_i = slow, γ_i must be 0.
// - const double old_weight = std::clamp((turns - slow) / (fast - slow), 0.0, 1.0);
// + const double old_weight = std::clamp(turns / (fast - slow), 0.0, 1.0);
// wrong: You divide the whole mixture by s. Only the second term, (1 − γ_i) θ_i, must be divided.
// - scaled.push_back(old_weight * theta + (1 - old_weight) * theta / factor);
// + scaled.push_back((old_weight * theta + (1 - old_weight) * theta) / factor);

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/positions/rotary.hpp"

void judge(Judge& judge) {
  constexpr double kTurn = 2 * std::numbers::pi;
  judge.claim("keeps a fast pair and divides a slow one", [&] {
    judge.example("pairs with 8 turns and with 1/2 turn in L = 64, s = 4, slow = 1, fast = 4");
    judge.same(yarn_frequencies({kTurn / 8, kTurn / 128}, 64, 4, 1, 4), {kTurn / 8, kTurn / 512},
               "the frequencies");
  });
  judge.claim("mixes the old and the divided frequency between slow and fast", [&] {
    judge.example("pairs with 2 turns and with 3 turns in L = 64, s = 4, slow = 1, fast = 4");
    judge.same(yarn_frequencies({kTurn / 32, kTurn * 3 / 64}, 64, 4, 1, 4), {kTurn / 64, kTurn * 9 / 256},
               "the frequencies");
  });
  judge.claim("returns the same frequencies as RotaryPositions", [&] {
    judge.each_size({{"pairs", 1, 32}, {"trained length", 1, 4096}},
                    [&](const Sizes& n) {
                      const double factor = judge.random().uniform(1, 16),
                                   slow = judge.random().uniform(0.25, 2);
                      const double fast = slow + judge.random().uniform(0.5, 32);
                      const RotaryPositions before(Parent{}, {.head_width = 2 * n[0]}, RotaryOptions{});
                      const RotaryPositions after(Parent{}, {.head_width = 2 * n[0]},
                                                  {.scaling = RotaryScaling::yarn,
                                                   .factor = factor,
                                                   .trained_length = n[1],
                                                   .fast = fast,
                                                   .slow = slow});
                      judge.same(yarn_frequencies(before.frequencies(2 * n[0]), static_cast<double>(n[1]),
                                                  factor, slow, fast),
                                 after.frequencies(2 * n[0]), "the frequencies");
                    },
                    {.f32 = false});
  });
}
