// 23.2 hidden_loss: the loss counts the words that were hidden
// implement, 10 minutes
//
// logits (B, T, V) are a model's for every place of B texts. answers (B, T) has the word that is asked for at
// a hidden place, and −1 elsewhere, padding too. Write the loss of masked language modelling: at each place
// that has an answer −log softmax(logits)[answer], and of these numbers the mean over the whole batch.
//
// The result is one number. log_softmax, gather and where help; a place without an answer must count 0. There
// is at least one answer.
#include "lessons/grader/answer.hpp"

Tensor hidden_loss(const Tensor& logits, const Indices& answers) {
  const std::vector<std::int64_t> all = answers.to_vector();
  const Size rows = answers.shape()[0], places = answers.shape()[1];
  std::vector<std::int64_t> safe;  // the answers, with a 0 where there is none, so that gather can read them
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
  const Tensor hidden = where(asked, picked, scalar(0, logits.dtype()));  // 0 where nothing is asked for
  return -sum(hidden) / count;                                            // a mean over the hidden places
  //]
}

// hint: How many numbers does a batch's loss average: B · T, or fewer?
// hint: gather(log_softmax(logits, -1), 2, Indices(safe, {rows, places, 1})) is (B, T, 1): log p of each
//   answer.
// hint: −sum(where(asked, picked, scalar(0, logits.dtype()))) / ____
//
// wrong: The loss counts all places: at those without an answer it asks for word 0. What stands there was
//   never hidden.
// - return -sum(hidden) / count;
// + return -mean(picked) + 0 * count;
// wrong: The sum is right, but it is divided by all places. The fewer words are hidden, and the more
//   padding there is, the smaller this loss is.
// - return -sum(hidden) / count;
// + return -mean(hidden) + 0 * count;
// wrong: That is the sum of the hidden places' losses, not their mean.
// - return -sum(hidden) / count;
// + return -sum(hidden) + 0 * count;
// wrong: You average over each text, and then over the texts. A text with one hidden word would weigh as
//   much as one with five: average over all hidden places at once.
// - return -sum(hidden) / count;
// + std::vector<double> share;
// + for (Size b = 0; b < rows; ++b) {
// + const auto row = all.begin() + b * places;
// + const auto here = static_cast<double>(places - std::count(row, row + places, -1));
// + share.push_back(here > 0 ? 1 / here : 0);
// + }
// + const Tensor weight = tensor(share, {rows, 1}, logits.dtype());
// + return -sum(hidden * weight) / static_cast<double>(rows) + 0 * count;
// wrong: The sign is missing: log-probabilities are negative, and a loss that falls would make the answers
//   less likely.
// - return -sum(hidden) / count;
// + return sum(hidden) / count;
// wrong: The softmax runs over the places of a text, not over the words.
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
  judge.claim("is a mean over three hidden words of two texts", [&] {
    judge.example("two texts of three places and four words; two answers in the first, one in the second");
    const std::vector<std::int64_t> answers = {2, -1, 3, -1, 1, -1};
    const Tensor logits = judge.normal({2, 3, 4});
    const Tensor loss = hidden_loss(logits, Indices(answers, {2, 3}));
    judge.same(loss.shape(), Dims{}, "the loss");
    judge.same(loss.item(), by_loops(logits, answers), "the loss");
  });
  judge.claim("does so for any sizes", [&] {
    judge.each_size({{"texts", 1, 4}, {"places", 1, 6}, {"words", 2, 5}}, [&](const Sizes& n) {
      std::vector<std::int64_t> answers;
      for (Size i = 0; i < n[0] * n[1]; ++i)
        answers.push_back(i == 0 || judge.random().chance(0.3) ? judge.random().below(n[2]) : -1);
      const Tensor logits = judge.normal({n[0], n[1], n[2]});
      judge.same(hidden_loss(logits, Indices(answers, {n[0], n[1]})).item(), by_loops(logits, answers),
                 "the loss");
    });
  });
  judge.claim("lets gradients through to the logits", [&] {
    const Indices answers(std::vector<std::int64_t>{2, -1, 3, -1, 1, -1}, {2, 3});
    judge.gradients([&](const Tensor& logits) { return hidden_loss(logits, answers); },
                    {judge.normal({2, 3, 4})});
  });
}
