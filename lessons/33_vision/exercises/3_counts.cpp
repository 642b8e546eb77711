// 33.3 counts: places, numbers and weights
// predict, 10 minutes
//
// Predict, for a picture of 224 × 224 pixels with three numbers each: how many patches of 16 × 16 there are, and
// how many numbers stand in one; how many scores self-attention among these patches has, and by what factor that
// number grows with patches of 8 × 8; in how many windows of 3 × 3 (stride 1) a pixel far from the border lies. And how
// many weights, biases included, channel attention has for 64 channels with 4 hidden units; and what it multiplies
// each channel with if all its weights are 0.
#include "lessons/grader/answer.hpp"

double patches_of_16() {
  //[ how many
  //: return not_written_yet();
  return 196;  // 14 in a row, 14 rows
  //]
}

double numbers_of_one() {
  //[ in a patch of 16 × 16
  //: return not_written_yet();
  return 768;  // 256 pixels of 3 numbers
  //]
}

double scores() {
  //[ among these patches
  //: return not_written_yet();
  return 38416;  // 196²: each patch asks each
  //]
}

double growth() {
  //[ factor of the scores with patches of 8 × 8
  //: return not_written_yet();
  return 16;  // four times as many patches, and the square of that
  //]
}

double windows_of_a_pixel() {
  //[ of 3 × 3, stride 1
  //: return not_written_yet();
  return 9;  // it may stand in any of a window's nine places
  //]
}

double weights_of_gate() {
  //[ 64 channels, 4 hidden units
  //: return not_written_yet();
  return 580;  // 64 · 4 + 4, and 4 · 64 + 64
  //]
}

double gate_of_zeros() {
  //[ all weights and biases 0
  //: return not_written_yet();
  return 0.5;  // sigmoid(0)
  //]
}

// hint: How often does 16 go into 224? Patches lie in rows and in columns.
// hint: Patches of half the side: how many fit where one was? A score belongs to a pair.
// hint: Two linear layers, 64 → 4 → 64, each with one bias for each number that comes out.
//
// wrong: That is one row of patches: there are as many rows.
// - return 196;  // 14 in a row, 14 rows
// + return 14;
// wrong: Patches lie side by side, so they do not overlap: 14 in a row. What you counted are windows with stride 1.
// - return 196;  // 14 in a row, 14 rows
// + return 43681;
// wrong: A pixel has three numbers.
// - return 768;  // 256 pixels of 3 numbers
// + return 256;
// wrong: A score belongs to a pair of patches: 196 times 196.
// - return 38416;  // 196²: each patch asks each
// + return 196;
// wrong: That is how the number of patches grows. A score belongs to a pair of them.
// - return 16;  // four times as many patches, and the square of that
// + return 4;
// wrong: Half the side gives four times as many patches, as it is halved in both directions, and pairs of patches
//   grow with the square of that.
// - return 16;  // four times as many patches, and the square of that
// + return 2;
// wrong: A window with the pixel in its middle is one of them. It may also be the corner of one, or an edge.
// - return 9;  // it may stand in any of a window's nine places
// + return 1;
// wrong: The biases are missing: 4 of the first layer, 64 of the second.
// - return 580;  // 64 · 4 + 4, and 4 · 64 + 64
// + return 512;
// wrong: That is one of the two layers: from 4 numbers it goes back to 64 gates.
// - return 580;  // 64 · 4 + 4, and 4 · 64 + 64
// + return 260;
// wrong: The second layer has biases, too: one for each of the 64 numbers that come out.
// - return 580;  // 64 · 4 + 4, and 4 · 64 + 64
// + return 516;
// wrong: The first layer has biases, too: one for each of the 4 hidden units.
// - return 580;  // 64 · 4 + 4, and 4 · 64 + 64
// + return 576;
// wrong: sigmoid(0) is not 0: it lies in the middle between shut and open.
// - return 0.5;  // sigmoid(0)
// + return 0;
// wrong: The gate begins half open, not open: all features are halved at first.
// - return 0.5;  // sigmoid(0)
// + return 1;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "nn/vision/gates.hpp"

void judge(Judge& judge) {
  const Tensor picture = zeros({224, 224, 3}), coarse = patches(picture, 16), fine = patches(picture, 8);
  const auto count = [](const Tensor& cut) { return static_cast<double>(cut.size(0) * cut.size(1)); };
  judge.claim("foretells the patches",
              [&] { judge.predicted(patches_of_16(), count(coarse), "the patches", 1e-9); });
  judge.claim("foretells a patch's numbers", [&] {
    judge.predicted(numbers_of_one(), static_cast<double>(coarse.size(2)), "the numbers", 1e-9);
  });
  judge.claim("foretells the scores",
              [&] { judge.predicted(scores(), count(coarse) * count(coarse), "the scores", 1e-9); });
  judge.claim("foretells how scores grow", [&] {
    judge.predicted(growth(), count(fine) * count(fine) / (count(coarse) * count(coarse)), "the factor");
  });
  judge.claim("foretells in how many windows a pixel lies", [&] {
    const Tensor x = variable(zeros({7, 7, 1}, DType::f64));
    Tape tape;
    tape.backward(sum(windows(x, 3)));
    judge.predicted(windows_of_a_pixel(), x.grad().at({3, 3, 0}), "the windows");
  });
  ChannelAttention gate(64, 4);
  gate.initialise(1);
  judge.claim("foretells the weights of a gate", [&] {
    judge.predicted(weights_of_gate(), static_cast<double>(kit::weights_of(gate)), "the weights", 1e-9);
  });
  judge.claim("foretells a gate without weights", [&] {
    State none;
    for (const auto& [name, weight] : gate.state()) none.emplace(name, zeros(weight.shape()));
    gate.load_state(none);
    judge.predicted(gate_of_zeros(), gate.gate(ones({1, 3, 64})).at({0, 0, 5}), "the gate");
  });
}
