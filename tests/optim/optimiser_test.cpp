// What all optimisers promise: gradients are consumed, absent ones named, frozen ones skipped, threads do not
// matter.
#include "optim/optimiser.hpp"

#include <cmath>
#include <utility>

#include "core/ops/arithmetic.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"
#include "optim/sgd.hpp"
#include "tests/catch.hpp"
#include "tests/message_of.hpp"
#include "tests/threads.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::message_of;
using test::Threads;

namespace {

Tensor weight(const Dims& shape, std::uint64_t seed, std::string name = {}, DType dtype = DType::f32) {
  return variable(random_normal(shape, seed, dtype), std::move(name));
}

void give(const Tensor& leaf, const Tensor& gradient) { leaf.impl().leaf->grad = gradient; }

}  // namespace

TEST_CASE("a step consumes gradients, and one that finds none names the parameters") {
  const Tensor a = weight({3}, 1, "encoder.a"), b = weight({2, 2}, 2, "b"), c = weight({1}, 3);
  SGD sgd({a, b, c}, {.learning_rate = 0.5});
  {
    Tape tape;
    tape.backward(sum(a) + sum(b * b) + sum(c));
  }
  const std::vector<double> before = b.to_vector();
  sgd.step();
  for (std::size_t i = 0; i < before.size(); ++i)
    CHECK(b.to_vector()[i] == Approx(before[i] - 0.5 * 2 * before[i]).margin(1e-6));
  CHECK_FALSE((a.has_grad() || b.has_grad() || c.has_grad()));

  {
    Tape tape;
    tape.backward(sum(b));
  }
  const std::vector<double> now = b.to_vector();
  const std::string message = message_of([&] { sgd.step(); });
  CHECK_THAT(message, ContainsSubstring("\"encoder.a\", parameter 2") && ContainsSubstring("freeze them"));
  CHECK(b.to_vector() == now);
  CHECK(b.has_grad());
  set_frozen(a, true);
  set_frozen(c, true);
  sgd.step();
  CHECK(b.to_vector() != now);
  sgd.clear_gradients();
}

TEST_CASE("a step consumes a frozen weight's gradient, too: nothing is added to it later") {
  const Tensor a = weight({3}, 1, "a"), b = weight({3}, 2, "b");
  SGD sgd({a, b});
  const auto backward = [&] {
    Tape tape;
    tape.backward(sum(a * 2.0) + sum(b));
  };
  backward();
  set_frozen(a, true);
  const std::vector<double> before = a.to_vector();
  sgd.step();
  CHECK(a.to_vector() == before);
  CHECK_FALSE((a.has_grad() || b.has_grad()));
  set_frozen(a, false);
  backward();
  CHECK(a.grad().to_vector() == std::vector<double>{2, 2, 2});
}

TEST_CASE("a list of absent gradients stays short") {
  std::vector<Tensor> many;
  for (int i = 0; i < 30; ++i) many.push_back(weight({1}, 1, fmt::format("w{}", i)));
  Adam adam(many);
  CHECK_THAT(message_of([&] { adam.step(); }), ContainsSubstring("\"w7\" and 22 more"));
}

TEST_CASE("a tied parameter counts once; groups may not share") {
  const Tensor a = weight({4}, 1, "a"), b = weight({4}, 2, "b");
  const std::vector<double> before = a.to_vector();
  SGD sgd({a, b, a}, {.learning_rate = 1});
  give(a, ones({4}));
  give(b, ones({4}));
  CHECK(gradient_norm({a, b, a}) == Approx(std::sqrt(8.0)));
  sgd.step();
  for (std::size_t i = 0; i < 4; ++i) CHECK(a.to_vector()[i] == Approx(before[i] - 1));
  CHECK_THAT(message_of([&] { sgd.add_group({b}, {}); }),
             ContainsSubstring("\"b\" must be in one parameter group"));
}

TEST_CASE("what is no dense leaf, and settings out of range, are refused") {
  CHECK_THAT(message_of([] { SGD({ones({2})}); }), ContainsSubstring("must be leaves"));
  CHECK_THAT(message_of([] {
               SGD({variable(transpose(ones({2, 3})), "w")});
             }),
             ContainsSubstring("strided view"));
  const Tensor a = weight({2}, 1);
  CHECK_THAT(message_of([&] { SGD({a}, {.learning_rate = -1}); }), ContainsSubstring("0 or more"));
  CHECK_THAT(message_of([&] { SGD({a}, {.learning_rate = std::nan("")}); }), ContainsSubstring("0 or more"));
  CHECK_THAT(message_of([&] { SGD({a}, {.nesterov = true}); }), ContainsSubstring("momentum above 0"));
  CHECK_THAT(message_of([&] { Adam({a}, {.beta2 = 1}); }), ContainsSubstring("below 1"));
  CHECK_THAT(message_of([&] { Adam({a}, {.epsilon = -1}); }), ContainsSubstring("0 or more"));
  CHECK_THAT(message_of([&] { warm_up(0); }), ContainsSubstring("warm_up"));
  CHECK_THAT(message_of([&] { warm_up(5)(0); }), ContainsSubstring("the update must be 1 or more, got 0"));
}

TEST_CASE("a step refuses options that were changed to numbers out of range, and changes nothing") {
  const Tensor a = weight({2}, 1), b = weight({2}, 2);
  AdamW adam({a});
  adam.add_group({b}, {});
  SGD sgd({weight({2}, 3)});
  const std::vector<double> before = a.to_vector();
  for (const Tensor& w : {a, b}) give(w, ones({2}));
  const auto refused = [&](double AdamOptions::*option, double wrong, const char* start) {
    const double right = std::exchange(adam.group(1).*option, wrong);
    CHECK_THAT(message_of([&] { adam.step(); }), ContainsSubstring(start));
    adam.group(1).*option = right;
    CHECK(a.to_vector() == before);
    CHECK(a.has_grad());
  };
  refused(&AdamOptions::beta1, 1, "[Adam] beta1 and beta2 must be at least 0 and below 1, got 1 and 0.999");
  refused(&AdamOptions::beta2, -1, "[Adam] beta1 and beta2 must be");
  for (double AdamOptions::*option :
       {&AdamOptions::learning_rate, &AdamOptions::epsilon, &AdamOptions::weight_decay})
    refused(option, std::nan(""), "[Adam] learning_rate, epsilon and weight_decay must be 0 or more");
  sgd.group().momentum = -1;
  CHECK_THAT(message_of([&] { sgd.step(); }), ContainsSubstring("[SGD] learning_rate, momentum"));
  sgd.group() = {.nesterov = true};
  CHECK_THAT(message_of([&] { sgd.step(); }), ContainsSubstring("momentum above 0"));
  adam.group().learning_rate = 0.5;
  adam.step();
  CHECK(a.to_vector() != before);
}

TEST_CASE("gradients that repeat one value or share memory are read rightly and never written") {
  const Tensor a = weight({2, 3}, 1, "a", DType::f64), b = weight({2, 3}, 2, "b", DType::f64);
  const Tensor shared = ones({2, 3}, DType::f64);
  const Tensor repeated = expand(ones({1, 1}, DType::f64), {2, 3});
  give(a, shared);
  give(b, repeated);
  CHECK(clip_gradients({a, b}, std::sqrt(12.0) / 2) == Approx(std::sqrt(12.0)));
  CHECK(a.grad().at({1, 1}) == Approx(0.5));
  CHECK(b.grad().at({0, 2}) == Approx(0.5));
  CHECK(shared.at({0, 0}) == 1);
  CHECK(repeated.at({0, 0}) == 1);

  give(a, shared);
  give(b, shared);
  clip_gradients({a, b}, std::sqrt(12.0) / 4);
  CHECK(a.grad().at({0, 0}) == Approx(0.25));
  CHECK(b.grad().at({0, 0}) == Approx(0.25));
  CHECK(shared.at({0, 0}) == 1);

  // A gradient that nobody else holds is scaled where it is.
  give(a, ones({2, 3}, DType::f64));
  give(b, ones({2, 3}, DType::f64));
  const double* place = a.grad().data<double>();
  clip_gradients({a, b}, 1);
  CHECK(a.grad().data<double>() == place);

  give(a, repeated);
  give(b, transpose(ones({3, 2}, DType::f64)));
  const double before = a.at({1, 2});
  SGD({a, b}, {.learning_rate = 1}).step();
  CHECK(a.at({1, 2}) == Approx(before - 1));
}

TEST_CASE("a norm that is not finite is refused with the parameter's name, or reported") {
  const Tensor a = weight({2}, 1, "a"), b = weight({3}, 2, "decoder.b");
  give(a, ones({2}));
  give(b, tensor({1, std::nan(""), 1}));
  CHECK_THAT(message_of([&] {
               clip_gradients({a, b}, 1);
             }),
             ContainsSubstring("nan") && ContainsSubstring("decoder.b"));
  CHECK(std::isnan(clip_gradients({a, b}, 1, NonFinite::report)));
  CHECK(a.grad().at({0}) == 1);
  CHECK_THAT(message_of([&] { clip_gradients({a}, 0); }), ContainsSubstring("above 0"));
  CHECK(clip_gradients({weight({2}, 3)}, 1) == 0);  // no gradient, no norm
}

TEST_CASE("a backward that needs values from before a step is refused") {
  const Tensor a = weight({3}, 1, "a");
  Tape tape;
  const Tensor y = sum(a * a);
  give(a, ones({3}));
  SGD({a}).step();
  CHECK_THROWS_AS(tape.backward(y), Error);
}

TEST_CASE("weights that were frozen for a while count their own steps") {
  const Tensor a = weight({1}, 1, "a", DType::f64), b = weight({1}, 2, "b", DType::f64);
  Adam adam({a, b}, {.learning_rate = 0.1});
  set_frozen(b, true);
  give(a, ones({1}, DType::f64));
  adam.step();
  set_frozen(b, false);
  const double before = b.item();
  give(a, ones({1}, DType::f64));
  give(b, full({1}, 3, DType::f64));
  adam.step();
  CHECK(b.item() == Approx(before - 0.1).epsilon(1e-8));  // a first step of Adam has the size of the rate
  CHECK(adam.state().at("a/steps").item() == 2);
  CHECK(adam.state().at("b/steps").item() == 1);
}

TEST_CASE("1, 2 and 4 threads give the same bits; sizes around the cuts, both types", "[threads]") {
  const Size sizes[] = {1, 63, 64, 65, 0, 16383, 16384, 16385, 50001, 7};
  const auto run = [&](int threads) {
    const Threads set(threads);
    std::vector<Tensor> weights;
    for (const Size size : sizes) {
      weights.push_back(weight({size}, 1, fmt::format("f32.{}", size)));
      weights.push_back(weight({size}, 2, fmt::format("f64.{}", size), DType::f64));
    }
    Adam adam(weights, {.learning_rate = 1e-2, .weight_decay = 0.1});
    SGD sgd(weights, {.momentum = 0.9, .nesterov = true});
    std::vector<double> result;
    for (std::uint64_t t = 0; t < 3; ++t)
      for (Optimiser* optimiser : {static_cast<Optimiser*>(&adam), static_cast<Optimiser*>(&sgd)}) {
        for (const Tensor& w : weights) give(w, random_normal(w.shape(), 5 + t, w.dtype()));
        result.push_back(clip_gradients(weights, 100));
        optimiser->step();
      }
    for (const Tensor& w : weights)
      for (const double value : w.to_vector()) result.push_back(value);
    return result;
  };
  const std::vector<double> one = run(1);
  CHECK(run(2) == one);
  CHECK(run(4) == one);
}

TEST_CASE("an element's step does not depend on where it stands") {
  // The same numbers as one large weight and as many small ones.
  const Size n = 40'000, part = 1000;
  const Tensor whole = weight({n}, 1, "whole");
  std::vector<Tensor> parts;
  for (Size i = 0; i < n / part; ++i)
    parts.push_back(variable(contiguous(slice(random_normal({n}, 1), 0, i * part, (i + 1) * part)),
                             fmt::format("{}", i)));
  const Tensor gradient = random_normal({n}, 9);
  Adam one({whole}), many(parts);
  give(whole, gradient);
  for (Size i = 0; i < n / part; ++i)
    give(parts[static_cast<std::size_t>(i)], slice(gradient, 0, i * part, (i + 1) * part));
  one.step();
  many.step();
  const std::vector<double> expected = whole.to_vector();
  bool same = true;
  for (Size i = 0; i < n; ++i)
    same = same &&
           parts[static_cast<std::size_t>(i / part)].at({i % part}) == expected[static_cast<std::size_t>(i)];
  CHECK(same);
}
