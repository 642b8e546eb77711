// 19.2 norm_gradient: The gradient of RMS norm
// derive, 25 minutes
//
// Many of today's models use a norm without a mean and without a shift, the *RMS norm* (root mean square). For
// each token x, a row of d numbers, it computes
//
//     y = γ ⊙ x̂,        x̂ = x / σ,        σ = √(mean(x²) + ε),        ε = 10⁻⁵
//
// Derive the gradient of x from the gradient g of y, as the lesson does for layer norm. x and g have the shape
// (…, d), and γ has (d). Return a tensor (…, d). Note that each x_i changes every x̂_j of its row through σ,
// and its own x̂_i also directly. Use ordinary ops on x, γ and g, and no tape.
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

// hint: Let g be the gradient of y. What is the gradient of x̂? And what would the gradient of x be if σ were a
//   constant?
// hint: Use ∂σ/∂x_i = x̂_i / d in Σ_j ĝ_j ∂x̂_j/∂x_i, where ĝ is the gradient of x̂. You get
//   (ĝ_i − x̂_i · mean(____)) / σ.
// hint: mean(y, {-1}, Keep::yes) has the shape (…, 1) and broadcasts. With ĝ = g * gamma, the result is (ĝ -
//   normed * mean of ĝ * normed) / sigma.
//
// wrong: You treated σ as a constant. But when a row is doubled, x̂ hardly changes. So a step along x should
//   hardly change the loss, and the sum of gradient times x must be nearly 0.
// - return (of_normed - normed * through_sigma) / sigma;
// + return of_normed / sigma;
// wrong: γ is missing. From y_j = γ_j x̂_j it follows that the gradient of x̂_j is γ_j g_j.
// - const Tensor of_normed = g * gamma;
// + const Tensor of_normed = g;
// wrong: You multiply by γ too late. In the forward pass, γ is applied after x̂. So in the backward pass it is
//   applied first, and the mean must contain it, too.
// - const Tensor of_normed = g * gamma;
// - const Tensor through_sigma = mean(of_normed * normed, {-1}, Keep::yes);
// - return (of_normed - normed * through_sigma) / sigma;
// + const Tensor through_sigma = mean(g * normed, {-1}, Keep::yes);
// + return gamma * (g - normed * through_sigma) / sigma;
// wrong: You subtract the mean of the gradient, as for layer norm. There this term comes from μ. RMS norm has
//   no μ, and adding 1 to all numbers of a row does change x̂.
// - return (of_normed - normed * through_sigma) / sigma;
// + return (of_normed - mean(of_normed, {-1}, Keep::yes) - normed * through_sigma) / sigma;
// wrong: ε is missing in σ. For an ordinary row this changes about the sixth digit. For a row near 0 it changes
//   the result much more.
// - const Tensor sigma = sqrt(mean(x * x, {-1}, Keep::yes) + 1e-5);
// + const Tensor sigma = sqrt(mean(x * x, {-1}, Keep::yes));
// wrong: You used the σ of layer norm, which subtracts the mean from x first. RMS norm does not.
// - const Tensor sigma = sqrt(mean(x * x, {-1}, Keep::yes) + 1e-5);
// + const Tensor centred = x - mean(x, {-1}, Keep::yes);
// + const Tensor sigma = sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5);
// wrong: You divide by σ². Divide by σ.
// - return (of_normed - normed * through_sigma) / sigma;
// + return (of_normed - normed * through_sigma) / (sigma * sigma);
// wrong: You computed a sum over the row instead of a mean. σ is the root of a mean, so ∂σ/∂x_i has the factor
//   1/d.
// - const Tensor through_sigma = mean(of_normed * normed, {-1}, Keep::yes);
// + const Tensor through_sigma = sum(of_normed * normed, {-1}, Keep::yes);
// wrong: The term for σ has the wrong sign. A larger σ makes x̂ smaller, so subtract the term.
// - return (of_normed - normed * through_sigma) / sigma;
// + return (of_normed + normed * through_sigma) / sigma;
// wrong: The term for σ contains x instead of x̂, so it lacks one division by σ.
// - return (of_normed - normed * through_sigma) / sigma;
// + return (of_normed - x * through_sigma) / sigma;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns Σ_j g_j γ_j x_j / σ for one row.
double weighted(const std::vector<double>& row, const std::vector<double>& gamma,
                const std::vector<double>& g) {
  double square = 0, sum = 0;
  for (const double x : row) square += x * x / static_cast<double>(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) sum += g[i] * gamma[i] * row[i] / std::sqrt(square + 1e-5);
  return sum;
}

/// Returns the gradient by central differences.
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

/// Returns the gradient that the tape computes for nn/'s norm.
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
  judge.claim("computes the gradient of one token of three numbers", [&] {
    const std::vector<double> x = {1, 2, 6}, gamma = {1, 3, 2}, g = {2, 1, -1};
    judge.example(
        "x = (1, 2, 6), γ = (1, 3, 2), g = (2, 1, −1); the expected values come from central differences");
    const Dims row = {1, 3};
    judge.same(
        norm_gradient(tensor(x, row, DType::f64), tensor(gamma, {3}, DType::f64), tensor(g, row, DType::f64)),
        by_differences(x, gamma, g), "the gradient", 1e-6);
  });
  judge.claim("agrees with the gradient of nn/'s norm for other sizes", [&] {
    judge.each_size({{"batch", 1, 3}, {"tokens", 1, 4}, {"width", 1, 6}}, [&](const Sizes& n) {
      const Tensor x = judge.normal({n[0], n[1], n[2]}), gamma = judge.normal({n[2]}),
                   g = judge.normal({n[0], n[1], n[2]});
      judge.same(norm_gradient(x, gamma, g), by_tape(x, gamma, g), "the gradient", 1e-8);
    });
  });
}
