// gradients(), gradients of gradients, and hooks.
#include "core/ops/ops.hpp"
#include "core/tape/checkpoint.hpp"
#include "core/tape/node_info.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

using Values = std::vector<double>;

}  // namespace

TEST_CASE("gradients() returns tensors, of leaves and of what lies between, and touches no .grad()") {
  const Tensor x = variable(tensor({2, 3}, DType::f64), "x"), other = variable(tensor({1, 1}, DType::f64));
  Tape tape;
  const Tensor h = x * x;
  const Tensor y = sum(h * h);
  const auto gradients = tape.gradients(y, {x, h}, {.keep = true});
  CHECK(gradients[0].to_vector() == Values{32, 108});
  CHECK(gradients[1].to_vector() == Values{8, 18});
  CHECK(!x.has_grad());
  CHECK_THAT(message_of([&] {
               tape.gradients(y, {x, other}, {.keep = true});
             }),
             ContainsSubstring("y must depend on every x, got an unused xs[1] of shape (2)"));
}

TEST_CASE("an input that y does not depend on has gradient zero only if asked") {
  const Tensor x = variable(tensor({2, 3})), other = variable(tensor({1, 1}));
  Tape tape;
  const Tensor unrelated = other * 2.0;
  const auto gradients = tape.gradients(sum(x), {x, other, unrelated}, {.zero_if_unused = true});
  CHECK(gradients[0].to_vector() == Values{1, 1});
  CHECK(gradients[1].to_vector() == Values{0, 0});
  CHECK(gradients[2].to_vector() == Values{0, 0});
}

TEST_CASE("gradients of gradients: x⁴ to the fourth derivative") {
  const Tensor x = variable(tensor({2, -3}, DType::f64));
  Tape tape;
  Tensor y = sum(pow(x, 4));
  const std::vector<Values> expected{{32, -108}, {48, 108}, {48, -72}, {24, 24}};
  for (const Values& derivative : expected) {
    const Tensor g = tape.gradients(y, {x}, {.create_graph = true})[0];
    CHECK(g.to_vector() == derivative);
    y = sum(g);
  }
  // And backward through a gradient: the penalty |∇|² adds to .grad().
  const Tensor z = sum(x * x * x);
  const Tensor g = tape.gradients(z, {x}, {.create_graph = true})[0];
  tape.backward(sum(g * g));
  CHECK(x.grad().to_vector() == Values{36 * 8, 36 * -27});
}

TEST_CASE("hooks see and change gradients, and see values") {
  const Tensor w = variable(tensor({2, 3}));
  Tape tape;
  std::vector<std::string> ops;
  tape.on_value([&](const NodeInfo& node, const Tensor& value) {
    ops.push_back(fmt::format("{} {}", node.op, value.count()));
  });
  const Tensor h = w * w;
  const Tensor once = sum(h);
  const Tensor twice = h * 2.0;
  const Tensor loss = once + sum(twice);
  Values seen;
  tape.on_gradient(h, [&](const Tensor& gradient) {
    seen = gradient.to_vector();
    return gradient * 10.0;
  });
  int calls = 0;
  tape.on_gradient(w, [&](const Tensor&) {
    ++calls;
    return Tensor();
  });
  tape.backward(loss);
  CHECK(seen == Values{3, 3});  // complete: both uses of h
  CHECK(w.grad().to_vector() == Values{120, 180});
  CHECK(calls == 1);
  CHECK(ops == std::vector<std::string>{"mul 2", "sum 1", "mul 2", "sum 1", "add 1"});
  CHECK_THAT(message_of([&] { tape.on_gradient(scalar(1), [](const Tensor& g) { return g; }); }),
             ContainsSubstring("[on_gradient] x must be on this tape"));
  const Tensor y = w * 1.0;
  tape.on_gradient(y, [](const Tensor&) { return zeros({5}); });
  CHECK_THAT(
      message_of([&] { tape.backward(sum(y)); }),
      ContainsSubstring("a hook must return the shape and type of the gradient, got (5) f32 for (2) f32"));
  const Tensor z = w * 1.0;
  tape.on_gradient(z, [](const Tensor& gradient) { return gradient.to(DType::f64); });
  CHECK_THAT(message_of([&] { tape.backward(sum(z)); }), ContainsSubstring("got (2) f64 for (2) f32"));
}

TEST_CASE("a leaf's hooks run as soon as its gradient is complete") {
  const Tensor first = variable(tensor({2, 3}), "first"), both = variable(tensor({5, 7}), "both"),
               late = variable(tensor({1, 1}), "late");
  std::vector<std::string> order;
  Values seen;
  const auto watch = [&](Tape& tape, const Tensor& x, const char* name) {
    tape.on_gradient(x, [&, name](const Tensor& gradient) {
      order.emplace_back(name);
      if (order.back() == "both") seen = gradient.to_vector();
      return Tensor();
    });
  };
  SECTION("node by node") {
    Tape tape;
    const Tensor a = first * both, b = a + 1.0, c = b * both, d = c * late;  // `both` is used twice
    watch(tape, first, "first");
    watch(tape, both, "both");
    watch(tape, late, "late");
    watch(tape, b, "b");
    tape.backward(sum(d));
    CHECK(order == std::vector<std::string>{"late", "b", "first", "both"});
    CHECK(seen == Values{2 * 2 * 5 + 1, 2 * 3 * 7 + 1});  // (first both + 1) both, by `both`
    CHECK(both.grad().to_vector() == seen);
  }
  SECTION("what a checkpoint uses as well waits for it") {
    Tape tape;
    const Tensor a = checkpoint([&](const Tensor& x) { return x * both; }, first);
    const Tensor d = (a + 1.0) * both * late;
    watch(tape, both, "both");
    watch(tape, late, "late");
    watch(tape, a, "a");
    tape.backward(sum(d));
    CHECK(order.front() == "a");
    CHECK(std::count(order.begin(), order.end(), "both") == 1);
    CHECK(std::count(order.begin(), order.end(), "late") == 1);
    CHECK(seen == Values{2 * 2 * 5 + 1, 2 * 3 * 7 + 1});
  }
  SECTION("what only a checkpoint uses, and what nothing uses but backward itself") {
    Tape tape;
    watch(tape, both, "both");
    const std::vector<Tensor> itself{both};
    tape.gradients(both, tensor({1, 1}), itself);
    CHECK(order == std::vector<std::string>{"both"});
    const Tensor a = checkpoint([&](const Tensor& x) { return x * late; }, first);
    watch(tape, late, "late");
    tape.backward(sum(a));
    CHECK(order == std::vector<std::string>{"both", "late"});
    CHECK(late.grad().to_vector() == Values{2, 3});
  }
  SECTION("a hook that replaces it, and a graph of derivatives") {
    Tape tape;
    const Tensor y = sum(both * both * both);
    tape.on_gradient(both, [](const Tensor& gradient) { return gradient * 2.0; });
    const Tensor dy = tape.gradients(y, {both}, {.create_graph = true}).front();
    CHECK(dy.to_vector() == Values{6 * 25, 6 * 49});
    CHECK(tape.gradients(sum(dy), {both}).front().to_vector() == Values{2 * 12 * 5, 2 * 12 * 7});
  }
}

TEST_CASE("gradients() has no eyes for what does not lead to the xs") {
  Tensor w = variable(tensor({2, 3}));
  const Tensor x = variable(tensor({5, 7}));
  Tape tape;
  const Tensor square = w * w, y = sum(x * x + 3.0 * square);
  assign(w, tensor({1, 1}));  // w's product saved it: its derivative is no more to be had
  CHECK(tape.gradients(y, {x}, {.keep = true})[0].to_vector() == Values{10, 14});
  CHECK(tape.gradients(y, {square}, {.keep = true})[0].to_vector() == Values{3, 3});
  CHECK_THROWS_WITH(tape.gradients(y, {w}),
                    ContainsSubstring("saved tensors must stay unchanged until backward"));
}

TEST_CASE("gradients() of one tensor that is named twice") {
  const Tensor x = variable(tensor({1, 2}), "x"), w = variable(tensor({3, 4}), "w");
  Tape tape;
  const Tensor h = x * w, y = sum(h * x);
  const std::vector<Tensor> found = tape.gradients(y, {x, h, x, h, w, x});
  for (const std::size_t i : {0U, 2U, 5U})
    CHECK(found[i].to_vector() == std::vector<double>{6, 16});  // 2 w x
  for (const std::size_t i : {1U, 3U}) CHECK(found[i].to_vector() == std::vector<double>{1, 2});
  CHECK(found[4].to_vector() == std::vector<double>{1, 4});
}
