// Checks and shapes that all caches of keys and values use.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry::detail {

/// Returns the shape of x (…, T, d) with T replaced by `positions`.
Dims with_positions(const Tensor& x, Size positions);
/// Throws Error if x (…, T, d) differs from `store` in its type or in an axis other than T.
void check_same_rows(const Tensor& x, const Tensor& store);
/// Throws Error unless keys (…, T, d_k) and values (…, T, d_v) have at least two axes and the same T.
void check_pairs(const Tensor& keys, const Tensor& values);
/// Throws Error if a tape is active. A cache stores values only, so gradients through it would be missing.
void check_no_tape();
/// Copies positions [begin, end) of x (…, T, d) to `store`, where they begin at position `at`.
void write_positions(Tensor& store, Size at, const Tensor& x, Size begin, Size end);

}  // namespace tapestry::detail
