// 6.3 scores_are_logarithms: Weights after a change of the scores
// predict, 10 minutes
//
// A query has the weights 1/2, 1/4 and 1/4 for three keys. A score is the logarithm of a weight, up to a constant. So
// you can predict how the weights change when the scores change.
//
// Predict the weight of the first key, from 0 to 1, after each of four changes. Each change is made alone. The judge
// runs the library's Attention with the score dot(), which is q · k without a scale. You may return
// a fraction: 1 / 3.0.
#include "lessons/grader/answer.hpp"

double if_the_query_is_doubled() {
  //[ the first key's weight with the query 2q in place of q
  //: return not_written_yet();
  return (1 / 4.0) / (1 / 4.0 + 1 / 16.0 + 1 / 16.0);  // twice the scores: the squares, divided by their sum
  //]
}

double if_all_scores_grow_by_5() {
  //[ the first key's weight if 5 is added to each of the three scores
  //: return not_written_yet();
  return 1 / 2.0;  // numerator and denominator both get the factor e⁵
  //]
}

double if_the_second_grows_by_log_3() {
  //[ the first key's weight if log 3 is added to the score of the second key alone
  //: return not_written_yet();
  return (1 / 2.0) / (1 / 2.0 + 3 / 4.0 + 1 / 4.0);  // e^score of the second key is three times as large
  //]
}

double if_the_second_key_is_repeated() {
  //[ the first key's weight if a fourth key is added that is equal to the second
  //: return not_written_yet();
  return (1 / 2.0) / (1 / 2.0 + 3 / 4.0);  // equal keys have equal scores: one more 1/4 in the sum
  //]
}

// hint: Start with the scores log 1/2, log 1/4 and log 1/4. What are the new scores, and what is e^score for each?
// hint: Twice a logarithm is the logarithm of the ____. A logarithm plus log 3 is the logarithm of ____ times the
//   number.
// hint: Divide by the new sum at the end. It has three terms, or four if a key was added.
//
// wrong: You doubled the weight. The scores double: log 1/2 becomes 2 log 1/2 = log 1/4. Then softmax divides by
//   the new sum.
// - return (1 / 4.0) / (1 / 4.0 + 1 / 16.0 + 1 / 16.0);
// + return 1;
// wrong: You left the weights unchanged, as if only the query's direction mattered. Its norm matters, too: a longer
//   query has more one-sided weights.
// - return (1 / 4.0) / (1 / 4.0 + 1 / 16.0 + 1 / 16.0);
// + return 1 / 2.0;
// wrong: You squared the weight, which is right, but did not divide by the new sum. 1/4 + 1/16 + 1/16 is not 1.
// - return (1 / 4.0) / (1 / 4.0 + 1 / 16.0 + 1 / 16.0);
// + return 1 / 4.0;
// wrong: You took the root instead of the square. That is right for the query q / 2, whose weights are more even.
// - return (1 / 4.0) / (1 / 4.0 + 1 / 16.0 + 1 / 16.0);
// + return std::sqrt(0.5) / (std::sqrt(0.5) + 1);
// wrong: Adding the same number to all scores changes no weight, because softmax depends only on their differences.
// - return 1 / 2.0;
// + return 1 / 3.0;
// wrong: You increased the first key's lead. All three scores grow by 5, so their differences stay the same.
// - return 1 / 2.0;
// + return 1;
// wrong: The weights of all keys add up to 1. If the second key gets more, the first gets less.
// - return (1 / 2.0) / (1 / 2.0 + 3 / 4.0 + 1 / 4.0);
// + return 1 / 2.0;
// wrong: You added 3 to the score, which multiplies e^score by e³, about 20. Adding log 3 multiplies it by
//   e^(log 3) = 3.
// - return (1 / 2.0) / (1 / 2.0 + 3 / 4.0 + 1 / 4.0);
// + return (1 / 2.0) / (1 / 2.0 + std::exp(3.0) / 4 + 1 / 4.0);
// wrong: You used 3/4 as the second key's new weight and divided the rest between the other keys. 3/4 is its e^score,
//   next to 1/2 and 1/4. All three must be divided by their sum.
// - return (1 / 2.0) / (1 / 2.0 + 3 / 4.0 + 1 / 4.0);
// + return 1 / 6.0;
// wrong: You let the two equal keys have a weight of 1/4 together. Softmax treats equal keys like any others: each has
//   its own e^score. So a word that occurs twice has twice the weight in all.
// - return (1 / 2.0) / (1 / 2.0 + 3 / 4.0);
// + return 1 / 2.0;
// wrong: You subtracted the new 1/4 from the first key alone. The weights of all three keys shrink by the same factor.
// - return (1 / 2.0) / (1 / 2.0 + 3 / 4.0);
// + return 1 / 4.0;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the weight of the first of these keys for the query (log 1/2, log 1/4, log 1/4) · factor.
double first_weight(double factor, const Tensor& keys) {
  const Tensor query = factor * log(tensor({{0.5, 0.25, 0.25}}, DType::f64));
  return Attention{dot()}(query, keys, keys).weights.at({0, 0});
}

/// Returns one-hot keys that are scaled so that their scores grow by `growth`.
Tensor keys_with(const std::vector<double>& growth) {
  const std::vector<double> query = {std::log(0.5), std::log(0.25), std::log(0.25)};
  std::vector<double> keys;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) keys.push_back(i == j ? 1 + growth[i] / query[i] : 0);
  return tensor(keys, {3, 3}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  const auto foretold = [&](double came, double right, const std::string& name) {
    judge.that(came != 0 && std::isfinite(came),
               name + ": your function returns " + std::to_string(came) +
                   ". In C++, 1 / 2 is 0, because both are integers; write 1 / 2.0");
    judge.predicted(came, right, name);
  };
  const Tensor words = eye(3, DType::f64);
  judge.claim("predicts the weight for a longer query", [&] {
    foretold(if_the_query_is_doubled(), first_weight(2, words), "the first weight for 2q");
  });
  judge.claim("predicts the weight after a constant is added to all scores", [&] {
    foretold(if_all_scores_grow_by_5(), first_weight(1, keys_with({5, 5, 5})),
             "the first weight with 5 in all scores");
  });
  judge.claim("predicts the weight after one score grows", [&] {
    foretold(if_the_second_grows_by_log_3(), first_weight(1, keys_with({0, std::log(3.0), 0})),
             "the first weight with log 3 in the second score");
  });
  judge.claim("predicts the weight after a key is repeated", [&] {
    const Tensor four = concat({words, slice(words, 0, 1, 2)}, 0);
    foretold(if_the_second_key_is_repeated(), first_weight(1, four),
             "the first weight with the second key twice");
  });
}
