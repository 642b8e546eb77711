// 2.1 two_rules: Derive two rules: x · tanh x, and a row divided by its sum
// derive, 20 minutes
//
// Write the derivative rules of two ops. A rule receives dy, the gradient of the loss with respect to y. The rule
// returns the gradient of the loss with respect to x. The shapes of x, y and dy are all (B, n).
//
//     y = x ⊙ tanh x                                 element by element
//     y_i = x_i / Σ_k x_k                            the share of each number in its row's sum, for positive numbers
//
// Use plain ops: tanh, + − * /, sum(…, {-1}, Keep::yes). The two ops that use your rules are at the end of the code.
// The judge checks them with gradcheck.
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
  const Tensor through_total = sum(dy * y, {-1}, Keep::yes);  // a larger total lowers every share
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

// hint: Both factors of x · tanh x depend on x. In a share, x_i occurs in the numerator and in the sum of the
//   denominator.
// hint: (u v)′ = u′ v + u v′, and tanh′ x = 1 − ____. For the shares, let S = Σ x_k. Then ∂y_j/∂x_i is −x_j / S² for
//   every j, plus 1 / S for j = i. Multiply these derivatives by dy_j and sum over ____.
// hint: Σ_j dy_j ∂y_j/∂x_i = dy_i / S − Σ_j dy_j y_j / S. Here Σ_j dy_j y_j is one number per row. Compute it with
//   sum(dy * y, {-1}, Keep::yes).
//
// wrong: One term of the product rule is missing. You differentiate the factor x, but treat the x inside tanh as a
//   constant.
// - return dy * (t + x * (1 - t * t));
// + return dy * t;
// wrong: One term of the product rule is missing. You differentiate the x inside tanh, but treat the factor x as a
//   constant. Check your rule at x = 0.1, where y is about x² and the derivative is about 2x.
// - return dy * (t + x * (1 - t * t));
// + return dy * x * (1 - t * t);
// wrong: You multiply the derivatives of the two factors, 1 and 1 − tanh². The derivative of a product is a sum of two
//   terms.
// - return dy * (t + x * (1 - t * t));
// + return dy * (1 - t * t);
// wrong: The derivative of tanh is 1 − tanh², not 1 − tanh. For negative x, 1 − tanh is larger than 1, but the
//   derivative of tanh is never larger than 1.
// - return dy * (t + x * (1 - t * t));
// + return dy * (t + x * (1 - t));
// wrong: The sign of the second term is wrong. tanh rises everywhere, so 1 − tanh² > 0, and both tanh x and x (1 −
//   tanh² x) have the sign of x.
// - return dy * (t + x * (1 - t * t));
// + return dy * (t - x * (1 - t * t));
// wrong: The factor dy is missing. You return y′, but the rule must return the derivative of the *loss*, which is dy
//   times y′.
// - return dy * (t + x * (1 - t * t));
// + return t + x * (1 - t * t);
// wrong: You treat the sum in the denominator as a constant. Doubling a row doesn't change its shares, so Σ x ⊙ ∂x must
//   be 0 in each row, where ∂x is the gradient that you return.
// - return (dy - through_total) / total;
// + return dy / total;
// wrong: The term that comes from the denominator has the wrong sign. Through the total, a larger x_i lowers every
//   share.
// - return (dy - through_total) / total;
// + return (dy + through_total) / total;
// wrong: A division by S is missing in the term that comes from the denominator. ∂y_j/∂S = −x_j / S² = −y_j / S, so
//   divide by S.
// - return (dy - through_total) / total;
// + return dy / total - through_total;
// wrong: x_i also changes the *other* shares of its row, and each share y_j has its own dy_j. So sum the products dy ⊙
//   y over the row.
// - const Tensor through_total = sum(dy * y, {-1}, Keep::yes);
// + const Tensor through_total = dy * y;
// wrong: You sum over the rows of the batch. The shares of a row depend only on this row, so the gradient of one row
//   must not depend on dy of another row. Try your rule on a batch of two rows.
// - const Tensor through_total = sum(dy * y, {-1}, Keep::yes);
// + const Tensor through_total = sum(dy * y, {0}, Keep::yes);
// wrong: You compute the unweighted mean of dy. Compute a weighted sum in which each dy_j has the weight y_j.
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
