// 23.2 hidden_loss: The loss of hidden words
// implement, 10 minutes
//
// logits (B, T, V) are a model's logits for every position of B texts. answers (B, T) contains the answer at
// each hidden position, and −1 elsewhere, also at padding. Write the loss of masked language modelling. At
// each position that has an answer, the loss is −log softmax(logits)[answer]. Average it over all such
// positions of the batch.
//
// Return one number. log_softmax, gather and where help. A position without an answer must contribute 0.
// There is at least one answer.
#include "lessons/grader/answer.hpp"

Tensor hidden_loss(const Tensor& logits, const Indices& answers) {
  const std::vector<std::int64_t> all = answers.to_vector();
  const Size rows = answers.shape()[0], places = answers.shape()[1];
  std::vector<std::int64_t> safe;  // the answers, with 0 in place of −1, which gather cannot use
  for (const std::int64_t answer : all) safe.push_back(std::max<std::int64_t>(answer, 0));
  const Mask asked = Mask::from(rows, places, [&](Size b, Size t) {  // (B, T): true where there is an answer
    return all[static_cast<std::size_t>(b * places + t)] >= 0;
  });
  const auto count =
      static_cast<double>(std::count_if(all.begin(), all.end(), [](auto a) { return a >= 0; }));
  //[ three or four lines
  //: static_cast<void>(asked), static_cast<void>(logits), static_cast<void>(count);
  //: return not_written_yet();
  const Tensor log_p = log_softmax(logits, -1);                                           // (B, T, V)
  const Tensor picked = squeeze(gather(log_p, 2, Indices(safe, {rows, places, 1})), -1);  // (B, T)
  const Tensor hidden = where(asked, picked, scalar(0, logits.dtype()));  // 0 where there is no answer
  return -sum(hidden) / count;  // the mean over the hidden positions
  //]
}

// hint: How many numbers does the loss of a batch average: B · T, or fewer?
// hint: gather(log_softmax(logits, -1), 2, Indices(safe, {rows, places, 1})) has the shape (B, T, 1). It
//   contains log p of each answer.
// hint: −sum(where(asked, picked, scalar(0, logits.dtype()))) / ____
//
// wrong: The loss counts all positions. At a position without an answer it asks for word 0, although no word
//   was hidden there.
// - return -sum(hidden) / count;
// + return -mean(picked) + 0 * count;
// wrong: The sum is right, but you divide it by the number of all positions. So the loss is smaller when
//   fewer words are hidden, or when there is more padding.
// - return -sum(hidden) / count;
// + return -mean(hidden) + 0 * count;
// wrong: You return the sum over the hidden positions. Return their mean.
// - return -sum(hidden) / count;
// + return -sum(hidden) + 0 * count;
// wrong: You average over each text first, and then over the texts. So a text with one hidden word has the
//   same weight as a text with five. Average over all hidden positions at once.
// - return -sum(hidden) / count;
// + std::vector<double> share;
// + for (Size b = 0; b < rows; ++b) {
// + const auto row = all.begin() + b * places;
// + const auto here = static_cast<double>(places - std::count(row, row + places, -1));
// + share.push_back(here > 0 ? 1 / here : 0);
// + }
// + const Tensor weight = tensor(share, {rows, 1}, logits.dtype());
// + return -sum(hidden * weight) / static_cast<double>(rows) + 0 * count;
// wrong: The minus sign is missing. Log-probabilities are negative, so reducing this loss would make the
//   answers less likely.
// - return -sum(hidden) / count;
// + return sum(hidden) / count;
// wrong: The softmax runs over the positions of a text. It must run over the words.
// - const Tensor log_p = log_softmax(logits, -1);
// + const Tensor log_p = log_softmax(logits, 1);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

double by_loops(const Tensor& logits, const std::vector<std::int64_t>& answers) {
  const Size rows = logits.size(0), places = logits.size(1), words = logits.size(2);
  double loss = 0, count = 0;
  for (Size b = 0; b < rows; ++b)
    for (Size t = 0; t < places; ++t) {
      const std::int64_t answer = answers[static_cast<std::size_t>(b * places + t)];
      if (answer < 0) continue;
      double sum = 0;
      for (Size v = 0; v < words; ++v) sum += std::exp(logits.at({b, t, v}));
      loss += std::log(sum) - logits.at({b, t, answer});
      ++count;
    }
  return loss / count;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("computes the mean loss of three hidden words in two texts", [&] {
    judge.example("two texts of three places and four words; two answers in the first, one in the second");
    const std::vector<std::int64_t> answers = {2, -1, 3, -1, 1, -1};
    const Tensor logits = judge.normal({2, 3, 4});
    const Tensor loss = hidden_loss(logits, Indices(answers, {2, 3}));
    judge.same(loss.shape(), Dims{}, "the loss");
    judge.same(loss.item(), by_loops(logits, answers), "the loss");
  });
  judge.claim("is right for any sizes", [&] {
    judge.each_size({{"texts", 1, 4}, {"places", 1, 6}, {"words", 2, 5}}, [&](const Sizes& n) {
      std::vector<std::int64_t> answers;
      for (Size i = 0; i < n[0] * n[1]; ++i)
        answers.push_back(i == 0 || judge.random().chance(0.3) ? judge.random().below(n[2]) : -1);
      const Tensor logits = judge.normal({n[0], n[1], n[2]});
      judge.same(hidden_loss(logits, Indices(answers, {n[0], n[1]})).item(), by_loops(logits, answers),
                 "the loss");
    });
  });
  judge.claim("has the right gradients for the logits", [&] {
    const Indices answers(std::vector<std::int64_t>{2, -1, 3, -1, 1, -1}, {2, 3});
    judge.gradients([&](const Tensor& logits) { return hidden_loss(logits, answers); },
                    {judge.normal({2, 3, 4})});
  });
}
