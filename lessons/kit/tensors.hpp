// Conversions from padded batches to Tapestry's types.
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"
#include "lessons/kit/translation/batches.hpp"

namespace tapestry::kit {

/// Returns the ids as Indices of shape (rows, columns).
inline Indices indices(const Padded& padded) { return Indices(padded.ids, {padded.rows, padded.columns}); }
/// Returns rows [begin, end) of ids (rows, columns).
inline Indices rows_of(const Indices& ids, Size begin, Size end) {
  const Size columns = ids.shape()[1];
  const auto values = ids.to_vector();
  return Indices(Ids(values.begin() + begin * columns, values.begin() + end * columns),
                 {end - begin, columns});
}
/// Returns the lengths as ValidLengths of shape (rows).
inline ValidLengths valid_lengths(const Padded& padded) { return ValidLengths(padded.lengths); }

}  // namespace tapestry::kit
