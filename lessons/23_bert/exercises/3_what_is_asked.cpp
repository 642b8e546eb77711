// 23.3 what_is_asked: figures of pretraining and fine-tuning, before you see them
// predict, 10 minutes
//
// Five questions. A text of 1,000 words goes through this lesson's hiding (25 % chosen; of these 80, 10 and
// 10 %): how many [mask] stand in it on average, and how many words does the loss count? A sentence of three
// words has the states (1, 0), (3, 2) and (2, 4), and two places of padding behind it, whose states are 0:
// what is the first number of its mean over time? A classifier for two classes whose last layer starts at 0:
// its first loss? Its encoder has 86,000 weights and its layer 130: how many does fine-tuning train?
#include "lessons/grader/answer.hpp"

double masks_in_the_text() {
  //[ [mask] among 1,000 words, on average
  //: return not_written_yet();
  return 200;  // 80 % of the 250 that are chosen
  //]
}

double words_that_count() {
  //[ words with an answer among 1,000, on average
  //: return not_written_yet();
  return 250;  // all that are chosen, whatever became of them
  //]
}

double first_number_of_the_mean() {
  //[ of (1, 0), (3, 2), (2, 4) and two places of padding
  //: return not_written_yet();
  return 2;  // (1 + 3 + 2) / 3: padding is no word
  //]
}

double first_loss() {
  //[ of two classes with equal logits; std::log is welcome
  //: return not_written_yet();
  return std::log(2.0);  // −log of a half, whichever is right
  //]
}

double weights_that_learn() {
  //[ of the classifier, when it is fine-tuned
  //: return not_written_yet();
  return 86130;  // all of it: encoder and layer
  //]
}

// hint: First how many are chosen? Then how many of these become [mask]?
// hint: Which of the chosen words are asked for: the masked ones, or all of them?
// hint: Lesson 07: what does padding count in an average? And by how many is the sum divided?
// hint: Two equal logits give each class a probability of ____; the loss is −log of it.
//
// wrong: That is how many are chosen. Not all of these become [mask].
// - return 200;  // 80 % of the 250 that are chosen
// + return 250;
// wrong: 80 % of all words would leave a text that says nothing. It is 80 % of those that are chosen.
// - return 200;  // 80 % of the 250 that are chosen
// + return 800;
// wrong: You counted the words that became [mask]. Those that were exchanged and those that stayed are
//   asked for as well.
// - return 250;  // all that are chosen, whatever became of them
// + return 200;
// wrong: You left out the words that stay. They are asked for too, so that the model has an answer at
//   words without a [mask].
// - return 250;  // all that are chosen, whatever became of them
// + return 225;
// wrong: A loss over all words would be nearly all copying. Only chosen words have an answer.
// - return 250;  // all that are chosen, whatever became of them
// + return 1000;
// wrong: You divided by five, so padding pulls the mean towards 0, and a sentence means less the longer
//   its neighbours in the batch are.
// - return 2;  // (1 + 3 + 2) / 3: padding is no word
// + return 1.2;
// wrong: That is the sum. A mean divides by the number of words.
// - return 2;  // (1 + 3 + 2) / 3: padding is no word
// + return 6;
// wrong: That is the probability of the right class. The loss is −log of it.
// - return std::log(2.0);  // −log of a half, whichever is right
// + return 0.5;
// wrong: A loss of 0 would be a classifier that is sure and right. Equal logits are neither.
// - return std::log(2.0);  // −log of a half, whichever is right
// + return 0;
// wrong: The new layer alone would keep the encoder as it is. Fine-tuning trains the encoder as well.
// - return 86130;  // all of it: encoder and layer
// + return 130;
// wrong: The encoder is trained, and so is the new layer, which has learned nothing yet.
// - return 86130;  // all of it: encoder and layer
// + return 86000;

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {
  const double chosen = 1000 * 0.25;
  judge.claim("knows how many words become [mask]", [&] {
    judge.predicted(masks_in_the_text(), chosen * 0.8, "the [mask] among 1,000 words", 1e-6);
  });
  judge.claim("knows how many words count", [&] {
    judge.predicted(words_that_count(), chosen * (0.8 + 0.1 + 0.1), "the words with an answer", 1e-6);
  });
  judge.claim("takes the mean over words", [&] {
    const Tensor states = tensor({{1, 0}, {3, 2}, {2, 4}}, DType::f64);
    judge.predicted(first_number_of_the_mean(), mean(states, {0}).at({0}), "the mean's first number");
  });
  judge.claim("knows the loss of a classifier that knows nothing", [&] {
    const double even = cross_entropy(zeros({1, 2}, DType::f64), Indices{1}).item();
    judge.predicted(first_loss(), even, "the first loss");
  });
  judge.claim("knows what fine-tuning trains", [&] {
    judge.predicted(weights_that_learn(), 86000 + 64 * 2 + 2, "the weights that learn", 1e-6);
  });
}
