// 32.3 what_cannot_be_told: Counting vectors, scores and weights
// predict, 10 minutes
//
// The model is the one from the chapter, without positions. The premise has 12 words, and the hypothesis has 8.
// Predict five numbers:
//
// 1. the number of vectors for which F is computed;
// 2. the number of scores in the table;
// 3. the weight that a word of the premise gives to each of the 8 words of the hypothesis if its 8 scores are equal;
// 4. the factor by which Σ_i v_i grows if every word of the premise occurs twice and the hypothesis stays the same;
// 5. the factor by which Σ_i v_i grows if every word of the hypothesis occurs twice and the premise stays the same.
#include "lessons/grader/answer.hpp"

double vectors() {
  //[ for 12 and 8 words
  //: return not_written_yet();
  return 20;  // once for each word
  //]
}

double scores() {
  //[ for 12 and 8 words
  //: return not_written_yet();
  return 96;  // one for each pair
  //]
}

double weight_of_each() {
  //[ of 8 words with equal scores
  //: return not_written_yet();
  return 0.125;  // the weights of a softmax sum to 1, so equal scores give 1/8 each
  //]
}

double twice_the_premise() {
  //[ factor of Σ v
  //: return not_written_yet();
  return 2;  // each v_i depends on its word and on the hypothesis, and now there are two of each
  //]
}

double twice_the_hypothesis() {
  //[ factor of Σ v
  //: return not_written_yet();
  return 1;  // two equal words share the weight of one: every β_i and every v_i stays the same
  //]
}

// hint: F has a single word as its input. What is computed for pairs of words?
// hint: v_i = G([a_i; β_i]). What changes in it if the words of the premise occur twice? And if the words of the
//   hypothesis do?
// hint: A softmax over b_1, b_1, b_2, b_2 gives each of two equal words ____ of the weight that the word had before.
//
// wrong: F does not run for pairs. A score is the product of F of one word and F of the other.
// - return 20;  // once for each word
// + return 96;
// wrong: You counted one sentence. F runs for the words of both.
// - return 20;  // once for each word
// + return 12;
// wrong: Both directions use the same table, so F's 20 vectors are computed once.
// - return 20;  // once for each word
// + return 40;
// wrong: One table is enough. The other direction uses the columns of the same table.
// - return 96;  // one for each pair
// + return 192;
// wrong: There is a score for each pair of words, one from each sentence: 12 times 8.
// - return 96;  // one for each pair
// + return 20;
// wrong: The weights of a softmax sum to 1, whatever the scores are, so they cannot all be 0. (If you wrote 1/8: in
//   C++, 1/8 of integers is 0. Write 1.0 / 8.)
// - return 0.125;  // the weights of a softmax sum to 1, so equal scores give 1/8 each
// + return 0;
// wrong: β's softmax is over the hypothesis, which has 8 words.
// - return 0.125;  // the weights of a softmax sum to 1, so equal scores give 1/8 each
// + return 1.0 / 12;
// wrong: Σ_i v_i is a sum over the premise. It has twice as many terms, and each is the same as before.
// - return 2;  // each v_i depends on its word and on the hypothesis, and now there are two of each
// + return 1;
// wrong: Each v_i stays the same. So the sum has twice as many terms, not four times as many.
// - return 2;  // each v_i depends on its word and on the hypothesis, and now there are two of each
// + return 4;
// wrong: The denominator of the softmax doubles too. An average of b_1, b_1, b_2, b_2 equals the average of b_1, b_2.
// - return 1;  // two equal words share the weight of one: every β_i and every v_i stays the same
// + return 2;
// wrong: β is not halved: each word is there twice, with half of its weight each time.
// - return 1;  // two equal words share the weight of one: every β_i and every v_i stays the same
// + return 0.5;

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {
  const Tensor w = judge.normal({5, 3}), w_g = judge.normal({4, 6});
  const auto f = [&](const Tensor& x) { return tanh(matmul(x, transpose(w))); };
  const auto sum_v = [&](const Tensor& a, const Tensor& b) {
    const Tensor beta = matmul(softmax(matmul(f(a), transpose(f(b))), -1), b);
    return sum(tanh(matmul(concat({a, beta}, -1), transpose(w_g))), {0});
  };
  const Tensor a = judge.normal({12, 3}), b = judge.normal({8, 3});
  const auto factor = [&](const Tensor& more_a, const Tensor& more_b) {
    return sum(sum_v(more_a, more_b) * sum_v(a, b)).item() / sum(sum_v(a, b) * sum_v(a, b)).item();
  };
  judge.claim("predicts how often F runs", [&] {
    judge.predicted(vectors(), static_cast<double>(f(a).size(0) + f(b).size(0)), "the vectors");
  });
  judge.claim("predicts the size of the table", [&] {
    judge.predicted(scores(), static_cast<double>(matmul(f(a), transpose(f(b))).count()), "the scores");
  });
  judge.claim("predicts equal weights", [&] {
    judge.predicted(weight_of_each(), softmax(zeros({1, 8}, DType::f64), -1).at({0, 0}), "the weight");
  });
  judge.claim("predicts the effect of a repeated premise", [&] {
    judge.predicted(twice_the_premise(), factor(concat({a, a}, 0), b), "the factor");
  });
  judge.claim("predicts the effect of a repeated hypothesis", [&] {
    judge.predicted(twice_the_hypothesis(), factor(a, concat({b, b}, 0)), "the factor");
  });
}
