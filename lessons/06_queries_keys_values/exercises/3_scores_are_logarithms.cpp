// 6.3 scores_are_logarithms: what weights become when scores change
// predict, 10 minutes
//
// A query gives three keys the weights 1/2, 1/4 and 1/4. A score is the logarithm of a weight up to a
// constant, and that is enough to say what becomes of the weights.
//
// Predict the weight of the first key, from 0 to 1, after each of four changes, each made alone. The judge
// runs the library's Attention with the score dot(), that is q · k without a scale. Fractions are as good as
// numbers: 1 / 3.0.
#include "lessons/grader/answer.hpp"

double if_the_query_is_doubled() {
  //[ the first key's weight with the query 2q in place of q
  //: return not_written_yet();
  return (1 / 4.0) / (1 / 4.0 + 1 / 16.0 + 1 / 16.0);  // twice the scores: squares, divided by their sum
  //]
}

double if_all_scores_grow_by_5() {
  //[ the first key's weight if 5 is added to each of the three scores
  //: return not_written_yet();
  return 1 / 2.0;  // e⁵ is a factor above and below
  //]
}

double if_the_second_grows_by_log_3() {
  //[ the first key's weight if log 3 is added to the score of the second key alone
  //: return not_written_yet();
  return (1 / 2.0) / (1 / 2.0 + 3 / 4.0 + 1 / 4.0);  // the second counts three times as much
  //]
}

double if_the_second_stands_there_twice() {
  //[ the first key's weight if a fourth key is added that is equal to the second
  //: return not_written_yet();
  return (1 / 2.0) / (1 / 2.0 + 3 / 4.0);  // equal keys have equal scores: one more 1/4 in the sum
  //]
}

// hint: Begin with the scores log 1/2, log 1/4, log 1/4. What happens to them, and what is e to the new
//   scores?
// hint: Twice a logarithm is the logarithm of the ____; a logarithm plus log 3 is the logarithm of ____ as
//   much.
// hint: In the end divide by the new sum: three numbers before, three or four after.
//
// wrong: You doubled the weight. It is the scores that double, log 1/2 becomes 2 log 1/2 = log 1/4, and then
//   all is divided by the new sum.
// - return (1 / 4.0) / (1 / 4.0 + 1 / 16.0 + 1 / 16.0);
// + return 1;
// wrong: You left the weights as they were, as if only the query's direction counted. Its length says how
//   sure it is: longer queries make sharper weights.
// - return (1 / 4.0) / (1 / 4.0 + 1 / 16.0 + 1 / 16.0);
// + return 1 / 2.0;
// wrong: You squared the weight, which is right, and did not divide by the new sum: 1/4 + 1/16 + 1/16 is not
//   1.
// - return (1 / 4.0) / (1 / 4.0 + 1 / 16.0 + 1 / 16.0);
// + return 1 / 4.0;
// wrong: You took the root instead of the square. That is the query q / 2, which makes weights more even.
// - return (1 / 4.0) / (1 / 4.0 + 1 / 16.0 + 1 / 16.0);
// + return std::sqrt(0.5) / (std::sqrt(0.5) + 1);
// wrong: Adding the same to all scores changes nothing: softmax sees only their differences.
// - return 1 / 2.0;
// + return 1 / 3.0;
// wrong: You let the first key lead by more. All three scores grow by 5, so no key gains on another.
// - return 1 / 2.0;
// + return 1;
// wrong: Keys share one weight of 1: if the second gets more, the first gets less.
// - return (1 / 2.0) / (1 / 2.0 + 3 / 4.0 + 1 / 4.0);
// + return 1 / 2.0;
// wrong: You let the score grow by 3, which is a factor of e³, about 20. The factor of log 3 is e^(log 3) =
//   3.
// - return (1 / 2.0) / (1 / 2.0 + 3 / 4.0 + 1 / 4.0);
// + return (1 / 2.0) / (1 / 2.0 + std::exp(3.0) / 4 + 1 / 4.0);
// wrong: You took 3/4 for the second key's new weight and shared out what is left. 3/4 is how much it counts
//   beside 1/2 and 1/4; all three are still divided by their sum.
// - return (1 / 2.0) / (1 / 2.0 + 3 / 4.0 + 1 / 4.0);
// + return 1 / 6.0;
// wrong: You let the two equal keys share one weight of 1/4. Softmax knows nothing of equal keys: each counts
//   in full, and so a word that stands there twice is read twice as much.
// - return (1 / 2.0) / (1 / 2.0 + 3 / 4.0);
// + return 1 / 2.0;
// wrong: You subtracted the new 1/4 from the first key alone. All three give up the same share of what they
//   had.
// - return (1 / 2.0) / (1 / 2.0 + 3 / 4.0);
// + return 1 / 4.0;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// The weight of the first of these keys for the query (log 1/2, log 1/4, log 1/4) · factor.
double first_weight(double factor, const Tensor& keys) {
  const Tensor query = factor * log(tensor({{0.5, 0.25, 0.25}}, DType::f64));
  return Attention{dot()}(query, keys, keys).weights.at({0, 0});
}

/// One-hot keys that lie so much further along the query that their scores grow by these.
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
               name + ": this comes out as " + std::to_string(came) +
                   ". In C++ 1 / 2 is 0, since both are integers: write 1 / 2.0");
    judge.predicted(came, right, name);
  };
  const Tensor words = eye(3, DType::f64);
  judge.claim("foretells what a longer query does", [&] {
    foretold(if_the_query_is_doubled(), first_weight(2, words), "the first weight for 2q");
  });
  judge.claim("foretells what a constant in all scores does", [&] {
    foretold(if_all_scores_grow_by_5(), first_weight(1, keys_with({5, 5, 5})),
             "the first weight with 5 in all scores");
  });
  judge.claim("foretells what one larger score does", [&] {
    foretold(if_the_second_grows_by_log_3(), first_weight(1, keys_with({0, std::log(3.0), 0})),
             "the first weight with log 3 in the second score");
  });
  judge.claim("foretells what a key does that stands there twice", [&] {
    const Tensor four = concat({words, slice(words, 0, 1, 2)}, 0);
    foretold(if_the_second_stands_there_twice(), first_weight(1, four),
             "the first weight with the second key twice");
  });
}
