// The running average of weights.
#include "optim/average.hpp"

#include "core/ops/arithmetic.hpp"
#include "core/tensor/create.hpp"
#include "tests/catch.hpp"

using namespace tapestry;

namespace {

struct Weights {
  Tensor a = variable(tensor({1, 2}, DType::f64), "a"), b = variable(tensor({3}, DType::f64), "b");
  State state() const { return {{"a", a}, {"b", b}}; }
  void set(double x) {
    assign(a, tensor({x, 2 * x}, DType::f64));
    assign(b, tensor({3 * x}, DType::f64));
  }
};

}  // namespace

TEST_CASE("an average follows its formula") {
  Weights weights;
  WeightAverage average(weights.state(), 0.5);
  double wanted = 0;
  for (int t = 0; t < 30; ++t) {
    const double x = 1.0 / (1 + t), keep = std::min(0.5, t / (t + 9.0));
    weights.set(x);
    average.update();
    wanted = keep * wanted + (1 - keep) * x;
    CHECK(average.state().at("a").at({1}) == Approx(2 * wanted).epsilon(1e-14));
    CHECK(average.state().at("b").at({0}) == Approx(3 * wanted).epsilon(1e-14));
  }
  CHECK(average.updates() == 30);
}

TEST_CASE("weights in use are the averages, and then again what they were") {
  Weights weights;
  WeightAverage average(weights.state(), 0.9);
  {
    const WeightAverage::InUse nothing_yet(average);
    CHECK(weights.a.at({0}) == 1);
  }
  average.update();
  weights.set(7);
  {
    const WeightAverage::InUse averaged(average);
    CHECK(weights.a.at({0}) == 1);
    CHECK(weights.b.at({0}) == 3);
  }
  CHECK(weights.a.at({0}) == 7);
  CHECK(average.state().at("b").at({0}) == 3);
}

TEST_CASE("an average that was saved goes on with the same bits") {
  Weights weights;
  WeightAverage whole(weights.state(), 0.8), first(weights.state(), 0.8);
  for (int t = 0; t < 5; ++t) {
    weights.set(0.1 * t);
    whole.update();
    first.update();
  }
  WeightAverage second(weights.state(), 0.8);
  for (auto& [name, tensor] : second.state()) {
    Tensor living = tensor;
    assign(living, first.state().at(name));
  }
  second.resume(first.updates());
  for (int t = 5; t < 20; ++t) {
    weights.set(0.1 * t);
    whole.update();
    second.update();
  }
  CHECK(whole.state().at("a").to_vector() == second.state().at("a").to_vector());
}

TEST_CASE("an average refuses a decay that is none") {
  Weights weights;
  for (const double decay : {-0.1, 1.0, 2.0})
    CHECK_THROWS_WITH(WeightAverage(weights.state(), decay), Catch::Matchers::Contains("[0, 1)"));
}
