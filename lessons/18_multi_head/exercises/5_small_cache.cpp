// 18.5 small_cache: Two answers from a small cache
// design, 30 minutes, fast
//
// Write a layer that answers two questions at once, as in the lesson, and that stores few numbers per token. A
// list has eight tokens, each with a key and a digit. One more token asks for two of the keys. The layer sees
// the list only once: keep() returns the n numbers of each token that are stored. Then read() gets only the
// question and these stored numbers.
//
//     keep: list (B, T, 32) → (B, T, n)        read: question (B, 1, 32), kept (B, T, n) → (B, 1, 32)
//
// The layer is trained for 400 steps of Adam with your learning rate. Then both digits must be right, in order,
// for 95 of 100 questions, with n at most 16. A smaller n is better, and your layer with the smallest n is
// saved. You may change all the code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"

constexpr Size kWidth = 32;

//[ the layer and its learning rate
//: struct Layer : Module {
//:   Tensor keep(const Tensor& list) const { return concat({key(list), value(list)}, -1); }  // (B, T, 8 + 8)
//:   Tensor read(const Tensor& question, const Tensor& kept) const {
//:     const Tensor k = slice(kept, -1, 0, 8), v = slice(kept, -1, 8, 16);
//:     const Tensor scores = matmul(query(question), transpose(k)) / std::sqrt(8.0);  // (B, 1, T)
//:     return output(matmul(softmax(scores, -1), v));
//:   }
//:
//:   Linear query{{*this, "query"}, kWidth, 8}, key{{*this, "key"}, kWidth, 8};
//:   Linear value{{*this, "value"}, kWidth, 8}, output{{*this, "output"}, 8, kWidth};
//: };
//: constexpr double kLearningRate = 0.01;
constexpr Size kKey = 4, kValue = 8;  // one key-value head, shared by two query heads

struct Layer : Module {
  Tensor keep(const Tensor& list) const { return concat({key(list), value(list)}, -1); }
  Tensor read(const Tensor& question, const Tensor& kept) const {
    const Size batch = kept.size(0);
    const Tensor k = slice(kept, -1, 0, kKey), v = slice(kept, -1, kKey, kKey + kValue);
    const Tensor q = reshape(query(question), {batch, 2, kKey});            // one token: no axes to exchange
    const Tensor scores = matmul(q, transpose(k)) / std::sqrt(1.0 * kKey);  // (B, H, T)
    const Tensor found = matmul(softmax(scores, -1), v);    // (B, H, d_v): all heads share k and v
    return output(reshape(found, {batch, 1, 2 * kValue}));  // the heads, concatenated
  }
  Linear query{{*this, "query"}, kWidth, 2 * kKey}, key{{*this, "key"}, kWidth, kKey};
  Linear value{{*this, "value"}, kWidth, kValue}, output{{*this, "output"}, 2 * kValue, kWidth};
};
constexpr double kLearningRate = 0.01;
//]

// hint: One row of weights cannot answer two questions in order. A second head has its own queries. Does it
//   also need its own keys and values?
// hint: All heads can share one head of keys and values. So keep() can stay as it is, and query must return
//   ____ times as many numbers as now.
// hint: reshape(query(question), {batch, 2, d_k}) contains two queries. matmul with transpose(k) gives the
//   scores (B, 2, T). Concatenate the results of the two heads with reshape(found, {batch, 1, 2 * d_v}).
//
// start: One head returns one mixture of two digits, and the mixture does not show which of the two was asked
//   for first.
//
// wrong: Each of your heads stores its own keys and values, so a token needs twice as many numbers as with
//   shared ones. Both questions search the same list, so the heads can share keys and values.
// - const Tensor k = slice(kept, -1, 0, kKey), v = slice(kept, -1, kKey, kKey + kValue);
// - const Tensor q = reshape(query(question), {batch, 2, kKey});
// - const Tensor scores = matmul(q, transpose(k)) / std::sqrt(1.0 * kKey);
// - const Tensor found = matmul(softmax(scores, -1), v);
// - return output(reshape(found, {batch, 1, 2 * kValue}));
// - }
// - Linear query{{*this, "query"}, kWidth, 2 * kKey}, key{{*this, "key"}, kWidth, kKey};
// - Linear value{{*this, "value"}, kWidth, kValue}, output{{*this, "output"}, 2 * kValue, kWidth};
// + const auto part = [&](const Tensor& x, Size d) {
// +   return transpose(reshape(x, {batch, x.size(1), 2, d}), 1, 2);
// + };
// + const Tensor k = part(slice(kept, -1, 0, 2 * kKey), kKey);
// + const Tensor v = part(slice(kept, -1, 2 * kKey, 2 * (kKey + kValue)), kValue);
// + const Tensor scores = matmul(part(query(question), kKey), transpose(k)) / std::sqrt(1.0 * kKey);
// + const Tensor found = matmul(softmax(scores, -1), v);
// + return output(reshape(found, {batch, 1, 2 * kValue}));
// + }
// + Linear query{{*this, "query"}, kWidth, 2 * kKey}, key{{*this, "key"}, kWidth, 2 * kKey};
// + Linear value{{*this, "value"}, kWidth, 2 * kValue}, output{{*this, "output"}, 2 * kValue, kWidth};
// wrong: You store the whole token, 32 numbers. A head needs only a key to compare and a value to return. Both
//   can be much smaller than the token, so let keep() compute them.
// - Tensor keep(const Tensor& list) const { return concat({key(list), value(list)}, -1); }
// + Tensor keep(const Tensor& list) const { return 1.0 * list; }
// wrong: You store the lists in a table outside the layer, and keep() returns only one number that identifies a
//   list. Everything that read() needs must be in the result of keep().
// - Tensor keep(const Tensor& list) const { return concat({key(list), value(list)}, -1); }
// - Tensor read(const Tensor& question, const Tensor& kept) const {
// - const Size batch = kept.size(0);
// + static inline std::vector<Tensor> lists = {Tensor()};
// + Tensor keep(const Tensor& list) const {
// +   lists.push_back(list);
// +   return slice(list, -1, 0, 1);
// + }
// + Tensor read(const Tensor& question, const Tensor& number) const {
// +   Tensor list = zeros({number.size(0), number.size(1), kWidth});
// +   for (std::size_t i = 1; i < lists.size(); ++i)
// +     if (slice(lists[i], -1, 0, 1).to_vector() == number.to_vector()) list = lists[i];
// +   const Size batch = list.size(0);
// +   const Tensor kept = concat({key(list), value(list)}, -1);
// wrong: You add the results of the heads. Their sum does not show which part came from which head. Concatenate
//   them instead, so that W^O can use different weights for each head.
// - return output(reshape(found, {batch, 1, 2 * kValue}));
// + return output(concat({sum(found, {1}, Keep::yes), zeros({batch, 1, kValue})}, -1));
// wrong: The softmax runs over the heads, so for each token the weights of all heads sum to 1. Instead, each
//   head needs its own row of weights, and this row must sum to 1 over the tokens.
// - const Tensor found = matmul(softmax(scores, -1), v);
// + const Tensor found = matmul(softmax(scores, 1), v);
// wrong: With a learning rate of 0.0001 the layer has hardly begun to learn after 400 steps.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a learning rate of 1 the steps are far too large, so the model does not learn the task.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 1;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "nn/embedding.hpp"

namespace {

using Ids = std::vector<std::int64_t>;
constexpr Size kKeys = 16, kDigits = 8, kPairs = 8, kMost = 16;
constexpr Size kRows = 64, kSteps = 400, kTests = 500;

struct Asked {
  Indices keys, digits, first, second, answers;  // (B, 8), (B, 8), (B, 1), (B, 1), (B, 2)
};

Asked draw(kit::Random& random, Size rows) {
  Ids keys, digits, first, second, answers, all(kKeys);
  std::iota(all.begin(), all.end(), 0);
  for (Size row = 0; row < rows; ++row) {
    random.shuffle(all);
    Ids shown;
    for (Size i = 0; i < kPairs; ++i) shown.push_back(random.below(kDigits));
    const auto one = static_cast<std::size_t>(random.below(kPairs));
    const std::size_t other = (one + 1 + static_cast<std::size_t>(random.below(kPairs - 1))) % kPairs;
    keys.insert(keys.end(), all.begin(), all.begin() + kPairs);
    digits.insert(digits.end(), shown.begin(), shown.end());
    first.push_back(all[one]);
    second.push_back(all[other]);
    answers.insert(answers.end(), {shown[one], shown[other]});
  }
  return {Indices(keys, {rows, kPairs}), Indices(digits, {rows, kPairs}), Indices(first, {rows, 1}),
          Indices(second, {rows, 1}), Indices(answers, {rows, 2})};
}

/// The rest of the model: embedding tables, and a Linear for the two answers.
struct Frame : Module {
  Tensor list(const Asked& asked) const { return keys(asked.keys) + digits(asked.digits); }
  Tensor operator()(const Layer& layer, const Asked& asked) const {
    const Tensor question = first(asked.first) + second(asked.second);
    return reshape(answer(layer.read(question, layer.keep(list(asked)))), {question.size(0), 2, kDigits});
  }

  Embedding keys{{*this, "keys"}, kKeys, kWidth}, digits{{*this, "digits"}, kDigits, kWidth};
  Embedding first{{*this, "first"}, kKeys, kWidth}, second{{*this, "second"}, kKeys, kWidth};
  Linear answer{{*this, "answer"}, kWidth, 2 * kDigits};
};

void train(const Frame& frame, const Layer& layer, kit::Random& random) {
  std::vector<Tensor> weights = frame.parameters();
  for (const Tensor& weight : layer.parameters()) weights.push_back(weight);
  grader::train(weights, kLearningRate, kSteps, [&] {
    const Asked asked = draw(random, kRows);
    return cross_entropy(frame(layer, asked), asked.answers);
  });
}

/// Returns the percentage of questions with both digits right.
double both_right(const Tensor& logits, const Asked& asked) {
  const Ids said = argmax(logits).to_vector(), wanted = asked.answers.to_vector();
  double right = 0;
  for (std::size_t i = 0; i < wanted.size(); i += 2)
    right += said[i] == wanted[i] && said[i + 1] == wanted[i + 1];
  return 100 * right / kTests;
}

}  // namespace

void judge(Judge& judge) {
  Frame frame;
  Layer layer;
  frame.initialise(judge.random().next());
  layer.initialise(judge.random().next());
  double kept = 0;
  judge.claim("stores at most 16 numbers per token", [&] {
    const Tensor of_three = layer.keep(random_normal({2, 3, kWidth}, judge.random().next()));
    judge.that(of_three.rank() == 3 && of_three.size(0) == 2 && of_three.size(1) == 3,
               "keep() must return the shape (B, T, n) for a list (B, T, 32): n numbers per token");
    kept = static_cast<double>(of_three.size(2));
    judge.between(kept, 1, kMost, "the numbers stored per token");
  });
  judge.claim("stores numbers of a token that do not depend on later tokens", [&] {
    const Tensor list = random_normal({2, 5, kWidth}, judge.random().next());
    judge.same(
        slice(layer.keep(list), 1, 0, 3), layer.keep(slice(list, 1, 0, 3)),
        "the stored numbers of the first three of five tokens, compared with those of the three tokens alone",
        1e-4);
  });
  judge.claim("returns (B, 1, 32) from read()", [&] {
    const Asked asked = draw(judge.random(), 3);
    judge.same(layer.read(frame.first(asked.first), layer.keep(frame.list(asked))).shape(), {3, 1, kWidth},
               "the shape of read()'s result");
  });
  judge.claim("uses the stored numbers that read() receives, not the last list that keep() received", [&] {
    const Asked asked = draw(judge.random(), 3), other = draw(judge.random(), 3);
    const Tensor question = frame.first(asked.first), stays = layer.keep(frame.list(asked));
    const Tensor read = layer.read(question, stays);
    layer.keep(frame.list(other));
    judge.same(layer.read(question, stays), read, "the result of read() after keep() received another list",
               1e-4);
  });
  judge.claim("stores everything that read() needs in the result of keep()", [&] {
    const Asked asked = draw(judge.random(), 3);
    const Tensor question = frame.first(asked.first), list = frame.list(asked);
    const Tensor read = judge.elsewhere([&] { return layer.read(question, layer.keep(list)); });
    const Tensor stays = judge.elsewhere([&] { return layer.keep(list); }).to(list.dtype());
    judge.same(layer.read(question, stays), read.to(list.dtype()),
               "the result of read() in a process where keep() never received this list", 1e-4);
  });
  judge.claim("answers both questions in at least 95 % of cases", [&] {
    train(frame, layer, judge.random());
    const Asked asked = draw(judge.random(), kTests);
    const Tensor logits = frame(layer, asked);
    const double right = both_right(logits, asked), loss = cross_entropy(logits, asked.answers).item();
    const std::string numbers = kept == 1 ? "1 number" : fmt::format("{} numbers", kept);
    judge.that(
        right >= 95,
        fmt::format("with {} per token, {:.1f} % of the questions get both digits right, but at least 95 % "
                    "are required; the mean loss of a digit is {:.3f}",
                    numbers, right, loss),
        {right, loss});
    fmt::print("With {} per token, {:.1f} % of the questions get both digits right; the loss is {:.3f}.\n",
               numbers, right, loss);
    judge.score(kept, "numbers stored per token");
  });
}
