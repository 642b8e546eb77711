// 19.5 engine_block: a transformer block for your engine
// implement, 25 minutes, piece block.hpp
//
// What a GPT is stacked of, for x (B, T, d): attention and a small network, each behind a layer norm and
// beside a way round,
//
//     a = x + self_attention(norm₁(x))         y = a + relu(norm₂(a) W₁ + b₁) W₂ + b₂
//     norm(x) = x̂ ⊙ gain + shift,   x̂ = (x − μ) / σ,   σ = √(mean((x − μ)²) + ε),   ε = 10⁻⁵,   over the last axis
//
// Your engine has neither a mean nor a root, so x̂ becomes one op. Write its values, its rule (the lesson
// derives it) and the block. W₁ is (d, 4 d) or any other width, W₂ leads back to d. What the engine has for it,
// yours or ours:
//
//     self_attention(x, heads)   matmul(x, y)   relu(x)   x + y, x * y, which broadcast, x * 2.0
//     an Array's .shape and .data; each_row(array, f) calls f(begin, end) for the numbers of each last row
#include "engine/heads.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

/// x̂: each row of the last axis with mean 0 and variance 1, nearly.
inline Value normalised(const Value& x) {
  const Array from = x.array();
  const double d = from.shape.back();
  Array y = filled(from.shape, 0);
  std::vector<double> sigmas;  // of the rows, in order
  each_row(from, [&](std::size_t begin, std::size_t end) {
    //[ one row of y, and its σ into sigmas: about six lines
    //: not_written_yet();
    double mean = 0, variance = 0;
    for (std::size_t j = begin; j < end; ++j) mean += from.data[j] / d;
    for (std::size_t j = begin; j < end; ++j) variance += (from.data[j] - mean) * (from.data[j] - mean) / d;
    sigmas.push_back(std::sqrt(variance + 1e-5));  // ε keeps a row of equal numbers from 0 / 0
    for (std::size_t j = begin; j < end; ++j) y.data[j] = (from.data[j] - mean) / sigmas.back();
    //]
  });
  const Rule rule = [y, sigmas, d](const Array& g) {
    Array of_x = filled(y.shape, 0);
    std::size_t row = 0;
    each_row(y, [&](std::size_t begin, std::size_t end) {
      const double sigma = sigmas[row++];
      //[ one row of the gradient, about four lines
      //: not_written_yet();
      double through_mean = 0, through_sigma = 0;
      for (std::size_t j = begin; j < end; ++j) through_mean += g.data[j] / d;
      for (std::size_t j = begin; j < end; ++j) through_sigma += g.data[j] * y.data[j] / d;
      for (std::size_t j = begin; j < end; ++j)
        of_x.data[j] = (g.data[j] - through_mean - y.data[j] * through_sigma) / sigma;
      //]
    });
    return std::vector{of_x};
  };
  return x.tape->record(y, {x}, rule);
}

struct Block {
  Value gain1, shift1;  // (d)
  Heads heads;
  Value gain2, shift2;   // (d)
  Value w1, b1, w2, b2;  // (d, f), (f), (f, d), (d)
};

/// x (B, T, d) → (B, T, d).
inline Value transformer_block(const Value& x, const Block& block) {
  //[ attention and the network, each with its norm and its way round: about four lines
  //: return not_written_yet();
  const Value a = x + self_attention(normalised(x) * block.gain1 + block.shift1, block.heads);
  const Value normed = normalised(a) * block.gain2 + block.shift2;
  return a + matmul(relu(matmul(normed, block.w1) + block.b1), block.w2) + block.b2;
  //]
}

}  // namespace engine

// hint: Look at softmax in your engine: one row at a time, and the rule keeps what it needs. What does the
//   rule of x̂ need?
// hint: ∂L/∂x_i = (g_i − mean(g) − x̂_i · mean(____)) / σ, all of one row.
// hint: normalised(x) * block.gain1 + block.shift1 is the norm. It stands inside: what is added to x is what
//   attention makes of the normed x, and x itself goes round.
//
// wrong: The sum of squares is not divided by d: σ is the root of a mean.
// - for (std::size_t j = begin; j < end; ++j) variance += (from.data[j] - mean) * (from.data[j] - mean) / d;
// + for (std::size_t j = begin; j < end; ++j) variance += (from.data[j] - mean) * (from.data[j] - mean);
// wrong: You divide by d − 1, as one does to guess the variance of all from a few. A norm takes the row itself,
//   all of it: divide by d.
// - for (std::size_t j = begin; j < end; ++j) variance += (from.data[j] - mean) * (from.data[j] - mean) / d;
// + for (std::size_t j = begin; j < end; ++j) variance += (from.data[j] - mean) * (from.data[j] - mean) / (d - 1);
// wrong: μ and σ are taken for constants in the rule. Add 1 to all of a row: x̂ stays as it is, so its
//   gradient adds up to 0.
// - of_x.data[j] = (g.data[j] - through_mean - y.data[j] * through_sigma) / sigma;
// + of_x.data[j] = g.data[j] / sigma;
// wrong: The rule lacks the way through σ. Double a row: x̂ hardly changes.
// - of_x.data[j] = (g.data[j] - through_mean - y.data[j] * through_sigma) / sigma;
// + of_x.data[j] = (g.data[j] - through_mean) / sigma;
// wrong: mean(g ⊙ x̂) is a mean, and yours is a sum: divide by d.
// - for (std::size_t j = begin; j < end; ++j) through_sigma += g.data[j] * y.data[j] / d;
// + for (std::size_t j = begin; j < end; ++j) through_sigma += g.data[j] * y.data[j];
// wrong: ε is missing: a row of equal numbers is divided by 0.
// - sigmas.push_back(std::sqrt(variance + 1e-5));
// + sigmas.push_back(std::sqrt(variance));
// wrong: This is the post-norm block of 2017: the norm stands behind the sum, on the way round itself. Here x
//   goes round as it is.
// - const Value a = x + self_attention(normalised(x) * block.gain1 + block.shift1, block.heads);
// + const Value a = normalised(x + self_attention(x, block.heads)) * block.gain1 + block.shift1;
// wrong: The second way round begins at x, so what attention found reaches the end only through the network.
// - return a + matmul(relu(matmul(normed, block.w1) + block.b1), block.w2) + block.b2;
// + return x + matmul(relu(matmul(normed, block.w1) + block.b1), block.w2) + block.b2;
// wrong: The network has no relu: two matrices in a row are one.
// - return a + matmul(relu(matmul(normed, block.w1) + block.b1), block.w2) + block.b2;
// + return a + matmul(matmul(normed, block.w1) + block.b1, block.w2) + block.b2;
// wrong: The bias comes behind relu: it belongs to what relu reads, relu(norm₂(a) W₁ + b₁).
// - return a + matmul(relu(matmul(normed, block.w1) + block.b1), block.w2) + block.b2;
// + return a + matmul(relu(matmul(normed, block.w1)) + block.b1, block.w2) + block.b2;
// wrong: The way round is left out: what comes out is only what attention and the network say.
// - const Value a = x + self_attention(normalised(x) * block.gain1 + block.shift1, block.heads);
// + const Value a = self_attention(normalised(x) * block.gain1 + block.shift1, block.heads);

//= judge
#include "core/attention/attend.hpp"
#include "lessons/grader/judge/engine.hpp"

namespace {

/// Of Tapestry's ops: v holds x, then the weights in the order of engine::Block.
Tensor their_block(const std::vector<Tensor>& v, Size heads) {
  const Size batch = v[0].size(0), time = v[0].size(1), d = v[0].size(2);
  const Tensor normed = layer_norm(v[0], v[1], v[2], 1e-5);
  const auto part = [&](const Tensor& w) {
    return transpose(reshape(matmul(normed, w), {batch, time, heads, d / heads}), 1, 2);
  };
  const Tensor found = attend(part(v[3]), part(v[4]), part(v[5]), {.mask = Mask::causal(time, time)});
  const Tensor a = v[0] + matmul(reshape(transpose(found, 1, 2), {batch, time, d}), v[6]);
  return a + matmul(tapestry::relu(matmul(layer_norm(a, v[7], v[8], 1e-5), v[9]) + v[10]), v[11]) + v[12];
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("gives each row the mean 0 and the variance 1, and has their rule", [&] {
    judge.each_size({{"B", 1, 3}, {"T", 2, 3}, {"d", 3, 6}},
                    [&](const Sizes& n) {
                      grader::agree<engine::Tape>(
                          judge, {judge.normal({n[0], n[1], n[2]})},
                          [](const std::vector<engine::Value>& v) { return engine::normalised(v[0]); },
                          [&](const std::vector<Tensor>& v) {
                            return layer_norm(v[0], ones({n[2]}, DType::f64), zeros({n[2]}, DType::f64),
                                              1e-5);
                          });
                    },
                    {.f32 = false});
  });
  judge.claim("bears a row of equal numbers", [&] {
    engine::Tape tape;
    judge.example("the row 2 2 2");
    const engine::Value y = engine::normalised(tape.leaf({{1, 3}, {2, 2, 2}}));
    judge.same(grader::tensor_of(y.array()), zeros({1, 3}, DType::f64), "x̂");
  });
  judge.claim("is the block of Tapestry's ops, with its gradients", [&] {
    judge.each_size(
        {{"B", 1, 3}, {"T", 2, 4}, {"heads", 1, 2}, {"c", 2, 3}, {"f", 4, 6}}, [&](const Sizes& n) {
          const Size d = n[2] * n[3];
          std::vector<Tensor> inputs{judge.normal({n[0], n[1], d})};
          for (const Dims& shape : {Dims{d}, Dims{d}, Dims{d, d}, Dims{d, d}, Dims{d, d}, Dims{d, d}, Dims{d},
                                    Dims{d}, Dims{d, n[4]}, Dims{n[4]}, Dims{n[4], d}, Dims{d}})
            inputs.push_back(judge.normal(shape));
          grader::agree<engine::Tape>(
              judge, inputs,
              [&](const std::vector<engine::Value>& v) {
                return engine::transformer_block(v[0], {v[1],
                                                        v[2],
                                                        {static_cast<int>(n[2]), v[3], v[4], v[5], v[6]},
                                                        v[7],
                                                        v[8],
                                                        v[9],
                                                        v[10],
                                                        v[11],
                                                        v[12]});
              },
              [&](const std::vector<Tensor>& v) { return their_block(v, n[2]); });
        });
  });
}
