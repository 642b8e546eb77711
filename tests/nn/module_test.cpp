// Modules: names, first values, state, freezing, training and eval mode.
#include <cmath>

#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "nn/recurrent.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/small_net.hpp"

using namespace tapestry;
using namespace tapestry::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("parameters carry their full names, in the order of registration") {
  const Net net;
  CHECK(names_of(net) == std::vector<std::string>{"words.weight", "blocks.0.up.weight", "blocks.0.up.bias",
                                                  "blocks.0.down.weight", "blocks.1.up.weight",
                                                  "blocks.1.up.bias", "blocks.1.down.weight", "out.weight",
                                                  "out.bias", "gain"});
  CHECK(net.blocks[1].full_name() == "blocks.1");
  CHECK(net.blocks[1].in_quotes() == " \"blocks.1\"");  // as messages have it: [linear "blocks.1"]
  CHECK(net.in_quotes().empty());                       // and [linear] where there is no name
  CHECK(net.blocks[1].state().count("up.bias") == 1);
  CHECK(names_of(GRU(2, 3, {.both_directions = true})) ==
        std::vector<std::string>{"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0",
                                 "weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse",
                                 "bias_hh_l0_reverse"});
}

TEST_CASE("a name is used once") {
  struct Twice : Module {
    Linear a{{*this, "a"}, 1, 1};
    Linear b{{*this, "a"}, 1, 1};
  };
  CHECK_THROWS_WITH(Twice(), ContainsSubstring("must be unique, got \"a\" twice"));
}

TEST_CASE("a parameter has no values before the model is initialised or loaded") {
  const Net net;
  CHECK_THROWS_WITH(net.out.weight.to_vector(),
                    ContainsSubstring("\"out.weight\"") && ContainsSubstring("initialise the model"));
  CHECK_THROWS_WITH(net.out(zeros({2, 3})), ContainsSubstring("initialise the model"));
  CHECK_THROWS_WITH(net(Indices{1}), ContainsSubstring("initialise the model"));
  // Assigning from one that has none does not give the other memory.
  const Net other;
  Tensor target = net.out.weight;
  CHECK_THROWS_WITH(assign(target, other.out.weight), ContainsSubstring("[assign]"));
  CHECK_THROWS_WITH(net.out.weight.to_vector(), ContainsSubstring("initialise the model"));
}

TEST_CASE("first values follow from the seed and the name alone, in f32 as in f64") {
  Net a, b, c;
  a.initialise(7);
  b.initialise(7, DType::f64);
  c.initialise(8);
  for (const auto& [name, values] : a.state()) {
    INFO(name);
    CHECK(values.dtype() == DType::f32);
    CHECK(equal_bits(values, b.state().at(name).to(DType::f32)));
    if (name.find("bias") == std::string::npos && name != "gain")
      CHECK_FALSE(equal_bits(values, c.state().at(name)));
  }
  CHECK_FALSE(equal_bits(a.state().at("blocks.0.up.weight"), a.state().at("blocks.1.up.weight")));
  // The same layer under the same name in a smaller model.
  struct Small : Module {
    Linear out{{*this, "out"}, 3, 5};
  };
  Small small;
  small.initialise(7);
  CHECK(equal_bits(small.out.weight, a.out.weight));
  b.initialise(7, DType::f32);
  CHECK(equal_bits(b.out.weight, a.out.weight));
}

TEST_CASE("initialisers keep their promises") {
  struct One : Module {
    One(Dims shape, Initialiser initialiser) : weight{*this, "weight", shape, std::move(initialiser)} {
      initialise(3, DType::f64);
    }
    Parameter weight;
  };
  const auto spread = [](const Tensor& x) { return std::sqrt(mean(x * x).item()); };
  CHECK(spread(One({200, 100}, xavier).weight) == Approx(std::sqrt(2.0 / 300)).epsilon(0.02));
  CHECK(max(abs(One({200, 100}, xavier).weight)).item() <= std::sqrt(6.0 / 300));
  CHECK(spread(One({200, 100}, kaiming).weight) == Approx(std::sqrt(2.0 / 100)).epsilon(0.03));
  CHECK(max(abs(One({200, 100}, fan_in_uniform).weight)).item() <= 0.1);
  CHECK(spread(One({200, 100}, fan_in_uniform).weight) == Approx(0.1 / std::sqrt(3.0)).epsilon(0.02));
  CHECK(spread(One({200, 100}, normal(2)).weight) == Approx(2).epsilon(0.03));
  CHECK(max(abs(One({200, 100}, uniform(0.25)).weight)).item() <= 0.25);
  CHECK(sum(One({4, 5}, constant(0.5)).weight).item() == 10);
  CHECK(sum(abs(One({4, 5}, zeros).weight)).item() == 0);
  for (const Dims& shape : {Dims{7, 7}, Dims{5, 9}, Dims{9, 5}}) {
    const One q(shape, orthogonal);
    const Size n = std::min(shape[0], shape[1]);
    const Tensor w = shape[0] <= shape[1] ? Tensor(q.weight) : transpose(q.weight);
    CHECK(max(abs(matmul(w, transpose(w)) - eye(n, DType::f64))).item() < 1e-14);
  }
}

TEST_CASE("load_state lists everything that does not fit, and then loads nothing") {
  Net net;
  net.initialise(1);
  State state;
  for (const auto& [name, values] : net.state()) state[name] = full(values.shape(), 3, DType::f64);
  const Tensor before = net.out.bias.to(DType::f64) + 0.0;
  State bad = state;
  bad.erase("out.weight");
  bad["blocks.0.up.bias"] = zeros({7});
  bad["stranger"] = zeros({1});
  CHECK_THROWS_WITH(net.load_state(bad),
                    ContainsSubstring("\"out.weight\" is missing") &&
                        ContainsSubstring("unknown name \"stranger\"") &&
                        ContainsSubstring("\"blocks.0.up.bias\" must have shape (4), got (7)"));
  CHECK(equal_bits(net.out.bias.to(DType::f64), before));
  net.load_state(state);
  CHECK(net.out.bias.dtype() == DType::f32);
  CHECK(sum(net.out.bias).item() == 15);
  Net fresh;
  fresh.load_state(state);
  CHECK(fresh.out.bias.dtype() == DType::f64);
}

TEST_CASE("state goes out and in again") {
  Net a, b;
  a.initialise(1);
  b.initialise(2);
  b.load_state(a.state());
  a.eval();
  b.eval();
  CHECK(equal_bits(a(Indices{1, 3}), b(Indices{1, 3})));
}

TEST_CASE("frozen parts get no gradient, others do") {
  Net net;
  net.initialise(1);
  net.freeze("blocks.0");
  net.freeze("words");
  {
    Tape tape;
    tape.backward(ids_loss(net));
  }
  CHECK_FALSE(net.words.weight.has_grad());
  CHECK_FALSE(net.blocks[0].up.bias.has_grad());
  CHECK(net.blocks[1].up.bias.has_grad());
  net.unfreeze();
  {
    Tape tape;
    tape.backward(ids_loss(net));
  }
  CHECK(net.words.weight.has_grad());
  CHECK_THROWS_WITH(net.freeze("block"),
                    ContainsSubstring("\"block\"") && ContainsSubstring("blocks.0.up.weight"));
}

TEST_CASE("dropout works in training and not in eval mode") {
  Net net;
  net.initialise(1);
  const Tensor x = full({1000}, 1.0);
  set_random(1, 1);  // with one draw in fifty the sum is 1000 all the same
  CHECK(sum(net.dropout(x)).item() != 1000);
  net.eval();
  CHECK(sum(net.dropout(x)).item() == 1000);
  net.train();
  {
    const Evaluating evaluating(net);
    CHECK_FALSE(net.dropout.training());
  }
  CHECK(net.dropout.training());
  CHECK_THROWS_AS(Dropout(1.0), Error);
}

TEST_CASE("evaluating leaves every part in the mode that it had") {
  Net net;
  net.blocks[0].eval();
  {
    const Evaluating evaluating(net);
    CHECK_FALSE((net.training() || net.blocks[1].training()));
  }
  CHECK_FALSE((net.blocks[0].training() || net.blocks[0].up.training()));
  CHECK((net.training() && net.blocks[1].training() && net.dropout.training()));
  net.eval();
  net.dropout.train();  // samples from dropout, say
  {
    const Evaluating evaluating(net);
    CHECK_FALSE(net.dropout.training());
  }
  CHECK(net.dropout.training());
  CHECK_FALSE((net.training() || net.out.training()));
}

TEST_CASE("the padding word stays 0 and gets no gradient") {
  Embedding layer(4, 3, 1);
  layer.initialise(5);
  CHECK(sum(abs(select(layer.weight, 0, 1))).item() == 0);
  Tape tape;
  const Tensor y = layer(Indices{0, 1, 3, 1});
  tape.backward(sum(y * y + y));
  const Tensor gradient = layer.weight.grad();
  CHECK(sum(abs(select(gradient, 0, 1))).item() == 0);
  CHECK(sum(abs(select(gradient, 0, 2))).item() == 0);
  CHECK(sum(abs(select(gradient, 0, 3))).item() > 0);
  CHECK_THROWS_AS(Embedding(4, 3, 4), Error);
}
