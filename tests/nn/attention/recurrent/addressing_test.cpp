// Addressing a memory: each of its steps and all of them against plain loops, edges, powers that would
// overflow.
#include "nn/attention/recurrent/addressing.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "core/core.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/on_paper.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using testing::apart;
using testing::at;
using testing::normal;
using testing::Row;

namespace {

/// Heads of a batch, everything that they may say: memory (B, N, W), others (B, H, …).
struct Case {
  Tensor memory, before;
  Addressing how;
};
Case draw(Size batch, Size heads, Size slots, Size width, Size reach) {
  const auto positive = [&](std::uint64_t seed) {
    return softplus(normal({batch, heads, 1}, seed)).detach();
  };
  return {normal({batch, slots, width}, 1),
          softmax(normal({batch, heads, slots}, 2), -1),
          {.key = normal({batch, heads, width}, 3),
           .strength = 3 * positive(4),
           .gate = sigmoid(normal({batch, heads, 1}, 5)),
           .shift = softmax(normal({batch, heads, 2 * reach + 1}, 6), -1),
           .sharpness = 1 + positive(7)}};
}

/// One head of one row of the batch, number by number.
Row by_loops(const Case& x, Size b, Size h) {
  const Size slots = x.memory.size(1), width = x.memory.size(2);
  Row w;
  for (Size n = 0; n < slots; ++n) w.push_back(x.before.at({b, h, n}));
  if (x.how.key.defined()) {
    Row found;
    double total = 0;
    for (Size n = 0; n < slots; ++n) {
      double both = 0, of_key = 0, of_slot = 0;
      for (Size i = 0; i < width; ++i) {
        const double k = x.how.key.at({b, h, i}), m = x.memory.at({b, n, i});
        both += k * m, of_key += k * k, of_slot += m * m;
      }
      const double cosine = both / std::sqrt((of_key + 1e-8) * (of_slot + 1e-8));
      found.push_back(std::exp(x.how.strength.at({b, h, 0}) * cosine));
      total += found.back();
    }
    const double g = x.how.gate.defined() ? x.how.gate.at({b, h, 0}) : 1;
    for (Size n = 0; n < slots; ++n) w[at(n)] = g * found[at(n)] / total + (1 - g) * w[at(n)];
  }
  if (!x.how.shift.defined()) return w;
  const Size reach = x.how.shift.size(2) / 2;
  Row moved(w.size());
  for (Size n = 0; n < slots; ++n)  // what stood at n goes to n + j
    for (Size j = -reach; j <= reach; ++j)
      moved[at((n + j + slots) % slots)] += x.how.shift.at({b, h, j + reach}) * w[at(n)];
  if (!x.how.sharpness.defined()) return moved;
  double total = 0;
  for (double& weight : moved) total += weight = std::pow(weight + 1e-8, x.how.sharpness.at({b, h, 0}));
  for (double& weight : moved) weight /= total;
  return moved;
}

Tensor all_by_loops(const Case& x) {
  Row all;
  for (Size b = 0; b < x.before.size(0); ++b)
    for (Size h = 0; h < x.before.size(1); ++h)
      for (const double weight : by_loops(x, b, h)) all.push_back(weight);
  return tensor(all, x.before.shape(), DType::f64);
}

/// Which of the parts are there: bit 0 content, 1 its gate, 2 shift, 3 sharpness.
Case keep_parts(Case x, int parts) {
  if (!(parts & 1)) x.how.key = {}, x.how.strength = {};
  if (!(parts & 2)) x.how.gate = {};
  if (!(parts & 4)) x.how.shift = {};
  if (!(parts & 8)) x.how.sharpness = {};
  return x;
}

}  // namespace

TEST_CASE("addresses are what their formulas say, with any of their parts", "[addressing]") {
  for (int parts = 0; parts < 16; ++parts)
    for (const auto& [slots, reach] : {std::pair<Size, Size>{1, 0}, {3, 1}, {5, 2}, {7, 1}}) {
      const Case x = keep_parts(draw(2, 3, slots, 4, reach), parts);
      CAPTURE(parts, slots, reach);
      CHECK(apart(address(x.memory, x.before, x.how), all_by_loops(x)) < 1e-12);
    }
}

TEST_CASE("addresses of permuted strides, of no heads, and of no rows", "[addressing]") {
  Case x = draw(3, 2, 5, 4, 1);
  x.memory = transpose(normal({3, 4, 5}, 8));
  x.before = transpose(softmax(normal({3, 5, 2}, 9), 1));
  x.how.key = transpose(normal({2, 3, 4}, 10), 0, 1);
  CHECK(apart(address(x.memory, x.before, x.how), all_by_loops(x)) < 1e-12);
  for (const auto& [batch, heads] : {std::pair<Size, Size>{0, 2}, {2, 0}}) {
    const Case none = draw(batch, heads, 5, 4, 1);
    CHECK(address(none.memory, none.before, none.how).shape() == Dims{batch, heads, 5});
  }
}

TEST_CASE("a memory without a batch is addressed as one of a batch", "[addressing]") {
  const Case x = draw(1, 2, 5, 4, 1);
  const auto first = [](const Tensor& of_batch) { return select(of_batch, 0, 0); };
  const Tensor found = address(first(x.memory), first(x.before),
                               {.key = first(x.how.key),
                                .strength = first(x.how.strength),
                                .gate = first(x.how.gate),
                                .shift = first(x.how.shift),
                                .sharpness = first(x.how.sharpness)});
  CHECK(apart(found, first(all_by_loops(x))) < 1e-12);
}

TEST_CASE("a shift of one takes a head one slot on, and around the end of the memory", "[addressing]") {
  const Tensor on = tensor({{{0, 0, 1}}}, DType::f64);
  const Tensor second = tensor({{{0, 1, 0, 0}}}, DType::f64), last = tensor({{{0, 0, 0, 1}}}, DType::f64);
  CHECK(apart(shift_weights(second, on), tensor({{{0, 0, 1, 0}}}, DType::f64)) == 0);
  CHECK(apart(shift_weights(last, on), tensor({{{1, 0, 0, 0}}}, DType::f64)) == 0);
}

TEST_CASE("gradients of addresses", "[addressing]") {
  for (const int parts : {1, 3, 4, 12, 15}) {
    const Case x = keep_parts(draw(2, 2, 4, 3, 1), parts);
    std::vector<Tensor> inputs{x.memory, x.before};
    for (const Tensor* each : {&x.how.key, &x.how.strength, &x.how.gate, &x.how.shift, &x.how.sharpness})
      if (each->defined()) inputs.push_back(*each);
    const auto f = [&](std::span<const Tensor> in) {
      Addressing how = x.how;
      std::size_t next = 2;
      for (Tensor* each : {&how.key, &how.strength, &how.gate, &how.shift, &how.sharpness})
        if (each->defined()) *each = in[next++];
      // Read with it and with `before`: some parts alone do not depend on the memory, or on where the head
      // was.
      return read_memory(in[0], address(in[0], in[1], how) + in[1]);
    };
    CAPTURE(parts);
    CHECK_GRADIENTS(f, inputs, {.tolerance = 1e-6});
  }
}

TEST_CASE("a head on one slot, sharpened by any power, keeps f32 and its gradients finite", "[addressing]") {
  const Tensor weights = variable(pad(ones({1, 1, 1}), -1, 2, 61)),
               even = variable(full({1, 1, 64}, 1.0 / 64));
  for (const double power : {1.0, 3.0, 60.0}) {
    const Tensor sharpness = variable(full({1, 1, 1}, power));
    for (const Tensor& start : {weights, even}) {
      Tape tape;
      const Tensor sharp = sharpen_weights(start, sharpness);
      CHECK(std::abs(sum(sharp).item() - 1) < 1e-5);
      CHECK(apart(sharp, start.detach()) < 1e-5);  // one slot, and all alike, stay so
      for (const Tensor& gradient :
           tape.gradients(sum(sharp * random_normal(sharp.shape(), 1)), {start, sharpness}))
        CHECK(std::isfinite(sum(abs(gradient)).item()));
    }
  }
}

TEST_CASE("empty slots and an empty key are like nothing", "[addressing]") {
  const Tensor memory = variable(tensor({{{0, 0}, {3, 0}}}, DType::f64));
  const Tensor strength = full({1, 1, 1}, std::log(4), DType::f64);
  const auto found = [&](double x, double y) {
    return content_weights(memory, tensor({{{x, y}}}, DType::f64), strength);
  };
  CHECK(apart(found(5, 0), tensor({{{0.2, 0.8}}}, DType::f64)) < 1e-8);  // cosines 0 and 1
  CHECK(apart(found(0, 0), tensor({{{0.5, 0.5}}}, DType::f64)) < 1e-12);
  Tape tape;
  const std::vector<Tensor> gradients = tape.gradients(sum(select(found(0, 0), 2, 0)), {memory});
  CHECK(std::isfinite(sum(abs(gradients[0])).item()));
}

TEST_CASE("a memory is read, erased and written as its formulas say", "[addressing]") {
  for (const Size heads : {0, 1, 3}) {
    const Size batch = 2, slots = 4, width = 3;
    const Tensor memory = normal({batch, slots, width}, 1), w = softmax(normal({batch, heads, slots}, 2), -1),
                 erase = sigmoid(normal({batch, heads, width}, 3)), added = normal({batch, heads, width}, 4);
    Row written, read;
    for (Size b = 0; b < batch; ++b)
      for (Size n = 0; n < slots; ++n)
        for (Size i = 0; i < width; ++i) {
          double kept = memory.at({b, n, i}), more = 0;
          for (Size h = 0; h < heads; ++h) {
            kept *= 1 - w.at({b, h, n}) * erase.at({b, h, i});
            more += w.at({b, h, n}) * added.at({b, h, i});
          }
          written.push_back(kept + more);
        }
    for (Size b = 0; b < batch; ++b)
      for (Size h = 0; h < heads; ++h)
        for (Size i = 0; i < width; ++i) {
          double all = 0;
          for (Size n = 0; n < slots; ++n) all += w.at({b, h, n}) * memory.at({b, n, i});
          read.push_back(all);
        }
    CAPTURE(heads);
    CHECK(apart(write_memory(memory, w, erase, added), tensor(written, memory.shape(), DType::f64)) < 1e-12);
    CHECK(apart(read_memory(memory, w), tensor(read, {batch, heads, width}, DType::f64)) < 1e-12);
    if (heads > 0)
      CHECK_GRADIENTS([](std::span<const Tensor> in) { return write_memory(in[0], in[1], in[2], in[3]); },
                      std::vector<Tensor>{memory, w, erase, added}, {.tolerance = 1e-6});
  }
}

TEST_CASE("addressing says what does not fit", "[addressing]") {
  using Catch::Matchers::ContainsSubstring;
  using test::message_of;
  const Case x = draw(2, 3, 4, 5, 1);
  const auto told = [&](const auto& change) {
    Case other = x;
    change(other);
    return message_of([&] { address(other.memory, other.before, other.how); });
  };
  CHECK(told([](Case&) {}) == "(nothing thrown)");
  const auto fits = ContainsSubstring("the same leading axes");
  CHECK_THAT(told([](Case& c) { c.before = zeros({2, 3, 5}, DType::f64); }), fits);
  CHECK_THAT(told([](Case& c) { c.before = zeros({3, 4}, DType::f64); }), fits);
  CHECK_THAT(told([](Case& c) { c.memory = zeros({1, 4, 5}, DType::f64); }), fits);
  CHECK_THAT(told([](Case& c) { c.how.key = zeros({2, 3, 4}, DType::f64); }), ContainsSubstring("the key"));
  CHECK_THAT(told([](Case& c) { c.how.strength = {}; }), ContainsSubstring("a key must have a strength"));
  CHECK_THAT(told([](Case& c) {
               c.how.strength = zeros({2, 3}, DType::f64);
             }),
             ContainsSubstring("the strength"));
  CHECK_THAT(told([](Case& c) { c.how.gate = zeros({2, 1, 1}, DType::f64); }), ContainsSubstring("the gate"));
  CHECK_THAT(told([](Case& c) {
               c.how.sharpness = zeros({2, 3, 4}, DType::f64);
             }),
             ContainsSubstring("the sharpness"));
  CHECK_THAT(told([](Case& c) {
               c.how.shift = zeros({2, 2, 3}, DType::f64);
             }),
             ContainsSubstring("the shift"));
  const auto odd = ContainsSubstring("odd number of entries");
  CHECK_THAT(told([](Case& c) { c.how.shift = zeros({2, 3, 2}, DType::f64); }), odd);
  CHECK_THAT(told([](Case& c) { c.how.shift = zeros({2, 3, 0}, DType::f64); }), odd);
  CHECK_THAT(told([](Case& c) { c.how.shift = zeros({2, 3, 5}, DType::f64); }), odd);
  const Tensor rows = zeros({2, 3, 5}, DType::f64);
  CHECK_THAT(message_of([&] { read_memory(x.memory, rows); }), fits);
  CHECK_THAT(message_of([&] { write_memory(x.memory, rows, rows, rows); }), fits);
  CHECK_THAT(message_of([&] {
               write_memory(x.memory, x.before, rows, zeros({2, 1, 5}, DType::f64));
             }),
             ContainsSubstring("erase and added must be"));
}
