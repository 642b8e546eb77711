// The losses of nn/loss.hpp.
#include "nn/loss.hpp"

#include "tests/nn/golden.hpp"

using namespace tapestry;

TEST_CASE("mean squared error by hand, with its gradient") {
  const Tensor x = variable(tensor({{1, 2}, {3, 5}}, DType::f64));
  const Tensor y = tensor({{1, 0}, {0, 1}}, DType::f64);
  CHECK(mean_squared_error(x, y, Reduce::sum).item() == 4 + 9 + 16);
  CHECK(mean_squared_error(x, y, Reduce::none).to_vector() == std::vector<double>{0, 4, 9, 16});
  Tape tape;
  const Tensor loss = mean_squared_error(x, y);
  CHECK(loss.item() == 29.0 / 4);
  tape.backward(loss);
  CHECK(x.grad().to_vector() == std::vector<double>{0, 1, 1.5, 2});
  CHECK_THROWS_AS(mean_squared_error(x, select(y, 0, 0)), Error);
}

TEST_CASE("CrossEntropyLoss passes its options on") {
  const Tensor logits = random_normal({3, 4}, 1, DType::f64);
  const CrossEntropyLoss loss{{.smoothing = 0.2, .ignore = 0, .reduce = Reduce::sum}};
  const Indices targets{1, 0, 3};
  CHECK(loss(logits, targets).item() ==
        cross_entropy(logits, targets, {.smoothing = 0.2, .ignore = 0, .reduce = Reduce::sum}).item());
  CHECK(loss(logits, targets).item() != cross_entropy(logits, targets).item());
}

TEST_CASE("cross-entropy's gradient is handed over, and belongs to nobody else") {
  const Tensor logits = variable(random_normal({3, 4}, 1, DType::f64));
  const Indices targets{1, -1, 3};
  Tape tape;
  const Tensor loss = cross_entropy(logits, targets);
  tape.backward(loss, {.keep = true});
  const std::vector<double> once = logits.grad().to_vector();
  tape.backward(loss, {.keep = true});  // is added to what came first: neither may be the other
  tape.backward(loss, scalar(2.0, DType::f64));
  for (std::size_t i = 0; i < once.size(); ++i)
    CHECK(logits.grad().to_vector()[i] == Approx(4 * once[i]).margin(0));
}

TEST_CASE("an ignored row has no gradient, whatever comes back to it") {
  const Tensor logits = variable(random_normal({2, 3}, 1, DType::f64));
  Tape tape;
  const Tensor losses = cross_entropy(logits, {-1, 2}, {.reduce = Reduce::none});
  tape.backward(sum(log(losses)));  // ∂ log 0 is infinite
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(logits.grad().to_vector()[i] == 0);
    CHECK(std::isfinite(logits.grad().to_vector()[3 + i]));
  }
  logits.clear_grad();
  tape.backward(log(cross_entropy(logits, {-1, -1})));
  CHECK(logits.grad().to_vector() == std::vector<double>(6, 0));
}
