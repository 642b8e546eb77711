// The task of lesson 28: three receipts among many are yours; what did you pay on average?
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::lesson28 {

inline constexpr Size kCustomers = 16, kYours = 3, kAmounts = 10;

/// A pile for each row of the batch.
struct Receipts {
  Indices asking;  ///< (B, 1): the customer who asks
  Indices names;   ///< (B, n): whose each receipt is
  Tensor amounts;  ///< (B, n, 1): whole numbers, 0 … 9
  Mask yours;      ///< (B, n): the receipts of the one who asks, three a row
  Tensor average;  ///< (B, 1, 1): of their amounts
};

/// In each row three receipts, at any places, are of the customer who asks, the others of the other 15, each
/// equally likely. keys ≥ 3.
Receipts draw_receipts(kit::Random random, Size batch, Size keys);

}  // namespace tapestry::lesson28
