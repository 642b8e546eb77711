// 2.1 two_rules: the rules of x · tanh x and of a row's shares
// derive, 20 minutes
//
// Write the derivative rules of two ops. Each gets dy, the gradient of the loss with respect to y, and
// returns the gradient with respect to x; x, y and dy are all (B, n).
//
//     y = x ⊙ tanh x                                 element by element
//     y_i = x_i / Σ_k x_k                            the shares of a row of positive numbers
//
// Use plain ops: tanh, + − * /, sum(…, {-1}, Keep::yes). The ops themselves stand below, and gradcheck
// judges.
#include "lessons/grader/answer.hpp"

Tensor x_tanh_x_rule(const Tensor& x, const Tensor& dy) {
  //[ one or two lines
  //: return not_written_yet();
  const Tensor t = tanh(x);
  return dy * (t + x * (1 - t * t));  // the product rule; tanh′ = 1 − tanh²
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

// hint: In x · tanh x the x stands twice, and both parts move. In a share it stands above the line, and in
//   the sum below.
// hint: (u v)′ = u′ v + u v′, and tanh′ x = 1 − ____. For the shares with S = Σ x_k: ∂y_j/∂x_i is −x_j / S²
//   for every j, and for j = i there is 1 / S more. Weight it with dy_j and sum over ____.
// hint: Σ_j dy_j ∂y_j/∂x_i = dy_i / S − Σ_j dy_j y_j / S. The last sum is one number a row: sum(dy * y,
//   {-1}, Keep::yes).
//
// wrong: Half of the product rule is missing: you let x move where it stands in front, and hold it fast
//   inside of tanh.
// - return dy * (t + x * (1 - t * t));
// + return dy * t;
// wrong: Half of the product rule is missing: you let x move inside of tanh, and hold it fast where it
//   stands in front. At x = 0.1, y is about x², whose slope is 2x.
// - return dy * (t + x * (1 - t * t));
// + return dy * x * (1 - t * t);
// wrong: You multiply the two derivatives, 1 and 1 − tanh². The derivative of a product is a sum of two
//   parts.
// - return dy * (t + x * (1 - t * t));
// + return dy * (1 - t * t);
// wrong: The derivative of tanh is 1 − tanh², not 1 − tanh: for negative x that would be larger than 1, and
//   tanh is nowhere steeper than 1.
// - return dy * (t + x * (1 - t * t));
// + return dy * (t + x * (1 - t));
// wrong: A sign: tanh rises everywhere, 1 − tanh² > 0, so both parts have the sign of x.
// - return dy * (t + x * (1 - t * t));
// + return dy * (t - x * (1 - t * t));
// wrong: dy is missing. This is y′; what the rule must return is how the *loss* moves, dy times that.
// - return dy * (t + x * (1 - t * t));
// + return t + x * (1 - t * t);
// wrong: You took the sum below the line for a constant. Double a row and its shares stay as they are: so Σ
//   x ⊙ ∂x must be 0 in each row.
// - return (dy - through_total) / total;
// + return dy / total;
// wrong: The part through the sum has the wrong sign. A larger x_i makes the sum larger, and the shares
//   smaller.
// - return (dy - through_total) / total;
// + return (dy + through_total) / total;
// wrong: The part through the sum lacks a division: ∂y_j/∂S is −x_j / S², and that is the share y_j = x_j /
//   S, divided by S once more.
// - return (dy - through_total) / total;
// + return dy / total - through_total;
// wrong: One x_i moves the *other* shares as well, each with a dy of its own: these are summed over the
//   row, and not each kept at its place.
// - const Tensor through_total = sum(dy * y, {-1}, Keep::yes);
// + const Tensor through_total = dy * y;
// wrong: You sum over the rows of the batch. Shares are of one row, so no row may hand anything to another:
//   try a batch of two.
// - const Tensor through_total = sum(dy * y, {-1}, Keep::yes);
// + const Tensor through_total = sum(dy * y, {0}, Keep::yes);
// wrong: dy is averaged where it is weighted: each dy_j counts as much as the share y_j.
// - const Tensor through_total = sum(dy * y, {-1}, Keep::yes);
// + const Tensor through_total = mean(dy, {-1}, Keep::yes);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Σ dy_j y_j of all shares of all rows.
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
  judge.claim("knows how x · tanh x moves at two places", [&] {
    const std::vector<double> x = {0.5, -2}, dy = {1, 3};
    std::vector<double> expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double up = x[i] + kStep, down = x[i] - kStep;
      expected.push_back(dy[i] * (up * std::tanh(up) - down * std::tanh(down)) / (2 * kStep));
    }
    judge.example("x = (0.5, −2) and dy = (1, 3); expected is what small steps to both sides give");
    judge.same(x_tanh_x_rule(row(x), row(dy)), row(expected), "the gradient", 1e-6);
  });
  judge.claim("passes gradcheck with x · tanh x", [&] {
    judge.each_size({{"B", 1, 3}, {"n", 1, 5}}, [&](const Sizes& n) {
      judge.gradients(x_tanh_x, judge.normal({n[0], n[1]}));
    });
  });
  judge.claim("knows how the shares of two rows move", [&] {
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
        "x = (1, 2, 5), (2, 3, 1) and dy = (1, −2, 4), (0, 3, 5); expected is what small "
        "steps to both sides give");
    const Tensor came =
        shares_rule(tensor({{1, 2, 5}, {2, 3, 1}}, DType::f64), tensor({{1, -2, 4}, {0, 3, 5}}, DType::f64));
    judge.same(came, tensor(expected, {2, 3}, DType::f64), "the gradient", 1e-6);
  });
  judge.claim("passes gradcheck with the shares", [&] {
    judge.each_size({{"B", 1, 3}, {"n", 2, 5}}, [&](const Sizes& n) {
      judge.gradients(shares, judge.uniform({n[0], n[1]}, 0.5, 3));
    });
  });
}
