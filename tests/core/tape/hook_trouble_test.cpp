// Hooks and gradients of a user who goes on after an error, starts a pass in a hook, or writes to memory that a gradient
// may share.
#include "core/core.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;

namespace {

using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("a tape whose gradients() refused an unused x is empty, or kept whole") {
  const Tensor x = variable(tensor({1, 2, 3}, DType::f64)), unused = variable(tensor({1}, DType::f64));
  {
    Tape tape;
    const Tensor y = sum(x * x * x);
    CHECK_THAT(message_of([&] { tape.gradients(y, {x, unused}); }), ContainsSubstring("got an unused xs[1]"));
    CHECK(tape.size() == 0);
    CHECK_THAT(message_of([&] { tape.backward(y); }),
               ContainsSubstring("an earlier backward consumed its nodes"));
    CHECK_THAT(message_of([&] { tape.gradients(y, {x}); }), ContainsSubstring("consumed its nodes"));
    CHECK(tape.gradients(sum(x * x), {x})[0].to_vector() == Numbers{2, 4, 6});  // it records again
  }
  Tape tape;
  const Tensor y = sum(x * x * x);
  CHECK_THAT(message_of([&] { tape.gradients(y, {unused, x}, {.keep = true}); }), ContainsSubstring("xs[0]"));
  tape.backward(y);
  CHECK(x.grad().to_vector() == Numbers{3, 12, 27});
}

TEST_CASE("a hook that starts a pass on its tape is refused, and no gradient changes") {
  const Tensor x = variable(tensor({1, 2, 3}, DType::f64));
  for (const bool keep : {false, true})
    for (const bool backward : {false, true}) {
      Tape tape;
      const Tensor a = x * 2.0, z = sum(a * a), w = sum(x);
      tape.on_gradient(a, [&](const Tensor&) {
        if (backward)
          tape.backward(w, {.keep = keep});
        else
          tape.gradients(w, {x}, {.keep = keep});
        return Tensor();
      });
      CHECK_THAT(message_of([&] { tape.backward(z); }),
                 ContainsSubstring("a hook must not run a pass on its tape"));
      CHECK_FALSE(x.has_grad());
      tape.backward(sum(x * 3.0));  // the tape goes on
      CHECK(x.grad().to_vector() == Numbers{3, 3, 3});
      x.clear_grad();
    }
}

TEST_CASE("a hook may add a hook, which then takes the next gradient") {
  const Tensor x = variable(tensor({1, 2, 3}, DType::f64));
  Tape tape;
  const Tensor y = sum(x * x);
  const double a = 1, b = 2, c = 3;  // three numbers, so that the hook lies in memory of its own
  tape.on_gradient(x, [&tape, &x, a, b, c](const Tensor& gradient) {
    for (int i = 0; i < 9; ++i) tape.on_gradient(x, [](const Tensor& next) { return next * 2.0; });
    return gradient * (a + b + c);
  });
  tape.backward(y, {.keep = true});
  CHECK(x.grad().to_vector() == Numbers{12, 24, 36});
  x.clear_grad();
  tape.backward(y);
  CHECK(x.grad().to_vector() == Numbers{12 * 512, 24 * 512, 36 * 512});
}

TEST_CASE("no gradient shares memory with dy, with a hook's tensor or with another gradient") {
  const Tensor x = variable(tensor({1, 2, 3}, DType::f64)), other = variable(tensor({1, 2, 3}, DType::f64));
  Tensor dy = tensor({1, 1, 1}, DType::f64);
  const Tensor ten = tensor({10, 10, 10}, DType::f64);
  Tape tape;
  tape.backward(x + other, dy);
  assign(dy, ten);
  CHECK(x.grad().to_vector() == Numbers{1, 1, 1});
  Tensor gradient = x.grad();
  assign(gradient, ten);
  CHECK(other.grad().to_vector() == Numbers{1, 1, 1});
  tape.backward(x + 0.0, dy);
  CHECK(x.grad().to_vector() == Numbers{20, 20, 20});

  const std::vector<Tensor> both = tape.gradients(x + other, dy, std::vector<Tensor>{x, other, x});
  assign(dy, tensor({7, 7, 7}, DType::f64));
  for (const Tensor& one : both) CHECK(one.to_vector() == Numbers{10, 10, 10});
  Tensor first = both[0];
  assign(first, dy);
  CHECK(both[1].to_vector() == Numbers{10, 10, 10});
  CHECK(both[2].to_vector() == Numbers{10, 10, 10});

  x.clear_grad();
  Tensor mine = tensor({4, 4, 4}, DType::f64);
  const Tensor y = sum(x * x);
  tape.on_gradient(x, [&](const Tensor&) { return mine; });
  tape.backward(y);
  assign(mine, ten);
  CHECK(x.grad().to_vector() == Numbers{4, 4, 4});
}
