// 32.3 what_cannot_be_told: counts, and what a sum forgets
// predict, 10 minutes
//
// A model as in the chapter, without places. Predict: how many vectors does it take F of for a premise of 12
// and a hypothesis of 8 words; how many scores has its table then; what weight a word of the premise gives to
// each of 8 words of the hypothesis if its scores with all 8 are equal; by what factor Σ_i v_i
// grows if the hypothesis stays and every word of the premise stands there twice; and by what factor Σ_i v_i
// grows if the premise stays and every word of the hypothesis stands there twice.
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
  return 0.125;  // a softmax cannot point to nothing: it spreads
  //]
}

double twice_the_premise() {
  //[ factor of Σ v
  //: return not_written_yet();
  return 2;  // each v_i depends on its own word and on the hypothesis, and now there are two of each
  //]
}

double twice_the_hypothesis() {
  //[ factor of Σ v
  //: return not_written_yet();
  return 1;  // two equal words share the weight of one: every β_i, and so every v_i, is as before
  //]
}

// hint: F reads one word at a time. What is made of pairs?
// hint: v_i = G([a_i; β_i]). What of it changes if a word of the premise is repeated? And if one of the
//   hypothesis is?
// hint: A row's softmax over b_1, b_1, b_2, b_2 gives each of the two equal words ____ of the weight that it had.
//
// wrong: F does not read pairs: the score is a product of F of one word and F of the other.
// - return 20;  // once for each word
// + return 96;
// wrong: Each of the two sentences has words: F runs for both.
// - return 20;  // once for each word
// + return 12;
// wrong: Both directions read one table, and F's 20 vectors are all it takes.
// - return 20;  // once for each word
// + return 40;
// wrong: The table is needed once: the other direction reads the same numbers by columns.
// - return 96;  // one for each pair
// + return 192;
// wrong: A score stands for a pair of words, one of each sentence: 12 times 8.
// - return 96;  // one for each pair
// + return 20;
// wrong: A softmax's weights sum to 1, whatever the scores: it cannot give 0 to all. (If you
//   wrote 1/8: of integers that is 0 in C++; write 1.0 / 8.)
// - return 0.125;  // a softmax cannot point to nothing: it spreads
// + return 0;
// wrong: The softmax of β runs over the hypothesis, which has 8 words.
// - return 0.125;  // a softmax cannot point to nothing: it spreads
// + return 1.0 / 12;
// wrong: The premise is what Σ v runs over: twice as many terms, each as before.
// - return 2;  // each v_i depends on its own word and on the hypothesis, and now there are two of each
// + return 1;
// wrong: Each v_i stays as it was, so the sum has twice as many equal terms, not four times.
// - return 2;  // each v_i depends on its own word and on the hypothesis, and now there are two of each
// + return 4;
// wrong: The softmax divides by what was doubled too: a mean of b_1, b_1, b_2, b_2 is the mean of b_1, b_2.
// - return 1;  // two equal words share the weight of one: every β_i, and so every v_i, is as before
// + return 2;
// wrong: β is not halved: there are two words with half of the weight each.
// - return 1;  // two equal words share the weight of one: every β_i, and so every v_i, is as before
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
  judge.claim("foretells how often F runs", [&] {
    judge.predicted(vectors(), static_cast<double>(f(a).size(0) + f(b).size(0)), "the vectors");
  });
  judge.claim("foretells the table", [&] {
    judge.predicted(scores(), static_cast<double>(matmul(f(a), transpose(f(b))).count()), "the scores");
  });
  judge.claim("foretells the weight of each", [&] {
    judge.predicted(weight_of_each(), softmax(zeros({1, 8}, DType::f64), -1).at({0, 0}), "the weight");
  });
  judge.claim("foretells a premise that says all twice", [&] {
    judge.predicted(twice_the_premise(), factor(concat({a, a}, 0), b), "the factor");
  });
  judge.claim("foretells a hypothesis that says all twice", [&] {
    judge.predicted(twice_the_hypothesis(), factor(a, concat({b, b}, 0)), "the factor");
  });
}
