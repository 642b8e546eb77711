// 2.1 two_rules: Derive two rules: x · tanh x and the shares of a row
// derive, 20 minutes
//
// Write the derivative rules of two ops. A rule receives dy, the gradient of the loss with respect to y. It
// returns the gradient with respect to x. x, y and dy all have the shape (B, n).
//
//     y = x ⊙ tanh x                                 element by element
//     y_i = x_i / Σ_k x_k                            the shares of a row of positive numbers
//
// Use plain ops: tanh, + − * /, sum(…, {-1}, Keep::yes). The two ops that use your rules are at the end of
// the file, and gradcheck judges them.
#include "lessons/grader/answer.hpp"

Tensor x_tanh_x_rule(const Tensor& x, const Tensor& dy) {
  //[ one or two lines
  //: return not_written_yet();
  const Tensor t = tanh(x);
  return dy * (t + x * (1 - t * t));  // product rule, with tanh′ = 1 − tanh²
  //]
}

Tensor shares_rule(const Tensor& x, const Tensor& dy) {
  //[ two or three lines
  //: return not_written_yet();
  const Tensor total = sum(x, {-1}, Keep::yes), y = x / total;
  const Tensor through_total = sum(dy * y, {-1}, Keep::yes);  // a larger x_i makes every share smaller
  return (dy - through_total) / total;
  //]
}

Tensor x_tanh_x(const Tensor& x) {
  const auto rule = [x](const Tensor& dy) { return x_tanh_x_rule(x, dy); };
  return op<"x_tanh_x">({}, x.detach() * tanh(x.detach()), wrt(x, rule));
}

Tensor shares(const Tensor& x) {
  const auto rule = [x](const Tensor& dy) { return shares_rule(x, dy); };
  return op<"shares">({}, x.detach() / sum(x.detach(), {-1}, Keep::yes), wrt(x, rule));
}

// hint: x occurs twice in x · tanh x, and both factors change with it. In a share, x_i occurs in the numerator
//   and in the sum of the denominator.
// hint: (u v)′ = u′ v + u v′, and tanh′ x = 1 − ____. For the shares, let S = Σ x_k. Then ∂y_j/∂x_i is −x_j / S²
//   for every j, plus 1 / S for j = i. Weight these derivatives with dy_j and sum over ____.
// hint: Σ_j dy_j ∂y_j/∂x_i = dy_i / S − Σ_j dy_j y_j / S. The last sum is one number per row: sum(dy * y,
//   {-1}, Keep::yes).
//
// wrong: Half of the product rule is missing. You differentiate the factor x, but treat x inside tanh as a
//   constant.
// - return dy * (t + x * (1 - t * t));
// + return dy * t;
// wrong: Half of the product rule is missing. You differentiate x inside tanh, but treat the factor x as a
//   constant. Check it at x = 0.1: there y is about x², whose derivative is 2x.
// - return dy * (t + x * (1 - t * t));
// + return dy * x * (1 - t * t);
// wrong: You multiply the derivatives of the two factors, 1 and 1 − tanh². The derivative of a product is a
//   sum of two parts.
// - return dy * (t + x * (1 - t * t));
// + return dy * (1 - t * t);
// wrong: The derivative of tanh is 1 − tanh², not 1 − tanh. For negative x, 1 − tanh is larger than 1, but the
//   slope of tanh is never larger than 1.
// - return dy * (t + x * (1 - t * t));
// + return dy * (t + x * (1 - t));
// wrong: A sign is wrong. tanh rises everywhere, so 1 − tanh² > 0, and both parts have the sign of x.
// - return dy * (t + x * (1 - t * t));
// + return dy * (t - x * (1 - t * t));
// wrong: dy is missing. You return y′. The rule must return the derivative of the *loss*, which is dy times y′.
// - return dy * (t + x * (1 - t * t));
// + return t + x * (1 - t * t);
// wrong: You treat the sum in the denominator as a constant. Doubling a row doesn't change its shares, so
//   Σ x ⊙ ∂x must be 0 in each row.
// - return (dy - through_total) / total;
// + return dy / total;
// wrong: The part that comes through the sum has the wrong sign. A larger x_i makes the sum larger and the
//   shares smaller.
// - return (dy - through_total) / total;
// + return (dy + through_total) / total;
// wrong: The part that comes through the sum lacks a division. ∂y_j/∂S is −x_j / S². That is the share
//   y_j = x_j / S, divided by S once more.
// - return (dy - through_total) / total;
// + return dy / total - through_total;
// wrong: x_i also changes the *other* shares of its row, and each share has its own dy. So the products dy ⊙ y
//   must be summed over the row. You keep them apart.
// - const Tensor through_total = sum(dy * y, {-1}, Keep::yes);
// + const Tensor through_total = dy * y;
// wrong: You sum over the rows of the batch. The shares of a row depend on that row alone, so no gradient may
//   pass from one row to another. Try a batch of two.
// - const Tensor through_total = sum(dy * y, {-1}, Keep::yes);
// + const Tensor through_total = sum(dy * y, {0}, Keep::yes);
// wrong: You take the plain mean of dy. It must be a weighted sum, in which each dy_j has the weight y_j.
// - const Tensor through_total = sum(dy * y, {-1}, Keep::yes);
// + const Tensor through_total = mean(dy, {-1}, Keep::yes);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns Σ dy_j y_j over all shares of all rows.
double weighted_shares(const std::vector<std::vector<double>>& x,
                       const std::vector<std::vector<double>>& dy) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += std::inner_product(x[i].begin(), x[i].end(), dy[i].begin(), 0.0) /
           std::accumulate(x[i].begin(), x[i].end(), 0.0);
  return sum;
}

Tensor row(const std::vector<double>& values) {
  return tensor(values, {1, static_cast<Size>(values.size())}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  constexpr double kStep = 1e-5;
  judge.claim("computes the gradient of x · tanh x for two numbers", [&] {
    const std::vector<double> x = {0.5, -2}, dy = {1, 3};
    std::vector<double> expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double up = x[i] + kStep, down = x[i] - kStep;
      expected.push_back(dy[i] * (up * std::tanh(up) - down * std::tanh(down)) / (2 * kStep));
    }
    judge.example("x = (0.5, −2) and dy = (1, 3); the expected numbers are central differences");
    judge.same(x_tanh_x_rule(row(x), row(dy)), row(expected), "the gradient", 1e-6);
  });
  judge.claim("passes gradcheck for x · tanh x", [&] {
    judge.each_size({{"B", 1, 3}, {"n", 1, 5}}, [&](const Sizes& n) {
      judge.gradients(x_tanh_x, judge.normal({n[0], n[1]}));
    });
  });
  judge.claim("computes the gradient of the shares of two rows", [&] {
    const std::vector<std::vector<double>> x = {{1, 2, 5}, {2, 3, 1}}, dy = {{1, -2, 4}, {0, 3, 5}};
    std::vector<double> expected;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        auto up = x, down = x;
        up[i][j] += kStep;
        down[i][j] -= kStep;
        expected.push_back((weighted_shares(up, dy) - weighted_shares(down, dy)) / (2 * kStep));
      }
    judge.example(
        "x = (1, 2, 5), (2, 3, 1) and dy = (1, −2, 4), (0, 3, 5); the expected numbers are central "
        "differences");
    const Tensor came =
        shares_rule(tensor({{1, 2, 5}, {2, 3, 1}}, DType::f64), tensor({{1, -2, 4}, {0, 3, 5}}, DType::f64));
    judge.same(came, tensor(expected, {2, 3}, DType::f64), "the gradient", 1e-6);
  });
  judge.claim("passes gradcheck for the shares", [&] {
    judge.each_size({{"B", 1, 3}, {"n", 2, 5}}, [&](const Sizes& n) {
      judge.gradients(shares, judge.uniform({n[0], n[1]}, 0.5, 3));
    });
  });
}
