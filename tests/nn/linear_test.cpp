// The first values of a Linear's bias, by an initialiser of the caller.
#include "nn/linear.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace tapestry;

TEST_CASE("a Linear's bias begins as its initialiser says, with zeros by default") {
  const auto ones_and_twos = [](const InitialiserArguments& first) {
    for (std::size_t i = 0; i < first.values.size(); ++i) first.values[i] = i % 2 == 0 ? 1 : 2;
  };
  Linear plain(3, 4), gate(3, 4, Bias::yes, xavier, ones_and_twos),
      none(3, 4, Bias::no, xavier, ones_and_twos);
  for (Linear* layer : {&plain, &gate, &none}) layer->initialise(7, DType::f64);
  CHECK(plain.bias.to_vector() == std::vector<double>{0, 0, 0, 0});
  CHECK(gate.bias.to_vector() == std::vector<double>{1, 2, 1, 2});
  CHECK_FALSE(none.bias.defined());
  // The bias' initialiser leaves the weight as it is.
  CHECK(gate.weight.to_vector() == plain.weight.to_vector());

  struct Gated : Module {
    Linear gate;
    Gated() : gate{{*this, "gate"}, 3, 2, Bias::yes, zeros, ones} {}
  } module;
  module.initialise(1);
  CHECK(module.gate.bias.to_vector() == std::vector<double>{1, 1});
  CHECK(module.gate.weight.to_vector() == std::vector<double>(6, 0.0));
}
