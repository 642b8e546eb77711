// Modules: names, first values, state, freezing, tying, clones, summary.
#include <cmath>

#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "nn/dropout.hpp"
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/recurrent.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using testing::equal_bits;

namespace {

struct Block : Module {
  using Module::Module;
  Linear up{{*this, "up"}, 3, 4};
  Linear down{{*this, "down"}, 4, 3, Bias::no};
};

struct Net : Module {
  Embedding words{{*this, "words"}, 5, 3, 0};
  List<Block> blocks{{*this, "blocks"}, 2};
  Dropout dropout{{*this, "dropout"}, 0.5};
  Linear out{{*this, "out"}, 3, 5};
  Parameter gain{*this, "gain", {3}, ones};

  Tensor operator()(const Indices& ids) const {
    Tensor x = words(ids);
    for (const Block& block : blocks) x = x + block.down(tanh(block.up(x)));
    return out(dropout(x) * gain);
  }
};

struct Tied : Net {
  Tied() { out.weight.tie(words.weight); }
};

std::vector<std::string> names_of(const Module& model) {
  std::vector<std::string> names;
  for (const Tensor& leaf : model.parameters()) names.push_back(leaf.name());
  return names;
}

Tensor ids_loss(const Net& net) { return cross_entropy(net(Indices{1, 2, 0, 4}), Indices{2, 0, 4, 1}); }

}  // namespace

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

TEST_CASE("a tied parameter is one leaf, listed once, under the other's name") {
  Tied net;
  net.initialise(1);
  const auto names = names_of(net);
  CHECK(std::count(names.begin(), names.end(), "words.weight") == 1);
  CHECK(std::count(names.begin(), names.end(), "out.weight") == 0);
  CHECK(net.state().count("out.weight") == 0);
  {
    Tape tape;
    tape.backward(ids_loss(net));
  }
  CHECK(equal_bits(net.out.weight.grad(), net.words.weight.grad()));
  // A file may name it either way, but not differently.
  State state;
  for (const auto& [name, values] : net.state()) state[name] = values + 1.0;
  state["out.weight"] = state.at("words.weight");
  net.load_state(state);
  state["out.weight"] = zeros({5, 3});
  CHECK_THROWS_WITH(net.load_state(state), ContainsSubstring("are tied and must have equal values"));
  state["words.weight"] = state["out.weight"] = full({5, 3}, std::nan(""));  // the same, if not equal
  CHECK_NOTHROW(net.load_state(state));
  state["out.weight"] = zeros({5, 3});
  CHECK_THROWS_WITH(net.load_state(state), ContainsSubstring("are tied and must have equal values"));
  state.erase("words.weight");
  net.load_state(state);
  CHECK(sum(abs(net.words.weight)).item() == 0);
  CHECK_THROWS_AS(net.gain.tie(net.words.weight), Error);
}

TEST_CASE("a clone is a model of its own, with the same values in the type asked for") {
  Tied net;
  net.initialise(1);
  net.freeze("blocks.1");
  net.eval();
  const std::unique_ptr<Tied> twin = clone(net, DType::f64);
  CHECK(names_of(*twin) == names_of(net));
  CHECK_FALSE(twin->training());
  CHECK_FALSE(twin->blocks[1].up.weight.requires_grad());
  CHECK(twin->blocks[0].up.weight.requires_grad());
  for (const auto& [name, values] : twin->state()) {
    CHECK(values.dtype() == DType::f64);
    CHECK(equal_bits(values.to(DType::f32), net.state().at(name)));
  }
  CHECK(twin->out.weight.ref().get() == twin->words.weight.ref().get());
  CHECK(twin->words.weight.ref().get() != net.words.weight.ref().get());
  const double before = ids_loss(net).item();
  twin->initialise(9, DType::f64);
  CHECK(ids_loss(net).item() == before);
  CHECK(ids_loss(*twin).item() != before);
  CHECK(twin->blocks[1].full_name() == "blocks.1");
  // A part of a model becomes a model.
  const auto block = clone(net.blocks[1]);
  CHECK(names_of(*block) == std::vector<std::string>{"up.weight", "up.bias", "down.weight"});
  CHECK_FALSE(block->up.weight.requires_grad());
  // A model without values can be cloned, too.
  CHECK_THROWS_WITH(clone(Net())->gain.item(),
                    ContainsSubstring("one element") || ContainsSubstring("no values"));
}

TEST_CASE("modules and parameters are not copied by accident") {
  Net net;
  net.initialise(1);
  CHECK_THROWS_WITH(Linear(net.out), ContainsSubstring("cannot be copied") && ContainsSubstring("out"));
  CHECK_THROWS_WITH(Parameter(net.gain), ContainsSubstring("cannot be copied"));
  const Module& base = net;
  CHECK_THROWS_WITH(clone(base), ContainsSubstring("concrete type"));
  const Tensor handle = net.gain;
  CHECK(handle.name() == "gain");
  CHECK(net.children().size() == 5);
}

TEST_CASE("a part that goes takes its own weights along, and no others") {
  struct Parts : Module {
    std::optional<Linear> first, second;
    std::optional<Parameter> gain, shift;
  } model;
  const auto fill = [&] {
    model.first.emplace(Parent{model, "first"}, 2, 3);
    model.gain.emplace(model, "gain", Dims{2}, constant(1));
    model.second.emplace(Parent{model, "second"}, 3, 2);
    model.shift.emplace(model, "shift", Dims{3}, constant(0));
  };
  using Names = std::vector<std::string>;
  fill();
  model.first.reset();
  CHECK(names_of(model) == Names{"gain", "second.weight", "second.bias", "shift"});
  model.gain.reset();
  CHECK(names_of(model) == Names{"second.weight", "second.bias", "shift"});
  model.first.emplace(Parent{model, "first"}, 2, 3);
  model.shift.reset();
  CHECK(names_of(model) == Names{"second.weight", "second.bias", "first.weight", "first.bias"});
  model.second.reset();
  CHECK(names_of(model) == Names{"first.weight", "first.bias"});
  model.first.reset();
  CHECK(names_of(model).empty());
  fill();
  CHECK(names_of(model).size() == 6);
}

TEST_CASE("summary shows memory in the unit that suits it") {
  struct One : Module {
    explicit One(Size n) : values{*this, "values", {n}, ones} {}
    Parameter values;
  };
  const auto memory = [](Size n) {
    One model(n);
    model.initialise(1);
    const std::string text = summary(model), total = text.substr(text.find("total"));
    return total.substr(total.find(std::to_string(n)) + std::to_string(n).size());
  };
  CHECK(memory(255) == "  1020 B\n");
  CHECK(memory(256) == "  1.0 KiB\n");
  CHECK(memory(640) == "  2.5 KiB\n");
  CHECK(memory(262143) == "  1024.0 KiB\n");
  CHECK(memory(262144) == "  1.0 MiB\n");
  CHECK(memory(1000000) == "  3.8 MiB\n");
}

TEST_CASE("summary shows layers, shapes, weights and memory") {
  Tied net;
  net.initialise(1, DType::f64);
  net.freeze("gain");
  const std::string text = summary(net);
  CHECK_THAT(text,
             ContainsSubstring("blocks") && ContainsSubstring("List<Block>") && ContainsSubstring("(4,3)"));
  CHECK_THAT(text, ContainsSubstring("= words.weight") && ContainsSubstring("3 frozen"));
  // words 15, two blocks of 12 + 4 + 12, out.bias 5, gain 3
  CHECK_THAT(text, ContainsSubstring("79") && ContainsSubstring("632 B"));
}

namespace {

struct Forgot : Module {
  Linear first{{*this, "first"}, 4, 4}, second{4, 4};
};

}  // namespace

TEST_CASE("a layer that is a member but has no Parent is noticed before the first step") {
  const auto told =
      ContainsSubstring("a Linear is a member of the") && ContainsSubstring("made without a Parent");
  Forgot model;
  CHECK_THROWS_WITH(model.initialise(1),
                    ContainsSubstring("a Linear is a member of the Forgot but was made without a Parent"));
  CHECK_THROWS_WITH(model.load_state(model.state()), ContainsSubstring("made without a Parent"));
  struct Outer : Module {
    struct Inner : Module {
      explicit Inner(Parent parent) : Module(std::move(parent)) {}
      Parameter scale{*this, "scale", {4}, ones};
      Dropout dropout{0.5};
    };
    List<Inner> blocks{{*this, "blocks"}, 2};
  } outer;
  CHECK_THROWS_WITH(outer.initialise(1),
                    ContainsSubstring("a Dropout is a member of the") && ContainsSubstring("\"blocks.0\""));
  struct Before : Module {  // declared before the first that is registered, and behind a plain member
    Linear forgotten{2, 2};
    double number = 0;
    Linear found{{*this, "found"}, 2, 2};
  } before;
  CHECK_THROWS_AS(before.initialise(1), Error);
}

TEST_CASE("layers that are no members are left alone") {
  Linear neighbours[3] = {Linear(2, 2), Linear(2, 2), Linear(2, 2)};
  for (Linear& one : neighbours) CHECK_NOTHROW(one.initialise(1));
  struct Pair {
    Linear left{2, 2}, right{2, 2};
  } pair;
  CHECK_NOTHROW(pair.left.initialise(1));
  CHECK_NOTHROW(pair.right.initialise(1));
  struct Holder : Module {
    Linear own{{*this, "own"}, 2, 2};
    std::unique_ptr<Linear> teacher = std::make_unique<Linear>(2, 2);  // on purpose: not trained with it
  } holder;
  CHECK_NOTHROW(holder.initialise(1));
  struct Base : Module {
    Linear first{{*this, "first"}, 2, 2};
  };
  struct Derived : Base {
    Linear second{{*this, "second"}, 2, 2};
  } derived;
  CHECK_NOTHROW(derived.initialise(1));
  CHECK(derived.parameters().size() == 4);
  struct Net : Module {
    Linear layer{{*this, "layer"}, 2, 2};
  };
  auto net = std::make_unique<Net>();
  net->initialise(1);
  const auto copy = clone(*net);
  net.reset();  // another may get its memory
  Linear later(2, 2);
  CHECK_NOTHROW(copy->initialise(2));
  CHECK_NOTHROW(later.initialise(2));
}

TEST_CASE("parameters that no memory can hold are refused with their shape") {
  Linear large(Size{1} << 40, Size{1} << 20);
  CHECK_THROWS_WITH(large.initialise(1),
                    ContainsSubstring("\"weight\"") && ContainsSubstring("(1048576,1099511627776)"));
}

TEST_CASE("summary shows names without terminal escapes") {
  struct Named : Module {
    Linear layer{{*this, "\x1b[31mred"}, 2, 2};
  } named;
  CHECK(summary(named).find('\x1b') == std::string::npos);
  CHECK_THAT(summary(named), ContainsSubstring("\\x1b[31mred"));
}
