// 33.3 counts: Counting patches, scores and parameters
// predict, 10 minutes
//
// A picture has 224 × 224 pixels with three numbers each. Predict seven numbers:
//
// 1. the number of patches of 16 × 16 pixels;
// 2. how many numbers one patch has;
// 3. the number of scores if these patches attend to each other (self-attention);
// 4. the factor by which the number of scores grows with patches of 8 × 8;
// 5. the number of windows of 3 × 3 (stride 1) that contain a given pixel, far from the border;
// 6. the number of parameters, biases included, of channel attention for 64 channels with 4 hidden units;
// 7. the factor by which this channel attention multiplies each channel if all its parameters are 0.
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
  return 38416;  // 196²: each patch has a score with each patch
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
  return 9;  // the pixel can be at any of a window's nine positions
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

// hint: How often does 16 go into 224? The patches are in rows and columns.
// hint: How many patches with half the side fit into one patch? And there is a score for each pair of patches.
// hint: There are two linear layers, 64 → 4 → 64. Each has one bias for each of its outputs.
//
// wrong: That is one row of patches. There are 14 rows.
// - return 196;  // 14 in a row, 14 rows
// + return 14;
// wrong: You counted windows with stride 1. Patches do not overlap, so there are 14 in a row.
// - return 196;  // 14 in a row, 14 rows
// + return 43681;
// wrong: You counted the pixels. Each pixel has three numbers.
// - return 768;  // 256 pixels of 3 numbers
// + return 256;
// wrong: There is a score for each pair of patches: 196 times 196.
// - return 38416;  // 196²: each patch has a score with each patch
// + return 196;
// wrong: That is the factor for the number of patches. There is a score for each pair of them.
// - return 16;  // four times as many patches, and the square of that
// + return 4;
// wrong: With half the side, there are four times as many patches, because both directions are halved. The number of
//   pairs grows with the square of four.
// - return 16;  // four times as many patches, and the square of that
// + return 2;
// wrong: You counted the window with the pixel in its middle. The pixel can also be at a corner or an edge of a
//   window.
// - return 9;  // the pixel can be at any of a window's nine positions
// + return 1;
// wrong: The biases are missing: 4 in the first layer, 64 in the second.
// - return 580;  // 64 · 4 + 4, and 4 · 64 + 64
// + return 512;
// wrong: You counted one of the two layers. The second layer maps 4 numbers to 64 gates.
// - return 580;  // 64 · 4 + 4, and 4 · 64 + 64
// + return 260;
// wrong: The biases of the second layer are missing: one for each of its 64 outputs.
// - return 580;  // 64 · 4 + 4, and 4 · 64 + 64
// + return 516;
// wrong: The biases of the first layer are missing: one for each of its 4 hidden units.
// - return 580;  // 64 · 4 + 4, and 4 · 64 + 64
// + return 576;
// wrong: sigmoid(0) is not 0. It is halfway between closed and open.
// - return 0.5;  // sigmoid(0)
// + return 0;
// wrong: sigmoid(0) is not 1. With parameters of 0, the gate halves all features.
// - return 0.5;  // sigmoid(0)
// + return 1;

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "nn/vision/gates.hpp"

void judge(Judge& judge) {
  const Tensor picture = zeros({224, 224, 3}), coarse = patches(picture, 16), fine = patches(picture, 8);
  const auto count = [](const Tensor& cut) { return static_cast<double>(cut.size(0) * cut.size(1)); };
  judge.claim("predicts the number of patches",
              [&] { judge.predicted(patches_of_16(), count(coarse), "the patches", 1e-9); });
  judge.claim("predicts the numbers of a patch", [&] {
    judge.predicted(numbers_of_one(), static_cast<double>(coarse.size(2)), "the numbers", 1e-9);
  });
  judge.claim("predicts the number of scores",
              [&] { judge.predicted(scores(), count(coarse) * count(coarse), "the scores", 1e-9); });
  judge.claim("predicts the growth of the scores", [&] {
    judge.predicted(growth(), count(fine) * count(fine) / (count(coarse) * count(coarse)), "the factor");
  });
  judge.claim("predicts the number of windows with a pixel", [&] {
    const Tensor x = variable(zeros({7, 7, 1}, DType::f64));
    Tape tape;
    tape.backward(sum(windows(x, 3)));
    judge.predicted(windows_of_a_pixel(), x.grad().at({3, 3, 0}), "the windows");
  });
  ChannelAttention gate(64, 4);
  gate.initialise(1);
  judge.claim("predicts the parameters of a gate", [&] {
    judge.predicted(weights_of_gate(), static_cast<double>(kit::weights_of(gate)), "the parameters", 1e-9);
  });
  judge.claim("predicts a gate whose parameters are 0", [&] {
    State none;
    for (const auto& [name, weight] : gate.state()) none.emplace(name, zeros(weight.shape()));
    gate.load_state(none);
    judge.predicted(gate_of_zeros(), gate.gate(ones({1, 3, 64})).at({0, 0, 5}), "the gate");
  });
}
