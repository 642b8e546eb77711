// The tape in trouble: exceptions in mid-forward and mid-backward, NaN, and checkpoints.
#include <cmath>
#include <limits>
#include <numeric>

#include "core/ops/ops.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/tape/anomaly.hpp"
#include "core/tape/checkpoint.hpp"
#include "core/tape/node_info.hpp"
#include "core/tape/op.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

using Values = std::vector<double>;

Tensor square_sum(const Tensor& w) { return sum(w * w); }

}  // namespace

TEST_CASE("a throw in mid-forward leaves tape and leaves usable") {
  const Tensor w = variable(tensor({2, 3}));
  {
    Tape tape;
    const Tensor h = w * w;
    CHECK_THROWS_AS(h + zeros({5}), Error);
    CHECK(tape.size() == 1);
    tape.backward(sum(h));
  }
  CHECK(w.grad().to_vector() == Values{4, 6});
  w.clear_grad();
  try {
    Tape tape;
    const Tensor h = exp(w);
    throw std::runtime_error("user code");
  } catch (const std::runtime_error&) {
  }
  CHECK(Tape::active() == nullptr);
  Tape tape;
  tape.backward(square_sum(w));
  CHECK(w.grad().to_vector() == Values{4, 6});
}

TEST_CASE("a throw in mid-backward changes no gradient and leaves everything usable") {
  const Tensor w = variable(tensor({2, 3})), v = variable(tensor({1, 1}));
  Tape tape;
  tape.backward(square_sum(w));
  {
    const Tensor h = w * v;
    const Tensor later = exp(h);
    tape.on_gradient(h, [](const Tensor&) -> Tensor { throw std::runtime_error("in a hook"); });
    const Tensor loss = sum(later) + sum(v);
    CHECK_THAT(message_of<std::exception>([&] { tape.backward(loss); }), ContainsSubstring("in a hook"));
    CHECK(tape.size() == 0);  // what was recorded is gone, and says so
    CHECK_THAT(message_of<std::exception>([&] { tape.backward(loss); }),
               ContainsSubstring("y must be on this tape"));
    CHECK_THAT(message_of<std::exception>([&] { exp(h); }), ContainsSubstring("consumed by backward"));
  }
  CHECK(w.grad().to_vector() == Values{4, 6});  // as before
  CHECK(!v.has_grad());                         // though its part through sum(v) was computed
  CHECK(Tape::active() == &tape);
  tape.backward(square_sum(w));
  CHECK(w.grad().to_vector() == Values{8, 12});
}

TEST_CASE("a throw inside a checkpointed function leaves everything usable") {
  const Tensor w = variable(tensor({2, 3}));
  int calls = 0;
  Tape tape;
  const auto fails_again = [&](const Tensor& x) {
    if (++calls == 2) throw std::runtime_error("the second time");
    return x * w;
  };
  const Tensor loss = sum(checkpoint(fails_again, w));
  CHECK_THAT(message_of<std::exception>([&] { tape.backward(loss); }), ContainsSubstring("the second time"));
  CHECK(!w.has_grad());
  tape.backward(square_sum(w));
  CHECK(w.grad().to_vector() == Values{4, 6});
}

TEST_CASE("anomaly mode names the first op that makes a NaN, forward and backward") {
  const Tensor w = variable(tensor({-1, 4}), "w");
  {
    Tape tape;
    const Tensor h = log(w) * 0.0;  // without the mode, silence
    CHECK(std::isnan(h.at({0})));
  }
  const AnomalyMode mode;
  {
    Tape tape;
    const int line = __LINE__ + 1;
    const auto wrong = [&] { return log(w) * 0.0; };
    CHECK_THAT(
        message_of<std::exception>([&] { wrong(); }),
        ContainsSubstring("[log] the result must contain no NaN, got one from the inputs (2) \"w\";") &&
            ContainsSubstring(fmt::format("tape_trouble_test.cpp:{}", line)));
  }
  // All inputs are named, and those that had one already.
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor plus = variable(tensor({infinity, 1}), "plus"), minus = tensor({{-infinity, 1}, {2, 3}}),
               nan = tensor({std::nan("")});
  CHECK_THAT(message_of<std::exception>([&] { plus + minus; }),
             ContainsSubstring(
                 "[add] the result must contain no NaN, got one from the inputs (2) \"plus\", (2,2);"));
  CHECK_THAT(
      message_of<std::exception>([&] { plus* nan; }),
      ContainsSubstring(
          "[mul] the result must contain no NaN, got one from the inputs (2) \"plus\", (1) with NaN;"));
  const Tensor zero = variable(tensor({0, 1}), "zero");
  Tape tape;
  const Tensor loss = sum(sqrt(zero) * 0.0);  // 0 · ∞ in backward only
  CHECK_THAT(message_of<std::exception>([&] { tape.backward(loss); }),
             ContainsSubstring("[sqrt] the gradient of argument 0 must contain no NaN"));
  CHECK(!zero.has_grad());
}

TEST_CASE("anomaly mode also checks what gradients add up to") {
  const Tensor first = variable(tensor({4, 1}), "first"), zero = variable(tensor({0, 1}), "zero");
  // √'s slope at 0 is ∞; with the other sign it is −∞, and each by itself is no NaN.
  const auto up = [&] { return sum(sqrt(first)) + sum(sqrt(zero)); };
  {
    Tape tape;
    tape.backward(up() - sum(sqrt(zero)));
    CHECK(std::isnan(zero.grad().at({0})));  // without the mode, silence
    first.clear_grad(), zero.clear_grad();
  }
  const AnomalyMode mode;
  for (const bool seen :
       {false, true}) {  // added in place, or not since somebody else has the first gradient
    Tape tape;
    const Tensor root = sqrt(zero), shifted = zero + tensor({0, 0});
    Tensor held;
    if (seen) tape.on_gradient(shifted, [&](const Tensor& gradient) { return held = gradient; });
    CHECK_THAT(message_of<std::exception>([&] { tape.backward(sum(sqrt(shifted)) - sum(root)); }),
               ContainsSubstring("[sqrt] the sum of the gradients of argument 0 must contain no NaN"));
    CHECK(!zero.has_grad());
  }
  {
    Tape tape;
    tape.backward(up());
  }
  const Tensor held = zero.grad();
  Tape tape;
  CHECK_THAT(message_of<std::exception>([&] { tape.backward(sum(sqrt(first)) - sum(sqrt(zero))); }),
             ContainsSubstring("[backward] adding a gradient to the .grad() (2) of a leaf must give no NaN"));
  CHECK(first.grad().to_vector() == Values{0.25, 0.5});  // no leaf has changed
  CHECK(std::isinf(zero.grad().at({0})));
}

TEST_CASE("a rule that returns nothing, another shape or another type is refused") {
  const Tensor w = variable(tensor({2, 3}));
  const auto run = [&](Tensor returned) {
    Tape tape;
    const Tensor y = op<"mul">({}, w.detach() * 2.0, wrt(w, [returned](const Tensor&) { return returned; }));
    return message_of<std::exception>([&] { tape.backward(y, ones({2})); });
  };
  CHECK_THAT(run(Tensor()),
             ContainsSubstring("[mul] the rule of argument 0 must return a gradient, got none"));
  CHECK_THAT(run(zeros({3})), ContainsSubstring("must return its shape, got (3) for (2); sum or reshape it"));
  CHECK_THAT(run(zeros({2}, DType::f64)),
             ContainsSubstring("must return the argument's type, got f64 for f32"));
  CHECK(run(ones({2})) == "(nothing thrown)");
}

namespace {

/// Gradients of a small network with dropout, with and without checkpoints, from one random state.
struct Trained {
  std::vector<Values> gradients;
  RandomState after;
  std::size_t nodes;
};

Trained train(int checkpoints) {
  const Tensor w = variable(random_normal({8, 8}, 1), "w"), v = variable(random_normal({8, 8}, 2), "v"),
               x = variable(random_normal({5, 8}, 3), "x");
  set_random(9, 4);
  Tape tape;
  const auto inner = [&](const Tensor& h) { return dropout(tanh(matmul(h, v)), 0.3); };
  const auto layer = [&](const Tensor& h) {
    const Tensor a = dropout(tanh(matmul(h, w)), 0.5);
    const Tensor b = checkpoints == 2 ? checkpoint(inner, a) : inner(a);
    return b + a * h;
  };
  Tensor h = x;
  for (int i = 0; i < 3; ++i) h = checkpoints ? checkpoint(layer, h) : layer(h);
  const Tensor y = dropout(h, 0.1);
  const std::size_t nodes = tape.size();
  tape.backward(y, random_normal({5, 8}, 5));
  return {{y.to_vector(), w.grad().to_vector(), v.grad().to_vector(), x.grad().to_vector()},
          random_state(),
          nodes};
}

}  // namespace

TEST_CASE("checkpoints give the same bits: parameters inside, dropout inside, one in another") {
  const Trained plain = train(0);
  CHECK(plain.gradients[1] != Values(64, 0.0));
  for (int checkpoints : {1, 2}) {
    const Trained with = train(checkpoints);
    CHECK(with.gradients == plain.gradients);
    CHECK(with.after == plain.after);
    CHECK(with.nodes == 4);  // three checkpoints and the last dropout: nothing else was kept
  }
}

TEST_CASE("a checkpoint that returns a leaf or its argument passes the gradient on") {
  const Tensor w = variable(tensor({2, 3})), x = variable(tensor({1, 1}));
  Tape tape;
  const Tensor h = x * 3.0;
  const Tensor y =
      checkpoint([&](const Tensor&) { return w; }, h) + checkpoint([](const Tensor& a) { return a; }, h);
  tape.backward(sum(y));
  CHECK(w.grad().to_vector() == Values{1, 1});
  CHECK(x.grad().to_vector() == Values{3, 3});
}

TEST_CASE("a checkpoint's node has the line that called checkpoint()") {
  const Tensor a = variable(scalar(2.0)), b = variable(scalar(3.0));
  const auto product = [](const Tensor& x, const Tensor& y) { return x * y; };
  Tape tape;
  const int line = __LINE__ + 1;
  const Tensor y = checkpoint(product, a, b);
  REQUIRE(tape.size() == 1);
  CHECK(tape.node(0).op == std::string("checkpoint"));
  CHECK(tape.node(0).at.line == line);
  CHECK(std::string(tape.node(0).at.file).ends_with("tape_trouble_test.cpp"));
}

TEST_CASE("a checkpoint's argument must not change before backward") {
  const Tensor w = variable(tensor({2, 3}));
  Tensor a = tensor({1, 1});
  Tape tape;
  const Tensor loss = sum(checkpoint([&](const Tensor& x) { return x * w; }, a));
  assign(a, tensor({5, 5}));
  CHECK_THAT(message_of<std::exception>([&] { tape.backward(loss); }),
             ContainsSubstring("[checkpoint] saved tensors must stay unchanged"));
}

TEST_CASE("nor may a weight that it uses inside") {
  Tensor w = variable(tensor({2, 3}));
  const Tensor a = variable(tensor({1, 1}));
  Tape tape;
  const Tensor loss = sum(checkpoint([&](const Tensor& x) { return tanh(x * w) * w; }, a));
  assign(w, tensor({5, 5}));
  CHECK_THAT(message_of<std::exception>([&] { tape.backward(loss); }),
             ContainsSubstring("[checkpoint] saved tensors must stay unchanged"));
}

TEST_CASE("a checkpoint on a tape that is kept leaves nothing behind when it has run again") {
  const Tensor x = variable(random_normal({512, 64}, 1)), w = variable(random_normal({64, 64}, 2));
  Tape tape;
  const Tensor loss = sum(checkpoint([&](const Tensor& h) { return linear(tanh(linear(h, w)), w); }, x));
  tape.backward(loss, {.keep = true});
  const Size before = simd::pool_stats().in_use;
  for (int i = 0; i < 3; ++i) tape.backward(loss, {.keep = true});
  CHECK(simd::pool_stats().in_use == before);
}

TEST_CASE("checkpoints can be differentiated twice") {
  const auto second = [](bool with) {
    const Tensor x = variable(tensor({0.3, -0.7}, DType::f64));
    Tape tape;
    const auto f = [&](const Tensor& a) { return tanh(a) * x; };
    const Tensor y = sum(with ? checkpoint(f, x) : f(x));
    const Tensor g = tape.gradients(y, {x}, {.create_graph = true})[0];
    return tape.gradients(sum(g), {x})[0].to_vector();
  };
  CHECK(second(true) == second(false));
}

TEST_CASE("a tape that is printed during backward counts no memory that is already free") {
  const auto bytes_seen = [](BackwardOptions options) {
    const Tensor w = variable(ones({4}));
    Tape tape;
    const Tensor first = exp(w), second = exp(first);  // each keeps its result, 16 bytes
    std::vector<std::size_t> seen;
    tape.on_gradient(first, [&](const Tensor&) {
      for (std::size_t i = 0; i < tape.size(); ++i) seen.push_back(tape.node(i).saved_bytes);
      const std::size_t total = std::accumulate(seen.begin(), seen.end(), std::size_t{0});
      CHECK_THAT(tape.table(), ContainsSubstring(fmt::format("bytes saved: {} ", total)));
      return Tensor();
    });
    tape.backward(sum(second), options);
    return seen;
  };
  CHECK(bytes_seen({}) == std::vector<std::size_t>{16, 0, 0});  // the second exp has been visited
  CHECK(bytes_seen({.keep = true}) == std::vector<std::size_t>{16, 16, 0});
}

TEST_CASE("an empty hook and a node that is not there are refused in the tape's words") {
  const Tensor x = variable(tensor({1, 2}));
  Tape tape;
  CHECK_THROWS_WITH(tape.on_gradient(x, {}), ContainsSubstring("[on_gradient] the hook must be callable"));
  CHECK_THROWS_WITH(tape.on_value({}), ContainsSubstring("[on_value] the hook must be callable"));
  CHECK_THROWS_WITH(tape.node(0), ContainsSubstring("[node] the index must be below size() = 0, got 0"));
  const Tensor y = sum(x * x);
  CHECK_THROWS_WITH(tape.node(2), ContainsSubstring("size() = 2, got 2"));
  CHECK(std::string(tape.node(1).op) == "sum");
}

TEST_CASE("anomaly mode accuses no op that only moves a NaN, as of a key that a mask hides") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const AnomalyMode mode;
  Tape tape;
  const Tensor x = variable(tensor({{1, nan}, {3, 4}}, DType::f64));
  const Mask first = Mask::from(2, 2, [](Size, Size j) { return j == 0; });
  const Tensor moved = concat({unsqueeze(transpose(reshape(x, {2, 2})), 0), expand(x, {1, 2, 2})}, 1);
  const Tensor part = flip(select(contiguous(moved), 0, 0), 0);
  CHECK_NOTHROW(slice(pad(part, 0, 1, 0), 0, 1, 3));
  CHECK_NOTHROW(where(first, x, zeros({2, 2}, DType::f64)));
  CHECK_NOTHROW(where(first, zeros({2, 2}, DType::f64), x));
  CHECK_THAT(message_of([&] { return reshape(x, {4}) * 2; }),
             ContainsSubstring("[mul] the result must contain no NaN"));
}
