// Masking helpers: find keys and queries that are fully masked, and zero them so that they enter no product.
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"

namespace tapestry {

/// Returns (…, Tk, 1) for a mask (…, Tq, Tk) and keys of shape (…, Tk, d): true for keys that some query may
/// see. The leading axes are those of the keys. Returns no mask if every key is visible. Throws if the shapes
/// do not fit.
Mask visible_keys(const Mask& mask, const Dims& keys);

/// Returns x with 0 where the mask is false; without a mask, returns x. Weights of 0 alone do not hide a NaN: 0 · NaN
/// is NaN, in the sum over values and in the gradients of the score.
Tensor zero_masked(const Mask& mask, const Tensor& x);

/// Returns (B, T, T) for document numbers (B, T): true for pairs of tokens of one document, for documents that are
/// packed into one row.
Mask same_document(const Indices& documents);

/// Returns (…, Tq, 1): true for queries that may see some key. Returns no mask if every query does.
Mask visible_queries(const Mask& mask);

}  // namespace tapestry
