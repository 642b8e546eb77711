// vjp, jvp, Jacobians and Hessian–vector products, against formulas worked out by hand.
#include "core/tape/derivatives.hpp"

#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using Values = std::vector<double>;

namespace {

Tensor f64(const NestedList& values) { return tensor(values, DType::f64); }

/// f(x) = (x₀ x₁, x₀², x₁³) and its Jacobian at (2, 3).
Tensor polynomial(const Tensor& x) {
  const Tensor a = select(x, 0, 0), b = select(x, 0, 1);
  return stack({a * b, a * a, b * b * b}, 0);
}
const Values kJacobian{3, 2, 4, 0, 0, 27};

}  // namespace

TEST_CASE("the Jacobian, row by row") {
  const Tensor J = jacobian(polynomial, f64({2, 3}));
  CHECK(J.shape() == Dims{3, 2});
  CHECK(J.to_vector() == kJacobian);
  // Any shapes: those of f(x), then those of x.
  const Tensor m = random_normal({2, 3}, 1, DType::f64);
  const Tensor whole = jacobian([](const Tensor& x) { return sum(x * x, {1}); }, m);
  CHECK(whole.shape() == Dims{2, 2, 3});
  for (Size i = 0; i < 2; ++i)
    for (Size r = 0; r < 2; ++r)
      for (Size c = 0; c < 3; ++c) CHECK(whole.at({i, r, c}) == (i == r ? 2 * m.at({r, c}) : 0));
  CHECK_THROWS_WITH(
      jacobian([](const Tensor& x) { return x * 1.0; }, zeros({1, 1, 1, 1}, DType::f64)),
      ContainsSubstring(
          "[jacobian] f(x) and x must have at most 6 axes together, got (1,1,1,1) and (1,1,1,1)"));
}

TEST_CASE("products with the Jacobian from the left and from the right") {
  const Tensor x = f64({2, 3});
  CHECK(vjp(polynomial, x, f64({1, 10, 100})).to_vector() == Values{43, 2702});
  CHECK(jvp(polynomial, x, f64({1, 10})).to_vector() == Values{23, 4, 270});
  // uᵀ(J v) = (uᵀJ) v for a network, where no formula is at hand.
  const Tensor w = random_normal({5, 4}, 2, DType::f64), point = random_normal({4}, 3, DType::f64),
               u = random_normal({5}, 4, DType::f64), v = random_normal({4}, 5, DType::f64);
  const auto network = [&](const Tensor& t) { return tanh(linear(t, w)) * softmax(linear(t, w), 0); };
  CHECK(sum(vjp(network, point, u) * v).item() == Approx(sum(u * jvp(network, point, v)).item()));
  CHECK_THROWS_WITH(
      vjp(polynomial, x, f64({1, 2})),
      ContainsSubstring("[vjp] v must have the shape and type of f(x), got v (2) f64 and f(x) (3) f64"));
  CHECK_THROWS_WITH(
      jvp(polynomial, x, ones({2})),
      ContainsSubstring("[jvp] v must have the shape and type of x, got v (2) f32 and x (2) f64"));
}

TEST_CASE("linear functions and the identity have Jacobians too") {
  const Tensor x = f64({2, 3}), v = f64({5, 7});
  CHECK(jvp([](const Tensor& t) { return t; }, x, v).to_vector() == Values{5, 7});
  CHECK(jvp([](const Tensor& t) { return t * 3.0; }, x, v).to_vector() == Values{15, 21});
  CHECK(jacobian([](const Tensor& t) { return t; }, x).to_vector() == Values{1, 0, 0, 1});
}

TEST_CASE("Hessian–vector products") {
  // f = x₀² x₁ + x₁³: H = [[2 x₁, 2 x₀], [2 x₀, 6 x₁]]
  const auto f = [](const Tensor& x) {
    const Tensor a = select(x, 0, 0), b = select(x, 0, 1);
    return a * a * b + b * b * b;
  };
  CHECK(hessian_vector(f, f64({2, 3}), f64({1, 0})).to_vector() == Values{6, 4});
  CHECK(hessian_vector(f, f64({2, 3}), f64({0, 1})).to_vector() == Values{4, 18});
  CHECK(hessian_vector([](const Tensor& x) { return sum(x * 2.0); }, f64({2, 3}), f64({1, 1})).to_vector() ==
        Values{0, 0});
  CHECK(hessian_vector([](const Tensor& x) { return sum(x * x) * 0.5; }, f64({2, 3}), f64({4, 5}))
            .to_vector() == Values{4, 5});
  CHECK_THROWS_WITH(hessian_vector(polynomial, f64({2, 3}), f64({1, 0})),
                    ContainsSubstring("y must have one element"));
}

TEST_CASE("derivatives open a tape of their own, so not inside another") {
  Tape tape;
  CHECK_THROWS_WITH(vjp(polynomial, f64({2, 3}), f64({1, 1, 1})),
                    ContainsSubstring("a thread must have at most one tape"));
}
