// 15.2 longer_or_shorter: A search that prefers short sentences
// debug, 10 minutes
//
// A beam search has found some complete sentences. For each, it returns the words without <end>, and log P of
// the whole sentence, including <end>. The function below computes a score for each sentence, and the sentence
// with the highest score is chosen:
//
//     score = log P / ((5 + n) / 6)^α        n: the number of words, including <end>
//
// A larger α should favour longer sentences. But with this program, a larger α favours shorter sentences. Find
// the mistake.
#include "lessons/grader/answer.hpp"

struct Found {
  std::vector<int> words;  // without <end>
  double log_probability = 0;
};

std::vector<double> scores(const std::vector<Found>& found, double alpha) {
  std::vector<double> all;
  for (const Found& sentence : found) {
    //[ the score of one sentence
    //: const double n = static_cast<double>(sentence.words.size()) + 1;
    //: all.push_back(sentence.log_probability * std::pow((5 + n) / 6, alpha));
    const double n = static_cast<double>(sentence.words.size()) + 1;         // <end> counts
    all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));  // closer to 0 is better
    //]
  }
  return all;
}

// hint: Is log P positive or negative? Which score is better, −3 or −2?
// hint: Suppose log P = −2 and ((5 + n) / 6)^α = 1.5. What does the program return, and what does the formula
//   give?
// hint: all.push_back(sentence.log_probability __ std::pow((5 + n) / 6, alpha));
//
// start: Long sentences get lower scores than without α. log P is negative, and multiplying it by a number
//   above 1 moves it further below 0. Compare this operation with the formula.
//
// wrong: Now the scores are positive, and the *least* probable sentence gets the highest score.
// - all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));
// + all.push_back(-sentence.log_probability / std::pow((5 + n) / 6, alpha));
// wrong: You changed the sign and kept the product. The scores are positive now, and the *least* probable
//   sentence gets the highest score. Compare the operation with the formula.
// - all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));
// + all.push_back(-sentence.log_probability * std::pow((5 + n) / 6, alpha));
// wrong: You divide P, not log P. P is positive, so a larger divisor gives long sentences a lower score.
// - all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));
// + all.push_back(std::exp(sentence.log_probability) / std::pow((5 + n) / 6, alpha));
// wrong: You compute the mean of log P per word, for every α. But α must control the effect of the length, from
//   no effect at α = 0.
// - all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));
// + all.push_back(sentence.log_probability / n);
// wrong: n must include <end>. The search chooses <end> like any other word, with its own probability. The line
//   for n was right.
// - const double n = static_cast<double>(sentence.words.size()) + 1;
// + const double n = static_cast<double>(sentence.words.size());
// wrong: You multiply (5 + n) / 6 by α. The formula raises it to the power of α. Your version divides by 0 at
//   α = 0.
// - all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));
// + all.push_back(sentence.log_probability / ((5 + n) / 6 * alpha));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes log P · 6^α · e^(−α log(5 + n)), the formula in another form.
double in_logs(const Found& sentence, double alpha) {
  double n = 1;
  for (std::size_t i = 0; i < sentence.words.size(); ++i) n += 1;
  return sentence.log_probability * std::exp(alpha * (std::log(6.0) - std::log(5 + n)));
}

}  // namespace

void judge(Judge& judge) {
  const std::vector<Found> two = {{{7}, std::log(0.3)}, {{7, 8, 9, 7}, std::log(0.24)}};
  judge.claim("computes the scores of the chapter's two sentences", [&] {
    judge.example("P = 0.3 for two words and P = 0.24 for five words, including <end>; α = 0.6");
    judge.same(scores(two, 0.6), {-1.098, -1.050}, "the scores", 1e-3);
  });
  judge.claim("returns log P at α = 0", [&] {
    judge.example("the same two sentences, α = 0");
    judge.same(scores(two, 0), {std::log(0.3), std::log(0.24)}, "the scores");
  });
  judge.claim("computes the scores for other sentences and other α", [&] {
    judge.each_size({{"sentences", 1, 4}, {"words", 0, 12}}, [&](const Sizes& n) {
      std::vector<Found> found;
      std::vector<double> wanted;
      const double alpha = 0.01 * static_cast<double>(judge.random().below(200));
      for (Size i = 0; i < n[0]; ++i) {
        found.push_back({std::vector<int>(static_cast<std::size_t>(judge.random().between(0, n[1])), 5),
                         -0.01 * static_cast<double>(1 + judge.random().below(900))});
        wanted.push_back(in_logs(found.back(), alpha));
      }
      judge.same(scores(found, alpha), wanted, "the scores");
    });
  });
}
