// 19.2 norm_gradient: the rule of another norm
// derive, 25 minutes
//
// Many of today's models have a norm without mean and shift. Of each token x, a row of d numbers, this *RMS
// norm* (root mean square) makes
//
//     y = γ ⊙ x̂,        x̂ = x / σ,        σ = √(mean(x²) + ε),        ε = 10⁻⁵
//
// Derive the gradient of x from the gradient g of y, as the lesson does for its norm. x and g are (…, d), γ
// is (d), and the result is (…, d). Mind that each x_i changes all of its row's x̂: through itself and
// through σ. Use no tape: plain ops on x, γ and g.
#include "lessons/grader/answer.hpp"

Tensor norm_gradient(const Tensor& x, const Tensor& gamma, const Tensor& g) {
  //[ about five lines
  //: return not_written_yet();
  const Tensor sigma = sqrt(mean(x * x, {-1}, Keep::yes) + 1e-5);
  const Tensor normed = x / sigma;
  const Tensor of_normed = g * gamma;                                      // y_j = γ_j x̂_j
  const Tensor through_sigma = mean(of_normed * normed, {-1}, Keep::yes);  // ∂σ/∂x_i = x̂_i / d
  return (of_normed - normed * through_sigma) / sigma;
  //]
}

// hint: What is the gradient of x̂, if that of y is g? Had σ been a constant, what would be that of x?
// hint: ∂σ/∂x_i = x̂_i / d. Put into Σ_j ĝ_j ∂x̂_j/∂x_i, where ĝ is the gradient of x̂: (ĝ_i − x̂_i ·
//   mean(____)) / σ.
// hint: mean(y, {-1}, Keep::yes) is (…, 1) and broadcasts. With ĝ = g * gamma: (ĝ - normed * mean of ĝ *
//   normed) / sigma.
//
// wrong: You took σ for a constant. Double a row: x̂ hardly changes, so a step along x should change nothing,
//   and the sum of gradient times x is nearly 0.
// - return (of_normed - normed * through_sigma) / sigma;
// + return of_normed / sigma;
// wrong: γ is missing. y_j = γ_j x̂_j, so the gradient of x̂_j is γ_j g_j.
// - const Tensor of_normed = g * gamma;
// + const Tensor of_normed = g;
// wrong: γ comes too late. It stands behind x̂, so going back it comes first: it belongs inside the mean,
//   too.
// - const Tensor of_normed = g * gamma;
// - const Tensor through_sigma = mean(of_normed * normed, {-1}, Keep::yes);
// - return (of_normed - normed * through_sigma) / sigma;
// + const Tensor through_sigma = mean(g * normed, {-1}, Keep::yes);
// + return gamma * (g - normed * through_sigma) / sigma;
// wrong: The mean of the gradient is taken off, as in layer norm's rule. There it is the way through μ, and
//   here there is no μ: adding 1 to all of a row does change x̂.
// - return (of_normed - normed * through_sigma) / sigma;
// + return (of_normed - mean(of_normed, {-1}, Keep::yes) - normed * through_sigma) / sigma;
// wrong: ε is missing in σ. It shows in the sixth digit of an ordinary row, and most where a row is nearly 0.
// - const Tensor sigma = sqrt(mean(x * x, {-1}, Keep::yes) + 1e-5);
// + const Tensor sigma = sqrt(mean(x * x, {-1}, Keep::yes));
// wrong: Your σ is layer norm's: it takes the mean off x first.
// - const Tensor sigma = sqrt(mean(x * x, {-1}, Keep::yes) + 1e-5);
// + const Tensor centred = x - mean(x, {-1}, Keep::yes);
// + const Tensor sigma = sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5);
// wrong: You divide by σ², not by σ.
// - return (of_normed - normed * through_sigma) / sigma;
// + return (of_normed - normed * through_sigma) / (sigma * sigma);
// wrong: That is a sum over the row where a mean is asked for: σ is the root of a mean, so ∂σ/∂x_i has 1/d.
// - const Tensor through_sigma = mean(of_normed * normed, {-1}, Keep::yes);
// + const Tensor through_sigma = sum(of_normed * normed, {-1}, Keep::yes);
// wrong: The part through σ has the wrong sign: a larger σ makes x̂ smaller.
// - return (of_normed - normed * through_sigma) / sigma;
// + return (of_normed + normed * through_sigma) / sigma;
// wrong: In the part through σ stands x where x̂ belongs: there is one division by σ too few.
// - return (of_normed - normed * through_sigma) / sigma;
// + return (of_normed - x * through_sigma) / sigma;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Σ_j g_j γ_j x_j / σ of one row.
double weighted(const std::vector<double>& row, const std::vector<double>& gamma,
                const std::vector<double>& g) {
  double square = 0, sum = 0;
  for (const double x : row) square += x * x / static_cast<double>(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) sum += g[i] * gamma[i] * row[i] / std::sqrt(square + 1e-5);
  return sum;
}

/// Central differences.
Tensor by_differences(const std::vector<double>& x, const std::vector<double>& gamma,
                      const std::vector<double>& g) {
  std::vector<double> result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<double> more = x, less = x;
    more[i] += 1e-5;
    less[i] -= 1e-5;
    result.push_back((weighted(more, gamma, g) - weighted(less, gamma, g)) / 2e-5);
  }
  return tensor(result, {1, static_cast<Size>(x.size())}, DType::f64);
}

/// What the library's norm finds on its way back.
Tensor by_tape(const Tensor& x, const Tensor& gamma, const Tensor& g) {
  RMSNorm norm(x.size(-1));
  norm.initialise(1, x.dtype());
  assign(norm.weight, gamma);
  const Tensor leaf = variable(x, "x");
  Tape tape;
  tape.backward(norm(leaf), g);
  return leaf.grad();
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("gives the gradient of one token of three numbers", [&] {
    const std::vector<double> x = {1, 2, 6}, gamma = {1, 3, 2}, g = {2, 1, -1};
    judge.example(
        "x = (1, 2, 6), γ = (1, 3, 2), g = (2, 1, −1); expected is what small steps to both sides give");
    const Dims row = {1, 3};
    judge.same(
        norm_gradient(tensor(x, row, DType::f64), tensor(gamma, {3}, DType::f64), tensor(g, row, DType::f64)),
        by_differences(x, gamma, g), "the gradient", 1e-6);
  });
  judge.claim("gives that of the library's norm for any tokens", [&] {
    judge.each_size({{"batch", 1, 3}, {"tokens", 1, 4}, {"width", 1, 6}}, [&](const Sizes& n) {
      const Tensor x = judge.normal({n[0], n[1], n[2]}), gamma = judge.normal({n[2]}),
                   g = judge.normal({n[0], n[1], n[2]});
      judge.same(norm_gradient(x, gamma, g), by_tape(x, gamma, g), "the gradient", 1e-8);
    });
  });
}
