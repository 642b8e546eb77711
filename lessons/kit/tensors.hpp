// From the kit's plain numbers to Tapestry's types.
#pragma once

#include "core/tensor/values.hpp"
#include "lessons/kit/translation/batches.hpp"

namespace tapestry::kit {

/// (rows, columns)
inline Indices indices(const Padded& padded) { return Indices(padded.ids, {padded.rows, padded.columns}); }
/// (rows)
inline ValidLengths valid_lengths(const Padded& padded) { return ValidLengths(padded.lengths); }

}  // namespace tapestry::kit
