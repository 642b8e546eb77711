// 19.2 norm_gradient: the derivative of a layer norm
// derive, 25 minutes
//
// A norm without scale and shift makes of each token x, a row of d numbers,
//
//     x̂ = (x − μ) / σ,        μ = mean(x),        σ = √(mean((x − μ)²) + ε),        ε = 10⁻⁵
//
// Derive the gradient of x from the gradient g of x̂. Both are (…, d), and so is the result. Mind that each
// x_i changes all of its row's x̂: through itself, through μ and through σ. Use no tape: plain ops on x and
// g.
#include "lessons/grader/answer.hpp"

Tensor norm_gradient(const Tensor& x, const Tensor& g) {
  //[ about five lines
  //: return not_written_yet();
  const Tensor centred = x - mean(x, {-1}, Keep::yes);
  const Tensor sigma = sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5);
  const Tensor normed = centred / sigma;
  const Tensor through_mu = mean(g, {-1}, Keep::yes);              // μ has a share of 1 / d of each x
  const Tensor through_sigma = mean(g * normed, {-1}, Keep::yes);  // ∂σ/∂x_i = x̂_i / d
  return (g - through_mu - normed * through_sigma) / sigma;
  //]
}

// hint: Had μ and σ been constants, the gradient would be g / σ. What does ∂μ/∂x_i add to it, and what
//   ∂σ/∂x_i?
// hint: ∂μ/∂x_i = 1/d, ∂σ/∂x_i = x̂_i / d. Put into Σ_j g_j ∂x̂_j/∂x_i: (g_i − mean(g) − x̂_i · mean(____)) /
//   σ.
// hint: mean(y, {-1}, Keep::yes) is (…, 1) and broadcasts. What is left: (g - mean of g - normed * mean of g
//   * normed) / sigma.
//
// wrong: You took μ and σ for constants. Add 1 to all of a row: x̂ stays as it is, so the gradient's row has
//   to add up to 0.
// - return (g - through_mu - normed * through_sigma) / sigma;
// + return g / sigma;
// wrong: The way through σ is missing. Double a row: x̂ hardly changes, so a step along x − μ should change
//   nothing, and the sum of gradient times (x − μ) is nearly 0.
// - return (g - through_mu - normed * through_sigma) / sigma;
// + return (g - through_mu) / sigma;
// wrong: The way through μ is missing. Add 1 to all of a row: x̂ stays as it is, so the gradient's row has to
//   add up to 0, and yours does not.
// - return (g - through_mu - normed * through_sigma) / sigma;
// + return (g - normed * through_sigma) / sigma;
// wrong: You divide by the variance, not by its root.
// - return (g - through_mu - normed * through_sigma) / sigma;
// + return (g - through_mu - normed * through_sigma) / (sigma * sigma);
// wrong: Those are sums over the row where means are asked for: μ and σ are means, so ∂μ/∂x_i and ∂σ/∂x_i
//   have 1/d.
// - const Tensor through_mu = mean(g, {-1}, Keep::yes);
// - const Tensor through_sigma = mean(g * normed, {-1}, Keep::yes);
// + const Tensor through_mu = sum(g, {-1}, Keep::yes);
// + const Tensor through_sigma = sum(g * normed, {-1}, Keep::yes);
// wrong: The part through σ has the wrong sign: a larger σ makes x̂ smaller.
// - return (g - through_mu - normed * through_sigma) / sigma;
// + return (g - through_mu + normed * through_sigma) / sigma;
// wrong: In the part through σ stands x − μ where x̂ belongs: there is one division by σ too few.
// - return (g - through_mu - normed * through_sigma) / sigma;
// + return (g - through_mu - centred * through_sigma) / sigma;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Σ_j g_j x̂_j of one row.
double weighted(const std::vector<double>& row, const std::vector<double>& g) {
  double mean = 0, variance = 0, sum = 0;
  for (const double x : row) mean += x / static_cast<double>(row.size());
  for (const double x : row) variance += (x - mean) * (x - mean) / static_cast<double>(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) sum += g[i] * (row[i] - mean) / std::sqrt(variance + 1e-5);
  return sum;
}

/// Central differences.
Tensor by_differences(const std::vector<double>& x, const std::vector<double>& g) {
  std::vector<double> result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<double> more = x, less = x;
    more[i] += 1e-5;
    less[i] -= 1e-5;
    result.push_back((weighted(more, g) - weighted(less, g)) / 2e-5);
  }
  return tensor(result, {1, static_cast<Size>(x.size())}, DType::f64);
}

/// What the library's norm finds on its way back.
Tensor by_tape(const Tensor& x, const Tensor& g) {
  const Tensor leaf = variable(x, "x");
  Tape tape;
  const Tensor y = layer_norm(leaf, ones({x.size(-1)}, DType::f64), zeros({x.size(-1)}, DType::f64));
  tape.backward(y, g);
  return leaf.grad();
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("gives the gradient of one token of three numbers", [&] {
    const std::vector<double> x = {1, 2, 6}, g = {2, 1, -1};
    judge.example("x = (1, 2, 6) and g = (2, 1, −1); expected is what small steps to both sides give");
    const Dims row = {1, 3};
    judge.same(norm_gradient(tensor(x, row, DType::f64), tensor(g, row, DType::f64)), by_differences(x, g),
               "the gradient", 1e-6);
  });
  judge.claim("gives that of the library's norm for any tokens", [&] {
    judge.each_size({{"batch", 1, 3}, {"tokens", 1, 4}, {"width", 1, 6}}, [&](const Sizes& n) {
      const Tensor x = judge.normal({n[0], n[1], n[2]}), g = judge.normal({n[0], n[1], n[2]});
      judge.same(norm_gradient(x, g), by_tape(x, g), "the gradient", 1e-8);
    });
  });
}
