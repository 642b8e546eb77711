// 20.5 engine_gpt: Milestone: a GPT on your engine sorts digits
// implement, 30 minutes, limit 60 s, fast
//
// In this fourth milestone, a GPT runs on your engine alone and learns to sort. A text consists of five digits,
// "=", and the same digits sorted. Write three parts, for B texts of T tokens:
//
//     logits   x = words[ids] + places[0 … T − 1]; then the blocks; then the norm; logits = x wordsᵀ     (B, T, V)
//     loss     the mean of −log p over the positions whose target is not −1
//     writing  append the most likely next token to the text, again and again
//
// As in your block, norm(x) = normalised(x) ⊙ gain + shift. A text of T tokens has T targets: for each token
// the next token, or −1 where the next token is random. These functions are available, written by you or by us:
//
//     embedding(table, ids, front): rows by number, (…front, d)   transformer_block(x, block)   normalised(x)
//     matmul(x, y)   transpose(x)   x + y and x * y, with broadcasting   cross_entropy(logits (N, V), classes): a mean
#include "engine/block.hpp"
#include "lessons/grader/answer.hpp"

using engine::Array, engine::Value;

struct Gpt {
  Value words, places;  // (V, d), (longest, d)
  std::vector<engine::Block> blocks;
  Value gain, shift;  // (d)
};

/// ids (B, T), row by row → logits (B, T, V).
Value logits_of(const Gpt& gpt, const std::vector<int>& ids, int rows) {
  const int length = static_cast<int>(ids.size()) / rows;
  std::vector<int> in_order(static_cast<std::size_t>(length));
  std::iota(in_order.begin(), in_order.end(), 0);  // 0, 1, …, T − 1
  //[ the input, the blocks, the output: about five lines
  //: return not_written_yet();
  const Value places = engine::embedding(gpt.places, in_order, {length});  // (T, d), the same for all texts
  Value x = engine::embedding(gpt.words, ids, {rows, length}) + places;
  for (const engine::Block& block : gpt.blocks) x = engine::transformer_block(x, block);
  const Value normed = engine::normalised(x) * gpt.gain + gpt.shift;
  return engine::matmul(normed, engine::transpose(gpt.words));  // tied: the input table is the output layer
  //]
}

/// targets (B, T), row by row → (1).
Value loss_of(const Value& logits, const std::vector<int>& targets) {
  const int places = static_cast<int>(targets.size()), symbols = logits.array().shape.back();
  const Value table = engine::reshape(logits, {places, symbols});  // one row of logits per position
  //[ the rows with a target, and their loss: about six lines
  //: return not_written_yet();
  std::vector<int> counted, wanted;
  for (int i = 0; i < places; ++i) {
    const int target = targets[static_cast<std::size_t>(i)];
    if (target < 0) continue;
    counted.push_back(i);
    wanted.push_back(target);
  }
  const Value rows = engine::embedding(table, counted, {static_cast<int>(counted.size())});  // rows by number
  return engine::cross_entropy(rows, wanted);
  //]
}

/// A function that returns the logits (1, T, V) of one text. It holds the weights of a model.
using Predict = std::function<Array(const std::vector<int>& text)>;

/// Returns the text with `count` more tokens.
std::vector<int> write_on(const Predict& predict, std::vector<int> text, int count) {
  for (int i = 0; i < count; ++i) {
    const Array logits = predict(text);
    const int symbols = logits.shape.back();
    //[ append the most likely next token to the text: about three lines
    //: not_written_yet();
    const auto last = logits.data.end() - symbols;  // the row of the last token
    const auto best = std::max_element(last, logits.data.end());
    text.push_back(static_cast<int>(best - last));
    //]
  }
  return text;
}

// hint: Which op of your engine selects rows of a table by their numbers? You need it three times.
// hint: The rows of ids have the axes {rows, length} in front, and the rows of in_order have {____}. So the sum
//   repeats the places for each text. For the loss, the table of logits has one row per position. Which row
//   numbers have a target that counts?
// hint: Collect these row numbers in one vector and their targets in another. Select the rows from the table,
//   and pass them to cross_entropy with the targets. To write, take the last `symbols` numbers of the logits.
//   Where is the largest one?
//
// wrong: You select the places by the token ids, so that every digit 3 gets place 3. Select them by position in
//   the text.
// - const Value places = engine::embedding(gpt.places, in_order, {length});
// + const Value places = engine::embedding(gpt.places, ids, {rows, length});
// wrong: The places are missing, so no token knows its position.
// - Value x = engine::embedding(gpt.words, ids, {rows, length}) + places;
// + Value x = engine::embedding(gpt.words, ids, {rows, length}) + places * 0.0;
// wrong: All your blocks get the same x, so only the last one has an effect. The result of each block must be
//   the input of the next one.
// - for (const engine::Block& block : gpt.blocks) x = engine::transformer_block(x, block);
// + const Value first = x;
// + for (const engine::Block& block : gpt.blocks) x = engine::transformer_block(first, block);
// wrong: The last norm is missing. After pre-norm blocks x has grown, and the logits have grown with it.
// - const Value normed = engine::normalised(x) * gpt.gain + gpt.shift;
// + const Value normed = x;
// wrong: You number the rows without the skipped positions, so the targets are compared with the wrong rows.
//   Append i, the row number in the table.
// - counted.push_back(i);
// + counted.push_back(static_cast<int>(wanted.size()));
// wrong: You count positions without a target as if token 0 were the target. So the loss contains positions
//   that no model can predict.
// - if (target < 0) continue;
// - counted.push_back(i);
// - wanted.push_back(target);
// + counted.push_back(i);
// + wanted.push_back(std::max(0, target));
// wrong: You use the prediction after the first token. The prediction of the next token is in the row of the
//   last token.
// - const auto last = logits.data.end() - symbols;
// - const auto best = std::max_element(last, logits.data.end());
// + const auto last = logits.data.begin();
// + const auto best = std::max_element(last, last + symbols);
// wrong: You take the maximum over the rows of all tokens, so your result may be larger than any token's number.
//   Use the last row.
// - const auto last = logits.data.end() - symbols;
// + const auto last = logits.data.begin();

//= judge
#include "core/attention/attend.hpp"
#include "lessons/grader/judge/engine.hpp"
#include "optim/clip.hpp"

namespace {

constexpr int kDigits = 5, kSymbols = 11, kEquals = 10, kLength = 2 * kDigits;
constexpr int kWidth = 16, kHeads = 2, kInner = 32, kBlocks = 2, kRows = 16, kSteps = 600;
constexpr double kRate = 0.01;

std::vector<std::vector<int>> shapes(int symbols, int longest, int d, int inner, int blocks) {
  std::vector<std::vector<int>> all{{symbols, d}, {longest, d}};
  for (int block = 0; block < blocks; ++block)
    for (const std::vector<int>& shape : std::vector<std::vector<int>>{
             {d}, {d}, {d, d}, {d, d}, {d, d}, {d, d}, {d}, {d}, {d, inner}, {inner}, {inner, d}, {d}})
      all.push_back(shape);
  all.push_back({d});
  all.push_back({d});
  return all;
}

/// l holds the leaves in the order of shapes().
Gpt gpt_of(const std::vector<Value>& l, int heads) {
  Gpt gpt{l[0], l[1], {}, l[l.size() - 2], l[l.size() - 1]};
  for (std::size_t k = 2; k + 12 < l.size(); k += 12)
    gpt.blocks.push_back({l[k],
                          l[k + 1],
                          {heads, l[k + 2], l[k + 3], l[k + 4], l[k + 5]},
                          l[k + 6],
                          l[k + 7],
                          l[k + 8],
                          l[k + 9],
                          l[k + 10],
                          l[k + 11]});
  return gpt;
}

Gpt bound(engine::Tape& tape, const std::vector<Array>& weights, int heads, std::vector<Value>& leaves) {
  leaves.clear();
  for (const Array& weight : weights) leaves.push_back(tape.leaf(weight));
  return gpt_of(leaves, heads);
}

std::vector<Array> first_weights(kit::Random& random, const std::vector<std::vector<int>>& of) {
  std::vector<Array> weights;
  for (std::size_t k = 0; k < of.size(); ++k) {
    weights.push_back(engine::filled(of[k], 0));
    const std::size_t in_block = k < 2 || k + 2 >= of.size() ? k + 2 == of.size() ? 0 : 12 : (k - 2) % 12;
    const bool gain = in_block == 0 || in_block == 6;
    const double spread = k < 2 ? 0.25 : 1 / std::sqrt(of[k][0]);
    for (double& w : weights.back().data)
      w = of[k].size() == 2 ? random.normal() * spread : gain ? 1 : 0.01 * random.normal();
  }
  return weights;
}

/// Computes the same with Tapestry's ops.
Tensor their_logits(const std::vector<Tensor>& v, const std::vector<int>& ids, Size rows, Size heads) {
  const Size time = static_cast<Size>(ids.size()) / rows, d = v[0].size(1);
  const std::vector<std::int64_t> same(ids.begin(), ids.end());
  Tensor x = tapestry::embedding(v[0], Indices(same, {rows, time})) + slice(v[1], 0, 0, time);
  for (std::size_t k = 2; k + 12 < v.size(); k += 12) {
    const Tensor normed = layer_norm(x, v[k], v[k + 1], 1e-5);
    const auto part = [&](const Tensor& w) {
      return transpose(reshape(matmul(normed, w), {rows, time, heads, d / heads}), 1, 2);
    };
    const Tensor found =
        attend(part(v[k + 2]), part(v[k + 3]), part(v[k + 4]), {.mask = Mask::causal(time, time)});
    x = x + matmul(reshape(transpose(found, 1, 2), {rows, time, d}), v[k + 5]);
    const Tensor inner = tapestry::relu(matmul(layer_norm(x, v[k + 6], v[k + 7], 1e-5), v[k + 8]) + v[k + 9]);
    x = x + matmul(inner, v[k + 10]) + v[k + 11];
  }
  return matmul(layer_norm(x, v[v.size() - 2], v[v.size() - 1], 1e-5), transpose(v[0]));
}

Indices indices_of(const std::vector<int>& all, Size rows) {
  const std::vector<std::int64_t> same(all.begin(), all.end());
  return Indices(same, {rows, static_cast<Size>(same.size()) / rows});
}

struct Texts {
  std::vector<int> ids, targets;
};

Texts draw(kit::Random& random, int rows, int digits) {
  Texts texts;
  for (int row = 0; row < rows; ++row) {
    std::vector<int> string;
    for (int i = 0; i < digits; ++i) string.push_back(static_cast<int>(random.below(kEquals)));
    texts.ids.insert(texts.ids.end(), string.begin(), string.end());
    texts.ids.push_back(kEquals);
    texts.targets.insert(texts.targets.end(), string.size(), -1);
    std::sort(string.begin(), string.end());
    texts.ids.insert(texts.ids.end(), string.begin(), string.end() - 1);
    texts.targets.insert(texts.targets.end(), string.begin(), string.end());
  }
  return texts;
}

double train_step(std::vector<Array>& weights, engine::Adam& adam, const Texts& texts, int rows, int heads) {
  engine::Tape tape;
  std::vector<Value> leaves;
  const Value loss = loss_of(logits_of(bound(tape, weights, heads, leaves), texts.ids, rows), texts.targets);
  tape.backward(loss);
  std::vector<Array> gradients;
  double square = 0;
  for (const Value& leaf : leaves) {
    gradients.push_back(leaf.gradient());
    for (const double g : gradients.back().data) square += g * g;
  }
  for (Array& gradient : gradients)
    for (double& g : gradient.data) g *= std::min(1.0, 1 / (std::sqrt(square) + 1e-6));
  adam.step(weights, gradients);
  return loss.array().data[0];
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("agrees with Tapestry's logits and their gradients", [&] {
    judge.each_size({{"texts", 1, 3}, {"tokens", 2, 4}, {"heads", 1, 2}, {"blocks", 1, 2}},
                    [&](const Sizes& n) {
                      const int rows = static_cast<int>(n[0]), heads = static_cast<int>(n[2]);
                      const int d = 4 * heads;  // of 2 numbers, a norm would keep only the signs
                      // The longest length is 4 or more: places that no text reaches have the gradient 0.
                      const int longest = std::max(4, static_cast<int>(n[1]));
                      std::vector<Tensor> inputs;
                      for (const std::vector<int>& shape : shapes(5, longest, d, 3, static_cast<int>(n[3])))
                        inputs.push_back(judge.normal(grader::dims_of(shape)));
                      std::vector<int> ids;
                      for (Size i = 0; i < n[0] * n[1]; ++i)
                        ids.push_back(static_cast<int>(judge.random().below(5)));
                      grader::agree<engine::Tape>(
                          judge, inputs,
                          [&](const std::vector<Value>& v) { return logits_of(gpt_of(v, heads), ids, rows); },
                          [&](const std::vector<Tensor>& v) { return their_logits(v, ids, n[0], n[2]); });
                    });
  });
  judge.claim("averages the loss over the positions that have a target", [&] {
    judge.example("two texts of three tokens with the targets 3, −1, 0 and −1, −1, 1");
    const std::vector<int> targets{3, -1, 0, -1, -1, 1};
    grader::agree<engine::Tape>(
        judge, {judge.normal({2, 3, 4})}, [&](const std::vector<Value>& v) { return loss_of(v[0], targets); },
        [&](const std::vector<Tensor>& v) {
          return reshape(tapestry::cross_entropy(v[0], indices_of(targets, 2)), {1});
        });
  });
  judge.claim("appends the most likely token, and uses it for the next prediction", [&] {
    judge.example("a model that predicts the next number of 0 to 4 (after 4 comes 0), and the text 1 3");
    const Predict counts = [](const std::vector<int>& text) {
      Array logits = engine::filled({1, static_cast<int>(text.size()), 5}, 0);
      for (std::size_t t = 0; t < text.size(); ++t)
        logits.data[5 * t + static_cast<std::size_t>((text[t] + 1) % 5)] =
            1 + 0.1 * static_cast<double>(t % 2);
      return logits;
    };
    const std::vector<int> came = write_on(counts, {1, 3}, 3);
    judge.same(std::vector<double>(came.begin(), came.end()), {1, 3, 4, 0, 1}, "the text");
  });
  judge.claim("agrees with Tapestry's losses, step by step", [&] {
    std::vector<Array> weights = first_weights(judge.random(), shapes(kSymbols, 6, 8, 12, 2));
    std::vector<Tensor> theirs;
    for (const Array& weight : weights) theirs.push_back(variable(grader::tensor_of(weight)));
    engine::Adam adam{.rate = 0.01};
    tapestry::Adam same(theirs, {.learning_rate = 0.01});
    for (int step = 1; step <= 15; ++step) {
      const Texts texts = draw(judge.random(), 4, 3);
      const double came = train_step(weights, adam, texts, 4, 2);
      tapestry::Tape tape;
      const Tensor loss =
          tapestry::cross_entropy(their_logits(theirs, texts.ids, 4, 2), indices_of(texts.targets, 4));
      tape.backward(loss);
      clip_gradients(theirs, 1.0);
      same.step();
      judge.same(came, loss.item(), "the loss at step " + std::to_string(step));
    }
  });
  judge.claim("sorts five digits", [&] {
    std::vector<Array> weights =
        first_weights(judge.random(), shapes(kSymbols, kLength, kWidth, kInner, kBlocks));
    engine::Adam adam{.rate = kRate};
    for (int step = 0; step < kSteps; ++step) {
      adam.rate = kRate * std::min(1.0, 2.0 * (kSteps - step) / kSteps);
      train_step(weights, adam, draw(judge.random(), kRows, kDigits), kRows, kHeads);
    }
    const Predict predict = [&](const std::vector<int>& text) {
      engine::Tape tape;
      std::vector<Value> leaves;
      return logits_of(bound(tape, weights, kHeads, leaves), text, 1).array();
    };
    double right = 0;
    constexpr int kTests = 200;
    for (int test = 0; test < kTests; ++test) {
      const Texts text = draw(judge.random(), 1, kDigits);
      const std::vector<int> all =
          write_on(predict, {text.ids.begin(), text.ids.begin() + kDigits + 1}, kDigits);
      right += std::equal(all.begin() + kDigits + 1, all.end(), text.targets.begin() + kDigits,
                          text.targets.end());
    }
    judge.between(100 * right / kTests, 90, 100, "percentage of strings sorted without a mistake");
  });
}
