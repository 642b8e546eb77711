// Checks and shapes that all caches of keys and values share.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry::detail {

/// Returns the shape of x (…, T, d) with another number of positions T.
Dims with_positions(const Tensor& x, Size positions);
/// Throws if x (…, T, d) differs from `store` in type or in an axis other than T.
void check_same_rows(const Tensor& x, const Tensor& store);
/// Throws unless keys (…, T, d_k) and values (…, T, d_v) have the same positions.
void check_pairs(const Tensor& keys, const Tensor& values);
/// Throws if a tape is active, because a cache stores values alone.
void check_no_tape();
/// Copies positions [begin, end) of x (…, T, d) to the positions of `store` from `at` on.
void write_positions(Tensor& store, Size at, const Tensor& x, Size begin, Size end);

}  // namespace tapestry::detail
