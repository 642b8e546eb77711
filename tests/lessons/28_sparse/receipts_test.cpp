// The piles of lesson 28.
#include "lessons/28_sparse/receipts.hpp"

#include <cmath>
#include <set>

#include "tests/catch.hpp"

namespace tapestry::lesson28 {

TEST_CASE("three receipts of a pile are of the one who asks, anywhere, and the average is theirs", "[28]") {
  constexpr Size kPiles = 200, kKeys = 6;
  const Receipts piles = draw_receipts(kit::Random(1, 2), kPiles, kKeys);
  CHECK(piles.amounts.shape() == Dims{kPiles, kKeys, 1});
  CHECK(piles.average.shape() == Dims{kPiles, 1, 1});
  const auto asking = piles.asking.to_vector(), names = piles.customers.to_vector();
  const auto amounts = piles.amounts.to_vector(), average = piles.average.to_vector();
  const auto yours = piles.yours.to_vector();
  std::set<std::int64_t> customers(asking.begin(), asking.end()), others;
  std::set<std::size_t> places;
  std::set<double> paid;
  for (std::size_t row = 0; row < asking.size(); ++row) {
    double own = 0, total = 0;
    for (std::size_t j = 0; j < kKeys; ++j) {
      const std::size_t at = row * kKeys + j;
      CHECK(yours[at] == (names[at] == asking[row]));
      paid.insert(amounts[at]);
      own += yours[at] ? 1 : 0;
      total += yours[at] ? amounts[at] : 0;
      if (yours[at])
        places.insert(j);
      else
        others.insert((names[at] - asking[row] + kCustomers) % kCustomers);
    }
    CHECK(own == kYours);
    CHECK(std::abs(average[row] - total / 3) < 1e-5);
  }
  CHECK(customers.size() == kCustomers);
  CHECK(others.size() == kCustomers - 1);
  CHECK(places.size() == kKeys);
  CHECK(paid == std::set<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a pile of three is all yours, and two are refused", "[28]") {
  const auto yours = draw_receipts(kit::Random(1), 2, 3).yours.to_vector();
  CHECK(yours == std::vector<bool>(6, true));
  CHECK_THROWS_WITH(draw_receipts(kit::Random(1), 2, 2),
                    "[draw_receipts] keys must be at least 3, the receipts of one customer, got 2");
}

}  // namespace tapestry::lesson28
