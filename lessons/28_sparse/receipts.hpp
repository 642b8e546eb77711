// The task of lesson 28: three receipts of a pile are yours. How much did you pay on average?
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::lesson28 {

inline constexpr Size kCustomers = 16, kYours = 3, kAmounts = 10;

/// One pile for each row of the batch.
struct Receipts {
  Indices asking;     ///< (B, 1): the customer who asks
  Indices customers;  ///< (B, n): the customer of each receipt
  Tensor amounts;     ///< (B, n, 1): whole numbers, 0 … 9
  Mask yours;         ///< (B, n): true for the three receipts of the customer who asks
  Tensor average;     ///< (B, 1, 1): the average of their amounts
};

/// Each row has three receipts of the customer who asks, at random places. Every other receipt belongs to one
/// of the other 15 customers, each equally likely. `keys` must be at least 3.
Receipts draw_receipts(kit::Random random, Size batch, Size keys);

}  // namespace tapestry::lesson28
