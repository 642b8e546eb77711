// The task of lesson 28: three receipts of a pile are yours. How much did you pay on average?
#include "lessons/28_sparse/receipts.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

#include "core/tensor/create.hpp"

namespace tapestry::lesson28 {

Receipts draw_receipts(kit::Random random, Size batch, Size keys) {
  if (keys < kYours)
    fail("[draw_receipts] keys must be at least {1}, the receipts of one customer, got {0}", keys, kYours);
  std::vector<std::int64_t> asking, customers;
  std::vector<double> amounts, average;
  std::vector<bool> yours;
  std::vector<Size> places(static_cast<std::size_t>(keys));
  for (Size row = 0; row < batch; ++row) {
    const std::int64_t customer = random.below(kCustomers);
    asking.push_back(customer);
    std::iota(places.begin(), places.end(), Size{0});
    std::vector<bool> own(static_cast<std::size_t>(keys), false);
    for (Size i = 0; i < kYours; ++i) {  // the first steps of a shuffle
      std::swap(places[static_cast<std::size_t>(i)],
                places[static_cast<std::size_t>(random.between(i, keys - 1))]);
      own[static_cast<std::size_t>(places[static_cast<std::size_t>(i)])] = true;
    }
    double total = 0;
    for (const bool is_own : own) {
      customers.push_back(is_own ? customer : (customer + random.between(1, kCustomers - 1)) % kCustomers);
      amounts.push_back(static_cast<double>(random.below(kAmounts)));
      yours.push_back(is_own);
      total += is_own ? amounts.back() : 0;
    }
    average.push_back(total / kYours);
  }
  return {
      Indices(asking, {batch, 1}), Indices(customers, {batch, keys}), tensor(amounts, {batch, keys, 1}),
      Mask::from(batch, keys, [&](Size i, Size j) { return yours[static_cast<std::size_t>(i * keys + j)]; }),
      tensor(average, {batch, 1, 1})};
}

}  // namespace tapestry::lesson28
