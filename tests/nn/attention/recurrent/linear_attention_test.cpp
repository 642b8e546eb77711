// Linear attention: every form against plain loops, gradients, edges, strong gates, alike keys, memory, the layer.
#include "nn/attention/recurrent/linear_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/core.hpp"
#include "core/simd/runtime/memory.hpp"
#include "tests/message_of.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using testing::apart;
using testing::normal;

namespace {

Tensor unit(const Tensor& x) { return (x / sqrt(sum(x * x, {-1}, Keep::yes))).detach(); }

struct Case {
  Tensor q, k, v;  // (T, d), (T, d), (T, e)
  LinearAttendOptions options = {};
};

/// The formulas, number by number.
Remembered by_loops(const Case& x) {
  const Size words = x.q.size(0), d = x.q.size(1), e = x.v.size(1);
  std::vector<std::vector<double>> s(static_cast<std::size_t>(d),
                                     std::vector<double>(static_cast<std::size_t>(e)));
  const auto at = [&s](Size i, Size j) -> double& {
    return s[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  };
  if (x.options.state.defined())
    for (Size i = 0; i < d; ++i)
      for (Size j = 0; j < e; ++j) at(i, j) = x.options.state.at({i, j});
  std::vector<double> reads, last;
  for (Size t = 0; t < words; ++t) {
    const double keep = x.options.log_keep.defined() ? std::exp(x.options.log_keep.at({t})) : 1;
    const double strength = x.options.strength.defined() ? x.options.strength.at({t}) : 1;
    for (Size j = 0; j < e; ++j) {
      double stands = 0;
      for (Size i = 0; i < d; ++i) {
        at(i, j) *= keep;
        stands += at(i, j) * x.k.at({t, i});
      }
      const double write = strength * (x.v.at({t, j}) - (x.options.rule == WriteRule::delta ? stands : 0));
      double read = 0;
      for (Size i = 0; i < d; ++i) {
        at(i, j) += x.k.at({t, i}) * write;
        read += at(i, j) * x.q.at({t, i});
      }
      reads.push_back(read);
    }
  }
  for (const auto& row : s) last.insert(last.end(), row.begin(), row.end());
  return {tensor(reads, {words, e}, DType::f64), tensor(last, {d, e}, DType::f64)};
}

/// All that there is: bit 0 gates, bit 1 strengths, bit 2 a first state, bit 3 the delta rule.
constexpr int kKinds = 16;
Case draw(int kind, Size words, Size d, Size e, DType dtype = DType::f64) {
  Case x{normal({words, d}, 1, dtype), unit(normal({words, d}, 2, dtype)), normal({words, e}, 3, dtype)};
  if (kind & 1) x.options.log_keep = random_uniform({words}, 4, -0.7, 0, dtype);
  if (kind & 2) x.options.strength = random_uniform({words}, 5, 0.1, 1.5, dtype);
  if (kind & 4) x.options.state = normal({d, e}, 6, dtype);
  if (kind & 8) x.options.rule = WriteRule::delta;
  return x;
}

}  // namespace

TEST_CASE("linear attention is what its formulas say, in chunks of any size and word by word", "[linear]") {
  for (int kind = 0; kind < kKinds; ++kind)
    for (const Size words : {1, 2, 5, 9, 33}) {
      const Case x = draw(kind, words, 3, 4);
      const Remembered expected = by_loops(x), one = linear_attend_by_word(x.q, x.k, x.v, x.options);
      CAPTURE(kind, words);
      CHECK(apart(one.read, expected.read) < 1e-11);
      CHECK(apart(one.state, expected.state) < 1e-11);
      for (const Size chunk : {1, 2, 3, 4, 7, 32, 1000}) {
        const Remembered found = linear_attend(x.q, x.k, x.v, x.options, chunk);
        CAPTURE(chunk);
        CHECK(apart(found.read, expected.read) < 1e-11);
        CHECK(apart(found.state, expected.state) < 1e-11);
      }
    }
}

TEST_CASE("batches and heads are rows of their own, also with permuted strides", "[linear]") {
  constexpr Size kBatch = 2, kHeads = 3, kWords = 8;
  const auto heads = [](Size last, std::uint64_t seed) {  // as a layer splits them: (B, T, H, d) transposed
    return transpose(normal({kBatch, kWords, kHeads, last}, seed), 1, 2);
  };
  const Tensor q = heads(3, 1), k = heads(3, 2), v = heads(5, 3);
  const Tensor keep = transpose(random_uniform({kBatch, kWords, kHeads}, 4, -1, 0, DType::f64), 1, 2);
  const Tensor strength = transpose(random_uniform({kBatch, kWords, kHeads}, 5, 0, 0.5, DType::f64), 1, 2);
  const Tensor state = transpose(normal({kBatch, kHeads, 5, 3}, 6));
  for (const WriteRule rule : {WriteRule::sum, WriteRule::delta}) {
    const LinearAttendOptions options{rule, keep, strength, state};
    const Remembered chunks = linear_attend(q, k, v, options, 3),
                     words = linear_attend_by_word(q, k, v, options);
    for (Size b = 0; b < kBatch; ++b)
      for (Size h = 0; h < kHeads; ++h) {
        const auto of = [b, h](const Tensor& x) { return select(select(x, 0, b), 0, h); };
        const Remembered expected =
            by_loops({of(q), of(k), of(v), {rule, of(keep), of(strength), of(state)}});
        for (const Remembered& found : {chunks, words}) {
          CHECK(apart(of(found.read), expected.read) < 1e-11);
          CHECK(apart(of(found.state), expected.state) < 1e-11);
        }
      }
  }
}

TEST_CASE("gradients of linear attention", "[linear]") {
  for (int kind = 0; kind < kKinds; ++kind) {
    const Case x = draw(kind, 5, 2, 3);
    std::vector<Tensor> inputs{x.q, x.k, x.v};
    for (const Tensor& more : {x.options.log_keep, x.options.strength, x.options.state})
      if (more.defined()) inputs.push_back(more);
    for (const Size chunk : {0, 2, 5}) {  // 0: word by word
      const auto f = [&](std::span<const Tensor> in) {
        LinearAttendOptions options = x.options;
        std::size_t next = 3;
        for (Tensor* more : {&options.log_keep, &options.strength, &options.state})
          if (more->defined()) *more = in[next++];
        const Remembered found = chunk == 0 ? linear_attend_by_word(in[0], in[1], in[2], options)
                                            : linear_attend(in[0], in[1], in[2], options, chunk);
        return concat({found.read, found.state}, 0);
      };
      CAPTURE(kind, chunk);
      CHECK_GRADIENTS(f, inputs, {.tolerance = 1e-6});
    }
  }
}

TEST_CASE("a text may come in two parts, and no word sees a later one", "[linear]") {
  for (int kind = 0; kind < kKinds; ++kind) {
    const Case x = draw(kind, 11, 3, 4);
    const auto run = [&](Size begin, Size end, const Tensor& state) {
      LinearAttendOptions options = x.options;
      options.state = state;
      for (Tensor* each : {&options.log_keep, &options.strength})
        if (each->defined()) *each = slice(*each, 0, begin, end);
      const auto part = [&](const Tensor& whole) { return slice(whole, 0, begin, end); };
      return linear_attend(part(x.q), part(x.k), part(x.v), options, 4);
    };
    const Remembered whole = run(0, 11, x.options.state), first = run(0, 6, x.options.state),
                     second = run(6, 11, first.state);
    CAPTURE(kind);
    CHECK(apart(concat({first.read, second.read}, 0), whole.read) < 1e-11);
    CHECK(apart(second.state, whole.state) < 1e-11);
  }
}

TEST_CASE("linear attention of no words, of no width, and of texts that do not fill their chunks",
          "[linear]") {
  const Tensor state = normal({2, 3}, 1);
  for (const WriteRule rule : {WriteRule::sum, WriteRule::delta}) {
    const auto empty = [](Size last) { return zeros({0, last}, DType::f64); };
    for (const Remembered& found :
         {linear_attend(empty(2), empty(2), empty(3), {.rule = rule, .state = state}),
          linear_attend_by_word(empty(2), empty(2), empty(3), {.rule = rule, .state = state})}) {
      CHECK(found.read.shape() == Dims{0, 3});
      CHECK(apart(found.state, state) == 0);
    }
    const Tensor none = zeros({5, 0}, DType::f64);
    CHECK(apart(linear_attend(none, none, normal({5, 3}, 1), {.rule = rule}, 2).read,
                zeros({5, 3}, DType::f64)) == 0);
    CHECK(linear_attend(normal({5, 2}, 1), normal({5, 2}, 2), none, {.rule = rule}, 2).read.shape() ==
          Dims{5, 0});
    const Tensor no_rows = zeros({0, 4, 2}, DType::f64);
    CHECK(linear_attend(no_rows, no_rows, no_rows, {.rule = rule}, 3).state.shape() == Dims{0, 2, 2});
  }
}

TEST_CASE("gates that shut keep every number finite", "[linear]") {
  Case x = draw(8 | 1, 70, 3, 4, DType::f32);
  x.options.log_keep = variable(full({70}, -60));  // e^{60 · 31} is beyond f32
  const Tensor q = variable(x.q), k = variable(x.k), v = variable(x.v);
  for (const WriteRule rule : {WriteRule::sum, WriteRule::delta}) {
    x.options.rule = rule;
    Tape tape;
    const Tensor read = linear_attend(q, k, v, x.options).read;
    CHECK(apart(read, v.detach() * sum(x.q * x.k, {-1}, Keep::yes)) <
          1e-5);  // each word has forgotten all others
    for (const Tensor& gradient : tape.gradients(sum(read), {q, k, v, x.options.log_keep}))
      CHECK(std::isfinite(sum(abs(gradient)).item()));
  }
}

TEST_CASE("the delta rule in chunks stays exact in f32 where all keys are alike, and in long texts",
          "[linear]") {
  Case x = draw(8, 400, 16, 8, DType::f32);
  for (const bool alike : {false, true}) {
    if (alike) x.k = expand(unit(normal({1, 16}, 9, DType::f32)), {400, 16});
    const Case exact{tensor(x.q.to_vector(), x.q.shape(), DType::f64),
                     tensor(x.k.to_vector(), x.k.shape(), DType::f64),
                     tensor(x.v.to_vector(), x.v.shape(), DType::f64), x.options};
    const Tensor expected = by_loops(exact).read;
    for (const Size chunk : {32, 64, 400}) {
      const Tensor found = linear_attend(x.q, x.k, x.v, x.options, chunk).read;
      CAPTURE(alike, chunk);
      CHECK(apart(tensor(found.to_vector(), found.shape(), DType::f64), expected) <
            1e-5 * max(abs(expected)).item());
    }
  }
}

TEST_CASE("what linear attention keeps grows with the text, not with its square", "[linear]") {
  for (const WriteRule rule : {WriteRule::sum, WriteRule::delta}) {
    const auto kept = [rule](Size words) {
      const Tensor q = variable(normal({words, 8}, 1)), k = variable(unit(normal({words, 8}, 2)));
      const Size before = simd::pool_stats().in_use;
      Tape tape;
      const Remembered found = linear_attend(q, k, q, {.rule = rule}, 16);
      return static_cast<double>(simd::pool_stats().in_use - before);
    };
    CHECK(kept(2048) < 2.2 * kept(1024));
  }
}

TEST_CASE("linear_attend says what does not fit", "[linear]") {
  using test::message_of;
  const Tensor x = zeros({2, 5, 3}, DType::f64);
  const auto told = [&](const Tensor& q, const Tensor& k, const Tensor& v, const LinearAttendOptions& options,
                        Size chunk = 4) {
    return message_of([&] { linear_attend(q, k, v, options, chunk); });
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(told(x, zeros({2, 4, 3}, DType::f64), x, {}), ContainsSubstring("do not fit"));
  CHECK_THAT(told(x, x, zeros({2, 4, 3}, DType::f64), {}), ContainsSubstring("do not fit"));
  CHECK_THAT(told(x, x, zeros({5, 3}, DType::f64), {}), ContainsSubstring("do not fit"));
  CHECK_THAT(told(zeros({3}), zeros({3}), zeros({3}), {}), ContainsSubstring("do not fit"));
  CHECK_THAT(told(x, x, x, {.log_keep = zeros({5}, DType::f64)}),
             ContainsSubstring("one number for each word"));
  CHECK_THAT(told(x, x, x, {.strength = zeros({2, 5, 1}, DType::f64)}),
             ContainsSubstring("one number for each word"));
  CHECK_THAT(told(x, x, x, {.state = zeros({3, 3}, DType::f64)}), ContainsSubstring("the state"));
  CHECK_THAT(told(x, x, zeros({2, 5, 3}), {}), ContainsSubstring("are of types"));
  CHECK_THAT(told(x, x, x, {.strength = zeros({2, 5})}), ContainsSubstring("are of types"));
  CHECK_THAT(told(x, x, x, {}, 0), ContainsSubstring("1 word or more"));
}

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
      return tensor(all, {words, d}, DType::f64);
    };
    const bool positive = o.features == KeyFeatures::positive;
    std::vector<double> values, keep, strength;
    for (Size t = 0; t < words; ++t) {
      for (Size j = 0; j < e; ++j) values.push_back(projected("value", h * e + j, t));
      if (positive) values.push_back(1);
      if (o.gate == Gate::yes) keep.push_back(std::log(of_word("gate", h, t)));
      if (o.rule == WriteRule::delta) strength.push_back(of_word("strength", h, t));
    }
    Case one{features("query"),
             features("key"),
             tensor(values, {words, e + (positive ? 1 : 0)}, DType::f64),
             {o.rule}};
    if (!keep.empty()) one.options.log_keep = tensor(keep, {words}, DType::f64);
    if (!strength.empty()) one.options.strength = tensor(strength, {words}, DType::f64);
    const Tensor read = by_loops(one).read;
    for (Size t = 0; t < words; ++t)
      for (Size j = 0; j < e; ++j)
        reads[static_cast<std::size_t>(t)].push_back(positive ? read.at({t, j}) / (read.at({t, e}) + 1e-6)
                                                              : read.at({t, j}));
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

void randomise(LinearAttention& layer) {
  State values;
  std::uint64_t seed = 10;
  for (const auto& [name, parameter] : layer.state()) values.emplace(name, normal(parameter.shape(), ++seed));
  layer.load_state(values);
}

}  // namespace

TEST_CASE("a layer of linear attention is what its formulas say, whole, in parts, and word by word",
          "[linear]") {
  for (const LinearAttentionOptions& options : layers()) {
    LinearAttention layer(options);
    layer.initialise(1, DType::f64);
    randomise(layer);
    const Tensor x = normal({2, 7, options.width}, 2);
    const Remembered whole = layer(x);
    for (Size b = 0; b < 2; ++b)
      CHECK(apart(select(whole.read, 0, b), layer_by_loops(layer, select(x, 0, b))) < 1e-10);
    for (const Size part : {1, 3}) {
      std::vector<Tensor> reads;
      Tensor state;
      for (const Tensor& words : split(x, part, 1)) {
        const Remembered found = layer(words, state);
        reads.push_back(found.read), state = found.state;
      }
      CHECK(apart(concat(reads, 1), whole.read) < 1e-11);
      CHECK(apart(state, whole.state) < 1e-11);
    }
    const auto f = [&layer](const Tensor& words) { return layer(words).read; };
    CHECK_GRADIENTS(f, x, layer.parameters(), {.tolerance = 1e-6});
    CHECK(apart((*clone(layer))(x).read, whole.read) == 0);
  }
}

TEST_CASE("a layer of linear attention starts by keeping, and says what does not fit", "[linear]") {
  LinearAttention layer({.width = 4, .heads = 2, .gate = Gate::yes});
  layer.initialise(1);
  CHECK(apart(layer.gate_bias, full({2}, 4)) == 0);
  CHECK(layer(zeros({3, 0, 4})).read.shape() == Dims{3, 0, 4});
  CHECK(layer(zeros({3, 5, 4})).state.shape() == Dims{3, 2, 2, 3});
  using Catch::Matchers::ContainsSubstring;
  const auto told = [](const LinearAttentionOptions& options) {
    return test::message_of([&] { LinearAttention made(options); });
  };
  CHECK_THAT(told({.width = 0}), ContainsSubstring("1 or more"));
  CHECK_THAT(told({.width = 4, .heads = 3}), ContainsSubstring("do not divide"));
  CHECK_THAT(told({.width = 4, .chunk = 0}), ContainsSubstring("1 or more"));
  CHECK_THAT(told({.width = 4, .rule = WriteRule::delta}), ContainsSubstring("KeyFeatures::unit"));
  CHECK_THAT(test::message_of([&] { layer(zeros({3, 5, 5})); }), ContainsSubstring("(batch, time, 4)"));
  CHECK_THAT(test::message_of([&] {
               layer(zeros({3, 5, 4}), zeros({3, 2, 2, 2}));
             }),
             ContainsSubstring("the state"));
}
