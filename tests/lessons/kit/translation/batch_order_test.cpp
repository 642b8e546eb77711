// The order of training batches: sorted inside, shuffled outside, anew in each epoch.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "lessons/kit/random.hpp"
#include "lessons/kit/translation/batches.hpp"
#include "tests/catch.hpp"

namespace tapestry::kit {
namespace {

/// Targets of 3 to 42 words; the source tells which pair it is.
std::vector<Pair> pairs(Size count) {
  Random random(3);
  std::vector<Pair> all;
  for (Size i = 0; i < count; ++i) {
    Pair pair{{i, kEnd}, {kStart}};
    pair.target.insert(pair.target.end(), static_cast<std::size_t>(random.between(1, 40)), 4);
    pair.target.push_back(kEnd);
    all.push_back(pair);
  }
  return all;
}

std::vector<Batch> epoch_of(Batches& batches) {
  std::vector<Batch> all;
  for (const Size epoch = batches.place().epoch; batches.place().epoch == epoch;)
    all.push_back(batches.next());
  return all;
}

/// The correlation of two lists.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double both = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    of_a += (a[i] - mean_a) * (a[i] - mean_a);
    of_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return both / std::sqrt(of_a * of_b);
}

}  // namespace

TEST_CASE("batches do not come by length, nor pairs by their place in the text", "[kit]") {
  const Size pool = GENERATE(1, 20, 100);  // several pools, and one for all
  CAPTURE(pool);
  Batches batches(pairs(1600), {.size = 16, .pool = pool, .seed = 2});
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<double> lengths, before, places, pairs_of, at;
    for (const Batch& batch : epoch_of(batches)) {
      lengths.push_back(static_cast<double>(batch.target.columns));
      places.push_back(static_cast<double>(places.size()));
      for (const Size pair : batch.pairs) {
        pairs_of.push_back(static_cast<double>(pair));
        at.push_back(static_cast<double>(at.size()));
      }
    }
    REQUIRE(lengths.size() == 100);
    CHECK(std::abs(correlation(lengths, places)) < 0.4);  // four standard deviations of 100 batches
    CHECK(std::abs(correlation({lengths.begin() + 1, lengths.end()}, {lengths.begin(), lengths.end() - 1})) <
          0.4);
    CHECK(std::abs(correlation(pairs_of, at)) < 0.1);
  }
}

TEST_CASE("each epoch has batches of its own, and an order of its own", "[kit]") {
  Batches batches(pairs(320), {.size = 16, .pool = 100, .seed = 2});
  const std::vector<Batch> one = epoch_of(batches), two = epoch_of(batches);
  REQUIRE((one.size() == 20 && two.size() == 20));
  std::set<std::set<Size>> first, second;
  std::vector<Size> longest_first, longest_second;
  for (const Batch& batch : one) first.insert({batch.pairs.begin(), batch.pairs.end()});
  for (const Batch& batch : two) second.insert({batch.pairs.begin(), batch.pairs.end()});
  for (const Batch& batch : one) longest_first.push_back(batch.target.columns);
  for (const Batch& batch : two) longest_second.push_back(batch.target.columns);
  std::vector<std::set<Size>> both;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(both));
  CHECK(both.size() < 4);
  CHECK(longest_first != longest_second);
}

TEST_CASE("evaluation batches hold every pair, the last ones too", "[kit]") {
  for (const Size size : {1, 7, 16, 400}) {
    std::multiset<Size> seen;
    for (const Batch& batch : batches_in_order(pairs(50), size)) {
      CHECK(static_cast<Size>(batch.pairs.size()) <= size);
      for (std::size_t row = 0; row < batch.pairs.size(); ++row)
        CHECK(batch.source.at(static_cast<Size>(row), 0) == batch.pairs[row]);
      seen.insert(batch.pairs.begin(), batch.pairs.end());
    }
    std::vector<Size> wanted(50);
    std::iota(wanted.begin(), wanted.end(), Size{0});
    CHECK(std::vector<Size>(seen.begin(), seen.end()) == wanted);
  }
}

}  // namespace tapestry::kit
