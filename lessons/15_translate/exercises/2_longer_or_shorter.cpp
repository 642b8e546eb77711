// 15.2 longer_or_shorter: a search that writes too little
// debug, 10 minutes
//
// A beam search has found some whole sentences, each with its words (without <end>) and log P of them all,
// <end> included. This function gives each its score, and the highest wins:
//
//     score = log P / ((5 + n) / 6)^α        n: the words and <end>
//
// α is there to make up for length, but with this program a larger α makes the shortest sentences win, more
// and more. Find what is wrong.
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
    all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));  // nearer to 0 is better
    //]
  }
  return all;
}

// hint: What sign has log P, and is a score of −3 or one of −2 the better one?
// hint: log P = −2 with ((5 + n) / 6)^α = 1.5: what does the program give, and what does the formula?
// hint: all.push_back(sentence.log_probability __ std::pow((5 + n) / 6, alpha));
//
// start: Long sentences get worse scores than without α: log P is negative, and times a number above 1 it is
//   still further below 0. Compare the operation with the formula's.
//
// wrong: Now scores are positive, and the highest is that of the *least* likely sentence.
// - all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));
// + all.push_back(-sentence.log_probability / std::pow((5 + n) / 6, alpha));
// wrong: The sign is turned and the product stays: scores are positive now, and the highest is that of the *least*
//   likely sentence. Compare the operation with the formula's.
// - all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));
// + all.push_back(-sentence.log_probability * std::pow((5 + n) / 6, alpha));
// wrong: You divide P, not log P. P is positive, so that dividing by more makes long sentences worse.
// - all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));
// + all.push_back(std::exp(sentence.log_probability) / std::pow((5 + n) / 6, alpha));
// wrong: That is the mean of a word's log P, whatever α. α is there to choose how much length counts: at 0
//   not at all.
// - all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));
// + all.push_back(sentence.log_probability / n);
// wrong: <end> is a word that was chosen as well, with a probability of its own: n counts it. That was right.
// - const double n = static_cast<double>(sentence.words.size()) + 1;
// + const double n = static_cast<double>(sentence.words.size());
// wrong: Dividing by ((5 + n) / 6)·α is not raising it to the power of α: at α = 0 it divides by 0.
// - all.push_back(sentence.log_probability / std::pow((5 + n) / 6, alpha));
// + all.push_back(sentence.log_probability / ((5 + n) / 6 * alpha));

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// log P · 6^α · e^(−α log(5 + n)): the formula in another form.
double in_logs(const Found& sentence, double alpha) {
  double n = 1;
  for (std::size_t i = 0; i < sentence.words.size(); ++i) n += 1;
  return sentence.log_probability * std::exp(alpha * (std::log(6.0) - std::log(5 + n)));
}

}  // namespace

void judge(Judge& judge) {
  const std::vector<Found> two = {{{7}, std::log(0.3)}, {{7, 8, 9, 7}, std::log(0.24)}};
  judge.claim("gives the chapter's two sentences their scores", [&] {
    judge.example("P = 0.3 for two words, P = 0.24 for five, <end> counted; α = 0.6");
    judge.same(scores(two, 0.6), {-1.098, -1.050}, "the scores", 1e-3);
  });
  judge.claim("leaves log P as it is at α = 0", [&] {
    judge.example("the same two, α = 0");
    judge.same(scores(two, 0), {std::log(0.3), std::log(0.24)}, "the scores");
  });
  judge.claim("does so for any sentences and any α", [&] {
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
