// gradcheck itself: finds planted bugs, says what they are, and does not mistake kinks for bugs.
#include "core/check/gradcheck.hpp"

#include "core/ops/ops.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

Tensor draw(const Dims& shape, std::uint64_t seed) { return random_normal(shape, seed, DType::f64); }

/// a ⊙ b with rules of the caller's.
template <class A, class B>
auto product(A rule_a, B rule_b) {
  return [=](const Tensor& a, const Tensor& b) {
    return op<"mul">({}, mul(a.detach(), b.detach()),
                     wrt(a, [=](const Tensor& dy) { return rule_a(dy, a, b); }),
                     wrt(b, [=](const Tensor& dy) { return rule_b(dy, a, b); }));
  };
}
const auto right_a = [](const Tensor& dy, const Tensor&, const Tensor& b) { return dy * b; };
const auto right_b = [](const Tensor& dy, const Tensor& a, const Tensor&) { return dy * a; };

template <class F>
std::string advice(F f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  const auto result = gradcheck(f, inputs, options);
  REQUIRE(!result.ok());
  return result.report();
}

}  // namespace

TEST_CASE("gradcheck passes what is right, in every form of callable") {
  const Tensor a = draw({3, 4}, 1), b = draw({4, 2}, 2);
  CHECK(gradcheck([](const Tensor& x) { return tanh(x); }, a).ok());
  CHECK(gradcheck([](const Tensor& x, const Tensor& y) { return matmul(x, y); }, {a, b}).ok());
  CHECK(gradcheck([](const std::vector<Tensor>& xs) { return matmul(xs[0], xs[1]); }, {a, b}).ok());
  CHECK(gradcheck([](std::span<const Tensor> xs) { return matmul(xs[0], xs[1]); }, std::vector<Tensor>{a, b})
            .ok());
  CHECK(gradcheck(product(right_a, right_b), {a, a * 0.5}).ok());
  CHECK(gradcheck([](const Tensor& x) { return exp(x); }, a, {.tolerance = 1e-6}).ok());
  CHECK_THROWS_WITH(gradcheck([](const Tensor& x) { return exp(x); }, {a, b}),
                    ContainsSubstring("got 2 inputs"));
}

TEST_CASE("gradcheck checks leaves that a function uses inside, and puts them back") {
  const Tensor weight = variable(draw({2, 4}, 3), "layer.weight"),
               bias = variable(draw({2}, 4), "layer.bias"), x = draw({3, 4}, 5);
  const auto before = weight.to_vector();
  const auto layer = [&](const Tensor& input) { return tanh(linear(input, weight, bias)); };
  const auto result = gradcheck(layer, x, {weight, bias});
  INFO(result.report());
  CHECK(result.ok());
  CHECK(result.compared == 12 + 8 + 2);
  CHECK(weight.to_vector() == before);
  CHECK(!weight.has_grad());
  CHECK(gradcheck([&] { return layer(x); }, {}, {weight, bias}).ok());
  // A leaf with a wrong rule is named.
  const auto wrong = [&](const Tensor& input) {
    return product(right_a, [](const Tensor& dy, const Tensor& a, const Tensor&) { return dy * a * 2.0; })(
        input, bias);
  };
  const auto report = gradcheck(wrong, draw({2}, 6), {bias}).report();
  CHECK_THAT(report, ContainsSubstring("\"layer.bias\" (2)") &&
                         ContainsSubstring("a factor: the rule gives 2 times"));
  set_frozen(bias, true);
  CHECK_THROWS_WITH(gradcheck(layer, x, {bias}),
                    ContainsSubstring("\"layer.bias\" of shape (2) \"layer.bias\" must require a gradient"));
}

TEST_CASE("gradcheck works in f64 only") {
  CHECK_THROWS_WITH(
      gradcheck([](const Tensor& x) { return exp(x); }, ones({2})),
      ContainsSubstring("argument 0 of shape (2) must be f64, got f32; convert it with .to(DType::f64)"));
  CHECK_THROWS_WITH(gradcheck([](const Tensor& x) { return exp(x.to(DType::f32)); }, draw({2}, 1)),
                    ContainsSubstring("f must return f64 for f64 arguments, got f32"));
}

TEST_CASE("gradcheck names the usual mistakes") {
  const Tensor a = draw({3, 3}, 7), b = draw({3, 3}, 8);
  const auto wrong_a = [&](auto rule) { return advice(product(rule, right_b), {a, b}); };
  CHECK_THAT(wrong_a([](const Tensor& dy, const Tensor&, const Tensor& y) { return -(dy * y); }),
             ContainsSubstring("argument 0 (3,3) at [") &&
                 ContainsSubstring("the sign: the rule gives the negative everywhere"));
  CHECK_THAT(wrong_a([](const Tensor& dy, const Tensor&, const Tensor& y) { return dy * y * 3.0; }),
             ContainsSubstring(
                 "a factor: the rule gives 3 times the slope everywhere; a sum where a mean was meant"));
  CHECK_THAT(wrong_a([](const Tensor& dy, const Tensor&, const Tensor& y) { return dy * y * 1.01; }),
             ContainsSubstring("1.01 times the slope"));
  CHECK_THAT(wrong_a([](const Tensor& dy, const Tensor&, const Tensor& y) { return transpose(dy * y); }),
             ContainsSubstring("the axes: the gradient fits if its last two axes are transposed"));
  const Tensor many = draw({2, 2, 3, 3}, 7), weights = draw({2, 2, 3, 3}, 8);
  CHECK_THAT(
      advice(product([](const Tensor& dy, const Tensor&, const Tensor& y) { return transpose(dy * y); },
                     right_b),
             {many, weights}),
      ContainsSubstring("the axes: the gradient fits if its last two axes are transposed"));
  CHECK_THAT(wrong_a([](const Tensor& dy, const Tensor&, const Tensor&) { return dy * 0.0; }),
             ContainsSubstring("the argument: the rule gives zero everywhere; is it left out, or detached?"));
  CHECK_THAT(wrong_a([](const Tensor& dy, const Tensor&, const Tensor& y) { return dy * exp(y); }),
             ContainsSubstring("the formula"));
  CHECK_THAT(wrong_a([](const Tensor& dy, const Tensor&, const Tensor& y) { return dy / (y * 0.0); }),
             ContainsSubstring("the rule gives NaN or infinity"));
  CHECK_THAT(advice(product(right_b, right_a), {a, b}),
             ContainsSubstring("the order of the rules: this is the gradient of argument 1"));
  CHECK_THAT(advice([](const Tensor& x) { return x.detach() * 2.0; }, {a}),
             ContainsSubstring("gradcheck of a function that records nothing: FAILED") &&
                 ContainsSubstring("left out, or detached"));
}

TEST_CASE("gradcheck finds one wrong element, among few and among many") {
  for (Size n : {Size{20}, Size{5000}}) {
    const auto f = [n](const Tensor& x) {
      return op<"mul">({}, mul(x.detach(), x.detach()), wrt(x, [x, n](const Tensor& dy) {
                         Tensor g = (dy * x * 2.0).detach();
                         Tensor place = slice(g, 0, n - 3, n - 2);
                         assign(place, place * 1.5);
                         return g;
                       }));
    };
    const auto result = gradcheck(f, draw({n}, 9));
    INFO(result.report());
    REQUIRE(result.failures.size() == 1);
    CHECK(result.failures[0].index == std::vector<Size>{n - 3});
    CHECK(result.failures[0].analytic == Approx(1.5 * result.failures[0].numeric));
    if (n == 20)
      CHECK_THAT(result.report(), ContainsSubstring("the places: 1 of 20 elements differ, the others agree"));
    if (n > 200) CHECK(result.compared < 20);
  }
  CHECK(gradcheck([](const Tensor& x) { return tanh(x) * x; }, draw({5000}, 9)).ok());
}

TEST_CASE("gradcheck says where in a tensor of several axes, the first place as well as the last") {
  const Dims shape{2, 3, 4};
  for (const Size wrong : {0, 1, 3, 4, 11, 12, 23}) {
    const auto f = [=](const Tensor& x) {
      return op<"mul">({}, mul(x.detach(), x.detach()), wrt(x, [=](const Tensor& dy) {
                         Tensor g = contiguous((dy * x * 2.0).detach());
                         Tensor place = slice(reshape(g, {24}), 0, wrong, wrong + 1);
                         assign(place, place * 1.5);
                         return g;
                       }));
    };
    const auto result = gradcheck(f, draw(shape, 9));
    REQUIRE(result.failures.size() == 1);
    CHECK(result.failures[0].index == std::vector<Size>{wrong / 12, wrong / 4 % 3, wrong % 4});
    CHECK_THAT(result.report(),
               ContainsSubstring(fmt::format("argument 0 (2,3,4) at [{}, {}, {}]: the rule gives", wrong / 12,
                                             wrong / 4 % 3, wrong % 4)));
  }
}

TEST_CASE("gradcheck compares small gradients as closely as large ones") {
  const auto scaled = [](double scale, double off) {
    return [=](const Tensor& x) {
      return op<"mul">({}, x.detach() * scale,
                       wrt(x, [=](const Tensor& dy) { return dy * (scale * (1 + off)); }));
    };
  };
  for (const Size n : {20, 1000})  // element by element, and along directions
    for (const double scale : {1e-10, 1e-4, 1.0, 1e4}) {
      CAPTURE(n, scale);
      CHECK(gradcheck(scaled(scale, 0), draw({n}, 33)).ok());
      CHECK_FALSE(gradcheck(scaled(scale, 0.01), draw({n}, 33)).ok());
    }
}

TEST_CASE("gradcheck is not led to kinks nearby when it looks for a wrong element among many") {
  // |x|: the first half lies within the largest step of the kink, and farther than the next one.
  constexpr Size kCount = 400;
  const double near = 0.15 * GradcheckOptions{}.epsilon;
  const Tensor x = concat({full({kCount / 2}, near, DType::f64), abs(draw({kCount / 2}, 34)) + 1.0}, 0);
  for (const Size wrong : {Size{kCount / 2 + 1}, Size{kCount - 3}}) {
    const auto f = [wrong](const Tensor& t) {
      return op<"abs">({}, abs(t.detach()), wrt(t, [wrong](const Tensor& dy) {
                         Tensor g = contiguous(dy.detach() * 1.0);
                         Tensor place = slice(g, 0, wrong, wrong + 1);
                         assign(place, place * 1.2);
                         return g;
                       }));
    };
    const auto result = gradcheck(f, x);
    INFO(result.report());
    REQUIRE(result.failures.size() == 1);
    CHECK(result.failures[0].index == std::vector<Size>{wrong});
  }
}

// What is allowed, by rules that miss it narrowly on either side.
TEST_CASE("gradcheck allows a difference of its tolerance, and no more") {
  const auto off_by = [](double part) {
    return [part](const Tensor& x) {
      return op<"mul">({}, mul(x.detach(), x.detach()),
                       wrt(x, [x, part](const Tensor& dy) { return dy * x * (2.0 * (1 + part)); }));
    };
  };
  for (const Size n : {Size{1}, Size{20}, Size{1000}})  // element by element, and along directions
    for (const double tolerance : {1e-5, 1e-7}) {
      const GradcheckOptions options{.tolerance = tolerance};
      CAPTURE(n, tolerance);
      for (const double sign : {-1.0, 1.0}) {
        CHECK(gradcheck(off_by(0.5 * sign * tolerance), draw({n}, 31), options).ok());
        if (n < 200) CHECK_FALSE(gradcheck(off_by(2 * sign * tolerance), draw({n}, 31), options).ok());
        CHECK_FALSE(gradcheck(off_by(20 * sign * tolerance), draw({n}, 31), options).ok());
      }
    }
  CHECK(GradcheckOptions{}.tolerance == 1e-5);
  // A small gradient beside a large one is compared as if it were a hundredth of that.
  const auto small_one_off_by = [](double by) {
    return [by](const Tensor& x) {
      const Tensor weight = tensor({1, 1e-6}, DType::f64), wrong = tensor({1, 1e-6 + by}, DType::f64);
      return op<"mul">({}, mul(x.detach(), weight), wrt(x, [wrong](const Tensor& dy) { return dy * wrong; }));
    };
  };
  const Tensor x = tensor({0.5, 0.25}, DType::f64);
  CHECK(gradcheck(small_one_off_by(1e-8), x).ok());
  CHECK_FALSE(gradcheck(small_one_off_by(1e-6), x).ok());
  // And so is a second derivative.
  const auto second_off_by = [](double part) {
    return [part](const Tensor& t) {
      return op<"exp">({}, exp(t.detach()), wrt(t, [t, part](const Tensor& dy) {
                         const Tensor changes = exp(t * (1 + part)),
                                      same = exp(t.detach()) / exp(t.detach() * (1 + part));
                         return dy * changes * same;
                       }));
    };
  };
  CHECK(gradcheck(second_off_by(1e-3), draw({4}, 32)).ok());
  CHECK(gradgradcheck(second_off_by(2e-6), draw({4}, 32)).ok());
  CHECK_FALSE(gradgradcheck(second_off_by(1e-4), draw({4}, 32)).ok());
}

TEST_CASE("a check that proves nothing fails") {
  const auto flat = [](const Tensor& x) { return relu(x); };
  const Tensor negative = tensor({-1, -2}, DType::f64);
  CHECK_THAT(advice(flat, negative),
             ContainsSubstring("the gradient: it is zero everywhere, so the check proves nothing"));
  CHECK(gradcheck(flat, negative, {.expect_zero = true}).ok());
  // The trap that ones as a cotangent set: the sum of a softmax is constant.
  CHECK_THAT(advice([](const Tensor& x) { return sum(softmax(x, 0)); }, draw({5}, 10)),
             ContainsSubstring("proves nothing"));
  CHECK_THAT(advice([](const Tensor& x) { return sum(softmax(x, 1)); }, draw({3, 300}, 10)),
             ContainsSubstring("proves nothing"));
  CHECK(gradcheck([](const Tensor& x) { return softmax(x, 0); }, draw({5}, 10)).ok());
}

TEST_CASE("large values do not hide a wrong gradient in their rounding") {
  // Smaller steps drown in the rounding of y ≈ 10⁸; the first one tells.
  const auto shifted = [](double factor) {
    return [factor](const Tensor& x) {
      return op<"add">({}, x.detach() + 1e8, wrt(x, [factor](const Tensor& dy) { return dy * factor; }));
    };
  };
  CHECK(gradcheck(shifted(1), draw({5}, 11)).ok());
  CHECK_FALSE(gradcheck(shifted(-1), draw({5}, 11)).ok());
  const auto less_shifted = [](const Tensor& x) {
    return op<"add">({}, x.detach() + 1e6, wrt(x, [](const Tensor& dy) { return dy * 1.01; }));
  };
  CHECK_FALSE(gradcheck(less_shifted, draw({5}, 11)).ok());
}

TEST_CASE("kinks are reported as kinks") {
  const Tensor x = tensor({-1, 0, 2}, DType::f64);
  const auto result = gradcheck([](const Tensor& t) { return relu(t); }, x);
  INFO(result.report());
  CHECK(result.ok());
  REQUIRE(result.kinks.size() == 1);
  CHECK(result.kinks[0].index == std::vector<Size>{1});
  CHECK_THAT(result.report(),
             ContainsSubstring("1 kinks, where f has no derivative") && ContainsSubstring("from the left"));
  // Of many the first five are shown, and all are counted.
  const auto of_seven =
      gradcheck([](const Tensor& t) { return relu(t); }, tensor({0, 0, 1, 0, 0, 0, 0, 0, -1}, DType::f64));
  REQUIRE(of_seven.kinks.size() == 7);
  const std::string report = of_seven.report();
  CHECK_THAT(report, ContainsSubstring("7 kinks, where f has no derivative"));
  for (const char* shown : {"at [0]", "at [1]", "at [3]", "at [4]", "at [5]"})
    CHECK_THAT(report, ContainsSubstring(shown));
  CHECK_THAT(report, !ContainsSubstring("at [6]"));
  // Among many elements, too.
  Tensor many = draw({400}, 11);
  Tensor place = slice(many, 0, 123, 124);
  assign(place, zeros({1}));
  const auto large = gradcheck([](const Tensor& t) { return relu(t); }, many);
  INFO(large.report());
  CHECK(large.ok());
  REQUIRE(large.kinks.size() == 1);
  CHECK(large.kinks[0].index == std::vector<Size>{123});
  // Where every element sits on one, nothing was checked.
  const auto relu_of = [](const Tensor& t) { return relu(t); };
  CHECK_THAT(advice(relu_of, zeros({3}, DType::f64)), ContainsSubstring("too many of them sit on kinks"));
  CHECK_THAT(advice(relu_of, zeros({300}, DType::f64)), ContainsSubstring("too many of them sit on kinks"));
  // A kink excuses only what lies between the slopes on its sides, and only its own place.
  const auto at_kink = [](double value) {
    return [value](const Tensor& t) {
      return op<"relu">({}, relu(t.detach()), wrt(t, [value](const Tensor& dy) {
                          return dy * tensor({0, value, 1}, DType::f64);
                        }));
    };
  };
  CHECK(gradcheck(at_kink(0.7), x).ok());
  CHECK(!gradcheck(at_kink(3), x).ok());
  CHECK(!gradcheck(at_kink(-0.5), x).ok());
}

TEST_CASE("steep and strongly curved functions are no kinks and no failures") {
  CHECK(gradcheck([](const Tensor& t) { return exp(t * 12.0); }, draw({9}, 12)).ok());
  CHECK(gradcheck([](const Tensor& t) { return pow(t, -4); }, tensor({0.02, -0.05, 3}, DType::f64)).ok());
  CHECK(gradcheck([](const Tensor& t) { return t * 1e9 + 1e12; }, draw({5}, 13)).ok());
}

TEST_CASE("functions that draw are checked with the same draws; others that change are found out") {
  CHECK(gradcheck([](const Tensor& x) { return dropout(x, 0.5) * x; }, draw({30}, 14)).ok());
  int calls = 0;
  CHECK_THAT(advice([&](const Tensor& x) { return x * static_cast<double>(++calls); }, draw({3}, 15)),
             ContainsSubstring("gave two results for one input"));
}

TEST_CASE("gradgradcheck finds a wrong second derivative") {
  CHECK(gradgradcheck([](const Tensor& x) { return tanh(x) * x; }, draw({4}, 16)).ok());
  CHECK(gradgradcheck([](const Tensor& x) { return x * 2.0; }, draw({4}, 17))
            .ok());  // linear: the second derivative is zero
  CHECK_THAT(gradgradcheck([](const Tensor& x) { return x * 0.0; }, draw({4}, 17)).report(),
             ContainsSubstring("proves nothing"));  // so is the first one
  const auto detached = [](const Tensor& x) {
    return op<"exp">({}, exp(x.detach()), wrt(x, [x](const Tensor& dy) { return dy * exp(x.detach()); }));
  };
  CHECK(gradcheck(detached, draw({4}, 18)).ok());
  const auto result = gradgradcheck(detached, draw({4}, 18));
  CHECK(!result.ok());
  CHECK_THAT(result.report(), ContainsSubstring("argument 0") && ContainsSubstring("zero everywhere"));
  const Tensor w = variable(draw({4}, 19), "w");
  CHECK(gradgradcheck([&](const Tensor& x) { return exp(x * w); }, draw({4}, 20), {w}).ok());
}
