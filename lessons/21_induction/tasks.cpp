// Lesson 21's other tasks.
//
//   bigram   Each sequence is drawn from its own table: eight symbols, and for each of them the probabilities
//            of the next symbol, uniform among all such tables. The model can learn how often b has followed a
//            so far. The best prediction is (times + 1) / (all + 8) (Edelman et al. 2024: statistical induction
//            heads). The loss counts the second half of the sequence.
//   pairs    The sequence has sixteen pairs of a key and its value, and then the keys in another order, each
//            followed by its value (associative recall, Ba et al. 2016). An induction head solves this task.
//   gcd      The sequence has a, b, their greatest common divisor, then the next three numbers, and so on, for
//            numbers below 32. Here the context does not help: all knowledge must be in the weights, and a
//            higher accuracy needs a feed-forward network (Charton 2024 trains a whole transformer). The
//            simplest prediction uses only how often each divisor occurs.
#include "lessons/21_induction/tasks.hpp"

#include <cmath>
#include <map>
#include <numeric>

namespace tapestry {

using kit::Ids;

Ids shuffled(kit::Random& random, Size count) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  random.shuffle(ids);
  return ids;
}

Sequences draw_bigram(kit::Random random, Size rows) {
  constexpr std::size_t kStates = 8;
  Ids ids;
  for (Size row = 0; row < rows; ++row) {
    double shares[kStates][kStates];
    for (auto& next : shares)
      for (double& share : next) share = -std::log(1 - random.uniform());  // unnormalised: Dirichlet(1, …, 1)
    std::size_t now = 0;
    for (Size t = 0; t < kLength; ++t) {
      ids.push_back(static_cast<std::int64_t>(now));
      double left = random.uniform() * std::accumulate(shares[now], shares[now] + kStates, 0.0);
      std::size_t next = 0;
      while (next + 1 < kStates && left >= shares[now][next]) left -= shares[now][next++];
      now = next;
    }
  }
  return sequences(ids, [](Size, Size place) { return place >= kLength / 2; });
}

Sequences draw_pairs(kit::Random random, Size rows) {
  constexpr Size kPairs = 16;
  Ids ids;
  for (Size row = 0; row < rows; ++row) {
    const Ids values = shuffled(random, kPairs);
    for (int round = 0; round < 2; ++round)
      for (const std::int64_t key : shuffled(random, kPairs))
        ids.insert(ids.end(), {key, kPairs + values[static_cast<std::size_t>(key)]});
  }
  return sequences(ids, [](Size, Size place) { return place > 2 * kPairs && place % 2 == 1; });
}

Sequences draw_gcd(kit::Random random, Size rows) {
  Ids ids;
  for (Size row = 0; row < rows; ++row)
    for (Size t = 0; t < kLength; ++t) {
      const bool answer = t % 3 == 2;
      ids.push_back(answer ? std::gcd(ids[ids.size() - 2], ids.back()) : random.between(1, kSymbols - 1));
    }
  return sequences(ids, [](Size, Size place) { return place % 3 == 2; });
}

double loss_of_counting(const Sequences& test, Size states) {
  const Ids inputs = test.inputs.to_vector(), targets = test.targets.to_vector();
  const std::size_t time = kLength - 1;
  std::map<std::pair<std::int64_t, std::int64_t>, double> pairs;  // counts in this sequence so far
  std::map<std::int64_t, double> all;
  double loss = 0, places = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i % time == 0) {
      pairs.clear();
      all.clear();
    } else {
      pairs[{inputs[i - 1], inputs[i]}] += 1;
      all[inputs[i - 1]] += 1;
    }
    if (targets[i] < 0) continue;
    loss -= std::log((pairs[{inputs[i], targets[i]}] + 1) / (all[inputs[i]] + static_cast<double>(states)));
    places += 1;
  }
  return loss / places;
}

double loss_of_frequencies(const Sequences& test) {
  std::map<std::int64_t, double> counts;
  double places = 0, loss = 0;
  for (const std::int64_t answer : test.targets.to_vector())
    if (answer >= 0) counts[answer] += 1, places += 1;
  for (const auto& [answer, count] : counts) loss -= count / places * std::log(count / places);
  return loss;
}

}  // namespace tapestry
