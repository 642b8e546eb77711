// 36.4 turns: Turns of the rotary pairs
// predict, 10 minutes
//
// A head has 8 rotated components, so it has four pairs with the frequencies 10000^{−2i/8}. These are 1, 0.1, 0.01
// and 0.001 radians per position. The model was trained on texts of 64 tokens. Predict four numbers. You may
// write formulas.
//
//     longest_wavelength()        positions in which the slowest pair completes one turn
//     pairs_with_a_turn()         number of pairs that complete a turn within 64 positions
//     pairs_after_interpolation() number of pairs that complete a turn within 512 positions, with linear
//                                 interpolation by 8
//     slowest_angle_with_ntk()    angle in radians of the slowest pair at the distance 512, with NTK scaling by 8
#include "lessons/grader/answer.hpp"

double longest_wavelength() {
  //[ positions per turn of the slowest pair
  //: return not_written_yet();
  return 2 * std::numbers::pi / 0.001;  // a turn is 2π radians: 6,283 positions
  //]
}

double pairs_with_a_turn() {
  //[ pairs that complete a turn within 64 positions
  //: return not_written_yet();
  return 2;  // wavelengths 6.28 and 62.8; the third is 628
  //]
}

double pairs_after_interpolation() {
  //[ pairs that complete a turn within 512 positions, with interpolation by 8
  //: return not_written_yet();
  return pairs_with_a_turn();  // 8 times the positions at an eighth of the frequencies: equal angles
  //]
}

double slowest_angle_with_ntk() {
  //[ angle of the slowest pair at the distance 512, with NTK scaling by 8
  //: return not_written_yet();
  return 512 * 0.001 / 8;  // NTK divides the slowest frequency by 8, so this is its old angle at 64
  //]
}

// hint: A pair completes a turn when its angle reaches 2π. After how many positions is that, at 0.1 radians per
//   position?
// hint: Interpolation divides every frequency by 8. Compare the angle at position 512 with the old angle at
//   position ____.
// hint: NTK scaling keeps the fastest frequency and divides the slowest one by exactly ____.
//
// wrong: You computed radians: after 1,000 positions the slowest pair has turned by 1 radian. A turn is 2π radians.
// - return 2 * std::numbers::pi / 0.001;
// + return 1 / 0.001;
// wrong: You computed the wavelength of the third pair. The slowest pair has 0.001 radians per position.
// - return 2 * std::numbers::pi / 0.001;
// + return 2 * std::numbers::pi / 0.01;
// wrong: The second pair has the wavelength 62.8, so it does complete a turn within 64 positions.
// - return 2;  // wavelengths 6.28 and 62.8; the third is 628
// + return 1;
// wrong: The third pair has the wavelength 628. Within 64 positions it completes a tenth of a turn.
// - return 2;  // wavelengths 6.28 and 62.8; the third is 628
// + return 3;
// wrong: Interpolation divides the frequency of the fast pairs too, so the third pair still does not complete a turn.
// - return pairs_with_a_turn();  // 8 times the positions at an eighth of the frequencies: equal angles
// + return 3;
// wrong: The second pair turns by 0.1 / 8 radians per position. Over 512 positions, that is 6.4 radians, which is
//   more than one turn.
// - return pairs_with_a_turn();  // 8 times the positions at an eighth of the frequencies: equal angles
// + return 1;
// wrong: This is the angle without scaling. NTK scaling by 8 makes the slowest pair slower.
// - return 512 * 0.001 / 8;
// + return 512 * 0.001;
// wrong: You divided by the factor of the base, 8^{8/6} = 16. The slowest frequency is divided by exactly 8.
// - return 512 * 0.001 / 8;
// + return 512 * 0.001 / 16;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/positions/rotary.hpp"

namespace {

/// Returns the frequencies of a head with 8 components after this scaling.
std::vector<double> after(RotaryScaling scaling, double factor) {
  return RotaryPositions(Parent{}, {.head_width = 8}, {.scaling = scaling, .factor = factor}).frequencies(8);
}

double with_a_turn(const std::vector<double>& frequencies, double length) {
  return static_cast<double>(std::count_if(frequencies.begin(), frequencies.end(), [&](double frequency) {
    return frequency * length >= 2 * std::numbers::pi;
  }));
}

}  // namespace

void judge(Judge& judge) {
  const std::vector<double> trained = after(RotaryScaling::none, 1);
  judge.claim("predicts the longest wavelength", [&] {
    judge.predicted(longest_wavelength(), 2 * std::numbers::pi / trained.back(), "the longest wavelength");
  });
  judge.claim("predicts the number of pairs with a turn", [&] {
    judge.predicted(pairs_with_a_turn(), with_a_turn(trained, 64), "the number of pairs within 64 positions");
  });
  judge.claim("predicts the number of pairs with a turn after interpolation", [&] {
    judge.predicted(pairs_after_interpolation(), with_a_turn(after(RotaryScaling::linear, 8), 512),
                    "the number of pairs within 512 positions");
  });
  judge.claim("predicts the angle of the slowest pair with NTK scaling", [&] {
    judge.predicted(slowest_angle_with_ntk(), 512 * after(RotaryScaling::ntk, 8).back(), "the angle", 1e-4);
  });
}
