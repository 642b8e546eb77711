// Layers and whole models by central differences, with respect to inputs and parameters.
#include "nn/attention/attention.hpp"
#include "nn/norm.hpp"
#include "nn/recurrent.hpp"
#include "nn/seq2seq/seq2seq.hpp"
#include "tests/nn/check_gradients.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;

TEST_CASE("gradients of recurrent layers") {
  const CellKind kind = GENERATE(CellKind::rnn, CellKind::gru, CellKind::lstm);
  Recurrent layer(Parent{}, kind, 3, 4, {.layers = 2, .both_directions = true, .dropout = 0.3});
  layer.initialise(1, DType::f64);
  const Tensor x = random_normal({3, 4, 3}, 2, DType::f64);
  const auto f = [&](const Tensor& in) {
    const RecurrentOutput out = layer(in, {2, 4, 0});
    return concat({out.states, unsqueeze(concat({out.final[0].hidden, out.final[3].hidden}, 1), 1)}, 1);
  };
  CHECK_GRADIENTS(f, x, layer.parameters());
}

TEST_CASE("gradients of attention with a mask, a plain callable and dropout") {
  Attention attention([](const Tensor& q, const Tensor& k) { return matmul(q, transpose(tanh(k))); },
                      {.dropout = 0.2});
  const Mask mask = Mask::from(3, 4, [](Size i, Size j) { return i != 1 && j <= i + 1; });
  const auto f = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return attention(q, k, v, mask).context;
  };
  CHECK_GRADIENTS(f, {random_normal({2, 3, 5}, 1, DType::f64), random_normal({2, 4, 5}, 2, DType::f64),
                      random_normal({2, 4, 3}, 3, DType::f64)});
}

TEST_CASE("gradients of LayerNorm") {
  LayerNorm layer(5);
  layer.initialise(1, DType::f64);
  CHECK_GRADIENTS([&](const Tensor& x) { return layer(x); }, random_normal({3, 5}, 1, DType::f64),
                  layer.parameters());
}

TEST_CASE("gradients of a whole translator") {
  TranslatorOptions options;
  options.encoder = {.vocabulary = 9, .embedding = 3, .hidden = 4, .dropout = 0.2};
  options.decoder = {
      .vocabulary = 8, .embedding = 4, .hidden = 3, .attention = 5, .readout = 4, .dropout = 0.2};
  const bool scaled = GENERATE(false, true);
  if (scaled) {
    options.decoder.hidden = 8;  // as wide as the encoder's states
    options.decoder.score = scaled_dot();
  }
  Translator translator(options);
  translator.initialise(1, DType::f64);
  const Indices source = Indices{4, 5, 6, 7, 8, 0}.reshape({2, 3}),
                target = Indices{2, 4, 5, 3, 2, 6, 3, 0}.reshape({2, 4});
  const auto loss = [&](std::span<const Tensor>) {
    return cross_entropy(translator(source, {3, 2}, target.columns(0, 3)), target.columns(1, 4),
                         {.smoothing = 0.1, .ignore = 0});
  };
  CHECK_GRADIENTS(loss, GradcheckInputs{}, translator.parameters());
}
