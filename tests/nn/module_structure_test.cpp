// The structure of modules: tying, clones, copies, parts that are removed or not registered, and the summary.
#include <cmath>
#include <memory>
#include <optional>

#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/small_net.hpp"

using namespace tapestry;
using namespace tapestry::testing;
using Catch::Matchers::ContainsSubstring;

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
  CHECK_THAT(text, ContainsSubstring("blocks") && ContainsSubstring("List<testing::Block>") &&
                       ContainsSubstring("(4,3)"));
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
