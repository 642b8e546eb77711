// 2.2 echo: Debug a rule that fails gradcheck
// debug, 15 minutes
//
// The op echo() adds k times the previous number to each number of a row. No number comes before the first one, so
// x_{−1} counts as 0:
//
//     y_t = x_t + k x_{t−1},        x_{−1} = 0
//
// The shape of x and y is (B, T), and k is a single number. The op has a rule for x and a rule for k. Gradcheck reports
// that one of the two rules is wrong. Fix this rule. The function delayed() shows how to use slice(x, axis, from, to)
// and concat(list, axis).
#include "lessons/grader/answer.hpp"

/// Shifts each row one position to the right: 0, x_0, x_1, … The last number is dropped.
Tensor delayed(const Tensor& x) {
  const Tensor zero_column = zeros({x.size(0), 1}, x.dtype());
  return concat({zero_column, slice(x, 1, 0, x.size(1) - 1)}, 1);
}

Tensor rule_of_x(const Tensor& k, const Tensor& dy) {
  //[ fix this rule
  //: return dy + k * delayed(dy);
  const Tensor zero_column = zeros({dy.size(0), 1}, dy.dtype());
  const Tensor next = concat({slice(dy, 1, 1, dy.size(1)), zero_column}, 1);  // dy shifted to the left
  return dy + k * next;  // x_t is part of y_t and of y_{t+1}
  //]
}

Tensor rule_of_k(const Tensor& x, const Tensor& dy) { return sum(dy * delayed(x)); }

Tensor echo(const Tensor& x, const Tensor& k) {
  const Tensor y = x.detach() + k.detach() * delayed(x.detach());
  return op<"echo">({}, y, wrt(x, [k](const Tensor& dy) { return rule_of_x(k, dy); }),
                    wrt(k, [x](const Tensor& dy) { return rule_of_k(x, dy); }));
}

// start: gradcheck of echo: FAILED. The gradient with respect to k is right. The gradient with respect to x is wrong in
//   every element. With k = 10 and dy = (1, 2, 3), the rule returns (1, 12, 23), but central differences return
//   (21, 32, 3). Write down the formulas of y_0, y_1 and y_2. Which of these formulas contain x_0?
//
// hint: Which of y_0, y_1 and y_2 change when x_0 changes? Which of them change when x_1 changes?
// hint: The formula of y_t contains x_t with the factor 1, and the formula of y_{____} contains x_t with the factor k.
//   So ∂x_t = dy_t + k dy_{____}.
// hint: Shift dy one position to the *left*. The result has the numbers of dy from index 1 on, and then a 0. Use slice
//   and concat as in delayed(), but drop the first number and append the 0 at the end.
//
// wrong: You rotate dy, so its first number reappears at the end. No later y depends on the last x, so append a 0.
// - const Tensor zero_column = zeros({dy.size(0), 1}, dy.dtype());
// + const Tensor zero_column = slice(dy, 1, 0, 1);
// wrong: You use the last dy twice. No y comes after the last one, so append a 0.
// - const Tensor zero_column = zeros({dy.size(0), 1}, dy.dtype());
// + const Tensor zero_column = slice(dy, 1, dy.size(1) - 1, dy.size(1));
// wrong: The sign was right, because raising x_0 by 1 raises y_1 by k. The mistake is the direction of the shift.
// - return dy + k * next;
// + return dy - k * delayed(dy);
// wrong: The shift is right, but the sign is wrong. The op adds k x_t to the next y, so add k times the shifted dy.
// - return dy + k * next;
// + return dy - k * next;
// wrong: The second term is missing. The op also adds k x_t to the next y.
// - return dy + k * next;
// + return dy;
// wrong: The factor k is missing. The op adds k x_t to the next y, not x_t.
// - return dy + k * next;
// + return dy + next;
// wrong: You add dy shifted to the left *and* dy shifted to the right. Only y_t and y_{t+1} depend on x_t.
// - return dy + k * next;
// + return dy + k * next + k * delayed(dy);
// wrong: You reverse the row. A shift moves the numbers by one position and keeps their order.
// - const Tensor next = concat({slice(dy, 1, 1, dy.size(1)), zero_column}, 1);
// + const Tensor next = flip(delayed(dy), 1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the derivative of Σ_s dy_s (x_s + k x_{s−1}) with respect to x_t, for each t. A loop over s adds the terms.
Tensor by_pairs(double k, const Tensor& dy) {
  const Size batch = dy.size(0), length = dy.size(1);
  std::vector<double> gradient;
  for (Size b = 0; b < batch; ++b)
    for (Size t = 0; t < length; ++t) {
      double sum = 0;
      for (Size s = 0; s < length; ++s) {
        if (s == t) sum += dy.at({b, s});
        if (s - 1 == t) sum += k * dy.at({b, s});
      }
      gradient.push_back(sum);
    }
  return tensor(gradient, dy.shape(), DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("computes the gradient for three numbers", [&] {
    judge.example("k = 10 and dy = (1, 2, 3)");
    const Tensor dy = tensor({{1, 2, 3}}, DType::f64);
    judge.same(rule_of_x(scalar(10, DType::f64), dy), by_pairs(10, dy), "the gradient of x");
  });
  judge.claim("passes gradcheck for rows of different lengths", [&] {
    judge.each_size({{"B", 1, 3}, {"T", 1, 6}}, [&](const Sizes& n) {
      GradcheckOptions options;
      options.expect_zero = n[1] == 1;  // a row of one number has no echo, so k has no effect
      judge.gradients(echo, {judge.normal({n[0], n[1]}), judge.uniform({}, 0.5, 2)}, options);
    });
  });
}
