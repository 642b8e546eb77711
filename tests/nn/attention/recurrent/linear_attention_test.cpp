// The layer of linear attention against plain loops. What it is made of: tests/core/attention/linear_*_test.cpp.
#include "nn/attention/recurrent/linear_attention.hpp"

#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "tests/core/attention/recurrence.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using testing::apart;
using testing::normal;
using testing::randomise;

namespace {

/// The layer on paper, for one row of the batch: x (T, width) → (T, width).
Tensor layer_by_loops(const LinearAttention& layer, const Tensor& x) {
  const LinearAttentionOptions& o = layer.options();
  const State w = layer.state();
  const auto projected = [&](const std::string& name, Size row, Size t) {
    double y = w.count(name + ".bias") ? w.at(name + ".bias").at({row}) : 0;
    for (Size i = 0; i < o.width; ++i) y += w.at(name + ".weight").at({row, i}) * x.at({t, i});
    return y;
  };
  const auto of_word = [&](const std::string& name, Size h, Size t) {
    double y = w.at(name + "_bias").at({h});
    for (Size i = 0; i < o.width; ++i) y += w.at(name + "_weight").at({h, i}) * x.at({t, i});
    return 1 / (1 + std::exp(-y));
  };
  const Size words = x.size(0), d = o.head_width, e = o.value_head_width;
  std::vector<std::vector<double>> reads(static_cast<std::size_t>(words));
  for (Size h = 0; h < o.heads; ++h) {
    const auto features = [&](const std::string& name) {
      std::vector<double> all;
      for (Size t = 0; t < words; ++t) {
        double square = 0;
        for (Size i = 0; i < d; ++i) square += std::pow(projected(name, h * d + i, t), 2);
        for (Size i = 0; i < d; ++i) {
          const double y = projected(name, h * d + i, t);
          all.push_back(o.features == KeyFeatures::unit ? y / std::sqrt(square)
                        : y > 0                         ? y + 1
                                                        : std::exp(y));
        }
      }
      return all;
    };
    const bool positive = o.features == KeyFeatures::positive;
    std::vector<double> values, keep, strength;
    for (Size t = 0; t < words; ++t) {
      for (Size j = 0; j < e; ++j) values.push_back(projected("value", h * e + j, t));
      if (positive) values.push_back(1);
      if (o.gate == Gate::yes) keep.push_back(std::log(of_word("gate", h, t)));
      if (o.rule == WriteRule::delta) strength.push_back(of_word("strength", h, t));
    }
    const Size width = e + (positive ? 1 : 0);
    const std::vector<double> read =
        recurrence::read({1, words, d, width, o.rule == WriteRule::delta, features("query"), features("key"),
                          values, keep, strength})
            .output;
    const auto at = [&](Size t, Size j) { return read[static_cast<std::size_t>(t * width + j)]; };
    for (Size t = 0; t < words; ++t)
      for (Size j = 0; j < e; ++j)
        reads[static_cast<std::size_t>(t)].push_back(positive ? at(t, j) / (at(t, e) + 1e-6) : at(t, j));
  }
  std::vector<double> out;
  for (Size t = 0; t < words; ++t)
    for (Size i = 0; i < o.width; ++i) {
      double y = w.count("output.bias") ? w.at("output.bias").at({i}) : 0;
      for (Size j = 0; j < o.heads * e; ++j)
        y += w.at("output.weight").at({i, j}) *
             reads[static_cast<std::size_t>(t)][static_cast<std::size_t>(j)];
      out.push_back(y);
    }
  return tensor(out, {words, o.width}, DType::f64);
}

std::vector<LinearAttentionOptions> layers() {
  return {{.width = 6, .heads = 2},
          {.width = 6,
           .heads = 3,
           .head_width = 4,
           .value_head_width = 5,
           .gate = Gate::yes,
           .bias = Bias::no,
           .chunk = 2},
          {.width = 4, .features = KeyFeatures::unit, .chunk = 3},
          {.width = 4, .heads = 2, .rule = WriteRule::delta, .features = KeyFeatures::unit, .chunk = 3},
          {.width = 4,
           .heads = 2,
           .head_width = 3,
           .rule = WriteRule::delta,
           .features = KeyFeatures::unit,
           .gate = Gate::yes}};
}

}  // namespace

TEST_CASE("a layer of linear attention is what its formulas say, whole, in parts, and token by token",
          "[linear]") {
  for (const LinearAttentionOptions& options : layers()) {
    LinearAttention layer(options);
    layer.initialise(1, DType::f64);
    randomise(layer, 10);
    const Tensor x = normal({2, 7, options.width}, 2);
    const LinearAttendResult whole = layer(x);
    for (Size b = 0; b < 2; ++b)
      CHECK(apart(select(whole.output, 0, b), layer_by_loops(layer, select(x, 0, b))) < 1e-10);
    for (const Size part : {1, 3}) {
      std::vector<Tensor> reads;
      Tensor state;
      for (const Tensor& words : split(x, part, 1)) {
        const LinearAttendResult found = layer(words, state);
        reads.push_back(found.output), state = found.final_state;
      }
      CHECK(apart(concat(reads, 1), whole.output) < 1e-11);
      CHECK(apart(state, whole.final_state) < 1e-11);
    }
    const auto f = [&layer](const Tensor& words) { return layer(words).output; };
    CHECK_GRADIENTS(f, x, layer.parameters(), {.tolerance = 1e-6});
    CHECK(apart((*clone(layer))(x).output, whole.output) == 0);
  }
}

TEST_CASE("a layer of linear attention starts by keeping, and says what does not fit", "[linear]") {
  LinearAttention layer({.width = 4, .heads = 2, .gate = Gate::yes});
  layer.initialise(1);
  CHECK(apart(layer.gate_bias, full({2}, 4)) == 0);
  CHECK(layer(zeros({3, 0, 4})).output.shape() == Dims{3, 0, 4});
  CHECK(layer(zeros({3, 5, 4})).final_state.shape() == Dims{3, 2, 2, 3});
  using Catch::Matchers::ContainsSubstring;
  const auto told = [](const LinearAttentionOptions& options) {
    return test::message_of([&] { LinearAttention made(options); });
  };
  CHECK_THAT(told({.width = 0}), ContainsSubstring("at least 1"));
  CHECK_THAT(told({.width = 4, .heads = 3}), ContainsSubstring("heads (3) must divide width (4)"));
  CHECK_THAT(told({.width = 4, .chunk = 0}), ContainsSubstring("at least 1"));
  CHECK_THAT(told({.width = 4, .rule = WriteRule::delta}), ContainsSubstring("KeyFeatures::unit"));
  CHECK_THAT(test::message_of([&] { layer(zeros({3, 5, 5})); }), ContainsSubstring("(batch, time, 4)"));
  CHECK_THAT(test::message_of([&] {
               layer(zeros({3, 5, 4}), zeros({3, 2, 2, 2}));
             }),
             ContainsSubstring("state (3,2,2,2) must have shape"));
}

TEST_CASE("a gate that is shut forgets all, in f32, without a NaN") {
  for (const Size time : {1, 40, 70}) {
    LinearAttention layer({.width = 8, .heads = 2, .gate = Gate::yes});
    layer.initialise(3);
    assign(layer.gate_weight, zeros(layer.gate_weight.shape()));
    assign(layer.gate_bias, full({2}, -200));
    const Tensor x = variable(random_normal({1, time, 8}, 1));
    Tape tape;
    const Tensor read = layer(x).output;
    std::vector<Tensor> leaves = layer.parameters();
    leaves.push_back(x);
    for (const Tensor& gradient : tape.gradients(sum(read * read), leaves, {.zero_if_unused = true}))
      for (const double g : gradient.to_vector()) REQUIRE(std::isfinite(g));
    for (Size t = 0; t < time; ++t) {
      const Tensor alone = layer(slice(x.detach(), 1, t, t + 1)).output,
                   here = slice(read.detach(), 1, t, t + 1);
      REQUIRE(max(abs(here - alone)).item() < 1e-5);
    }
  }
}
