// 23.3 what_is_asked: Numbers of pretraining and fine-tuning
// predict, 10 minutes
//
// Answer five questions.
//
// 1. A text of 1,000 words is hidden as in this lesson: 25 % of the words are chosen, and of these 80 % become
//    [mask], 10 % another word, and 10 % stay. How many [mask] does it contain on average?
// 2. How many of its words does the loss count on average?
// 3. A sentence of three words has the states (1, 0), (3, 2) and (2, 4). Two padding positions with states 0
//    follow. What is the first number of the sentence's mean over time?
// 4. The last layer of a classifier for two classes starts at 0. What is its first loss?
// 5. The classifier's encoder has 86,000 weights and its last layer has 130. How many weights does fine-tuning
//    train?
#include "lessons/grader/answer.hpp"

double masks_in_the_text() {
  //[ the average number of [mask] among 1,000 words
  //: return not_written_yet();
  return 200;  // 80 % of the 250 that are chosen
  //]
}

double words_that_count() {
  //[ the average number of words with an answer among 1,000
  //: return not_written_yet();
  return 250;  // all that are chosen, whatever became of them
  //]
}

double first_number_of_the_mean() {
  //[ the mean of (1, 0), (3, 2), (2, 4), with two padding positions
  //: return not_written_yet();
  return 2;  // (1 + 3 + 2) / 3: padding is no word
  //]
}

double first_loss() {
  //[ the loss for two classes with equal logits; you may use std::log
  //: return not_written_yet();
  return std::log(2.0);  // −log of a half, whichever is right
  //]
}

double weights_that_learn() {
  //[ the weights that fine-tuning of the classifier trains
  //: return not_written_yet();
  return 86130;  // all of it: encoder and layer
  //]
}

// hint: First compute how many words are chosen. Then how many of these become [mask]?
// hint: Which of the chosen words have an answer: the masked ones, or all of them?
// hint: In lesson 07, which weight does padding have in an average? And by which number is the sum divided?
// hint: Two equal logits give each class a probability of ____. The loss is −log of this probability.
//
// wrong: You counted all chosen words. Only 80 % of these become [mask].
// - return 200;  // 80 % of the 250 that are chosen
// + return 250;
// wrong: You took 80 % of all words. Such a text would have little context left. Only 80 % of the chosen
//   words become [mask].
// - return 200;  // 80 % of the 250 that are chosen
// + return 800;
// wrong: You counted the words that became [mask]. The replaced words and the unchanged words among the
//   chosen ones have an answer too.
// - return 250;  // all that are chosen, whatever became of them
// + return 200;
// wrong: You left out the chosen words that stay. They have an answer too, so that the model learns to
//   predict at positions without [mask].
// - return 250;  // all that are chosen, whatever became of them
// + return 225;
// wrong: You counted all words. Such a loss would be mostly about copying the input. Only chosen words have
//   an answer.
// - return 250;  // all that are chosen, whatever became of them
// + return 1000;
// wrong: You divided by five. Then padding pulls the mean towards 0, and the mean of a sentence depends on
//   the lengths of the other sentences in its batch.
// - return 2;  // (1 + 3 + 2) / 3: padding is no word
// + return 1.2;
// wrong: You computed the sum. The mean is the sum divided by the number of words.
// - return 2;  // (1 + 3 + 2) / 3: padding is no word
// + return 6;
// wrong: You returned the probability of the right class. The loss is −log of this probability.
// - return std::log(2.0);  // −log of a half, whichever is right
// + return 0.5;
// wrong: A loss of 0 means that the right class has a probability of 1. With equal logits, each class has the
//   same probability.
// - return std::log(2.0);  // −log of a half, whichever is right
// + return 0;
// wrong: You counted the new layer alone. Fine-tuning trains the encoder as well.
// - return 86130;  // all of it: encoder and layer
// + return 130;
// wrong: You counted the encoder alone. Fine-tuning also trains the new layer, which starts untrained.
// - return 86130;  // all of it: encoder and layer
// + return 86000;

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {
  const double chosen = 1000 * 0.25;
  judge.claim("knows how many words become [mask]", [&] {
    judge.predicted(masks_in_the_text(), chosen * 0.8, "the [mask] among 1,000 words", 1e-6);
  });
  judge.claim("knows how many words the loss counts", [&] {
    judge.predicted(words_that_count(), chosen * (0.8 + 0.1 + 0.1), "the words with an answer", 1e-6);
  });
  judge.claim("averages over the words, without padding", [&] {
    const Tensor states = tensor({{1, 0}, {3, 2}, {2, 4}}, DType::f64);
    judge.predicted(first_number_of_the_mean(), mean(states, {0}).at({0}), "the first number of the mean");
  });
  judge.claim("knows the first loss of a classifier whose last layer is 0", [&] {
    const double even = cross_entropy(zeros({1, 2}, DType::f64), Indices{1}).item();
    judge.predicted(first_loss(), even, "the first loss");
  });
  judge.claim("knows how many weights fine-tuning trains", [&] {
    judge.predicted(weights_that_learn(), 86000 + 64 * 2 + 2, "the trained weights", 1e-6);
  });
}
