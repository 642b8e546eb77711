// 28.4 few_reads: Three receipts among 1,024
// design, 30 minutes, limit 60 s, fast
//
// Build a model that computes the average of your three receipts in a pile. You choose the normaliser
// (softmax_weights, entmax15_weights or sparsemax_weights), the width of the queries and keys, their initial standard
// deviation, and the learning rate.
//
// The judge trains the model with Adam on 600 batches of 32 piles with 64 receipts each. Then it tests the model on
// piles of 1,024 receipts, with two targets:
//
// 1. 9 of 10 answers are right: three times the answer rounds to the sum of your amounts;
// 2. on average, at most 40 receipts per pile have a weight that is not 0.
//
// Fewer parameters are better. You may use at most 320. Your best model is kept, and the result to beat is 192.
//
//     asking (B, 1) and names (B, n) are customers 0 … 15, amounts (B, n, 1) are 0 … 9; average (B, 1, 1)
//
// You may change all the code between the lines with ↓ and ↑.
#include "lessons/grader/answer.hpp"
#include "nn/embedding.hpp"

constexpr Size kCustomers = 16;

//[ the normaliser, the sizes, how it begins, and how fast it learns
//: const Normaliser kNormalise = softmax_weights;
//: constexpr Size kWidth = 8;
//: constexpr double kLearningRate = 0.01;
//: constexpr double kDeviation = 1;
const Normaliser kNormalise = sparsemax_weights;
constexpr Size kWidth = 6;
constexpr double kLearningRate = 0.02;
constexpr double kDeviation = 0.05;  // nearly equal weights: at first every receipt gets a gradient
//]

struct ReceiptModel : Module {
  /// Returns the predicted average (B, 1, 1) and the weights (B, 1, n).
  AttentionOutput operator()(const Indices& asking, const Indices& names, const Tensor& amounts) const {
    return attention(query(asking), key(names), amounts);
  }

  Embedding query{{*this, "query"}, kCustomers, kWidth, {}, normal(kDeviation)};
  Embedding key{{*this, "key"}, kCustomers, kWidth, {}, normal(kDeviation)};
  Attention attention{{*this, "attention"}, dot(), {.normalise = kNormalise}};
};

// hint: Which of the three normalisers gives weight to few receipts, however many there are?
// hint: With exact zeros, the initial scores matter: which receipts have weight before the model has learned
//   anything? Look at kDeviation.
// hint: Use sparsemax_weights with a deviation of 0.05. Then make kWidth smaller: how few numbers per vector still
//   let q · k distinguish the customers?

// start: Softmax gives all 1,024 receipts some weight. Which normaliser has exact zeros?

// wrong: With a deviation of 1, most receipts have the weight 0 before training, and such a receipt gets no gradient.
// - constexpr double kDeviation = 0.05;
// + constexpr double kDeviation = 1;
// wrong: Before training, few keys are above the threshold: with a deviation of 1, most receipts have the weight 0
//   and get no gradient.
// - const Normaliser kNormalise = sparsemax_weights;
// - constexpr Size kWidth = 6;
// - constexpr double kLearningRate = 0.02;
// - constexpr double kDeviation = 0.05;
// + const Normaliser kNormalise = sparsemax_weights;
// + constexpr Size kWidth = 8;
// + constexpr double kLearningRate = 0.01;
// + constexpr double kDeviation = 1;
// wrong: entmax-1.5 has exact zeros, but your receipts have all the weight only if their scores are higher by a gap
//   of 1.155. With sparsemax, a gap of a third is enough. So here some receipts of other customers still have weight.
// - const Normaliser kNormalise = sparsemax_weights;
// - constexpr Size kWidth = 6;
// - constexpr double kLearningRate = 0.02;
// + const Normaliser kNormalise = entmax15_weights;
// + constexpr Size kWidth = 8;
// + constexpr double kLearningRate = 0.01;
// wrong: Sixteen customers do not need sixteen numbers each.
// - constexpr Size kWidth = 6;
// + constexpr Size kWidth = 16;
// wrong: With a learning rate of 0.0001, the vectors have hardly changed after 600 steps, and all receipts have
//   weight.
// - constexpr double kLearningRate = 0.02;
// + constexpr double kLearningRate = 0.0001;
// wrong: With one number per customer, all keys are on a line, and for every query q · k is largest at an end of it.
// - constexpr Size kWidth = 6;
// + constexpr Size kWidth = 1;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace {

constexpr Size kYours = 3;

struct Piles {
  Indices asking, names;    // (B, 1), (B, n)
  Tensor amounts, average;  // (B, n, 1), (B, 1, 1)
};

/// Your receipts are the first three. The model has no positions, so this gives nothing away.
Piles draw(kit::Random& random, Size piles, Size receipts) {
  std::vector<std::int64_t> asking, names;
  std::vector<double> amounts, average;
  for (Size row = 0; row < piles; ++row) {
    asking.push_back(random.below(kCustomers));
    double total = 0;
    for (Size j = 0; j < receipts; ++j) {
      names.push_back(j < kYours ? asking.back()
                                 : (asking.back() + random.between(1, kCustomers - 1)) % kCustomers);
      amounts.push_back(static_cast<double>(random.below(10)));
      total += j < kYours ? amounts.back() : 0;
    }
    average.push_back(total / kYours);
  }
  return {Indices(asking, {piles, 1}), Indices(names, {piles, receipts}),
          tensor(amounts, {piles, receipts, 1}), tensor(average, {piles, 1, 1})};
}

}  // namespace

void judge(Judge& judge) {
  ReceiptModel model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("stays within the budget of parameters", [&] { judge.between(weights, 1, 320, "parameters"); });
  grader::train(model.parameters(), kLearningRate, 600, [&] {
    const Piles piles = draw(judge.random(), 32, 64);
    const Tensor off = model(piles.asking, piles.names, piles.amounts).context - piles.average;
    return mean(off * off);
  });
  const Piles test = draw(judge.random(), 200, 1024);
  const AttentionOutput read = model(test.asking, test.names, test.amounts);
  double reads = 0, right = 0;
  for (const double weight : read.weights.to_vector()) reads += weight > 0 ? 1.0 / 200 : 0;
  for (const double off : abs(read.context - test.average).to_vector()) right += kYours * off < 0.5 ? 0.5 : 0;
  judge.claim("gives weight to few receipts", [&] {
    judge.that(kNormalise(tensor({{0, 30}}, DType::f64), {}).at({0, 0}) == 0,
               "all 1,024 receipts have weight, and at most 40 may: even a score 30 below the largest "
               "keeps a weight");
    judge.that(
        reads <= 40,
        fmt::format("{:.1f} of 1,024 receipts have weight, and at most 40 may; {:.1f} % of the answers are "
                    "right",
                    reads, right),
        {reads, right});
  });
  judge.claim("answers among 1,024", [&] {
    judge.that(
        right >= 90,
        fmt::format("{} parameters and {:.1f} receipts per pile give {:.1f} % right answers; the target is "
                    "90 %",
                    weights, reads, right),
        {reads, right});
    fmt::print("{} parameters and {:.1f} receipts per pile give {:.1f} % right answers.\n", weights, reads,
               right);
    judge.score(weights, "parameters");
  });
}
