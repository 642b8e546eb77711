// 33.2 pull_of_a_gate: Gradient of a channel gate
// derive, 20 minutes
//
// The features x (T, C) have T places and C channels. A channel gate with one layer multiplies each channel by a
// number g_c:
//
//     z = 1/T Σ_t x_t       g = sigmoid(W z)       y_tc = g_c x_tc                 W (C, C)
//
// A feature affects y in two ways: directly at its place, and through the gate at all places. You are given d (T, C),
// the gradient of the loss with respect to y. Return the gradient with respect to x, (T, C). Compute it without a
// tape, from x, W, g and d.
//
// In the code, z and g are rows, (1, C), and W z is matmul(z, transpose(w)).
#include "lessons/grader/answer.hpp"

Tensor gradient_of_x(const Tensor& x, const Tensor& w, const Tensor& g, const Tensor& d) {
  //[ the gradient of x
  //: static_cast<void>(x.size(0)), static_cast<void>(w.size(0)), static_cast<void>(g.size(0));
  //: static_cast<void>(d.size(0));
  //: return not_written_yet();
  const auto places = static_cast<double>(x.size(0));
  const Tensor of_g = sum(d * x, {0}, Keep::yes);  // (1, C): a gate acts at every place
  const Tensor inside = of_g * g * (1.0 - g);      // gradient of W z: the rule of sigmoid
  const Tensor of_z = matmul(inside, w);           // (1, C): for rows, Wᵀ times a column is the row times W
  return d * g + of_z / places;                    // each place counts 1/T in z
  //]
}

// hint: y_tc = g_c x_tc is a product. Which gradients do its two factors get? One factor is the same at all places.
// hint: From g back to z: the sigmoid's derivative is g (1 − g), and z gets Wᵀ times the gradient of W z. Which
//   product is that for a row?
// hint: z is a mean, so each x_t gets z's gradient times ____. Then add the direct part: d * g + ____.
//
// wrong: You treated the gate as a constant. It depends on x too.
// - return d * g + of_z / places;
// + static_cast<void>(of_z), static_cast<void>(places);
// + return d * g;
// wrong: The factor 1/T is missing in the part through the gate: z is a mean, not a sum.
// - return d * g + of_z / places;
// + static_cast<void>(places);
// + return d * g + of_z;
// wrong: You multiplied by W again. Backward multiplies a column by Wᵀ, which means that a row is multiplied by W.
// - const Tensor of_z = matmul(inside, w);
// + const Tensor of_z = matmul(inside, transpose(w));
// wrong: The sigmoid's derivative is missing between g and W z.
// - const Tensor inside = of_g * g * (1.0 - g);
// + const Tensor inside = of_g;
// wrong: The sigmoid's derivative is g (1 − g). The factor g is missing.
// - const Tensor inside = of_g * g * (1.0 - g);
// + const Tensor inside = of_g * (1.0 - g);
// wrong: The direct part is missing: at its place, x is multiplied by g.
// - return d * g + of_z / places;
// + return expand(of_z / places, x.shape());
// wrong: A gate multiplies all places, so its gradient is the sum of d ⊙ x over the places.
// - const Tensor of_g = sum(d * x, {0}, Keep::yes);
// + const Tensor of_g = d * x;
// wrong: You took the mean over the places. A gate's gradient is the sum over all places that it multiplied.
// - const Tensor of_g = sum(d * x, {0}, Keep::yes);
// + const Tensor of_g = mean(d * x, {0}, Keep::yes);
// wrong: You summed d alone. A gate multiplies x, so its gradient is the sum of d times x.
// - const Tensor of_g = sum(d * x, {0}, Keep::yes);
// + const Tensor of_g = sum(d, {0}, Keep::yes);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

void compare(Judge& judge, const Tensor& features, const Tensor& w, const Tensor& d) {
  const Tensor x = variable(features);
  Tape tape;
  const Tensor g = sigmoid(matmul(mean(x, {0}, Keep::yes), transpose(w)));
  const Tensor expected = tape.gradients(x * g, d, std::vector<Tensor>{x}).front();
  judge.same(gradient_of_x(x.detach(), w, g.detach(), d), expected, "the gradient of x");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("is right for one place and one channel", [&] {
    judge.example("x = 2 and W = (ln 3) / 2, so g = 0.75; d = 4");
    const auto one = [](double number) { return tensor({{number}}, DType::f64); };
    compare(judge, one(2), one(std::log(3) / 2), one(4));
  });
  judge.claim("is right for two places and two channels", [&] {
    judge.example(
        "x = ((2, 0), (0, 1)), W = ((1, 2), (0, −1)), d = ((1, 2), (−1, 3)); g = sigmoid((2, −0.5))");
    compare(judge, tensor({{2, 0}, {0, 1}}, DType::f64), tensor({{1, 2}, {0, -1}}, DType::f64),
            tensor({{1, 2}, {-1, 3}}, DType::f64));
  });
  judge.claim("is right for any sizes", [&] {
    judge.each_size({{"places", 1, 5}, {"channels", 1, 4}}, [&](const Sizes& n) {
      compare(judge, judge.normal({n[0], n[1]}), judge.normal({n[1], n[1]}), judge.normal({n[0], n[1]}));
    });
  });
}
