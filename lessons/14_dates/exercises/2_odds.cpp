// 14.2 odds: Coins, choices and their gradients
// predict, 10 minutes
//
// A date has ten characters and <end>, so the decoder gets eleven input tokens. The first is always <start>.
// Coins decide about the other ten. Predict five numbers.
//
// The first three are for ratio 0.5:
//
//     the mean number of these ten tokens for which the coin chooses the target token
//     the probability that all ten coins choose the target token
//     the same probability if each row tosses *one* coin for the whole date
//
// The other two are for ratio 0, an embedding table with 13 rows (tokens) of 4 numbers, and the input tokens
// <start>, "2", "0", "2" and "6":
//
//     the number of rows of the table whose gradient is not 0
//     the norm of the gradient that the logits of step 1 get through the token chosen from them for step 2
#include "lessons/grader/answer.hpp"

double right_words() {
  //[ the mean number, of ten
  //: return not_written_yet();
  return 10 * 0.5;  // each coin falls below 0.5 half of the time
  //]
}

double all_right() {
  //[ the probability, with a coin for each word
  //: return not_written_yet();
  return std::pow(0.5, 10);  // ten independent coins: 0.001
  //]
}

double all_right_with_one_coin() {
  //[ the probability, with one coin for the date
  //: return not_written_yet();
  return 0.5;  // the mean number is still five, but it is all ten or none
  //]
}

double rows_with_gradient() {
  //[ of the 13, after <start> 2 0 2 6
  //: return not_written_yet();
  return 4;  // <start>, 2, 0, 6: own tokens are embedded like target tokens, and "2" is one row, used twice
  //]
}

double gradient_through_the_choice() {
  //[ its norm
  //: return not_written_yet();
  return 0;  // the derivative of argmax is 0
  //]
}

// hint: How much does one coin add to the number of target tokens, on average?
// hint: The coins are independent, so multiply the probabilities: 0.5 · 0.5 · … How many factors are there?
// hint: embedding(table, ids) selects rows of the table. Which rows does it select? Does the way in which an id
//   was chosen matter?
// hint: Change one logit by 0.001. Which token does argmax return?
//
// wrong: <start> has no coin. Coins decide about ten of the eleven tokens.
// - return 10 * 0.5;
// + return 11 * 0.5;
// wrong: Ten is the number of all tokens. At ratio 0.5, half of the coins choose the decoder's own token.
// - return 10 * 0.5;
// + return 10;
// wrong: 0.5 is the probability for a single token. All ten tokens must be target tokens.
// - return std::pow(0.5, 10);
// + return 0.5;
// wrong: You divided by ten. But each further token halves the probability.
// - return std::pow(0.5, 10);
// + return 0.05;
// wrong: You tossed ten coins. One coin decides about all ten tokens together.
// - return 0.5;
// + return std::pow(0.5, 10);
// wrong: No gradient flows through the *choice* of a token. But the embedding of the chosen token is used in
//   the step, so it gets a gradient.
// - return 4;
// + return 1;
// wrong: There are five tokens, but "2" is fed twice. It is one row of the table, whose two gradients are added
//   up.
// - return 4;
// + return 5;
// wrong: A row that was not selected has no effect on the loss, so it has no gradient. (A softmax over all
//   tokens would use every row.)
// - return 4;
// + return 13;
// wrong: 1 would be the gradient if the chosen token were equal to its logit. But argmax is a step function,
//   and its slope is 0.
// - return 0;
// + return 1;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Goes through all 2^10 outcomes of ten fair coins. Returns the mean number of target tokens and the fraction
/// of outcomes with ten.
std::pair<double, double> of_all_ways() {
  double sum = 0, ten = 0;
  for (int way = 0; way < 1024; ++way) {
    int right = 0;
    for (int coin = 0; coin < 10; ++coin) right += way >> coin & 1;
    sum += right;
    ten += right == 10;
  }
  return {sum / 1024, ten / 1024};
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("predicts the mean number of target tokens", [&] {
    judge.predicted(right_words(), of_all_ways().first, "the mean number of target tokens");
  });
  judge.claim("predicts the probability of ten target tokens",
              [&] { judge.predicted(all_right(), of_all_ways().second, "the probability", 1e-4); });
  judge.claim("predicts this probability for one coin per date", [&] {
    double all = 0;
    for (const bool heads : {false, true}) all += heads ? 0.5 : 0;  // both outcomes have the same probability
    judge.predicted(all_right_with_one_coin(), all, "the probability");
  });
  // <start> is token 12. The digits are the tokens 0 … 9.
  const Tensor table = variable(judge.normal({13, 4}) + 3, "table");
  Tape tape;
  const Tensor fed = embedding(table, Indices(std::vector<std::int64_t>{12, 2, 0, 2, 6}, {5}));
  const Tensor gradient = tape.gradients(sum(fed * fed), {table})[0];
  judge.claim("predicts the number of embeddings with a gradient", [&] {
    double rows = 0;
    for (Size row = 0; row < 13; ++row) rows += sum(abs(select(gradient, 0, row))).item() > 0;
    judge.predicted(rows_with_gradient(), rows, "the number of rows with a gradient");
  });
  judge.claim("predicts the gradient through a choice", [&] {
    // Differences: the chosen token before and after a small change of each logit.
    const std::vector<double> logits = {0.3, -1, 2, 0.5};
    const auto chosen = [](const std::vector<double>& x) {
      return std::max_element(x.begin(), x.end()) - x.begin();
    };
    double through = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      std::vector<double> moved = logits;
      moved[i] += 1e-3;
      through += std::abs(static_cast<double>(chosen(moved) - chosen(logits))) / 1e-3;
    }
    judge.predicted(gradient_through_the_choice(), through, "the gradient");
  });
}
