// The LSTM with a memory of its past states: against plain loops over its own weights, in parts, gradients,
// edges.
#include "nn/attention/recurrent/lstmn.hpp"

#include <cmath>
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
using testing::sigmoid_of;

namespace {

/// y += W x
void add_product(Row& y, const Tensor& weight, const Row& x) {
  for (Size i = 0; i < weight.size(0); ++i)
    for (Size j = 0; j < weight.size(1); ++j) y[at(i)] += weight.at({i, j}) * x[at(j)];
}

/// One string on paper: x (T, in) → states (T, H).
Tensor by_loops(const LSTMN& layer, const Tensor& x) {
  const State w = layer.state();
  const Size hidden = layer.cell.hidden(), units = layer.v.size(0);
  std::vector<Row> h, c;
  Row blend(at(hidden)), all;
  for (Size t = 0; t < x.size(0); ++t) {
    Row seen;
    for (Size i = 0; i < x.size(1); ++i) seen.push_back(x.at({t, i}));
    Row weights;
    double total = 0;
    for (Size i = 0; i < t; ++i) {
      Row inner(at(units));
      for (Size u = 0; u < units; ++u) inner[at(u)] = w.at("from_input.bias").at({u});
      add_product(inner, w.at("from_input.weight"), seen);
      add_product(inner, w.at("from_past.weight"), h[at(i)]);
      add_product(inner, w.at("from_blend.weight"), blend);
      double score = 0;
      for (Size u = 0; u < units; ++u) score += w.at("v").at({u}) * std::tanh(inner[at(u)]);
      weights.push_back(std::exp(score));
      total += weights.back();
    }
    Row of_h(at(hidden)), of_c(at(hidden));
    for (Size i = 0; i < t; ++i)
      for (Size j = 0; j < hidden; ++j) {
        of_h[at(j)] += weights[at(i)] / total * h[at(i)][at(j)];
        of_c[at(j)] += weights[at(i)] / total * c[at(i)][at(j)];
      }
    Row gates(at(4 * hidden));
    for (Size i = 0; i < 4 * hidden; ++i)
      gates[at(i)] = w.at("cell.bias_ih").at({i}) + w.at("cell.bias_hh").at({i});
    add_product(gates, w.at("cell.weight_ih"), seen);
    add_product(gates, w.at("cell.weight_hh"), of_h);
    Row next_h, next_c;
    for (Size j = 0; j < hidden; ++j) {
      const auto gate = [&](Size which) { return gates[at(which * hidden + j)]; };
      next_c.push_back(sigmoid_of(gate(1)) * of_c[at(j)] + sigmoid_of(gate(0)) * std::tanh(gate(2)));
      next_h.push_back(sigmoid_of(gate(3)) * std::tanh(next_c.back()));
    }
    all.insert(all.end(), next_h.begin(), next_h.end());
    h.push_back(next_h), c.push_back(next_c), blend = of_h;
  }
  return tensor(all, {x.size(0), hidden}, DType::f64);
}

}  // namespace

TEST_CASE("an LSTM with a memory of its states does what its formulas say", "[lstmn]") {
  LSTMN layer(3, 4, 5);
  layer.initialise(1, DType::f64);
  const Tensor x = transpose(normal({6, 2, 3}, 2), 0, 1);  // strides as a permuted tensor has them
  const LSTMNOutput found = layer(x);
  for (Size b = 0; b < 2; ++b)
    CHECK(apart(select(found.states, 0, b), by_loops(layer, select(x, 0, b))) < 1e-12);
  REQUIRE(found.weights.size() == 6);
  for (Size t = 0; t < 6; ++t) {
    const Tensor& weights = found.weights[at(t)];
    CHECK(weights.shape() == Dims{2, 1, t});
    if (t > 0) CHECK(apart(sum(weights, {-1}), ones({2, 1}, DType::f64)) < 1e-12);
  }
}

TEST_CASE("an LSTMN's string may come in parts, and no step sees a later one", "[lstmn]") {
  LSTMN layer(3, 4, 5);
  layer.initialise(1, DType::f64);
  const Tensor x = normal({2, 7, 3}, 2);
  const LSTMNOutput whole = layer(x), first = layer(slice(x, 1, 0, 3)),
                    none = layer(slice(x, 1, 3, 3), first.last), second = layer(slice(x, 1, 3, 7), none.last);
  CHECK(apart(concat({first.states, second.states}, 1), whole.states) < 1e-12);
  CHECK(apart(second.last.past, whole.last.past) < 1e-12);
}

TEST_CASE("gradients of an LSTMN", "[lstmn]") {
  LSTMN layer(2, 3, 4);
  layer.initialise(1, DType::f64);
  CHECK_GRADIENTS([&](const Tensor& x) { return layer(x).states; }, normal({2, 5, 2}, 2), layer.parameters(),
                  {.tolerance = 1e-6});
}

TEST_CASE("an LSTMN without steps or rows", "[lstmn]") {
  LSTMN layer(2, 3, 4);
  layer.initialise(1, DType::f64);
  CHECK(layer(zeros({2, 0, 2}, DType::f64)).states.shape() == Dims{2, 0, 3});
  CHECK(layer(zeros({0, 4, 2}, DType::f64)).states.shape() == Dims{0, 4, 3});
}

TEST_CASE("an LSTMN says what does not fit", "[lstmn]") {
  using Catch::Matchers::ContainsSubstring;
  using test::message_of;
  LSTMN layer(2, 3, 4);
  layer.initialise(1, DType::f64);
  const Tensor x = normal({2, 5, 2}, 2);
  const auto told = [&](const Tensor& in, const LSTMNState& state = {}) {
    return message_of([&] { layer(in, state); });
  };
  CHECK_THAT(told(normal({5, 2}, 1)), ContainsSubstring("(batch, time, 2)"));
  CHECK_THAT(told(normal({2, 5, 3}, 1)), ContainsSubstring("(batch, time, 2)"));
  LSTMNState state = layer(x).last;
  CHECK(told(x, state) == "(nothing thrown)");
  for (Tensor* part : {&state.past, &state.keys, &state.blend}) {
    const Tensor kept = *part;
    *part = slice(kept, 0, 0, 1);
    CHECK_THAT(told(x, state), ContainsSubstring("past, keys and blend must be"));
    *part = kept;
  }
  state.keys = {};
  CHECK_THAT(told(x, state), ContainsSubstring("past, keys and blend must be"));
}

TEST_CASE("an LSTMN's states of no steps are on the tape", "[lstmn]") {
  LSTMN layer(3, 4, 2);
  layer.initialise(1);
  Tape tape;
  const Tensor x = variable(ones({2, 0, 3})), y = layer(x).states;
  CHECK(y.shape() == Dims{2, 0, 4});
  const Tensor weights_only = layer(ones({2, 0, 3})).states;
  CHECK(tape.gradients(sum(y), {x}, {.keep = true})[0].shape() == x.shape());
  CHECK_NOTHROW(tape.backward(sum(weights_only)));
}
