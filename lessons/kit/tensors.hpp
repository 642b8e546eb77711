// From the kit's plain numbers to Tapestry's types.
#pragma once

#include "core/tensor/values.hpp"
#include "lessons/kit/translation/batches.hpp"

namespace tapestry::kit {

/// (rows, columns)
inline Indices indices(const Padded& padded) { return Indices(padded.ids, {padded.rows, padded.columns}); }
/// Rows from `begin` to before `end` of ids (rows, columns).
inline Indices rows_of(const Indices& ids, Size begin, Size end) {
  const Size columns = ids.shape()[1];
  const auto values = ids.to_vector();
  return Indices(Ids(values.begin() + begin * columns, values.begin() + end * columns),
                 {end - begin, columns});
}
/// (rows)
inline ValidLengths valid_lengths(const Padded& padded) { return ValidLengths(padded.lengths); }

}  // namespace tapestry::kit
