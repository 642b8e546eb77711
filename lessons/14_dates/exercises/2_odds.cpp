// 14.2 odds: what coins and choices do
// predict, 10 minutes
//
// A date has ten characters and <end>, so eleven words go in: <start>, which is always given, and ten that
// coins decide. Predict, for ratio 0.5: how many of the ten are right words by their coins, on average; with
// what probability all ten are; and with what probability all ten are if a row tosses *one* coin for the
// whole date. Then for ratio 0, embeddings with 4 numbers each and 13 words: in how many rows of the table of
// embeddings is a gradient not 0, if the words fed were <start>, "2", "0", "2" and "6"? And how large is the
// gradient that the logits of step 1 get through the word that was chosen from them for step 2?
#include "lessons/grader/answer.hpp"

double right_words() {
  //[ of ten, at ratio 0.5
  //: return not_written_yet();
  return 10 * 0.5;  // each coin falls below 0.5 half of the time
  //]
}

double all_right() {
  //[ the probability, with a coin for each word
  //: return not_written_yet();
  return std::pow(0.5, 10);  // ten coins that know nothing of each other: 0.001
  //]
}

double all_right_with_one_coin() {
  //[ the probability, with one coin for the date
  //: return not_written_yet();
  return 0.5;  // as many right words on average, but all or none
  //]
}

double rows_with_gradient() {
  //[ of the 13, after <start> 2 0 2 6
  //: return not_written_yet();
  return 4;  // <start>, 2, 0, 6: own words are embedded like right ones, and "2" is one row, used twice
  //]
}

double gradient_through_the_choice() {
  //[ its length
  //: return not_written_yet();
  return 0;  // argmax is flat
  //]
}

// hint: On average, what does one coin add to the number of right words?
// hint: Coins that know nothing of each other: the probabilities are multiplied, 0.5 · 0.5 · … . How often?
// hint: embedding(table, ids) reads rows of the table. Which rows were read? Does it matter who chose the id?
// hint: Move a logit by 0.001. Which number comes out of argmax?
//
// wrong: <start> has no coin: ten of the eleven are decided by one.
// - return 10 * 0.5;
// + return 11 * 0.5;
// wrong: That is all of them. At ratio 0.5 half of the coins say "own".
// - return 10 * 0.5;
// + return 10;
// wrong: 0.5 is the probability of one right word. Ten of them must all be right.
// - return std::pow(0.5, 10);
// + return 0.5;
// wrong: You divided by ten. Each further word halves what is left.
// - return std::pow(0.5, 10);
// + return 0.05;
// wrong: You tossed ten times. One coin decides for all ten words together.
// - return 0.5;
// + return std::pow(0.5, 10);
// wrong: No gradient goes through the *choice* of a word. The vector of the word that was chosen is used in
//   the step, and gets one.
// - return 4;
// + return 1;
// wrong: Five words, but "2" went in twice: one row of the table, whose two gradients are added up.
// - return 4;
// + return 5;
// wrong: A row that was not read has no effect, so it has no gradient. (A softmax over words would read all.)
// - return 4;
// + return 13;
// wrong: That would be the choice treated as if it were its logit. A step of an argmax has the slope 0.
// - return 0;
// + return 1;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The mean number of right words of all 2^10 ways that ten fair coins fall, and the share of ways with ten.
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
  judge.claim("foretells how many words are right",
              [&] { judge.predicted(right_words(), of_all_ways().first, "the right words"); });
  judge.claim("foretells how often all are",
              [&] { judge.predicted(all_right(), of_all_ways().second, "the probability", 1e-4); });
  judge.claim("foretells it for one coin a date", [&] {
    double all = 0;
    for (const bool heads : {false, true}) all += heads ? 0.5 : 0;  // both ways are as likely
    judge.predicted(all_right_with_one_coin(), all, "the probability");
  });
  // <start> is word 12; then digits as words 0 … 9.
  const Tensor table = variable(judge.normal({13, 4}) + 3, "table");
  Tape tape;
  const Tensor fed = embedding(table, Indices(std::vector<std::int64_t>{12, 2, 0, 2, 6}, {5}));
  const Tensor gradient = tape.gradients(sum(fed * fed), {table})[0];
  judge.claim("foretells which embeddings learn", [&] {
    double rows = 0;
    for (Size row = 0; row < 13; ++row) rows += sum(abs(select(gradient, 0, row))).item() > 0;
    judge.predicted(rows_with_gradient(), rows, "the rows with a gradient");
  });
  judge.claim("foretells what comes through a choice", [&] {
    // Differences: the chosen word's vector, before and after each logit has moved a little.
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
