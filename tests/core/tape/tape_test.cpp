// The rules of the tape: recording, backward, errors, sums of gradients in leaves, and memory.
#include "core/tape/tape.hpp"

#include <thread>

#include "core/ops/ops.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/tape/node_info.hpp"
#include "core/tensor/create.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

using Values = std::vector<double>;

}  // namespace

TEST_CASE("backward leaves gradients at leaves") {
  const Tensor w = variable(tensor({2, 3}), "w"), b = variable(scalar(1));
  Tape tape;
  const Tensor y = sum(w * w) + b;
  tape.backward(y);
  CHECK(w.grad().to_vector() == Values{4, 6});
  CHECK(b.grad().item() == 1);
  CHECK(tape.size() == 0);  // consumed
}

TEST_CASE("without a tape nothing is recorded, and constants leave no trace on one") {
  const Tensor x = tensor({1, 2});
  Tape tape;
  const Tensor y = x * 2.0 + exp(x);
  CHECK(tape.size() == 0);
  CHECK(y.impl().node == -1);
  CHECK_THAT(message_of([&] { tape.backward(sum(y)); }),
             ContainsSubstring(
                 "y must be on this tape, got (): it depends on no variable that requires a gradient"));
}

TEST_CASE("a result computed from a weight outside the tape is marked") {
  const Tensor w = variable(tensor({2, 3}), "w");
  const Tensor outside = w * w;
  const Tensor from_outside = outside + 1.0;
  CHECK(from_outside.to_vector() == Values{5, 10});  // reading always works
  Tape tape;
  CHECK_THAT(message_of([&] { static_cast<void>(outside + w); }),
             ContainsSubstring(
                 "[add] an operand of shape (2) must be computed on the tape, got one computed outside it "
                 "(by mul); compute it while the tape is alive, or detach() it"));
  CHECK_THAT(message_of([&] { exp(from_outside); }),
             ContainsSubstring("got one computed outside it (by add)"));
  CHECK_THAT(message_of([&] { tape.backward(sum(w * w), outside); }), ContainsSubstring("got dy (2)"));
  CHECK_THAT(message_of([&] { tape.backward(outside, ones({2})); }),
             ContainsSubstring(
                 "y must be on this tape, got (2), computed outside it; compute it while the tape is alive"));
  tape.backward(sum(outside.detach() * w));
  CHECK(w.grad().to_vector() == Values{4, 9});
}

TEST_CASE("an operand from a tape that is gone is refused, and so is one from a consumed tape") {
  const Tensor w = variable(tensor({2, 3}));
  Tensor old;
  {
    Tape tape;
    old = w * 2.0;
  }
  CHECK(old.to_vector() == Values{4, 6});
  Tape tape;
  CHECK_THAT(message_of([&] { exp(old); }),
             ContainsSubstring(
                 "[exp] an operand of shape (2) (from mul) must be on the active tape, got one from another "
                 "tape or consumed by backward"));
  const Tensor y = w * w;
  const Tensor loss = sum(y);
  tape.backward(loss);
  CHECK_THAT(message_of([&] { exp(y); }), ContainsSubstring("consumed by backward"));
  CHECK_THAT(message_of([&] { tape.backward(loss); }), ContainsSubstring("y must be on this tape"));
}

TEST_CASE("backward wants a scalar, or a dy of the right shape and type") {
  const Tensor w = variable(tensor({{1, 2}, {3, 4}}));
  Tape tape;
  const Tensor y = w * w;
  CHECK_THAT(
      message_of([&] { tape.backward(y); }),
      ContainsSubstring("y must have one element if dy is omitted, got shape (2,2); sum y or pass dy"));
  CHECK_THAT(message_of([&] { tape.backward(y, ones({2})); }),
             ContainsSubstring("dy must have the shape and type of y, got dy (2) f32 and y (2,2) f32"));
  CHECK_THAT(message_of([&] {
               tape.backward(y, ones({2, 2}, DType::f64));
             }),
             ContainsSubstring("got dy (2,2) f64 and y (2,2) f32"));
  CHECK(!w.has_grad());
  tape.backward(y, tensor({{1, 0}, {0, 10}}));
  CHECK(w.grad().to_vector() == Values{2, 0, 0, 80});
}

TEST_CASE("assign after a rule saved a value is refused by backward") {
  Tensor w = variable(tensor({2, 3}), "w");
  Tensor a = tensor({1, 1});
  {
    Tape tape;
    const Tensor loss = sum(w * a);
    assign(a, tensor({5, 5}));
    CHECK_THAT(message_of([&] { tape.backward(loss); }),
               ContainsSubstring(
                   "[mul] saved tensors must stay unchanged until backward, got one that was overwritten"));
    CHECK(!w.has_grad());
  }
  {  // through a view, and of a result
    Tape tape;
    Tensor y = exp(w);
    const Tensor loss = sum(y);
    Tensor part = slice(y.detach(), 0, 0, 1);
    assign(part, tensor({7}));
    CHECK_THAT(message_of([&] { tape.backward(loss); }),
               ContainsSubstring("[exp] saved tensors must stay unchanged"));
  }
  {  // what nobody saved may change
    Tape tape;
    const Tensor loss = sum(w + a);
    assign(a, tensor({9, 9}));
    tape.backward(loss);
    CHECK(w.grad().to_vector() == Values{1, 1});
  }
}

TEST_CASE("gradients are absent until backward, add up, and can be cleared") {
  const Tensor w = variable(tensor({2, 3}), "w"), unused = variable(tensor({1}), "unused");
  CHECK(!w.has_grad());
  CHECK_THAT(message_of([&] { w.grad(); }),
             ContainsSubstring("(2) \"w\" has no gradient: run backward on a loss that depends on it"));
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    Tape tape;
    tape.backward(sum(w * w));
  }
  CHECK(w.grad().to_vector() == Values{8, 12});
  CHECK(!unused.has_grad());
  w.clear_grad();
  CHECK(!w.has_grad());
  CHECK_THAT(message_of([] { scalar(1).grad(); }), ContainsSubstring("it is not a leaf"));
}

TEST_CASE("a gradient that was handed out does not change when the next one adds up") {
  const Tensor w = variable(tensor({2, 3}));
  const auto run = [&] {
    Tape tape;
    tape.backward(sum(w * w));
  };
  run();
  const Tensor kept = w.grad();
  run();
  CHECK(kept.to_vector() == Values{4, 6});
  CHECK(w.grad().to_vector() == Values{8, 12});
}

TEST_CASE("leaves whose first gradients share memory do not disturb each other") {
  // add hands one dy to both arguments.
  const Tensor a = variable(tensor({1, 2})), b = variable(tensor({3, 4}));
  for (int i = 0; i < 2; ++i) {
    Tape tape;
    const Tensor y = a + b;
    tape.backward(sum(y) + sum(a * 10.0));
  }
  CHECK(a.grad().to_vector() == Values{22, 22});
  CHECK(b.grad().to_vector() == Values{2, 2});
  // A dy that the caller keeps is not written to, either.
  const Tensor dy = tensor({1, 1});
  a.clear_grad();
  {
    Tape tape;
    tape.backward(a + 0.0, dy);
  }
  {
    Tape tape;
    tape.backward(a + 0.0, dy);
  }
  CHECK(dy.to_vector() == Values{1, 1});
  CHECK(a.grad().to_vector() == Values{2, 2});
}

TEST_CASE("a tape that is kept can run backward again") {
  const Tensor w = variable(tensor({2, 3}));
  Tape tape;
  const Tensor loss = sum(tanh(w) * w);
  tape.backward(loss, {.keep = true});
  const Values once = w.grad().to_vector();
  tape.backward(loss);
  CHECK(w.grad().at({0}) == 2 * static_cast<double>(static_cast<float>(once[0])));
  CHECK_THAT(message_of([&] { tape.backward(loss); }), ContainsSubstring("y must be on this tape"));
}

TEST_CASE("backward says why it cannot begin where it is told to") {
  const Tensor w = variable(tensor({2}), "w");
  const auto says = [](const auto& f, const char* first, const char* second) {
    CHECK_THAT(message_of(f), ContainsSubstring(first) && ContainsSubstring(second));
  };
  const char* const consumed = "must be on this tape, got (): an earlier backward consumed its nodes";
  const char* const leaf = "the leaf (1) \"w\"; ";
  Tape tape;
  const Tensor loss = sum(w * w);
  tape.backward(loss);
  says([&] { tape.backward(loss); }, consumed, "{.keep = true}");
  says([&] { tape.gradients(loss, {w}); }, consumed, "{.keep = true}");
  tape.backward(sum(w * 3.0));
  says([&] { tape.backward(loss); }, consumed, "{.keep = true}");  // two rounds ago
  CHECK(w.grad().to_vector() == Values{7});
  says([&] { tape.backward(w); }, leaf, "call backward on a result computed from it");
  const Tensor v = variable(tensor({2}));
  says([&] { tape.gradients(w, {v}); }, leaf, "it must be one of the xs");
  CHECK(tape.gradients(w, {w})[0].to_vector() == Values{1});
}

TEST_CASE("backward does not blame a backward for a tape that is gone") {
  const Tensor w = variable(tensor({2}));
  Tensor loss;
  {
    Tape tape;
    loss = sum(w * w);
  }
  Tape tape;
  tape.backward(sum(w * w));
  CHECK_THAT(message_of([&] { tape.backward(loss); }), ContainsSubstring("another tape recorded it"));
}

TEST_CASE("frozen leaves are constants") {
  const Tensor w = variable(tensor({2, 3})), v = variable(tensor({4, 5}));
  set_frozen(w, true);
  CHECK(!w.requires_grad());
  Tape tape;
  const Tensor only_frozen = w * 2.0;
  CHECK(tape.size() == 0);
  tape.backward(sum(only_frozen * v));
  CHECK(!w.has_grad());
  CHECK(v.grad().to_vector() == Values{4, 6});
  CHECK_THAT(message_of([] { set_frozen(scalar(1), true); }), ContainsSubstring("only a leaf can be frozen"));
}

TEST_CASE("100,000 chained ops run forward, backward, and are freed") {
  const Tensor w = variable(scalar(1, DType::f64));
  for (int round = 0; round < 2; ++round) {
    Tape tape;
    Tensor y = w;
    for (int i = 0; i < 100'000; ++i) y = i % 2 ? y * 1.0 : y + 0.5;
    CHECK(y.item() == 25'001);
    CHECK(tape.size() == 100'000);
    if (round == 0) tape.backward(y);  // the second time it is dropped as it is
  }
  CHECK(w.grad().item() == 1);
}

TEST_CASE("a tape inside a tape is refused, one after the other is not") {
  Tape tape;
  CHECK(Tape::active() == &tape);
  CHECK_THAT(message_of([] { Tape inner; }),
             ContainsSubstring(
                 "a thread must have at most one tape, got a second; use the first, or checkpoint(f, x…)"));
  CHECK(Tape::active() == &tape);
}

TEST_CASE("the tape says where an op was called") {
  const Tensor w = variable(tensor({2, 3}), "weight");
  Tape tape;
  const int line = __LINE__ + 1;
  const Tensor y = exp(w) * 2.0;
  CHECK(tape.node(0).at.line == line);
  CHECK(tape.node(1).at.line == line);
  CHECK_THAT(tape.node(0).at.file, ContainsSubstring("tape_test.cpp"));
  const std::string table = tape.table();
  CHECK_THAT(table, ContainsSubstring("exp") && ContainsSubstring("weight") &&
                        ContainsSubstring(fmt::format("tape_test.cpp:{}", line)) &&
                        ContainsSubstring("nodes: 2, leaves: 1"));
  CHECK(tape.node(0).saved_bytes == 8);
  CHECK(tape.node(0).inputs == std::vector<NodeInfo::Input>{{true, 0}});
  CHECK(tape.node(1).inputs == std::vector<NodeInfo::Input>{{false, 0}});
  CHECK_THAT(tape.dot(), ContainsSubstring("digraph tape {") && ContainsSubstring("n0 -> n1;") &&
                             ContainsSubstring("l0 -> n0;") &&
                             ContainsSubstring("n0 [label=\"exp\\n(2)\"];") &&
                             ContainsSubstring("n1 [label=\"mul\\n(2)\"];") &&
                             ContainsSubstring("l0 [label=\"weight\\n(2)\", shape=ellipse];"));
}

TEST_CASE(
    "backward gives memory back while it runs: what a node saved goes as soon as the loop has passed it") {
  constexpr Size kNumbers = 1 << 16, kBytes = kNumbers * 8;
  const Tensor w = variable(random_normal({kNumbers}, 1, DType::f64));
  Tape tape;
  const Tensor first = w * 2.0;
  Tensor x = first;
  for (int i = 0; i < 8; ++i) x = x * (x + 1.0);  // each product saves two tensors
  const Tensor y = sum(x);
  x = Tensor();
  const Size before = simd::pool_stats().in_use;
  Size at_first = 0;
  tape.on_gradient(first, [&](const Tensor& dy) {
    at_first = simd::pool_stats().in_use;
    return dy;
  });
  tape.backward(y);
  CHECK(at_first < before - 10 * kBytes);
}

TEST_CASE("a leaf's index on a tape is a hint, which tapes of other threads may overwrite at any time") {
  const Tensor w = variable(tensor({1, 2}), "w"), u = variable(tensor({3, 4}), "u");
  const auto overwrite = [&](std::uint64_t tape, std::uint32_t index) {
    for (const Tensor& leaf : {w, u}) {
      if (tape != 0) leaf.impl().leaf->tape = tape;
      leaf.impl().leaf->index = index;
    }
  };
  const auto check = [&](Tape& tape, const Tensor& y, double dw, double du) {
    const std::vector<Tensor> found = tape.gradients(y, {w, u}, {.keep = true});
    CHECK(found[0].to_vector() == std::vector<double>{dw * 3, dw * 4});
    CHECK(found[1].to_vector() == std::vector<double>{du * 1, du * 2});
  };
  for (const std::uint64_t newer : {std::uint64_t{0}, ~std::uint64_t{0} >> 1U})  // the index alone, and both
    for (const std::uint32_t index : {0U, 1U, 7U, ~0U}) {
      CAPTURE(newer, index);
      w.impl().leaf->tape = u.impl().leaf->tape = 0;
      Tape tape;
      const Tensor y = sum(w * u);
      overwrite(newer, index);
      check(tape, y + sum(u * w * 2.0), 3, 3);
      overwrite(newer, index);
      tape.backward(y);  // the tape begins anew, and the leaves come in another order
      w.clear_grad(), u.clear_grad();
      overwrite(newer, index);
      check(tape, sum(u * 1.0 * w), 1, 1);
    }
  w.impl().leaf->tape = u.impl().leaf->tape = 0;
}
