// 18.5 small_cache: two answers, with little kept of each token
// design, 30 minutes, fast
//
// Build a layer that answers two questions at once, as in the lesson, and keeps little. A list has eight
// tokens, each a key and a digit, and one token asks for two of the keys. The layer sees the list once:
// keep() says what stays of each token, n numbers. Then read() has only the question and what was kept. After
// 400 steps of Adam with your learning rate 95 of 100 questions must get both digits, in order, with n at
// most 16. Fewer are better: your best layer is kept.
//
//     keep: list (B, T, 32) → (B, T, n)        read: question (B, 1, 32), kept (B, T, n) → (B, 1, 32)
//
// Change whatever you like in the hole.
#include "lessons/grader/answer.hpp"

constexpr Size kWidth = 32;

//[ the layer, and how fast it learns
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
constexpr Size kKey = 4, kValue = 8;  // of one head, which serves two heads of queries

struct Layer : Module {
  Tensor keep(const Tensor& list) const { return concat({key(list), value(list)}, -1); }
  Tensor read(const Tensor& question, const Tensor& kept) const {
    const Size batch = kept.size(0);
    const Tensor k = slice(kept, -1, 0, kKey), v = slice(kept, -1, kKey, kKey + kValue);
    const Tensor q = reshape(query(question), {batch, 2, kKey});            // one token: no axis to exchange
    const Tensor scores = matmul(q, transpose(k)) / std::sqrt(1.0 * kKey);  // (B, H, T)
    const Tensor found = matmul(softmax(scores, -1), v);    // (B, H, d_v): all heads share k and v
    return output(reshape(found, {batch, 1, 2 * kValue}));  // side by side
  }
  Linear query{{*this, "query"}, kWidth, 2 * kKey}, key{{*this, "key"}, kWidth, kKey};
  Linear value{{*this, "value"}, kWidth, kValue}, output{{*this, "output"}, 2 * kValue, kWidth};
};
constexpr double kLearningRate = 0.01;
//]

// hint: One row of weights cannot answer two questions in order. What does a second head need, and what need
//   it not have of its own?
// hint: All heads can share one head of keys and values. So keep() may stay, and query makes ____ times as
//   many numbers.
// hint: reshape(query(question), {batch, 2, d_k}) are two queries; matmul with the one transpose(k) gives
//   scores (B, 2, T). Put what they find side by side: reshape(found, {batch, 1, 2 * d_v}).
//
// start: One head reads one mixture of two digits, and nothing in it says which of them was asked for first.
//
// wrong: Each head keeps keys and values of its own, so a token costs twice as much. The two questions search
//   the same list: let them share.
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
// wrong: The whole token is kept, 32 numbers. Of a token a head needs a key to compare, and a value to bring
//   home, both much smaller: let keep() make them.
// - Tensor keep(const Tensor& list) const { return concat({key(list), value(list)}, -1); }
// + Tensor keep(const Tensor& list) const { return 1.0 * list; }
// wrong: The lists stay in a table beside the layer, and keep() returns one number to find them by. Whatever
//   read() needs must be in what keep() returned.
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
// wrong: What the heads found is added up, and one sum does not say which part is whose. Put it side by side,
//   so that W^O can treat each head's part in its own way.
// - return output(reshape(found, {batch, 1, 2 * kValue}));
// + return output(concat({sum(found, {1}, Keep::yes), zeros({batch, 1, kValue})}, -1));
// wrong: The softmax runs over the heads: for each token they share out a weight of 1 between them. Each head
//   needs a row of weights over the tokens.
// - const Tensor found = matmul(softmax(scores, -1), v);
// + const Tensor found = matmul(softmax(scores, 1), v);
// wrong: With a rate of 0.0001 the layer has hardly begun to learn after 400 steps.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.0001;
// wrong: With a rate of 1 each step jumps far past where the gradient points to.
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

/// What stands around the layer: tables of embeddings, and a Linear for the two answers.
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

/// Pairs of which both are right, in per cent.
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
  judge.claim("keeps to the budget", [&] {
    const Tensor of_three = layer.keep(random_normal({2, 3, kWidth}, judge.random().next()));
    judge.that(of_three.rank() == 3 && of_three.size(0) == 2 && of_three.size(1) == 3,
               "keep() makes (B, T, n) of (B, T, 32): so many numbers for each token");
    kept = static_cast<double>(of_three.size(2));
    judge.between(kept, 1, kMost, "the numbers kept of a token");
  });
  judge.claim("keeps the same of a token whatever follows", [&] {
    const Tensor list = random_normal({2, 5, kWidth}, judge.random().next());
    judge.same(slice(layer.keep(list), 1, 0, 3), layer.keep(slice(list, 1, 0, 3)),
               "what is kept of the first three of five tokens, beside what is kept of these three", 1e-4);
  });
  judge.claim("reads (B, 1, 32)", [&] {
    const Asked asked = draw(judge.random(), 3);
    judge.same(layer.read(frame.first(asked.first), layer.keep(frame.list(asked))).shape(), {3, 1, kWidth},
               "the shape of what is read");
  });
  judge.claim("reads what it is given, whatever list it has seen last", [&] {
    const Asked asked = draw(judge.random(), 3), other = draw(judge.random(), 3);
    const Tensor question = frame.first(asked.first), stays = layer.keep(frame.list(asked));
    const Tensor read = layer.read(question, stays);
    layer.keep(frame.list(other));
    judge.same(layer.read(question, stays), read, "what is read, after keep() was given another list", 1e-4);
  });
  judge.claim("keeps all that it needs in what keep() returns", [&] {
    const Asked asked = draw(judge.random(), 3);
    const Tensor question = frame.first(asked.first), list = frame.list(asked);
    const Tensor read = judge.elsewhere([&] { return layer.read(question, layer.keep(list)); });
    const Tensor stays = judge.elsewhere([&] { return layer.keep(list); }).to(list.dtype());
    judge.same(layer.read(question, stays), read.to(list.dtype()),
               "what is read where keep() was never given this list", 1e-4);
  });
  judge.claim("answers two questions at once", [&] {
    train(frame, layer, judge.random());
    const Asked asked = draw(judge.random(), kTests);
    const Tensor logits = frame(layer, asked);
    const double right = both_right(logits, asked), loss = cross_entropy(logits, asked.answers).item();
    const std::string numbers = kept == 1 ? "1 number" : fmt::format("{} numbers", kept);
    judge.that(right >= 95,
               fmt::format("with {} a token {:.1f} % of the pairs are right, of which 95 % are "
                           "wanted; the loss of an answer is {:.3f}",
                           numbers, right, loss),
               {right, loss});
    fmt::print("With {} a token {:.1f} % of the pairs are right; the loss is {:.3f}.\n", numbers, right,
               loss);
    judge.score(kept, "numbers kept of a token");
  });
}
