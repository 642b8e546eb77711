// 33.2 pull_of_a_gate: two ways from a feature to what comes out
// derive, 20 minutes
//
// A gate with one layer multiplies each of C channels of the features x (T, C) of T places:
//
//     z = 1/T Σ_t x_t       g = sigmoid(W z)       y_tc = g_c x_tc                 W (C, C)
//
// A feature acts on y in two ways: at its own place, and by way of the gate on all places. Given d (T, C), the
// gradient of the loss by y, return that by x, (T, C). Write it without a tape, from x, W, g and d. In code z and
// g are rows, (1, C), and W z is matmul(z, transpose(w)).
#include "lessons/grader/answer.hpp"

Tensor gradient_of_x(const Tensor& x, const Tensor& w, const Tensor& g, const Tensor& d) {
  //[ the gradient of x
  //: static_cast<void>(x.size(0)), static_cast<void>(w.size(0)), static_cast<void>(g.size(0));
  //: static_cast<void>(d.size(0));
  //: return not_written_yet();
  const auto places = static_cast<double>(x.size(0));
  const Tensor of_g = sum(d * x, {0}, Keep::yes);  // (1, C): a gate counts at every place
  const Tensor inside = of_g * g * (1.0 - g);      // of W z: the sigmoid's rule
  const Tensor of_z = matmul(inside, w);           // (1, C): a row times W is Wᵀ times a column
  return d * g + of_z / places;                    // each place has a share of 1/T in z
  //]
}

// hint: y_tc = g_c x_tc is a product: which gradient do its two factors get? One of them is the same at all places.
// hint: From g back to z: the sigmoid's derivative is g (1 − g), and z gets Wᵀ times the gradient of
//   W z. Which product is that for a row?
// hint: z is a mean: each x_t gets the ____th part of z's gradient. Then add the two ways up: d * g + ____.
//
// wrong: The gate was taken for a constant: it is made of x, too.
// - return d * g + of_z / places;
// + static_cast<void>(of_z), static_cast<void>(places);
// + return d * g;
// wrong: The way through the gate lacks 1/T: z is a mean, not a sum.
// - return d * g + of_z / places;
// + static_cast<void>(places);
// + return d * g + of_z;
// wrong: That is W z once more: on the way back the gradient meets Wᵀ, and as a row it is multiplied with W itself.
// - const Tensor of_z = matmul(inside, w);
// + const Tensor of_z = matmul(inside, transpose(w));
// wrong: The sigmoid's derivative is missing between g and W z.
// - const Tensor inside = of_g * g * (1.0 - g);
// + const Tensor inside = of_g;
// wrong: Of the sigmoid's derivative, g (1 − g), the factor g is missing.
// - const Tensor inside = of_g * g * (1.0 - g);
// + const Tensor inside = of_g * (1.0 - g);
// wrong: The direct way is missing: at its own place x is multiplied by g.
// - return d * g + of_z / places;
// + return expand(of_z / places, x.shape());
// wrong: A gate multiplied all places: its gradient is the sum of d ⊙ x over them.
// - const Tensor of_g = sum(d * x, {0}, Keep::yes);
// + const Tensor of_g = d * x;
// wrong: A gate's gradient is the sum over places: it multiplied each of them.
// - const Tensor of_g = sum(d * x, {0}, Keep::yes);
// + const Tensor of_g = mean(d * x, {0}, Keep::yes);
// wrong: The gate's gradient is d times what it multiplied, x; you summed d alone.
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
  judge.claim("is right where there is one place and one channel", [&] {
    judge.example("x = 2 and W = (ln 3) / 2, so g = 0.75; d = 4");
    const auto one = [](double number) { return tensor({{number}}, DType::f64); };
    compare(judge, one(2), one(std::log(3) / 2), one(4));
  });
  judge.claim("is right with two places and two channels", [&] {
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
