// 19.5 engine_block: A transformer block for your engine
// implement, 25 minutes, piece block.hpp
//
// A GPT is a stack of transformer blocks. A block has two sublayers, attention and a feed-forward network. Each
// sublayer has a layer norm before it and a residual connection around it. For x (B, T, d):
//
//     a = x + self_attention(norm₁(x))         y = a + relu(norm₂(a) W₁ + b₁) W₂ + b₂
//     norm(x) = x̂ ⊙ gain + shift,   x̂ = (x − μ) / σ,   σ = √(mean((x − μ)²) + ε),   ε = 10⁻⁵,   over the last axis
//
// Your engine has no op for a mean or a root, so x̂ becomes one op. Write the values of x̂, its backward rule
// (derived in the lesson), and the block. W₁ is (d, f), where f is often 4 d, and W₂ is (f, d). These functions
// are available, written by you or by us:
//
//     self_attention(x, heads)   matmul(x, y)   relu(x)   x + y and x * y, with broadcasting   x * 2.0
//     an Array's .shape and .data; each_row(array, f) calls f(begin, end) for each row along the last axis
#include "engine/heads.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

/// Returns x̂: each row of the last axis has mean 0 and nearly variance 1.
inline Value normalised(const Value& x) {
  const Array from = x.array();
  const double d = from.shape.back();
  Array y = filled(from.shape, 0);
  std::vector<double> sigmas;  // one per row, in order
  each_row(from, [&](std::size_t begin, std::size_t end) {
    //[ one row of y, and append its σ to sigmas: about six lines
    //: not_written_yet();
    double mean = 0, variance = 0;
    for (std::size_t j = begin; j < end; ++j) mean += from.data[j] / d;
    for (std::size_t j = begin; j < end; ++j) variance += (from.data[j] - mean) * (from.data[j] - mean) / d;
    sigmas.push_back(std::sqrt(variance + 1e-5));  // ε prevents 0 / 0 in a row of equal numbers
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
  //[ attention and the network, each with its norm and its residual: about four lines
  //: return not_written_yet();
  const Value a = x + self_attention(normalised(x) * block.gain1 + block.shift1, block.heads);
  const Value normed = normalised(a) * block.gain2 + block.shift2;
  return a + matmul(relu(matmul(normed, block.w1) + block.b1), block.w2) + block.b2;
  //]
}

}  // namespace engine

// hint: Compare with softmax in your engine. It processes one row at a time, and its rule stores the values
//   that it needs. Which values does the rule of x̂ need?
// hint: ∂L/∂x_i = (g_i − mean(g) − x̂_i · mean(____)) / σ. All means are over the same row.
// hint: normalised(x) * block.gain1 + block.shift1 is the norm. Pass its result to attention, and add
//   attention's result to x itself.
//
// wrong: You do not divide the sum of squares by d. σ is the root of a mean.
// - for (std::size_t j = begin; j < end; ++j) variance += (from.data[j] - mean) * (from.data[j] - mean) / d;
// + for (std::size_t j = begin; j < end; ++j) variance += (from.data[j] - mean) * (from.data[j] - mean);
// wrong: You divide by d − 1, as one does to estimate a variance from a sample. A norm uses the variance of the
//   row itself, so divide by d.
// - for (std::size_t j = begin; j < end; ++j) variance += (from.data[j] - mean) * (from.data[j] - mean) / d;
// + for (std::size_t j = begin; j < end; ++j) variance += (from.data[j] - mean) * (from.data[j] - mean) / (d - 1);
// wrong: Your rule treats μ and σ as constants. But adding 1 to all numbers of a row does not change x̂, so the
//   gradient of a row must sum to 0.
// - of_x.data[j] = (g.data[j] - through_mean - y.data[j] * through_sigma) / sigma;
// + of_x.data[j] = g.data[j] / sigma;
// wrong: Your rule lacks the term for σ. When a row is doubled, x̂ hardly changes, so the gradient along x must
//   be nearly 0.
// - of_x.data[j] = (g.data[j] - through_mean - y.data[j] * through_sigma) / sigma;
// + of_x.data[j] = (g.data[j] - through_mean) / sigma;
// wrong: You computed a sum instead of mean(g ⊙ x̂). Divide by d.
// - for (std::size_t j = begin; j < end; ++j) through_sigma += g.data[j] * y.data[j] / d;
// + for (std::size_t j = begin; j < end; ++j) through_sigma += g.data[j] * y.data[j];
// wrong: ε is missing, so a row of equal numbers is divided by 0.
// - sigmas.push_back(std::sqrt(variance + 1e-5));
// + sigmas.push_back(std::sqrt(variance));
// wrong: You wrote the post-norm block of 2017, in which x passes through the norm after each sum. In this
//   block the norm is applied to the input of the sublayer, and x itself is added to the sublayer's result.
// - const Value a = x + self_attention(normalised(x) * block.gain1 + block.shift1, block.heads);
// + const Value a = normalised(x + self_attention(x, block.heads)) * block.gain1 + block.shift1;
// wrong: Your second residual adds x instead of a. So the result of attention reaches the output only through
//   the network.
// - return a + matmul(relu(matmul(normed, block.w1) + block.b1), block.w2) + block.b2;
// + return x + matmul(relu(matmul(normed, block.w1) + block.b1), block.w2) + block.b2;
// wrong: The relu is missing. Without it, the two matrices are equivalent to a single one.
// - return a + matmul(relu(matmul(normed, block.w1) + block.b1), block.w2) + block.b2;
// + return a + matmul(matmul(normed, block.w1) + block.b1, block.w2) + block.b2;
// wrong: You add the bias b₁ after the relu. Add it before: relu(norm₂(a) W₁ + b₁).
// - return a + matmul(relu(matmul(normed, block.w1) + block.b1), block.w2) + block.b2;
// + return a + matmul(relu(matmul(normed, block.w1)) + block.b1, block.w2) + block.b2;
// wrong: The first residual is missing. Add attention's result to x.
// - const Value a = x + self_attention(normalised(x) * block.gain1 + block.shift1, block.heads);
// + const Value a = self_attention(normalised(x) * block.gain1 + block.shift1, block.heads);

//= judge
#include "core/attention/attend.hpp"
#include "lessons/grader/judge/engine.hpp"

namespace {

/// Computes the block from Tapestry's ops. v holds x, then the weights in the order of engine::Block.
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
  judge.claim("normalises each row to mean 0 and variance 1, with the right gradient", [&] {
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
  judge.claim("returns 0 for a row of equal numbers", [&] {
    engine::Tape tape;
    judge.example("the row 2 2 2");
    const engine::Value y = engine::normalised(tape.leaf({{1, 3}, {2, 2, 2}}));
    judge.same(grader::tensor_of(y.array()), zeros({1, 3}, DType::f64), "x̂");
  });
  judge.claim("agrees with Tapestry's block in values and gradients", [&] {
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
