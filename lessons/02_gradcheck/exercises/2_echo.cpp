// 2.2 echo: a rule that gradcheck complains of
// debug, 15 minutes
//
// An echo adds to each number of a row k times the number before it, with nothing before the first:
//
//     y_t = x_t + k x_{t−1},        x_{−1} = 0
//
// x and y are (B, T), k is one number. The op below has rules for both, and gradcheck says that one is wrong.
// Mend that rule. slice(x, axis, from, to) and concat(list, axis) are used in `delayed`.
#include "lessons/grader/answer.hpp"

/// Each row one place later: 0, x_0, x_1, … The last number falls out.
Tensor delayed(const Tensor& x) {
  const Tensor nothing = zeros({x.size(0), 1}, x.dtype());
  return concat({nothing, slice(x, 1, 0, x.size(1) - 1)}, 1);
}

Tensor rule_of_x(const Tensor& k, const Tensor& dy) {
  //[ mend it
  //: return dy + k * delayed(dy);
  const Tensor nothing = zeros({dy.size(0), 1}, dy.dtype());
  const Tensor next = concat({slice(dy, 1, 1, dy.size(1)), nothing}, 1);  // dy one place earlier
  return dy + k * next;  // x_t is heard in y_t and in y_{t+1}
  //]
}

Tensor rule_of_k(const Tensor& x, const Tensor& dy) { return sum(dy * delayed(x)); }

Tensor echo(const Tensor& x, const Tensor& k) {
  const Tensor y = x.detach() + k.detach() * delayed(x.detach());
  return op<"echo">({}, y, wrt(x, [k](const Tensor& dy) { return rule_of_x(k, dy); }),
                    wrt(k, [x](const Tensor& dy) { return rule_of_k(x, dy); }));
}

// start: gradcheck of echo: FAILED. Argument 2, k, agrees. Argument 1, x, does not, in any place: with k =
//   10 and dy = (1, 2, 3) the rule gives (1, 12, 23), and differences give (21, 32, 3). Write down y_0, y_1
//   and y_2, and see which of them x_0 is in.
//
// hint: Which of y_0, y_1, y_2 change when x_0 is moved? And when x_1 is?
// hint: x_t stands in y_t, with the factor 1, and in y_{____}, with the factor k. So ∂x_t = dy_t + k
//   dy_{____}.
// hint: You need dy one place *earlier*: its numbers from place 1 on, then a 0. As in `delayed`, with slice
//   and concat the other way round.
//
// wrong: You moved dy in a circle: its first number comes back at the end. The last x is in no later y, so
//   nothing may be added to its gradient.
// - const Tensor nothing = zeros({dy.size(0), 1}, dy.dtype());
// + const Tensor nothing = slice(dy, 1, 0, 1);
// wrong: The last dy stands twice. After the last place there is nothing, so a 0 belongs there.
// - const Tensor nothing = zeros({dy.size(0), 1}, dy.dtype());
// + const Tensor nothing = slice(dy, 1, dy.size(1) - 1, dy.size(1));
// wrong: The sign was not the mistake: x_0 = 1 more makes y_1 larger by k, not smaller. It is the place
//   that is wrong.
// - return dy + k * next;
// + return dy - k * delayed(dy);
// wrong: The place is right, the sign is not: x_t is added to the next y.
// - return dy + k * next;
// + return dy - k * next;
// wrong: The echo is lost: x_t is heard a second time, k times as loud.
// - return dy + k * next;
// + return dy;
// wrong: k is missing: the second time x_t is heard k times as loud.
// - return dy + k * next;
// + return dy + next;
// wrong: That is dy one place later *and* one earlier. x_t is in y_t and y_{t+1} only.
// - return dy + k * next;
// + return dy + k * next + k * delayed(dy);
// wrong: The order of the row is turned round. The numbers move by one place; they stay in their order.
// - const Tensor next = concat({slice(dy, 1, 1, dy.size(1)), nothing}, 1);
// + const Tensor next = flip(delayed(dy), 1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// ∂/∂x_t of Σ dy_s (x_s + k x_{s−1}), asked of each pair (t, s).
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
  judge.claim("gives the gradient of three numbers", [&] {
    judge.example("k = 10 and dy = (1, 2, 3)");
    const Tensor dy = tensor({{1, 2, 3}}, DType::f64);
    judge.same(rule_of_x(scalar(10, DType::f64), dy), by_pairs(10, dy), "the gradient of x");
  });
  judge.claim("passes gradcheck for any rows", [&] {
    judge.each_size({{"B", 1, 3}, {"T", 1, 6}}, [&](const Sizes& n) {
      GradcheckOptions options;
      options.expect_zero = n[1] == 1;  // a row of one has no echo: k moves nothing
      judge.gradients(echo, {judge.normal({n[0], n[1]}), judge.uniform({}, 0.5, 2)}, options);
    });
  });
}
